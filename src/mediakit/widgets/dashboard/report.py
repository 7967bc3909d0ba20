"""The HTML report of a month's spend, which needs no Jupyter.

It needs no network and no script: pictures and the CSV are embedded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio import to_thread
from markupsafe import Markup

from mediakit.money import divide_half_up, format_usd
from mediakit.safe_text import NO_HTML, html_text
from mediakit.spend.dates import day_name, month_name
from mediakit.spend.exporting import write_file
from mediakit.widgets.dashboard import panels
from mediakit.widgets.dashboard.exports import Format, data_link, prepare
from mediakit.widgets.dashboard.figures import (
    figures_of,
    function_title,
    named,
    verdict_of,
)
from mediakit.widgets.dashboard.html import SIGNS, legend_html, table_html
from mediakit.widgets.dashboard.month_data import (
    CHARGE,
    By,
    MonthReading,
    SpendReports,
    read_checks,
    read_month,
)
from mediakit.widgets.dashboard.months import readable_month
from mediakit.widgets.toolkit.styles import style_tag

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


def page_html(reading: MonthReading) -> Markup:
    """Draw the plots and return the page; blocks."""
    title = f"Spend · {month_name(reading.month)}"
    return Markup(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        '<meta name="generator" content="mediakit spend report">\n'
        "<title>{}</title>{}</head><body>\n<h1>{}</h1>\n"
        '<p class="quiet">Read on {}. '
        "Days are in UTC, amounts in US dollars.</p>\n{}\n</body></html>\n"
    ).format(
        title,
        style_tag(CSS + SIGNS),
        html_text(title),
        day_name(reading.today),
        Markup("\n").join(_parts(reading)),
    )


def _parts(reading: MonthReading) -> Iterator[Markup]:
    if reading.is_empty:
        nothing = Markup("<p>Nothing was charged in {}.</p>")
        yield nothing.format(month_name(reading.month))
        return
    figure = Markup('<div><dt>{}</dt><dd title="{}">{}</dd></div>')
    figures = NO_HTML.join(
        figure.format(html_text(f.label), f.exact, html_text(f.text))
        for f in figures_of(reading, None)
    )
    yield Markup('<dl class="numbers">{}</dl>').format(figures)
    yield from _verdict_parts(reading)
    plots = Markup('<div class="plots">{}</div>')
    drawn = (panels.day_panel(reading), panels.budget_panel(reading))
    yield plots.format(NO_HTML.join(map(_figure_html, drawn)))
    yield Markup("<h2>By function</h2>{}").format(_sums_html(reading))
    more = NO_HTML.join(map(_figure_html, panels.further_panels(reading)))
    yield Markup("<h2>In detail</h2>") + plots.format(more)
    yield from _charges_parts(reading)


def _verdict_parts(reading: MonthReading) -> Iterator[Markup]:
    verdict = verdict_of(reading)
    wide = Markup('<div class="wide">{}</div>')
    if verdict is not None:
        yield Markup('<p class="{}"><span aria-hidden="true">{}</span> {}</p>').format(
            verdict.tone, verdict.mark, html_text(verdict.text)
        )
        if not reading.reconciliation.is_explained:
            found = reading.reconciliation.frame()
            differing = found[found["verdict"] != "match"]
            yield wide.format(table_html(differing, None))
    for trouble in reading.troubles:
        yield Markup('<p class="warn">{}</p>').format(html_text(trouble))


def _figure_html(panel: panels.Panel) -> Markup:
    if panel.trouble:
        below = Markup('<p class="quiet">{}</p>').format(html_text(panel.trouble))
    else:
        below = Markup('<picture><source media="{}" srcset="{}">{}</picture>{}').format(
            DARK,
            panel.uri("dark"),
            panel.picture("light"),
            legend_html(panel, "legend"),
        )
    figure = Markup("<figure><h3>{}</h3>{}</figure>")
    return figure.format(html_text(panel.title), below)


def _sums_html(reading: MonthReading) -> Markup:
    daily = named(reading.daily)
    sums = daily.groupby("function")[["jobs", CHARGE]].sum()
    order = sums.sort_values(CHARGE, ascending=False)
    rows = [
        (str(name), int(jobs), int(charge)) for name, jobs, charge in order.itertuples()
    ]
    total = sum(charge for *_, charge in rows)
    write = aligned([total, *(charge for *_, charge in rows)])
    body = NO_HTML.join(_sum_row(*row, total, write) for row in rows)
    jobs = sum(count for _, count, _ in rows)
    foot = _sum_row("Total", jobs, total, total, write)
    return Markup(
        '<table class="sums"><thead><tr><th>Function</th><th class="num">Jobs</th>'
        '<th class="num">Charge</th><th class="num">Share</th></tr></thead>'
        "<tbody>{}</tbody><tfoot>{}</tfoot></table>"
    ).format(body, foot)


def aligned(amounts: Sequence[int]) -> Callable[[int], str]:
    """Return a formatter that shows all amounts exactly, with equal decimals."""
    places = max((len(format_usd(n).partition(".")[2]) for n in amounts), default=2)

    def write(micro_usd: int) -> str:
        whole, _, part = format_usd(micro_usd).partition(".")
        return f"{whole}.{part.ljust(places, '0')}"

    return write


def _sum_row(
    name: str, jobs: int, charge: int, total: int, write: Callable[[int], str]
) -> Markup:
    share = ""
    if total > 0 and charge >= 0:
        whole, tenth = divmod(divide_half_up(charge * 1000, total), 10)
        share = f"{whole}.{tenth} %"
    return Markup(
        '<tr><td>{}</td><td class="num">{:,}</td>'
        '<td class="num">{}</td><td class="num">{}</td></tr>'
    ).format(html_text(name), jobs, html_text(write(charge)), share)


# -- the charges --------------------------------------------------------------------


def _charges_parts(reading: MonthReading) -> Iterator[Markup]:
    charges = reading.charges
    file = prepare(charges, Format.CSV, f"spend-{reading.month}")
    link = data_link(file, f"Download {file.name}")
    total = format_usd(file.total_micro_usd)
    yield Markup(
        "<h2>Charges</h2><p>{:,} settled, {}.\n"
        '<span class="download">{}</span></p>\n<div class="wide">{}</div>'
    ).format(
        len(charges), html_text(total), link, _charges_html(charges.head(MOST_CHARGES))
    )
    more = len(charges) - MOST_CHARGES
    if more > 0:
        rest = Markup('<p class="quiet">and {:,} more, which are in the CSV.</p>')
        yield rest.format(more)


def _charges_html(charges: pd.DataFrame) -> Markup:
    write = aligned(charges[CHARGE].tolist())
    return Markup(
        "<table><thead><tr><th>Settled (UTC)</th><th>Function</th><th>Project</th>"
        '<th>Prompt</th><th>Job</th><th class="num">Charge</th></tr></thead>'
        "<tbody>{}</tbody></table>"
    ).format(NO_HTML.join(_charge_row(row, write) for row in _records(charges)))


def _records(charges: pd.DataFrame) -> Iterator[dict[str, Any]]:
    names = ["settled_at", "function", "kind", "project", "prompt", "job_id", CHARGE]
    known = charges[names].astype("object")
    for row in known.where(known.notna(), None).to_dict("records"):
        yield {str(name): value for name, value in row.items()}


def _charge_row(row: dict[str, Any], write: Callable[[int], str]) -> Markup:
    texts = (
        function_title(row["function"], row["kind"]),
        row["project"] or "",
        " ".join((row["prompt"] or "").split()),
    )
    return Markup(
        '<tr><td class="when">{:%Y-%m-%d %H:%M}</td><td>{}</td><td>{}</td><td>{}</td>'
        '<td><code>{}</code></td><td class="num">{}</td></tr>'
    ).format(
        row["settled_at"],
        *map(html_text, texts),
        html_text(str(row["job_id"])),
        html_text(write(int(row[CHARGE]))),
    )
