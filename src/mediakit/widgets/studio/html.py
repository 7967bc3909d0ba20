"""The head of the studio, and its static copy in a saved notebook, as HTML; pure.

Everything from outside is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from markupsafe import Markup

from mediakit.safe_text import NO_HTML, html_text
from mediakit.widgets.job.card import QUIET
from mediakit.widgets.studio.history.rows import Row
from mediakit.widgets.studio.spend_summary import SpendSummary
from mediakit.widgets.studio.state import StudioState
from mediakit.widgets.toolkit.styles import (
    error_html,
    line_html,
    style_block,
    style_tag,
)

CSS = (Path(__file__).parent / "studio.css").read_text("utf-8")


def head_html(service: str) -> Markup:
    """Write the head, with the style sheets of everything below.

    Args:
        service: What people call the service.
    """
    title = Markup('<div class="mk-st-title"><h3>Studio</h3>{}</div>')
    return style_block() + style_tag(CSS) + title.format(line_html(service))


def summary_html(summary: SpendSummary) -> Markup:
    """Write balance and spend, and why the balance is not known."""
    fact = Markup('<span title="{}"><b>{}</b> {}</span>')
    facts = NO_HTML.join(
        fact.format(full, text, label) for text, label, full in summary.facts
    )
    html = Markup('<div class="mk-st-summary">{}</div>').format(facts)
    if summary.funds.trouble:
        trouble = line_html(summary.funds.trouble, "warn")
        html += Markup("<div>{}</div>").format(trouble)
    return html


def said_html(state: StudioState) -> Markup:
    """Write what went wrong, what was done, or what is being done."""
    if state.said:
        return error_html(state.said)
    if state.done:
        return Markup('<div class="mk-st-done">{}</div>').format(state.done)
    return line_html("Opening the job…") if state.opening else NO_HTML


def kept_html(
    service: str, summary: SpendSummary | None, rows: Iterable[Row]
) -> Markup:
    """Write the studio as it stays in a saved notebook.

    Args:
        service: What people call the service.
        summary: Balance and spend; None before they were read.
        rows: The submits that it listed last.
    """
    spend = table = NO_HTML
    if summary is not None:
        line = Markup('<div style="{}">{}</div>')
        spend = line.format(QUIET, html_text(summary.text))
    listed = NO_HTML.join(map(_row_html, rows))
    if listed:
        table = Markup("<table><tr>{}</tr>{}</table>").format(_HEAD, listed)
    return Markup(
        '<div style="margin:4px 0 8px"><div><b>Studio</b> of {}. '
        "Run the cell to use it.</div>{}{}</div>"
    ).format(html_text(service), spend, table)


_HEAD = NO_HTML.join(
    Markup('<th style="text-align:left">{}</th>').format(name)
    for name in ("Prompt", "Function", "State", "Charge", "Date (UTC)", "Job")
)


def _row_html(row: Row) -> Markup:
    cells = (row.prompt, row.function, row.state, row.charge, row.date)
    td = Markup('<td style="text-align:left">{}</td>')
    shown = NO_HTML.join(td.format(html_text(cell)) for cell in cells)
    job = Markup("<code>{}</code>").format(row.job_id) if row.job_id else ""
    return Markup("<tr>{}<td>{}</td></tr>").format(shown, job)


def kept_text(service: str, summary: SpendSummary | None, rows: Iterable[Row]) -> str:
    """Write the same as plain text; see `kept_html`."""
    lines = [f"Studio of {service}"]
    if summary is not None:
        lines.append(summary.text)
    for row in rows:
        facts = (row.prompt, row.function, row.state, row.charge, row.date, row.job_id)
        lines.append(" · ".join(fact for fact in facts if fact))
    return "\n".join(lines)
