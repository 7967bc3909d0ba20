"""What the studio's page does by itself: keys of the tabs, and ranges of rows."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from mediakit.widgets.look import Look
from mediakit.widgets.timeline_widget import has_anywidget


def helpers(look: Look) -> tuple[Any, ...]:
    """Make what listens on the page; it takes no room. Without anywidget, nothing.

    Args:
        look: Makes the widget.
    """
    return (look.make(helper_type(), "mk-names"),) if has_anywidget() else ()


@cache
def helper_type() -> Any:
    """Return the class of the widget; only where anywidget is installed."""
    import anywidget

    class StudioPage(anywidget.AnyWidget):
        _esm = Path(__file__).parent / "page.js"

    return StudioPage
