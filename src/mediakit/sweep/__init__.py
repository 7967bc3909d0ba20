"""Sweeps: grids of requests that are planned, priced, run and compared.

A sweep depends on the client, which submits each cell, and on the history, which knows
the cells that already have a job.
"""

from mediakit.sweep.axis_columns import label_of
from mediakit.sweep.blocking import Plan, Results
from mediakit.sweep.cells import CellState, past_plan
from mediakit.sweep.outcomes import CellStatus, Progress
from mediakit.sweep.plan import AsyncPlan, PlanFacts, plan_of
from mediakit.sweep.results import AsyncResults
from mediakit.sweep.results_frame import concat, preferences_of, rows_of

__all__ = [
    "AsyncPlan",
    "AsyncResults",
    "CellState",
    "CellStatus",
    "Plan",
    "PlanFacts",
    "Progress",
    "Results",
    "concat",
    "label_of",
    "past_plan",
    "plan_of",
    "preferences_of",
    "rows_of",
]
