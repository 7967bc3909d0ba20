"""Rows of the history as HTML; pure. Everything from outside is escaped."""

from __future__ import annotations

from base64 import b64encode
from html import escape

from mediakit.widgets.studio.history.rows import Row
from mediakit.widgets.toolkit.html import line_html


def row_html(row: Row) -> str:
    """Write one submit of the history: picture, prompt and facts."""
    facts = (row.function, row.charge, row.date, row.project)
    shown = "".join(f"<span>{escape(fact)}</span>" for fact in facts if fact)
    return (
        f'<div class="mk-st-entry">{_thumb_html(row)}'
        f'<div class="mk-st-what"><div class="mk-st-prompt">{escape(row.prompt)}</div>'
        f'<div class="mk-st-facts">{line_html(row.state, row.tone)}{shown}</div>'
        "</div></div>"
    )


def _thumb_html(row: Row) -> str:
    inner = f'<i class="fa fa-{escape(row.icon)}" aria-hidden="true"></i>'
    if row.thumb is not None:
        data = b64encode(row.thumb).decode()
        inner = f'<img src="data:image/jpeg;base64,{data}" alt="">'
    return f'<div class="mk-st-thumb">{inner}</div>'
