"""Scrolls a new job into view, once, and shows pictures at their own size."""

from __future__ import annotations

from pathlib import Path

import anywidget
from traitlets import Bool


class Arrival(anywidget.AnyWidget):
    """Scrolls the job around it into view if that "arrives"; it takes no room."""

    _esm = Path(__file__).parent / "scroll_into_view.js"
    arrives = Bool(default_value=False).tag(sync=True)
