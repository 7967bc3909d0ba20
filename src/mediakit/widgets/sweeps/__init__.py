"""Plans and results of sweeps, shown in a notebook."""

from mediakit.widgets.sweeps.displayed import AsyncPlan, AsyncResults, Plan, Results

__all__ = ["AsyncPlan", "AsyncResults", "Plan", "Results"]
