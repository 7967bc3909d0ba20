"""Rows of the history as HTML; pure."""

from __future__ import annotations

from markupsafe import Markup

from mediakit.safe_text import NO_HTML
from mediakit.widgets.studio.history.rows import Row
from mediakit.widgets.toolkit.styles import data_url, line_html


def row_html(row: Row) -> Markup:
    """Write one submit of the history: picture, prompt and facts."""
    facts = (row.function, row.charge, row.date, row.project)
    shown = NO_HTML.join(map(Markup("<span>{}</span>").format, filter(None, facts)))
    return Markup(
        '<div class="mk-st-entry"><div class="mk-st-thumb">{}</div>'
        '<div class="mk-st-what"><div class="mk-st-prompt">{}</div>'
        '<div class="mk-st-facts">{}{}</div></div></div>'
    ).format(_thumb_html(row), row.prompt, line_html(row.state, row.tone), shown)


def _thumb_html(row: Row) -> Markup:
    if row.thumb is not None:
        return Markup('<img src="{}" alt="">').format(data_url(row.thumb))
    return Markup('<i class="fa fa-{}" aria-hidden="true"></i>').format(row.icon)
