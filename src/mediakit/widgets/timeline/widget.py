"""The timeline in the browser, which needs anywidget."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


@cache
def widget_type() -> Any:
    """Return the class of the widget; only where anywidget is installed.

    What it shows is set here and never in the browser. What people do comes as a
    message with a name and some numbers; the timeline's "heard" is the number of the
    last message that it takes into account.
    """
    import anywidget
    from traitlets import Bool, Dict

    class TimelineWidget(anywidget.AnyWidget):
        _esm = HERE / "timeline.js"
        _css = HERE / "timeline.css"
        timeline = Dict().tag(sync=True)
        posters = Dict().tag(sync=True)
        disabled = Bool(default_value=False).tag(sync=True)

    return TimelineWidget
