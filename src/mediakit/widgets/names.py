"""Names for controls that ipywidgets draws without, for those who cannot see them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from mediakit.widgets.look import Kit
from mediakit.widgets.timeline_widget import has_anywidget


def namers(kit: Kit) -> tuple[Any, ...]:
    """Make what names the sliders and buttons of the form that it stands in.

    It takes no room. Without anywidget there is none; the box beside each slider has
    a name in any case.

    Args:
        kit: What widgets are made with.
    """
    return (kit.look.make(namer_type(), "mk-names"),) if has_anywidget() else ()


@cache
def namer_type() -> Any:
    """Return the class of the widget; only where anywidget is installed."""
    import anywidget

    class Namer(anywidget.AnyWidget):
        _esm = Path(__file__).parent / "names.js"

    return Namer
