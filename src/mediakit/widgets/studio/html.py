"""The parts of the studio as HTML; pure. Everything from outside is escaped."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape

from mediakit.markup import html_text
from mediakit.money import format_usd
from mediakit.widgets.card import QUIET
from mediakit.widgets.studio.glance import Glance
from mediakit.widgets.studio.making.offers import Offer
from mediakit.widgets.studio.past.rows import Row
from mediakit.widgets.theme import line_html, style_block

BARS_PX = 20
CSS = """
.mk-studio.mk-form{padding:6px 14px 14px;border-radius:6px;box-sizing:border-box;
 border:1px solid var(--jp-border-color2)}
.mk-studio.mk-form .mk-st-head{margin:4px 0 8px}
.mk-st-title{display:flex;flex-wrap:wrap;align-items:baseline;gap:2px 14px}
.mk-st-title h3{margin:0;font-size:18px;font-weight:600;
 color:var(--jp-ui-font-color0)}
.mk-studio.mk-form .mk-st-top{display:flex;flex-flow:row wrap;align-items:flex-end;
 justify-content:space-between;gap:8px 24px;margin-bottom:12px}
.mk-studio.mk-form .mk-st-top>.widget-html{flex:1 1 300px;width:auto;min-width:0}
.mk-st-glance{display:flex;flex-wrap:wrap;gap:6px 28px;margin:0}
.mk-st-glance>div{display:flex;flex-direction:column}
.mk-st-glance span{font-size:12px;color:var(--jp-ui-font-color2)}
.mk-st-glance b{font-weight:400;font-size:15px;font-variant-numeric:tabular-nums;
 color:var(--jp-ui-font-color0)}
.mk-st-glance>div:first-child b{font-weight:600}
.mk-st-bars{display:block;height:22px}
.mk-st-bars rect{fill:var(--jp-brand-color1)}
.mk-st-bars .mk-st-rest{fill:var(--jp-border-color2)}
.mk-studio.mk-form .mk-st-tabs{width:auto;margin:0 0 12px}
.mk-studio.mk-form .mk-st-tabs .widget-toggle-button{min-width:110px}
.mk-studio.mk-form .mk-st-tools{display:flex;flex-flow:row wrap;align-items:flex-end;
 gap:8px 12px;width:100%;margin-bottom:12px}
.mk-studio.mk-form .mk-st-tool{display:flex;flex-direction:column;align-items:stretch;
 flex:0 1 150px;width:auto;min-width:120px;height:auto;gap:2px}
.mk-studio.mk-form .mk-st-search{flex:1 1 240px;max-width:420px}
.mk-studio.mk-form .mk-st-tool>.widget-label{width:auto;min-height:0;padding:0;
 flex:none;
 text-align:left;font-size:12px;color:var(--jp-ui-font-color2)}
.mk-studio.mk-form .mk-st-tool>input,.mk-studio.mk-form .mk-st-tool>select{width:100%;
 flex:none;
 height:28px;box-sizing:border-box}
.mk-studio.mk-form .mk-st-grid{display:grid;gap:10px;width:100%;align-items:stretch;
 grid-template-columns:repeat(auto-fill,minmax(250px,1fr))}
.mk-studio.mk-form .mk-st-card,.mk-studio.mk-form .mk-st-row{position:relative;
 border-radius:4px;
 border:1px solid var(--jp-border-color2);background:var(--jp-layout-color1)}
.mk-studio.mk-form .mk-st-card{padding:10px 14px 12px;gap:4px;height:auto}
.mk-studio.mk-form .mk-st-card:hover,.mk-studio.mk-form .mk-st-row:hover{
 border-color:var(--jp-brand-color1)}
.mk-studio.mk-form .mk-st-card .mk-st-pick{all:unset;font-weight:600;font-size:14px;
 line-height:1.35;cursor:pointer;color:var(--jp-ui-font-color0);white-space:normal}
.mk-studio.mk-form .mk-st-pick::after{content:"";position:absolute;inset:0;
 border-radius:4px}
