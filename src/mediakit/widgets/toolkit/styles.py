"""The style sheets of the widgets, and small pieces of HTML."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from markupsafe import Markup

from mediakit.safe_text import NO_HTML

Tone = Literal["plain", "quiet", "warn", "bad", "good"]


TOOLKIT = Path(__file__).parent
IPYWIDGETS = TOOLKIT / "ipywidgets.css"


def sheets(*files: Path) -> str:
    """Return the style sheet of all widgets, and more of them."""
    return "\n".join(each.read_text("utf-8") for each in (TOOLKIT / "base.css", *files))


def style_tag(css: str) -> Markup:
    """Return a style sheet of ours as a tag; nothing in it is escaped."""
    return Markup(f"<style>{css}</style>")


def line_html(text: str, tone: Tone = "quiet") -> Markup:
    """Return one line of outside text in a tone; no text is no line."""
    return (
        Markup('<span class="mk-{}">{}</span>').format(tone, text) if text else NO_HTML
    )


def error_html(text: str) -> Markup:
    """Return an error for people; it is announced by screen readers."""
    if not text:
        return NO_HTML
    return Markup('<div class="mk-error" role="alert">{}</div>').format(text)
