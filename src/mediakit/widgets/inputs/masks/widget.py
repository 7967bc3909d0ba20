"""The canvas of the mask painter in the browser, which needs anywidget."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


@cache
def widget_type() -> Any:
    """Return the class of the widget; only where anywidget is installed.

    The frame and an earlier mask are set here; what people paint comes back as
    "strokes", and a message says when they are done.
    """
    import anywidget
    from traitlets import Bytes, Int, List

    class MaskWidget(anywidget.AnyWidget):
        _esm = HERE / "mask.js"
        _css = HERE / "mask.css"
        frame = Bytes().tag(sync=True)
        base = Bytes().tag(sync=True)
        width = Int().tag(sync=True)
        height = Int().tag(sync=True)
        strokes: Any = List().tag(sync=True)

    return MaskWidget
