"""Plots: each takes a frame, draws on `ax`, and returns the Axes.

Amounts are rounded to the cent; the exact data behind the plot is the `frame` of the
Axes. Days are UTC days. Colours, fonts and sizes follow `plt.style` and `rcParams`.
"""

from mediakit.plots.bars import changes, cost_per_keeper, share
from mediakit.plots.days import cumulative, spend_by_day
from mediakit.plots.estimates import estimates
from mediakit.plots.results import forest, frontier, heatmap, ranking
from mediakit.plots.style import COLOURS, Theme, alt_text

__all__ = [
    "COLOURS",
    "Theme",
    "alt_text",
    "changes",
    "cost_per_keeper",
    "cumulative",
    "estimates",
    "forest",
    "frontier",
    "heatmap",
    "ranking",
    "share",
    "spend_by_day",
]
