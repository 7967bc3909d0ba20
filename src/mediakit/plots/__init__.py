"""Plots: each takes a frame, draws on `ax`, and returns the Axes.

Money stays in whole micro-USD until the last step, and the axis labels are exact. Days
are UTC days. The data behind each plot is a frame: a function named `<plot>_frame`
returns it, and the Axes has it as `frame`.
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
