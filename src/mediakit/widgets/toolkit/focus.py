"""Moves the keyboard focus into a form that was just opened."""

from __future__ import annotations

from pathlib import Path

import anywidget
from traitlets import Bool


class Focuser(anywidget.AnyWidget):
    """Focuses the first control around it once that is on the page; takes no room."""

    _esm = Path(__file__).parent / "focus.js"
    # The page takes it back once the focus is there.
    wanted = Bool(default_value=False).tag(sync=True)
