"""A month as HTML: one template for the widget, the saved notebook and the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio import to_thread
from markupsafe import Markup

from mediakit.media_html import SAVED_PAGE_CSS, data_url
from mediakit.money import format_usd
from mediakit.safe_text import NO_HTML, html_text
from mediakit.spend.dates import day_name, month_name
from mediakit.spend.exporting import write_file
from mediakit.widgets.dashboard import plots
from mediakit.widgets.dashboard.exports import Format, jobs_text, prepare
from mediakit.widgets.dashboard.figures import (
    Figure,
    figures_of,
    function_title,
    named,
    verdict_of,
)
from mediakit.widgets.dashboard.month import (
    CHARGE,
    By,
    MonthReading,
    read_checks,
    read_month,
    readable_month,
)
from mediakit.widgets.dashboard.plots import Plot
from mediakit.widgets.job.card import QUIET
from mediakit.widgets.job.text import shortened
from mediakit.widgets.toolkit.styles import (
    IPYWIDGETS,
    line_html,
    sheets,
    style_tag,
)

if TYPE_CHECKING:
    from datetime import date

    import pandas as pd

    from mediakit.spend import AsyncSpend

MOST_ROWS, MOST_CHARGES = 15, 5_000
LONGEST_CELL = 80
MICRO_USD = "_micro_usd"
UNEXPLAINED = (
    "function",
    "api_key_id",
    "history_micro_usd",
    "daily_micro_usd",
    "monthly_micro_usd",
    "difference_micro_usd",
    "verdict",
)
VERDICTS: Mapping[str | None, str] = {
    "timing": (
        "not settled, close to the start or end of the month, or restored without a "
        "date"
    ),
    "other_key": "another API key",
    "missing_here": "missing in this history",
    "missing_there": "missing in the service's reports",
    None: "cannot be compared",
}

_HERE = Path(__file__).parent
_DARK = plots.dark_colours()
_MONTH = _HERE / "month.css"
LIVE_CSS = (
    sheets(IPYWIDGETS, _MONTH, _HERE / "dashboard.css")
    + f"body[data-jp-theme-light=false] .mk-month{{{_DARK}}}"
)
PAGE_CSS = (
    f"{SAVED_PAGE_CSS}{_MONTH.read_text('utf-8')}"
    f"{(_HERE / 'page.css').read_text('utf-8')}"
    f"@media screen and (prefers-color-scheme:dark){{:root{{{_DARK}}}}}"
)


def empty_text(reading: MonthReading) -> str:
    """Return the sentence of a month without charges."""
    name, forecast = month_name(reading.month), reading.forecast
    if not reading.is_current:
        return f"Nothing was charged in {name}."
    if forecast is not None and forecast.expected_micro_usd:
        return str(forecast.text)
    return f"Nothing has been charged in {name} so far."


# -- the template -------------------------------------------------------------------


def figures_html(figures: Iterable[Figure]) -> Markup:
    figure = Markup(
        '<div style="display:inline-block;margin:0 26px 8px 0;vertical-align:top">'
        '<b style="font-size:19px"{}>{}</b><br>'
        '<span style="font-size:12px;{}">{}</span></div>'
    )
    parts = (
        figure.format(
            Markup(' title="{}"').format(each.exact) if each.exact else "",
            html_text(each.text),
            QUIET,
            html_text(each.label),
        )
        for each in figures
    )
    return Markup('<div class="mk-sp-figures">{}</div>').format(NO_HTML.join(parts))


def checks_html(reading: MonthReading) -> Markup:
    lines = list[Markup]()
    verdict = verdict_of(reading)
    if verdict is not None:
        line = Markup(
            '<div class="mk-sp-verdict mk-{}"><span aria-hidden="true">{}</span> '
            "<span>{}</span></div>"
        )
        lines.append(line.format(verdict.tone, verdict.mark, html_text(verdict.text)))
    trouble = Markup("<div>{}</div>").format
    texts = dict.fromkeys((*reading.unread, *reading.troubles))
    lines += [trouble(line_html(text, "warn")) for text in texts]
    return NO_HTML.join(lines)


def plots_html(shown: Iterable[Plot], *, saved: bool = False) -> Markup:
    parts = NO_HTML.join(_plot_html(plot, saved=saved) for plot in shown)
    return Markup('<div class="mk-sp-plots">{}</div>').format(parts)


def _plot_html(plot: Plot, *, saved: bool) -> Markup:
    if plot.trouble:
        below = line_html(plot.trouble, "warn")
    elif not plot.svg:
        below = Markup('<div class="mk-sp-blank">Drawing…</div>')
    elif saved:
        # One picture for all themes: the theme of the page is unknown here.
        image = Markup(
            '<img src="{}" alt="{}" width="{}" '
            'style="background:#fff;border-radius:4px;max-width:100%">'
        )
        url = data_url(plot.png, "image/png")
        below = image.format(url, plot.alt, plots.WIDTH_PX)
    else:
        below = plot.svg + _data_html(plot)
    return Markup(
        '<figure style="display:inline-block;vertical-align:top;max-width:100%;'
        'margin:0 18px 14px 0"><div style="font-weight:600">{}</div>{}</figure>'
    ).format(html_text(plot.title), below)


def _data_html(plot: Plot) -> Markup:
    if plot.frame is None or plot.frame.empty:
        return NO_HTML
    count = len(plot.frame)
    return Markup(
        '<details><summary>Data ({:,} row{})</summary><div class="mk-sp-rows" '
        'tabindex="0" role="region" aria-label="{}: data">{}</div></details>'
    ).format(count, "" if count == 1 else "s", plot.title, table_html(plot.frame))


def table_html(frame: pd.DataFrame, most_rows: int | None = MOST_ROWS) -> Markup:
    """Return the first rows of a frame as HTML, and the number of other rows."""
    rows = frame if most_rows is None else frame.head(most_rows)
    heads, columns = list[Markup](), list[list[Markup]]()
    for name in map(str, frame.columns):
        number = Markup(' class="mk-num"' if frame[name].dtype.kind in "iuf" else "")
        text = name.removesuffix(MICRO_USD).replace("_", " ")
        heads.append(Markup("<th{}>{}</th>").format(number, html_text(text)))
        cell = Markup("<td{}>{}</td>").format
        values = rows[name].astype(object)
        columns.append([cell(number, html_text(_cell_text(name, v))) for v in values])
    row = Markup("<tr>{}</tr>").format
    body = NO_HTML.join(row(NO_HTML.join(r)) for r in zip(*columns, strict=True))
    more = len(frame) - len(rows)
    rest = Markup('<div class="mk-quiet">and {:,} more</div>').format(more)
    return Markup(
        '<table class="mk-table"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>{}'
    ).format(NO_HTML.join(heads), body, rest if more else "")


def _cell_text(name: str, value: Any) -> str:
    import pandas as pd

    if not isinstance(value, list | dict) and pd.isna(value):
        return ""
    if name.endswith(MICRO_USD) or "_micro_usd_" in name:
        return format_usd(int(value))
    if isinstance(value, pd.Timestamp):
        midnight = value == value.normalize()
        return f"{value:%Y-%m-%d}" if midnight else f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, float):
        return f"{value:z,.2f}"
    return shortened(" ".join(str(value).split()), LONGEST_CELL)


# -- the copy in a saved notebook ---------------------------------------------------


def saved_html(
    title: str,
    notice: str,
    reading: MonthReading | None,
    only: str | None = None,
    shown: Iterable[Plot] = (),
) -> Markup:
    parts = Markup('<div style="{}">{}</div>').format(QUIET, html_text(notice))
    if reading is not None and not notice:
        parts = figures_html(figures_of(reading, only)) + checks_html(reading)
        parts += plots_html((plot for plot in shown if plot.png), saved=True)
    return Markup(
        '<div style="margin:4px 0 8px"><div style="margin-bottom:6px"><b>{}</b>. '
        "Run the cell to use it.</div>{}</div>"
    ).format(html_text(title), parts)


def saved_text(
    title: str, notice: str, reading: MonthReading | None, only: str | None = None
) -> str:
    if reading is None or notice:
        return f"{title}: {notice}"
    lines = [title]
    lines += [f"{each.text} {each.label}" for each in figures_of(reading, only)]
    verdict = verdict_of(reading)
    return "\n".join([*lines, *([verdict.text] if verdict else [])])


# -- the page of a month --------------------------------------------------------------


async def write_report(
    spend: AsyncSpend,
    today: date,
    month: str | None,
    path: Path,
    budget: Any,
    labels: Mapping[str, str],
) -> Path:
    wanted = readable_month(month, today)
    # A month that is read now must not be compared with days that were read earlier.
    reading = await read_month(spend, wanted, By.FUNCTION, budget, today, refresh=True)
    groupings = list[MonthReading]()
    if not reading.is_empty or reading.is_current:
        reading = await read_checks(spend, reading)
    if not reading.is_empty:
        for by in (By.PROJECT, *((By.KEY,) if labels else ())):
            groupings.append(await read_month(spend, wanted, by, budget, today, labels))

    def write() -> Path:
        target = path.expanduser()
        write_file(target, page_html(reading, groupings).encode())
        return target

    return await to_thread.run_sync(write)


def page_html(reading: MonthReading, groupings: Iterable[MonthReading] = ()) -> Markup:
    """Return the page of a month, with sums by function and other groupings."""
    title = f"Spend · {month_name(reading.month)}"
    return Markup(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        '<meta name="generator" content="mediakit spend report">\n'
        "<title>{}</title>{}</head><body>\n<h1>{}</h1>\n"
        '<p class="mk-quiet">Read on {}. '
        "Days are in UTC, amounts in US dollars.</p>\n{}\n</body></html>\n"
    ).format(
        title,
        style_tag(PAGE_CSS),
        html_text(title),
        day_name(reading.today),
        Markup("\n").join(_page_parts(reading, groupings)),
    )


def _page_parts(
    reading: MonthReading, groupings: Iterable[MonthReading]
) -> Iterator[Markup]:
    if reading.is_empty:
        yield Markup("<p>{}</p>").format(html_text(empty_text(reading)))
        return
    yield figures_html(figures_of(reading, None)) + checks_html(reading)
    yield from _unexplained_parts(reading)
    yield from _outlook_parts(reading)
    yield plots_html([plots.by_day(reading), plots.so_far(reading)])
    for each in (reading, *groupings):
        heading = Markup("<h2>By {}</h2>").format(each.by.name_of_daily)
        yield heading + _wide(_sums_html(each))
    yield Markup("<h2>In detail</h2>") + plots_html(plots.further(reading))
    yield from _charges_parts(reading)


def _unexplained_parts(reading: MonthReading) -> Iterator[Markup]:
    reconciliation = reading.reconciliation
    if reconciliation is None or reconciliation.is_explained:
        return
    frame = reconciliation.frame()
    verdicts = frame["verdict"].astype("object")
    frame["verdict"] = verdicts.map(VERDICTS).fillna(VERDICTS[None])
    rows = frame[verdicts != "equal"]
    if len(rows):
        heading = Markup("<h2>What is not explained</h2>")
        yield heading + _wide(table_html(rows[[*UNEXPLAINED]], None))


def _outlook_parts(reading: MonthReading) -> Iterator[Markup]:
    texts = [each.text for each in (reading.budget_status, reading.forecast) if each]
    if texts:
        paragraphs = (Markup("<p>{}</p>").format(html_text(text)) for text in texts)
        title = "Budget and forecast" if reading.budget is not None else "Forecast"
        yield Markup("<h2>{}</h2>{}").format(title, NO_HTML.join(paragraphs))


def _wide(table: Markup) -> Markup:
    return Markup('<div class="wide" tabindex="0">{}</div>').format(table)


def _sums_html(reading: MonthReading) -> Markup:
    import pandas as pd

    by = reading.by
    daily = named(reading.daily)
    sums = daily.groupby(by.column, as_index=False)[["jobs", CHARGE]].sum()
    sums = sums.sort_values(CHARGE, ascending=False, kind="stable")
    total = sums[["jobs", CHARGE]].sum().to_frame().T.assign(**{by.column: "Total"})
    sums = pd.concat([sums, total])
    sums["share, %"] = sums[CHARGE] / (int(total[CHARGE].iloc[0]) or 1) * 100.0
    names = {by.column: by.value, "jobs": "charged jobs"}
    table = table_html(sums.rename(columns=names), None)
    return Markup('<div class="sums">{}</div>').format(table)


def _charges_parts(reading: MonthReading) -> Iterator[Markup]:
    charges = reading.charges
    file = prepare(charges, Format.CSV, f"spend-{reading.month}")
    rows = charges.head(MOST_CHARGES)
    kinds = zip(rows["function"], rows["kind"], strict=True)
    table = rows[["settled_at"]].assign(
        function=[function_title(path, kind) for path, kind in kinds],
        **{name: rows[name] for name in ("project", "prompt", "status", "job_id")},
        **{CHARGE: rows[CHARGE]},
    )
    table = table.rename(columns={"settled_at": "settled (UTC)", "job_id": "job"})
    yield Markup(
        '<h2>Charges</h2><p>{}, {}.\n<span class="download">{}</span></p>\n{}'
    ).format(
        jobs_text(charges),
        html_text(format_usd(int(charges[CHARGE].sum()))),
        file.link,
        _wide(table_html(table, None)),
    )
    more = len(charges) - MOST_CHARGES
    if more > 0:
        rest = Markup('<p class="mk-quiet">and {:,} more, which are in the CSV.</p>')
        yield rest.format(more)
