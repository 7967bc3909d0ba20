"""What the page does for the controls around it: names, and one click for a price."""

from __future__ import annotations

from pathlib import Path

import anywidget

HERE = Path(__file__).parent
SCRIPTS = ("paid_clicks.js", "accessible_names.js")


class Namer(anywidget.AnyWidget):
    """Names sliders, buttons and live regions around it, and guards paid buttons."""

    _esm = "\n".join((HERE / name).read_text("utf-8") for name in SCRIPTS)
