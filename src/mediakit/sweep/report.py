"""The HTML report of an export: it works without Jupyter and offline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from urllib.parse import quote

from mediakit.money import format_usd
from mediakit.safe_text import html_text

MARK = '<meta name="generator" content="mediakit export">'
BEST_RATING = 5
MICRO_USD = "_micro_usd"

CSS = """
:root{color-scheme:light dark;--ink:#1b1f24;--quiet:#59636e;--line:#d5dae0;
 --page:#fff;--panel:#f5f7f9;--accent:#0b62b8;--bad:#b3261e;--keep:#1a7f4b}
@media (prefers-color-scheme:dark){:root{--ink:#e7eaee;--quiet:#9aa5b1;--line:#363d46;
 --page:#14171a;--panel:#1d2126;--accent:#7ab8ff;--bad:#ff8a80;--keep:#63d297}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1480px;padding:28px 24px 64px;background:var(--page);
 color:var(--ink);font:15px/1.5 system-ui,"Segoe UI",Roboto,Helvetica,Arial,sans-serif}
h1{font-size:26px;line-height:1.25;margin:0 0 6px;overflow-wrap:anywhere}
h2{font-size:18px;line-height:1.35;margin:36px 0 12px;overflow-wrap:anywhere}
h2 small{font-size:13px;font-weight:400;color:var(--quiet)}
.quiet,dt,figcaption small{color:var(--quiet)}
.numbers{display:flex;flex-wrap:wrap;gap:14px 34px;margin:18px 0 0;padding:14px 18px;
 border:1px solid var(--line);border-radius:8px;background:var(--panel)}
.numbers div{display:flex;flex-direction:column-reverse}
.numbers dt{font-size:13px}.numbers dd{margin:0;font-size:21px;font-weight:600;
 font-variant-numeric:tabular-nums}
.grid{display:grid;gap:18px;grid-template-columns:repeat(auto-fill,minmax(280px,1fr))}
figure{margin:0;border:1px solid var(--line);border-radius:8px;overflow:hidden;
 background:var(--panel);content-visibility:auto;contain-intrinsic-size:280px 300px}
figure.kept{border-color:var(--keep)}
figure img,figure video{display:block;width:100%;aspect-ratio:16/9;object-fit:contain;
 background:#000}
figure audio{display:block;width:100%;padding:10px}
figcaption{padding:10px 14px 12px;font-size:13.5px;overflow-wrap:anywhere}
figcaption p{margin:4px 0 0}
a{color:var(--accent)}
figcaption a{display:block;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;
 color:var(--quiet)}
.facts{display:flex;flex-wrap:wrap;gap:2px 12px}
.stars{color:var(--accent);letter-spacing:1px;white-space:nowrap}
.keep{color:var(--keep);font-weight:600}
pre{padding:14px 18px;border:1px solid var(--line);border-radius:8px;overflow-x:auto;
 background:var(--panel);font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,monospace}
code{font-family:ui-monospace,SFMono-Regular,Menlo,monospace;font-size:.92em}
table{border-collapse:collapse;width:100%;font-size:13.5px}
th,td{text-align:left;vertical-align:top;padding:5px 14px 5px 0;overflow-wrap:anywhere;
 border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--quiet);white-space:nowrap}
 td.bad{color:var(--bad)}
label{display:inline-block;margin-top:18px}
body:has(#kept:checked) figure:not(.kept){display:none}
@media print{:root{color-scheme:light;--ink:#000;--quiet:#444;--line:#bbb;--page:#fff;
 --panel:#fff;--accent:#000;--bad:#000;--keep:#000}
 body{max-width:none;padding:0;font-size:11pt}label{display:none}
 .grid{grid-template-columns:repeat(3,1fr);gap:10px}
 figure,tr{break-inside:avoid;content-visibility:visible}
 h2{break-after:avoid}pre{white-space:pre-wrap}
 figcaption a{white-space:normal}}
"""


@dataclass(frozen=True)
class ReportCell:
    """One cell in the report; None is unknown.

    Args:
        values: The axes and their values, as text, in order.
        status: The status of the cell.
        file: The name of its file in the folder; None if it has none.
        poster: The name of its poster.
        media_type: "video", "image" or "audio".
        prompt: The prompt.
        rating: The rating, from 1 to 5.
        keep: Whether it is kept.
        rank: Its place in the ranking by blind comparisons, from 1.
        tags: Its tags, separated by commas.
        note: What somebody noted of it.
        charge_micro_usd: The charge.
        problem: Why it has no file.
        job_id: The job id.
    """

    values: Sequence[tuple[str, str]]
    status: str
    file: str | None = None
    poster: str | None = None
    media_type: str | None = None
    prompt: str | None = None
    rating: int | None = None
    keep: bool = False
    rank: int | None = None
    tags: str | None = None
    note: str | None = None
    charge_micro_usd: int | None = None
    problem: str | None = None
    job_id: str | None = None


def report_html(
    title: str, cells: Sequence[ReportCell], numbers: Mapping[str, object], code: str
) -> str:
    """Write the report.

    Args:
        title: The title.
        cells: The cells, in the order of the plan.
        numbers: Figures by name; money ends in `_micro_usd`, None is unknown.
        code: The code that recreates the plan.
    """
    made = [cell for cell in cells if cell.file is not None]
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        f"{MARK}<title>{escape(title)}</title><style>{CSS}</style></head><body>",
        f"<h1>{html_text(title)}</h1>",
        _common_prompt_html(made),
        _numbers_html(numbers),
        _kept_switch_html(made),
        *_sections_html(made),
        _without_file_html([cell for cell in cells if cell.file is None]),
        f"<h2>Make it again</h2><pre><code>{html_text(code)}</code></pre>",
        "</body></html>\n",
    ]
    return "\n".join(part for part in parts if part)


def number_text(name: str, value: object) -> str:
    """Format a figure: money exactly, large numbers with commas, None as "unknown"."""
    if value is None:
        return "unknown"
    if isinstance(value, bool) or not isinstance(value, int):
        return str(value)
    return format_usd(value) if name.endswith(MICRO_USD) else f"{value:,}"


def _numbers_html(numbers: Mapping[str, object]) -> str:
    if not numbers:
        return ""
    pairs = (
        f"<div><dt>{html_text(name.removesuffix(MICRO_USD).replace('_', ' '))}</dt>"
        f"<dd>{html_text(number_text(name, value))}</dd></div>"
        for name, value in numbers.items()
    )
    return f'<dl class="numbers">{"".join(pairs)}</dl>'


def _kept_switch_html(cells: Sequence[ReportCell]) -> str:
    kept = sum(cell.keep for cell in cells)
    if kept in (0, len(cells)):
        return ""
    return f'<label><input type="checkbox" id="kept"> Kept only ({kept:,})</label>'


def _common_prompt(cells: Sequence[ReportCell]) -> str | None:
    prompts = {cell.prompt for cell in cells}
    return prompts.pop() if len(prompts) == 1 else None


def _common_prompt_html(cells: Sequence[ReportCell]) -> str:
    prompt = _common_prompt(cells)
    return f'<p class="quiet">{html_text(prompt)}</p>' if prompt else ""


def _sections_html(cells: Sequence[ReportCell]) -> Iterator[str]:
    """Yield a grid for each value of the first axis, if there is another axis."""
    common_prompt = _common_prompt(cells)
    if not cells:
        yield '<p class="quiet">No cell has a file yet.</p>'
        return
    if len(cells[0].values) < 2:
        yield _grid_html(cells, common_prompt, skip=0)
        return
    by_first = groupby(_sorted_by_first(cells), lambda cell: cell.values[0])
    for (axis, value), group in by_first:
        heading = f"{html_text(value)} <small>{html_text(axis)}</small>"
        grid = _grid_html(list(group), common_prompt or value, skip=1)
        yield f"<h2>{heading}</h2>{grid}"


def _sorted_by_first(cells: Sequence[ReportCell]) -> list[ReportCell]:
    order = {cell.values[0]: None for cell in cells}
    place = {value: index for index, value in enumerate(order)}
    return sorted(cells, key=lambda cell: place[cell.values[0]])


def _grid_html(
    cells: Sequence[ReportCell], common_prompt: str | None, skip: int
) -> str:
    figures = "\n".join(_figure_html(cell, common_prompt, skip) for cell in cells)
    return f'<div class="grid">{figures}</div>'


def _figure_html(cell: ReportCell, common_prompt: str | None, skip: int) -> str:
    kept = ' class="kept"' if cell.keep else ""
    caption = _caption_html(cell, common_prompt, skip)
    return f"<figure{kept}>{_media_html(cell)}{caption}</figure>"


def _media_html(cell: ReportCell) -> str:
    source = f'src="{_link(cell.file or "")}"'
    label = escape(cell.prompt or cell.job_id or "", quote=True)
    if cell.media_type == "image":
        return f'<img loading="lazy" {source} alt="{label}">'
    if cell.media_type == "audio":
        return f'<audio controls preload="none" {source} aria-label="{label}"></audio>'
    poster = f' poster="{_link(cell.poster)}"' if cell.poster else ""
    attributes = f'{source}{poster} aria-label="{label}"'
    return f'<video controls loop playsinline preload="none" {attributes}></video>'


def _link(name: str) -> str:
    return escape(quote(name), quote=True)


def _caption_html(cell: ReportCell, common_prompt: str | None, skip: int) -> str:
    facts = [
        *(_value_html(axis, value) for axis, value in cell.values[skip:]),
        _stars_html(cell.rating),
        '<span class="keep">kept</span>' if cell.keep else "",
        f"<span>rank {cell.rank}</span>" if cell.rank else "",
        _tags_html(cell.tags),
        _charge_html(cell.charge_micro_usd),
    ]
    prompt = cell.prompt if cell.prompt != common_prompt else None
    is_axis = any(value == prompt for _, value in cell.values)
    prompt_html = f"<p>{html_text(prompt)}</p>" if prompt and not is_axis else ""
    note_html = f"<p><i>{html_text(cell.note)}</i></p>" if cell.note else ""
    link = f'<a href="{_link(cell.file or "")}">{html_text(cell.file or "")}</a>'
    return (
        f'<figcaption><div class="facts">{"".join(facts)}</div>{prompt_html}'
        f"{note_html}<p><small>{link}</small></p></figcaption>"
    )


def _value_html(axis: str, value: str) -> str:
    return (
        f'<span><span class="quiet">{html_text(axis)}</span> {html_text(value)}</span>'
    )


def _stars_html(rating: int | None) -> str:
    if rating is None:
        return ""
    stars = "★" * rating + "☆" * (BEST_RATING - rating)
    label = f"rated {rating} of {BEST_RATING}"
    return f'<span class="stars" role="img" aria-label="{label}">{stars}</span>'


def _tags_html(tags: str | None) -> str:
    return f"<span>#{html_text(tags.replace(', ', ' #'))}</span>" if tags else ""


def _charge_html(charge_micro_usd: int | None) -> str:
    if charge_micro_usd is None:
        return ""
    return f"<span>{html_text(format_usd(charge_micro_usd))}</span>"


def _without_file_html(cells: Sequence[ReportCell]) -> str:
    if not cells:
        return ""
    rows = "".join(
        f"<tr><td>{html_text(', '.join(f'{a} {v}' for a, v in cell.values))}</td>"
        f"<td>{html_text(cell.status)}</td>"
        f'<td class="bad">{html_text(cell.problem or "")}</td></tr>'
        for cell in cells
    )
    head = "<tr><th>Cell</th><th>Status</th><th>Reason</th></tr>"
    return f"<h2>Without a file ({len(cells):,})</h2><table>{head}{rows}</table>"
