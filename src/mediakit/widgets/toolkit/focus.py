"""Moves the keyboard focus into a form that was just opened."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from mediakit.widgets.toolkit.anywidgets import has_anywidget
from mediakit.widgets.toolkit.widget_factory import WidgetFactory


def focuser(factory: WidgetFactory) -> Any | None:
    """Make what focuses the first control around it; None without anywidget.

    It takes no room, and stands in the form's widget. A message alone would come
    before the controls are on the page.

    Args:
        factory: Makes the widget.
    """
    return factory.make(focuser_type(), "mk-names") if has_anywidget() else None


@cache
def focuser_type() -> Any:
    """Return the class of the widget; only where anywidget is installed."""
    import anywidget
    from traitlets import Bool

    class Focuser(anywidget.AnyWidget):
        _esm = Path(__file__).parent / "focus.js"
        # The page takes it back once the focus is there.
        wanted = Bool(default_value=False).tag(sync=True)

    return Focuser
