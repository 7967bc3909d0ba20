"""The wall: many results side by side, to compare, rate and keep them."""

from mediakit.widgets.gallery.cells import (
    CellStatus,
    Done,
    Made,
    Offer,
    Preference,
    WallActions,
    WallCell,
    WallSummary,
    judged_as,
)
from mediakit.widgets.gallery.gallery_widget import Gallery
from mediakit.widgets.gallery.result_actions import ResultActions
from mediakit.widgets.gallery.static_html import static_html

__all__ = [
    "CellStatus",
    "Done",
    "Gallery",
    "Made",
    "Offer",
    "Preference",
    "ResultActions",
    "WallActions",
    "WallCell",
    "WallSummary",
    "judged_as",
    "static_html",
]
