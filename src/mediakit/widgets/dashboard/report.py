"""The spend of a month as one HTML page, for somebody without Jupyter.

It needs no network and no script: pictures and the CSV are embedded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio import to_thread

from mediakit.markup import html_text
from mediakit.money import divide_half_up, format_usd
from mediakit.spend.exporting.files import write_file
from mediakit.widgets.dashboard import panels
from mediakit.widgets.dashboard.exports import Format, data_link, prepare
from mediakit.widgets.dashboard.figures import (
    figures_of,
    function_title,
    named,
    verdict_of,
)
from mediakit.widgets.dashboard.html import SIGNS, table_html
from mediakit.widgets.dashboard.months import month_title, readable_month
from mediakit.widgets.dashboard.reading import (
    CHARGE,
    By,
    MonthReading,
    SpendReports,
    read_checks,
    read_month,
)

if TYPE_CHECKING:
    import pandas as pd

MOST_CHARGES = 5_000
DARK = "screen and (prefers-color-scheme: dark)"

CSS = """
:root{color-scheme:light dark;--ink:#1b1f24;--quiet:#59636e;--line:#d5dae0;
 --page:#fff;--panel:#f5f7f9;--accent:#0b62b8;--good:#1a7f4b;--warn:#8a5200}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e7eaee;--quiet:#9aa5b1;
 --line:#363d46;--page:#14171a;--panel:#1d2126;--accent:#7ab8ff;--good:#63d297;
 --warn:#ffb95e}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1180px;padding:32px 28px 64px;background:var(--page);
 color:var(--ink);font:15px/1.5 system-ui,"Segoe UI",Roboto,Helvetica,Arial,sans-serif}
h1{font-size:26px;line-height:1.25;margin:0 0 2px}
h2{font-size:18px;line-height:1.35;margin:34px 0 10px}
h3{font-size:14px;margin:0 0 4px}
p{margin:6px 0}
.quiet,dt{color:var(--quiet)}
.numbers{display:flex;flex-wrap:wrap;gap:14px 36px;margin:18px 0 14px;
 padding:14px 18px;border:1px solid var(--line);border-radius:8px;
 background:var(--panel)}
.numbers div{display:flex;flex-direction:column-reverse}
.numbers dt{font-size:13px}.numbers dd{margin:0;font-size:22px;font-weight:600;
 font-variant-numeric:tabular-nums}
.good{color:var(--good)}.warn{color:var(--warn)}
.plots{display:grid;gap:26px 32px;align-items:start;margin-top:22px;
 grid-template-columns:repeat(auto-fit,minmax(min(100%,400px),1fr))}
figure{margin:0;min-width:0;max-width:620px}
figure img{display:block;width:100%;height:auto}
ul.legend{display:flex;flex-wrap:wrap;gap:2px 14px;margin:4px 0 0;padding:0;
 list-style:none;font-size:13px;color:var(--quiet);font-variant-numeric:tabular-nums}
ul.legend i{--mk-c:var(--mk-light);display:inline-block;width:10px;height:10px;
 margin-right:5px}
@media screen and (prefers-color-scheme:dark){ul.legend i{--mk-c:var(--mk-dark)}}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13px;
 font-variant-numeric:tabular-nums}
th,td{text-align:left;vertical-align:top;padding:4px 16px 4px 0;
 border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--quiet);white-space:nowrap}
