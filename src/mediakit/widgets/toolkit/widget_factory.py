"""Makes the widgets of one view, and closes all of them.

Sizes and positions are in the style sheet, so that a control needs no Layout and no
Style of its own, each of which would be a message to the browser.
"""

from __future__ import annotations

from typing import Any

import ipywidgets as w


class WidgetFactory:
    """Makes widgets that share one Layout, and one Style of each kind."""

    def __init__(self) -> None:
        self._layout = w.Layout()
        self._styles: dict[type, Any] = {}
        self._made: list[Any] = []

    def make(self, widget_type: Any, classes: str = "", **traits: Any) -> Any:
        """Make a widget with the shared objects and some style classes."""
        style = widget_type.class_traits().get("style")
        if style is not None:
            if style.klass not in self._styles:
                self._styles[style.klass] = style.klass()
            traits["style"] = self._styles[style.klass]
        widget = widget_type(
            layout=self._layout, _dom_classes=tuple(classes.split()), **traits
        )
        keep_in_order(widget.comm)
        self._made.append(widget)
        return widget

    def close(self) -> None:
        """Close all of its widgets, and then their shared styles."""
        for each in (*self._made, self._layout, *self._styles.values()):
            each.close()


def keep_in_order(comm: Any) -> None:
    """Make the browser choose the thread on which messages of a widget arrive."""
    # ipykernel 7.4 sends a user's actions on a widget to the thread that last wrote to
    # it. So a click on Generate could arrive on one thread while an older change of a
    # slider still waits on another, behind a running cell, and the wrong values would
    # be submitted. The browser sends all widgets to one thread, in order.
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = _as_sent


def _as_sent(data: object, subshell_id: str | None) -> str | None:
    return subshell_id
