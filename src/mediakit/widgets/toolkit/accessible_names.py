"""What the page does for the controls around it: names, and one click for a price."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from mediakit.widgets.toolkit.anywidgets import has_anywidget
from mediakit.widgets.toolkit.widget_factory import WidgetFactory

HERE = Path(__file__).parent
SCRIPTS = ("paid_clicks.js", "accessible_names.js")


def namers(factory: WidgetFactory) -> tuple[Any, ...]:
    """Make what names the sliders and buttons around it, and its live regions.

    It also keeps paid buttons (`mk-paid`) from a second click. It takes no room.
    Without anywidget there is none; the box beside each slider has a name in any case.

    Args:
        factory: Makes the widget.
    """
    return (factory.make(namer_type(), "mk-names"),) if has_anywidget() else ()


@cache
def namer_type() -> Any:
    """Return the class of the widget; only where anywidget is installed."""
    import anywidget

    class Namer(anywidget.AnyWidget):
        _esm = "\n".join((HERE / name).read_text("utf-8") for name in SCRIPTS)

    return Namer