td{overflow-wrap:anywhere}
.num,.mk-num{text-align:right;white-space:nowrap;padding-right:0}
.num+td,.num+th{padding-left:24px}
table.sums{width:auto;min-width:min(100%,600px)}
tfoot td{font-weight:600;border-bottom:0}
td code{font:12px ui-monospace,SFMono-Regular,Menlo,monospace}
.when{white-space:nowrap}
a{color:var(--accent)}
@media print{:root{color-scheme:light;--ink:#000;--quiet:#444;--line:#bbb;--panel:#fff;
 --accent:#000}body{max-width:none;padding:0;font-size:10.5pt}
 .download{display:none}.plots{grid-template-columns:1fr 1fr;gap:16px}
 figure,tr,.numbers{break-inside:avoid}h2,h3{break-after:avoid}
 thead{display:table-header-group}}
"""


async def write_report(
    spend: SpendReports, today: date, month: str | None, path: Path, budget: Any
) -> Path:
    """Read a month and write it as a page; see `AsyncSpend.report`."""
    asked = readable_month(month, today)
    reading = await read_month(spend, asked, By.FUNCTION, budget, today)
    if not reading.is_empty:
        reading = await read_checks(spend, reading)

    def write() -> Path:
        target = path.expanduser()
        write_file(target, page_html(reading).encode())
        return target

    return await to_thread.run_sync(write)


def page_html(reading: MonthReading) -> str:
    """Draw the plots and return the page; blocks."""
    title = f"Spend · {month_title(reading.month)}"
    body = _empty_html(reading) if reading.is_empty else "\n".join(_parts(reading))
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            '<meta name="generator" content="mediakit spend report">',
            f"<title>{escape(title)}</title><style>{CSS}{SIGNS}</style></head><body>",
            f"<h1>{html_text(title)}</h1>",
            f'<p class="quiet">Read on {reading.today:%B} {reading.today.day}, '
            f"{reading.today.year}. Days are in UTC, amounts in US dollars.</p>",
            body,
            "</body></html>\n",
        ]
    )


def _empty_html(reading: MonthReading) -> str:
    return f"<p>Nothing was charged in {month_title(reading.month)}.</p>"


def _parts(reading: MonthReading) -> Iterator[str]:
    figures = "".join(
        f"<div><dt>{html_text(f.label)}</dt>"
        f'<dd title="{escape(f.exact)}">{html_text(f.text)}</dd></div>'
        for f in figures_of(reading, None)
    )
    yield f'<dl class="numbers">{figures}</dl>'
    yield from _verdict_parts(reading)
    drawn = (panels.day_panel(reading), panels.budget_panel(reading))
    yield f'<div class="plots">{"".join(map(_figure_html, drawn))}</div>'
    yield f"<h2>By function</h2>{_sums_html(reading)}"
    more = "".join(map(_figure_html, panels.further_panels(reading)))
    yield f'<h2>In detail</h2><div class="plots">{more}</div>'
    yield from _charges_parts(reading)


def _verdict_parts(reading: MonthReading) -> Iterator[str]:
    verdict = verdict_of(reading)
    if verdict is not None:
        yield (
            f'<p class="{verdict.tone}"><span aria-hidden="true">{verdict.mark}</span> '
            f"{html_text(verdict.text)}</p>"
        )
        if not reading.reconciliation.is_explained:
            found = reading.reconciliation.frame()
            differing = found[found["verdict"] != "match"]
            yield f'<div class="wide">{table_html(differing, None)}</div>'
    for trouble in reading.troubles:
        yield f'<p class="warn">{html_text(trouble)}</p>'


def _figure_html(panel: panels.Panel) -> str:
    head = f"<h3>{html_text(panel.title)}</h3>"
    if panel.trouble:
        return f'<figure>{head}<p class="quiet">{html_text(panel.trouble)}</p></figure>'
    legend = "".join(
        f"<li>{each.sign}{html_text(each.text)}</li>" for each in panel.legend
    )
    picture = (
        f'<picture><source media="{DARK}" srcset="{panel.uri("dark")}">'
        f"{panel.picture('light')}</picture>"
    )
    return (
        f"<figure>{head}{picture}"
        + (f'<ul class="legend">{legend}</ul>' if legend else "")
        + "</figure>"
    )


def _sums_html(reading: MonthReading) -> str:
    daily = named(reading.daily)
    sums = daily.groupby("function")[["jobs", CHARGE]].sum()
    order = sums.sort_values(CHARGE, ascending=False)
    rows = [
        (str(name), int(jobs), int(charge)) for name, jobs, charge in order.itertuples()
    ]
    total = sum(charge for *_, charge in rows)
    write = aligned([total, *(charge for *_, charge in rows)])
    body = "".join(_sum_row(*row, total, write) for row in rows)
    jobs = sum(count for _, count, _ in rows)
    foot = _sum_row("Total", jobs, total, total, write)
    return (
        '<table class="sums"><thead><tr><th>Function</th><th class="num">Jobs</th>'
        '<th class="num">Charge</th><th class="num">Share</th></tr></thead>'
        f"<tbody>{body}</tbody><tfoot>{foot}</tfoot></table>"
    )


def aligned(amounts: Sequence[int]) -> Callable[[int], str]:
    """Return a formatter that shows all amounts exactly, with equal decimals."""
    places = max((len(format_usd(n).partition(".")[2]) for n in amounts), default=2)

    def write(micro_usd: int) -> str:
        whole, _, part = format_usd(micro_usd).partition(".")
        return f"{whole}.{part.ljust(places, '0')}"

    return write


def _sum_row(
    name: str, jobs: int, charge: int, total: int, write: Callable[[int], str]
) -> str:
    share = ""
    if total > 0 and charge >= 0:
        whole, tenth = divmod(divide_half_up(charge * 1000, total), 10)
        share = f"{whole}.{tenth} %"
    return (
        f'<tr><td>{html_text(name)}</td><td class="num">{jobs:,}</td>'
        f'<td class="num">{html_text(write(charge))}</td>'
        f'<td class="num">{share}</td></tr>'
    )


# -- the charges --------------------------------------------------------------------


def _charges_parts(reading: MonthReading) -> Iterator[str]:
    charges = reading.charges
    file = prepare(charges, Format.CSV, f"spend-{reading.month}")
    link = data_link(file, f"Download {file.name}")
    total = format_usd(file.total_micro_usd)
    yield f"<h2>Charges</h2><p>{len(charges):,} settled, {html_text(total)}."
    yield f'<span class="download">{link}</span></p>'
    yield f'<div class="wide">{_charges_html(charges.head(MOST_CHARGES))}</div>'
    more = len(charges) - MOST_CHARGES
    if more > 0:
        yield f'<p class="quiet">and {more:,} more, which are in the CSV.</p>'


def _charges_html(charges: pd.DataFrame) -> str:
    heads = ("Settled (UTC)", "Function", "Project", "Prompt", "Job")
    head = "".join(f"<th>{name}</th>" for name in heads)
    write = aligned(charges[CHARGE].tolist())
    body = "".join(_charge_row(row, write) for row in _records(charges))
    return (
        f'<table><thead><tr>{head}<th class="num">Charge</th></tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def _records(charges: pd.DataFrame) -> Iterator[dict[str, Any]]:
    names = ["settled_at", "function", "kind", "project", "prompt", "job_id", CHARGE]
    known = charges[names].astype("object")
    for row in known.where(known.notna(), None).to_dict("records"):
        yield {str(name): value for name, value in row.items()}


def _charge_row(row: dict[str, Any], write: Callable[[int], str]) -> str:
    texts = (
        function_title(row["function"], row["kind"]),
        row["project"] or "",
        " ".join((row["prompt"] or "").split()),
    )
    cells = "".join(f"<td>{html_text(text)}</td>" for text in texts)
    return (
        f'<tr><td class="when">{row["settled_at"]:%Y-%m-%d %H:%M}</td>{cells}'
        f"<td><code>{html_text(str(row['job_id']))}</code></td>"
        f'<td class="num">{html_text(write(int(row[CHARGE])))}</td></tr>'
    )
