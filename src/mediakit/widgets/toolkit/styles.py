"""The style sheets of the widgets, and small pieces of HTML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from markupsafe import Markup

from mediakit.safe_text import NO_HTML

Tone = Literal["plain", "quiet", "warn", "bad", "good"]


TOOLKIT = Path(__file__).parent
IPYWIDGETS = TOOLKIT / "ipywidgets.css"
KERNEL_GONE = "The kernel was restarted. Run this cell again."


def sheets(*files: Path) -> str:
    """Return the common style sheet and some others."""
    gone = f":is(.mk-form, .mk-jobs) {{ --mk-kernel-gone: {json.dumps(KERNEL_GONE)}; }}"
    texts = (each.read_text("utf-8") for each in (TOOLKIT / "base.css", *files))
    return "\n".join([gone, *texts])


def style_tag(css: str) -> Markup:
    """Return one of our style sheets as a tag, unescaped."""
    return Markup(f"<style>{css}</style>")


def line_html(text: str, tone: Tone = "quiet") -> Markup:
    """Return one line of untrusted text in a tone; "" for no text."""
    return (
        Markup('<span class="mk-{}">{}</span>').format(tone, text) if text else NO_HTML
    )


def error_html(text: str) -> Markup:
    """Return an error as HTML that screen readers announce."""
    if not text:
        return NO_HTML
    return Markup('<div class="mk-error" role="alert">{}</div>').format(text)
