"""Sweeps: grids of requests that are planned, priced, run under a budget and compared.

It depends on the client, which submits each cell, and on the history, which knows
the cells that already have a job.
"""

from mediakit.sweep.cells import CellState
from mediakit.sweep.frames import concat, preferences_of, rows_of
from mediakit.sweep.outcomes import CellStatus, Progress
from mediakit.sweep.past import past_plan
from mediakit.sweep.plan import AsyncPlan, BasePlan, Plan, label_of, plan_of
from mediakit.sweep.results import AsyncResults, Results

__all__ = [
    "AsyncPlan",
    "AsyncResults",
    "BasePlan",
    "CellState",
    "CellStatus",
    "Plan",
    "Progress",
    "Results",
    "concat",
    "label_of",
    "past_plan",
    "plan_of",
    "preferences_of",
    "rows_of",
]
