"""Scrolls a new job into view, once, and shows pictures at their own size."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from mediakit.widgets.toolkit.anywidgets import has_anywidget
from mediakit.widgets.toolkit.widget_factory import WidgetFactory

HERE = Path(__file__).parent


def arrival_widgets(factory: WidgetFactory, *, arrives: bool) -> tuple[Any, ...]:
    """Make what does it; it takes no room, and without anywidget there is none.

    Args:
        factory: Makes the widget.
        arrives: The job was just asked for: it is scrolled to if it is out of sight.
    """
    if not has_anywidget():
        return ()
    return (factory.make(arrival_type(), "mk-names", arrives=arrives),)


@cache
def arrival_type() -> Any:
    """Return the class of the widget; only where anywidget is installed."""
    import anywidget
    from traitlets import Bool

    class Arrival(anywidget.AnyWidget):
        _esm = HERE / "scroll_into_view.js"
        arrives = Bool(default_value=False).tag(sync=True)

    return Arrival
