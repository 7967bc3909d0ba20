"""Keyboard handling in the browser: arrow keys on tabs, ranges of rows."""

from __future__ import annotations

from pathlib import Path

import anywidget


class StudioPage(anywidget.AnyWidget):
    """Listens on the page; it takes no room."""

    _esm = Path(__file__).parent / "keyboard.js"
