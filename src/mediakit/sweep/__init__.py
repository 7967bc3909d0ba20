"""Sweeps: a grid of requests that is planned, priced, run under a budget and compared.

It stands on the client, which sends each cell, and on the history, which knows what is
owned.
"""

from mediakit.sweep.plan import AsyncPlan, BasePlan, Plan, plan_of

__all__ = ["AsyncPlan", "BasePlan", "Plan", "plan_of"]
