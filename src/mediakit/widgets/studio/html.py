"""The studio's head, and what stays of it without a kernel, as HTML; pure.

Everything from outside is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from html import escape
from pathlib import Path

from mediakit.markup import html_text
from mediakit.widgets.job.card import QUIET
from mediakit.widgets.studio.history.rows import Row
from mediakit.widgets.studio.state import StudioState
from mediakit.widgets.studio.summary import SpendSummary
from mediakit.widgets.toolkit.html import error_html, line_html, style_block


@cache
def _css() -> str:
    return (Path(__file__).parent / "studio.css").read_text("utf-8")


def head_html(service: str) -> str:
    """Write the head, with the style sheets of everything below.

    Args:
        service: What people call the service.
    """
    return (
        f"{style_block()}<style>{_css()}</style>"
        f'<div class="mk-st-title"><h3>Studio</h3>{line_html(service)}</div>'
    )


def glance_html(glance: SpendSummary) -> str:
    """Write balance and spend, and why the balance is not known."""
    facts = "".join(
        f'<span title="{escape(full)}"><b>{escape(text)}</b> {escape(label)}</span>'
        for text, label, full in glance.facts
    )
    trouble = line_html(glance.funds.trouble or "", "warn")
    return f'<div class="mk-st-glance">{facts}</div>' + (
        f"<div>{trouble}</div>" if trouble else ""
    )


def said_html(state: StudioState) -> str:
    """Write what went wrong, what was done, or what is being done."""
    if state.said:
        return error_html(state.said)
    if state.done:
        return f'<div class="mk-st-done">{escape(state.done)}</div>'
    return line_html("Opening the job…") if state.opening else ""


def kept_html(service: str, glance: SpendSummary | None, rows: Iterable[Row]) -> str:
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
    for name in ("Prompt", "Function", "State", "Charge", "Date (UTC)", "Job")
)


def _cells_html(row: Row) -> str:
    cells = (row.prompt, row.function, row.state, row.charge, row.date)
    shown = "".join(f'<td style="text-align:left">{html_text(c)}</td>' for c in cells)
    job = f"<code>{escape(row.job_id)}</code>" if row.job_id else ""
    return f"{shown}<td>{job}</td>"


def kept_text(service: str, glance: SpendSummary | None, rows: Iterable[Row]) -> str:
    """Write the same as plain text; see `kept_html`."""
    lines = [f"Studio of {service}"]
    if glance is not None:
        lines.append(glance.text)
    for row in rows:
        facts = (row.prompt, row.function, row.state, row.charge, row.date, row.job_id)
        lines.append(" · ".join(fact for fact in facts if fact))
    return "\n".join(lines)
