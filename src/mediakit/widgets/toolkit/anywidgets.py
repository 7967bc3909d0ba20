"""Whether anywidget is installed, which widgets with JavaScript need."""

from __future__ import annotations

from importlib.util import find_spec


def has_anywidget() -> bool:
    """Tell whether a widget with JavaScript of our own can be made."""
    return find_spec("anywidget") is not None
