"""Keyboard handling in the browser: arrow keys on tabs, ranges of rows."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from mediakit.widgets.toolkit.anywidgets import has_anywidget
from mediakit.widgets.toolkit.widget_factory import WidgetFactory


def helpers(factory: WidgetFactory) -> tuple[Any, ...]:
    """Make what listens on the page; it takes no room. Without anywidget, nothing.

    Args:
        factory: Makes the widget.
    """
    return (factory.make(helper_type(), "mk-names"),) if has_anywidget() else ()


@cache
def helper_type() -> Any:
    """Return the class of the widget; only where anywidget is installed."""
    import anywidget

    class StudioPage(anywidget.AnyWidget):
        _esm = Path(__file__).parent / "keyboard.js"

    return StudioPage
