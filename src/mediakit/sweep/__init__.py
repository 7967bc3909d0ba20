"""Sweeps: a grid of requests that is planned, priced, run under a budget and compared.

It stands on the client, which sends each cell, and on the history, which knows what is
owned.
"""

from mediakit.sweep.cells import Progress
from mediakit.sweep.owned import CellState
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
