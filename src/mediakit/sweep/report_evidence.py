"""The evidence in a report: comparisons, a heatmap of means, the blind ranking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from mediakit.errors import InputError
from mediakit.safe_text import NO_HTML, html_text
from mediakit.sweep.comparison import compare
from mediakit.sweep.frame_columns import jobs_once, numbers_of

if TYPE_CHECKING:
    import pandas as pd

RATING = "rating"
STARS = (1.0, 5.0)
MOST_ACROSS, MOST_DOWN = 12, 50
MOST_RANKED = 20
MOST_SHADE = 45
"""Percent of colour in a cell; more would be too dark for the number in it."""


def evidence_html(
    rows: pd.DataFrame,
    axes: Sequence[str],
    values: Sequence[str],
    ranking: pd.DataFrame,
    cells: Mapping[str, str],
) -> Iterator[str]:
    """Yield comparisons and means for each column of `values`, and the ranking.

    `rows` have the axes as text; `cells` has the cell name of each job.
    """
    varied = [axis for axis in axes if rows[axis].nunique() > 1]
    columns = [name for name in values if name in rows and rows[name].notna().any()]
    verdicts = [item for name in columns for item in _verdicts(rows, varied, name)]
    if verdicts:
        yield f"<h2>Verdict</h2><ul>{NO_HTML.join(verdicts)}</ul>"
    if varied and columns:
        tables = (_heatmap(rows, varied, name) for name in columns)
        yield f'<div class="wide">{NO_HTML.join(tables)}</div>'
    if len(ranking):
        yield _ranking(ranking, cells)


def _verdicts(rows: pd.DataFrame, axes: Sequence[str], value: str) -> Iterator[Markup]:
    """Yield the comparison of each axis that has few enough values."""
    for axis in axes:
        try:
            text = compare(rows, axis, value).text
        except InputError:
            continue
        name = f"{value} by {axis}"
        yield Markup("<li><b>{}</b>: {}</li>").format(html_text(name), html_text(text))


def _heatmap(rows: pd.DataFrame, axes: Sequence[str], value: str) -> Markup:
    """Return the means over the first two axes, with counts."""
    jobs = jobs_once(rows)
    down, *others = axes
    numbers = numbers_of(jobs, value, "value")
    names = list(dict.fromkeys(jobs[down]))[:MOST_DOWN]
    across = list(dict.fromkeys(jobs[others[0]]))[:MOST_ACROSS] if others else [""]
    column = jobs[others[0]] if others else jobs[down].map(lambda _: "")
    groups = numbers.groupby([jobs[down], column]).agg(["mean", "count"])
    groups = groups[groups["count"] > 0]
    means = dict(groups["mean"].items())
    counts = dict(groups["count"].items())
    ends = STARS if value == RATING else (groups["mean"].min(), groups["mean"].max())

    def cell(key: tuple[str, str]) -> Markup:
        if key not in means:
            return Markup('<td aria-label="none">·</td>')
        width = ends[1] - ends[0]
        share = (means[key] - ends[0]) / width if width else 0.5
        return Markup('<td style="--shade:{}%">{} <small>({})</small></td>').format(
            round(MOST_SHADE * share), f"{means[key]:z.3g}", int(counts[key])
        )

    words = " and ".join([down, *others[:1]])
    head = [Markup('<th scope="col">{}</th>').format(html_text(n)) for n in across]
    body = [
        Markup('<tr><th scope="row">{}</th>{}</tr>').format(
            html_text(name), NO_HTML.join(cell((name, each)) for each in across)
        )
        for name in names
    ]
    return Markup(
        '<table class="heat"><caption>Mean {} by {} (number of results)</caption>'
        "<thead><tr><th>{}</th>{}</tr></thead><tbody>{}</tbody></table>"
    ).format(
        html_text(value),
        html_text(words),
        html_text(down),
        NO_HTML.join(head),
        NO_HTML.join(body),
    )


def _ranking(ranking: pd.DataFrame, cells: Mapping[str, str]) -> str:
    rows = ranking.assign(place=ranking.groupby("group").cumcount() + 1)
    lines = [
        Markup("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>").format(
            row["place"],
            html_text(cells.get(row["item"], row["item"])),
            f"{row['wins']} / {row['ties']} / {row['losses']}",
            f"{row['strength']:z.2f} ({row['low']:z.2f} to {row['high']:z.2f})",
        )
        for row in rows.head(MOST_RANKED).to_dict("records")
    ]
    return Markup(
        "<h2>Ranking</h2><table><thead><tr><th>Rank</th><th>Result</th>"
        "<th>Won / tied / lost</th><th>Strength (90% interval)</th></tr></thead>"
        "<tbody>{}</tbody></table>"
    ).format(NO_HTML.join(lines))