.mk-studio.mk-form .mk-st-pick:focus-visible::after{
 outline:2px solid var(--jp-brand-color1)}
.mk-st-doc{font-size:13px;line-height:1.4}
.mk-st-charged{margin-top:4px;font-size:12px;color:var(--jp-ui-font-color2);
 font-variant-numeric:tabular-nums}
.mk-studio.mk-form .mk-st-back{align-self:flex-start;margin-bottom:12px}
.mk-studio.mk-form .mk-st-form .mk-form{padding:0}
.mk-studio.mk-form .mk-st-form .mk-meta span:not(:last-child){display:none}
.mk-studio.mk-form .mk-st-history{display:flex;flex-flow:row wrap-reverse;gap:14px 24px;
 align-items:flex-end;width:100%}
.mk-studio.mk-form .mk-st-list{flex:1 1 480px;min-width:0;gap:6px}
.mk-studio.mk-form .mk-st-opened{flex:1 1 400px;min-width:0;gap:6px;padding:10px 12px;
 border-radius:4px;border:1px solid var(--jp-border-color2)}
.mk-studio.mk-form .mk-st-opened>.jupyter-button{align-self:flex-end}
.mk-studio.mk-form .mk-st-row{display:flex;flex-flow:row nowrap;align-items:center;
 gap:10px;
 padding:6px 10px 6px 6px;width:100%;height:auto;box-sizing:border-box}
.mk-studio.mk-form .mk-st-row>.widget-html{flex:1 1 auto;min-width:0}
.mk-studio.mk-form .mk-st-row .widget-html-content{min-width:0}
.mk-studio.mk-form .mk-st-row.mk-st-now{border-left:3px solid var(--jp-brand-color1)}
.mk-studio.mk-form .mk-st-row .jupyter-button{position:relative;z-index:1}
.mk-studio.mk-form .mk-st-row .mk-st-pick{position:static}
.mk-st-line{display:flex;align-items:center;gap:12px}
.mk-st-thumb{position:relative;flex:0 0 72px;height:48px;border-radius:3px;
 overflow:hidden;display:flex;align-items:center;justify-content:center;
 background:var(--jp-layout-color2);color:var(--jp-ui-font-color2);font-size:18px}
.mk-st-thumb img{width:100%;height:100%;object-fit:cover;max-width:none}
.mk-st-what{flex:1 1 auto;min-width:0;line-height:1.4}
.mk-st-prompt{overflow:hidden;text-overflow:ellipsis;white-space:nowrap;
 color:var(--jp-ui-font-color0)}
.mk-st-facts{display:flex;flex-wrap:wrap;gap:0 12px;font-size:12px;
 font-variant-numeric:tabular-nums;color:var(--jp-ui-font-color2)}
.mk-studio .mk-good{color:var(--jp-success-color1)}
.mk-studio.mk-form .mk-st-pages{display:flex;flex-flow:row wrap;align-items:center;
 gap:8px;
 margin-top:4px}
