"""Sweeps: grids of requests that are planned, priced, run under a budget and compared.

It depends on the client, which submits each cell, and on the history, which knows
the cells that already have a job.
"""

from mediakit.sweep.cell_states import Progress
from mediakit.sweep.cells import CellState
from mediakit.sweep.plan import AsyncPlan, BasePlan, Plan, label_of, plan_of
from mediakit.sweep.results import AsyncResults, Results

__all__ = [
    "AsyncPlan",
    "AsyncResults",
    "BasePlan",
    "CellState",
    "Plan",
    "Progress",
    "Results",
    "label_of",
    "plan_of",
]
