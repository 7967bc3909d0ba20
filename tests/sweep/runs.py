"""Shared by the tests of runs: plans, runs and the outcomes of cells."""

from __future__ import annotations

from typing import Any

from mediakit import Client
from mediakit.sweep.blocking import Plan, Results
from mediakit.sweep.results import AsyncResults

VIDEO_3_S = 204_000
VIDEO_5_S = 340_000


def plan_of(client: Client, cells: int, **more: Any) -> Plan:
    """Return a plan of clips of 3 seconds, one cell per prompt."""
    prompts = [f"prompt {number}" for number in range(cells)]
    given: dict[str, Any] = {"prompt": prompts, "duration": 3, **more}
    return client.sweep("text-to-video", **given)


def begin(
    client: Client, plan: Plan, budget: Any = None, in_flight: int | None = None
) -> Results:
    """Begin a run."""
    assert plan.owner is client
    return plan.run(budget, in_flight)


def begin_async(client: Client, plan: Plan, budget: int | None = None) -> AsyncResults:
    """Start a run of an async client."""
    return AsyncResults(plan, client.core, budget)


def run(
    client: Client, plan: Plan, budget: Any = None, in_flight: int | None = None
) -> Results:
    """Begin a run and wait for its end."""
    return begin(client, plan, budget, in_flight).wait()


def statuses(results: Results) -> dict[str, int]:
    """Return how many cells are in each status that there is."""
    counts = results.frame()["status"].value_counts()
    return {str(name): int(n) for name, n in counts.items() if n}


def problems(results: Results, status: str) -> set[str]:
    """Return the problems of the cells in a status."""
    frame = results.frame()
    return set(frame.loc[frame["status"] == status, "problem"])