.mk-studio.mk-form .mk-st-pages>.widget-html{flex:0 1 auto;width:auto}
.mk-studio.mk-form .mk-st-error:has(.mk-error){margin-bottom:12px}
"""


def head_html(service: str, session: str) -> str:
    """Write the head, with the style sheets of everything below.

    Args:
        service: What people call the service.
        session: When this kernel began, as people's clocks show it.
    """
    where = line_html(f"{service} · kernel session {session}")
    return (
        f"{style_block()}<style>{CSS}</style>"
        f'<div class="mk-st-title"><h3>Studio</h3>{where}</div>'
    )


def glance_html(glance: Glance) -> str:
    """Write balance and spend, and why the balance is not known."""
    facts = "".join(
        f"<div><span>{escape(label)}</span><b>{escape(amount)}</b></div>"
        for label, amount in glance.facts
    )
    trouble = line_html(glance.funds.trouble or "", "warn")
    bars = bars_html(glance.days_micro_usd)
    return f'<div class="mk-st-glance">{facts}{bars}</div>' + (
        f"<div>{trouble}</div>" if trouble else ""
    )


def bars_html(days_micro_usd: Sequence[int]) -> str:
    """Write a small chart of the month so far, a bar a day; nothing without spend.

    Args:
        days_micro_usd: The charge of each day, from the first of the month.
    """
    most = max(days_micro_usd, default=0)
    if most <= 0:
        return ""
    heights = [BARS_PX * max(day, 0) / most for day in days_micro_usd]
    bars = "".join(
        f'<rect x="{place * 5}" y="{BARS_PX - high:.1f}" width="4" '
        f'height="{high:.1f}"/>'
        for place, high in enumerate(heights)
        if high
    )
    width = 5 * len(heights) - 1
    floor = f'<rect class="mk-st-rest" y="{BARS_PX}" width="{width}" height="1"/>'
    total = format_usd(sum(days_micro_usd))
    label = f"Charged by day this month: {total}, at most {format_usd(most)} a day"
    return (
        f'<div><span>By day</span><svg class="mk-st-bars" role="img" width="{width}" '
        f'height="{BARS_PX + 1}" aria-label="{escape(label)}">'
        f"<title>{escape(label)}</title>{floor}{bars}</svg></div>"
    )


def offer_html(offer: Offer) -> str:
    """Write what a function does, what it makes and how it is charged."""
    words = f"Makes {offer.makes} · {offer.charged}"
    return (
        f'<div class="mk-st-doc">{escape(offer.doc)}</div>'
        f'<div class="mk-st-charged">{escape(words)}</div>'
    )


def row_html(row: Row) -> str:
    """Write one submit of the history: picture, prompt and facts."""
    facts = (row.function, row.charge, row.date, row.project)
    shown = "".join(f"<span>{escape(fact)}</span>" for fact in facts if fact)
    return (
        f'<div class="mk-st-line">{_thumb_html(row)}'
        f'<div class="mk-st-what"><div class="mk-st-prompt">{escape(row.prompt)}</div>'
        f'<div class="mk-st-facts">{line_html(row.state, row.tone)}{shown}</div>'
        "</div></div>"
    )


def _thumb_html(row: Row) -> str:
    inner = f'<i class="fa fa-{row.icon}" aria-hidden="true"></i>'
    if row.thumb is not None:
        data = b64encode(row.thumb).decode()
        inner = f'<img src="data:image/jpeg;base64,{data}" alt="">'
    return f'<div class="mk-st-thumb">{inner}</div>'


def kept_html(service: str, glance: Glance | None, rows: Iterable[Row]) -> str:
    """Write the studio as it stays in a saved notebook.

    Args:
        service: What people call the service.
        glance: Balance and spend; None before they were read.
        rows: The submits that it listed last.
    """
    spend = f'<div style="{QUIET}">{html_text(glance.text)}</div>' if glance else ""
    listed = "".join(f"<tr>{_cells_html(row)}</tr>" for row in rows)
    table = f"<table><tr>{_HEAD}</tr>{listed}</table>" if listed else ""
    return (
        f'<div style="margin:4px 0 8px"><div><b>Studio</b> of {html_text(service)}. '
        f"Run the cell to use it.</div>{spend}{table}</div>"
    )


_HEAD = "".join(
    f'<th style="text-align:left">{name}</th>'
    for name in ("Prompt", "Function", "State", "Charge", "Date", "Job")
)


def _cells_html(row: Row) -> str:
    cells = (row.prompt, row.function, row.state, row.charge, row.date)
    shown = "".join(f'<td style="text-align:left">{html_text(c)}</td>' for c in cells)
    job = f"<code>{escape(row.job_id)}</code>" if row.job_id else ""
    return f"{shown}<td>{job}</td>"


def kept_text(service: str, glance: Glance | None, rows: Iterable[Row]) -> str:
    """Write the same as plain text; see `kept_html`."""
    lines = [f"Studio of {service}"]
    if glance is not None:
        lines.append(glance.text)
    for row in rows:
        facts = (row.prompt, row.function, row.state, row.charge, row.date, row.job_id)
        lines.append(" · ".join(fact for fact in facts if fact))
    return "\n".join(lines)
