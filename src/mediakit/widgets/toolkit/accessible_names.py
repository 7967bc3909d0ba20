"""Gives screen readers the names of controls that ipywidgets leaves unnamed."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from mediakit.widgets.toolkit.anywidgets import has_anywidget
from mediakit.widgets.toolkit.widget_factory import WidgetFactory


def namers(factory: WidgetFactory) -> tuple[Any, ...]:
    """Make what names the sliders and buttons around it, and its live regions.

    It takes no room. Without anywidget there is none; the box beside each slider has
    a name in any case.

    Args:
        factory: Makes the widget.
    """
    return (factory.make(namer_type(), "mk-names"),) if has_anywidget() else ()


@cache
def namer_type() -> Any:
    """Return the class of the widget; only where anywidget is installed."""
    import anywidget

    class Namer(anywidget.AnyWidget):
        _esm = Path(__file__).parent / "accessible_names.js"

    return Namer
