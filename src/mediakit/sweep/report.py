"""The HTML report of an export, which works offline and without Jupyter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from markupsafe import Markup

from mediakit.media import size_text
from mediakit.media_html import SAVED_PAGE_CSS, medium_html, tile_html
from mediakit.money import format_usd
from mediakit.safe_text import NO_HTML, html_text

MICRO_USD = "_micro_usd"

CSS = SAVED_PAGE_CSS + Path(__file__).with_suffix(".css").read_text("utf-8")

Row = Mapping[str, Any]
"""A row of the results, with its output's `file` and `size_bytes`, the URLs `src` and
`poster` of the page, `scores` and `fields`; without `src` it is not in the page."""


def report_html(
    title: str,
    rows: Sequence[Row],
    numbers: Mapping[str, object],
    evidence: Iterable[str],
    code: str,
    note: str = "",
) -> str:
    """Return the report; rows are in plan order, and None means unknown."""
    outputs = [row for row in rows if row["file"] is not None]
    prompts = {_sent_prompt(row) for row in outputs}
    shared = prompts.pop() if len(prompts) == 1 else None
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        f"<title>{escape(title)}</title><style>{CSS}</style></head><body>",
        f"<h1>{html_text(title)}</h1>",
        f'<p class="mk-quiet">{html_text(shared)}</p>' if shared else "",
        _numbers_html(numbers),
        f"<p>{html_text(note)}</p>" if note else "",
        *evidence,
        _kept_switch_html(outputs),
        *_sections_html(outputs, shared),
        _without_file_html([row for row in rows if row["file"] is None]),
        "<h2>Make it again</h2>",
        f'<pre class="panel"><code>{html_text(code)}</code></pre>',
        "</body></html>\n",
    ]
    return "\n".join(part for part in parts if part)


def _number_text(name: str, value: object) -> str:
    """Format a figure: money exactly, large numbers with commas, None as "unknown"."""
    if value is None:
        return "unknown"
    if isinstance(value, bool) or not isinstance(value, int):
        return str(value)
    return format_usd(value) if name.endswith(MICRO_USD) else f"{value:,}"


def _numbers_html(numbers: Mapping[str, object]) -> str:
    pairs = (
        f"<div><dt>{html_text(name.removesuffix(MICRO_USD).replace('_', ' '))}</dt>"
        f"<dd>{html_text(_number_text(name, value))}</dd></div>"
        for name, value in numbers.items()
    )
    return f'<dl class="panel numbers">{"".join(pairs)}</dl>'


def _kept_switch_html(rows: Sequence[Row]) -> str:
    kept = sum(bool(row["keep"]) for row in rows)
    if kept in (0, len(rows)):
        return ""
    return f'<label><input type="checkbox" id="kept"> Kept only ({kept:,})</label>'


def _sections_html(rows: Sequence[Row], shared: str | None) -> Iterator[str]:
    """Yield a grid for each value of the first axis, if there are two."""
    if not rows:
        yield '<p class="mk-quiet">No cell has a file yet.</p>'
        return
    if len(rows[0]["values"]) < 2:
        yield _grid_html(rows, shared, skip=0)
        return
    order = list(dict.fromkeys(row["values"][0] for row in rows))
    by_first = sorted(rows, key=lambda row: order.index(row["values"][0]))
    for (axis, value), group in groupby(by_first, lambda row: row["values"][0]):
        yield f"<h2>{html_text(value)} <small>{html_text(axis)}</small></h2>"
        yield _grid_html(list(group), shared or value, skip=1)


def _grid_html(rows: Sequence[Row], shared: str | None, skip: int) -> str:
    figure = Markup('<figure class="panel{}">{}</figure>\n').format
    figures = (
        figure(" kept" if row["keep"] else "", _tile(row, shared, skip)) for row in rows
    )
    return f'<div class="grid">{"".join(figures)}</div>'


def _tile(row: Row, shared: str | None, skip: int) -> Markup:
    prompt, charge_micro_usd = _sent_prompt(row), row["charge_micro_usd"]
    fact = Markup('<span class="mk-quiet">{}</span> {}').format
    facts: list[str] = [
        fact(html_text(axis), html_text(value)) for axis, value in row["values"][skip:]
    ]
    rank, tags = row["rank"], row["tags"]
    facts.append(f"rank {rank}" if rank else "")
    facts.append(html_text(f"#{tags.replace(', ', ' #')}") if tags else "")
    is_charged = charge_micro_usd is not None
    facts.append(html_text(format_usd(charge_micro_usd)) if is_charged else "")
    repeated = {shared, None, "", *(value for _, value in row["values"])}
    medium, name = row["media_type"], prompt or row["job_id"] or ""
    src, poster = row["src"] or "", row["poster"] or ""
    lines = [
        NO_HTML if prompt in repeated else html_text(prompt or ""),
        html_text(row["scores"]),
        Markup("<i>{}</i>").format(html_text(row["note"])) if row["note"] else "",
        _fields_html(row["fields"]),
        _file_html(row),
    ]
    if not src:
        src, medium = poster, "image" if poster else None
    medium_part = medium_html(src, medium, name, poster=poster, box=NO_HTML)
    wrapped = map(Markup("<span>{}</span>").format, filter(None, facts))
    return tile_html(medium_part, row["rating"], wrapped, lines, keep=bool(row["keep"]))


def _file_html(row: Row) -> Markup:
    """Return the name of the file, as a link if it is beside the page."""
    src, name = row["src"], html_text(row["file"])
    if src is None:
        size = size_text(row["size_bytes"])
        text = Markup('<small class="mk-quiet">{} ({}, not in this page)</small>')
        return text.format(name, size)
    if src.startswith("data:"):
        return Markup('<small class="mk-quiet">{}</small>').format(name)
    return Markup('<small><a href="{}">{}</a></small>').format(src, name)


def _sent_prompt(row: Row) -> str | None:
    """Return the prompt that was sent, of which an axis may have only the name."""
    prompt: str | None = row["fields"].get("prompt") or row["prompt"]
    return prompt


def _fields_html(fields: Mapping[str, str]) -> Markup:
    if not fields:
        return NO_HTML
    pair = Markup("<dt>{}</dt><dd>{}</dd>").format
    pairs = (pair(html_text(n), html_text(text)) for n, text in fields.items())
    details = Markup("<details><summary>All fields</summary><dl>{}</dl></details>")
    return details.format(NO_HTML.join(pairs))


def _without_file_html(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    lines = "".join(
        f"<tr><td>{html_text(', '.join(f'{a} {v}' for a, v in row['values']))}</td>"
        f"<td>{html_text(row['status'] or '')}</td>"
        f'<td class="mk-bad">{html_text(row["problem"] or "")}</td></tr>'
        for row in rows
    )
    head = "<tr><th>Cell</th><th>Status</th><th>Reason</th></tr>"
    return f"<h2>Without a file ({len(rows):,})</h2><table>{head}{lines}</table>"
