"""Plans and results of sweeps, shown in a notebook.

It depends on the gallery, which draws the wall, and on the sweep with its cells.
"""

from mediakit.widgets.sweeps.displayed import AsyncPlan, AsyncResults, Plan, Results

__all__ = ["AsyncPlan", "AsyncResults", "Plan", "Results"]
