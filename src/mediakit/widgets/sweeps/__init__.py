"""Plans and results of sweeps that show themselves in a notebook.

It stands on the gallery, which draws the wall, and on the sweep, which knows the cells.
"""

from mediakit.widgets.sweeps.shown import AsyncPlan, AsyncResults, Plan, Results

__all__ = ["AsyncPlan", "AsyncResults", "Plan", "Results"]
