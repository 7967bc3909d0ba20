"""The wall: many results side by side, to compare, rate and keep."""

from mediakit.widgets.gallery.cells import (
    Done,
    Made,
    Offer,
    WallActions,
    WallCell,
    WallSummary,
    judged_as,
)
from mediakit.widgets.gallery.gallery_widget import Gallery
from mediakit.widgets.gallery.result_actions import ResultActions
from mediakit.widgets.gallery.static_html import static_html

__all__ = [
    "Done",
    "Gallery",
    "Made",
    "Offer",
    "ResultActions",
    "WallActions",
    "WallCell",
    "WallSummary",
    "judged_as",
    "static_html",
]
