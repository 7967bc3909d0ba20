"""Plots: each takes a frame, draws on `ax`, and returns the Axes.

Money is whole micro-USD until the very last step, and the axis writes it exactly. A
day is a UTC day, drawn as wide as a day is. What is drawn is a frame itself: each
plot has a sibling named `<plot>_frame` that returns it, and the Axes carries it as
`frame`.
"""

from mediakit.plots.changes import changes, changes_frame
from mediakit.plots.cumulative import cumulative, cumulative_frame
from mediakit.plots.days import day_labels, spend_by_day, spend_by_day_frame
from mediakit.plots.estimates import estimates, estimates_frame
from mediakit.plots.keepers import cost_per_keeper, cost_per_keeper_frame
from mediakit.plots.share import share, share_frame
from mediakit.plots.style import COLOURS, Theme, alt_text

__all__ = [
    "COLOURS",
    "Theme",
    "alt_text",
    "changes",
    "changes_frame",
    "cost_per_keeper",
    "cost_per_keeper_frame",
    "cumulative",
    "cumulative_frame",
    "day_labels",
    "estimates",
    "estimates_frame",
    "share",
    "share_frame",
    "spend_by_day",
    "spend_by_day_frame",
]
