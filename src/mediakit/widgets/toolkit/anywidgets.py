"""Widgets with JavaScript of our own, which need anywidget."""

from __future__ import annotations

from importlib.util import find_spec


def has_anywidget() -> bool:
    """Tell whether a widget with JavaScript of our own can be made."""
    return find_spec("anywidget") is not None
