"""Finds amounts that add up to a sum, with a bounded search."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, islice

from mediakit.spend.reconciliation.service_and_history import OpenJob

MAX_SUMS = 100_000
MAX_SETS = 20_000


class TooManyError(Exception):
    """There are too many amounts to tell whether any add up to the sum."""


def adding_up(
    amounts: Sequence[int], total: int, *, count: int | None = None
) -> tuple[int, ...] | None:
    """Find amounts with an exact sum, as few as possible.

    Args:
        amounts: Whole amounts above 0, the likeliest first.
        total: Their sum, above 0.
        count: The exact number of amounts; None for any.

    Returns:
        Their places; None if there are none.

    Raises:
        TooManyError: The bounds of the search were reached.
    """
    every = range(len(amounts))
    if sum(amounts) == total and count in (None, len(amounts)):
        return tuple(every)
    # By sum: the places of the first set found of each size.
    sums: dict[tuple[int, int], tuple[int, ...]] = {(0, 0): ()}
    for place in every:
        for (size, found), places in list(sums.items()):
            grown = (size + 1, found + amounts[place])
            if grown[1] <= total:
                sums.setdefault(grown, (*places, place))
        if len(sums) > MAX_SUMS:
            raise TooManyError
    sizes = every if count is None else (count - 1,)
    return next((sums[s + 1, total] for s in sizes if (s + 1, total) in sums), None)


def within_bounds(
    jobs: Sequence[OpenJob], total: int, *, count: int | None
) -> tuple[OpenJob, ...] | None:
    """Find open jobs that may together have cost a sum, as few as possible.

    Args:
        jobs: The candidates, the likeliest first.
        total: The sum, above 0.
        count: How many the service counts; None if it does not say.
    """
    sizes = [count] if count and count <= len(jobs) else range(1, len(jobs) + 1)
    found = (group for size in sizes for group in combinations(jobs, size))
    for group in islice(found, MAX_SETS):
        if _may_cost(group, total):
            return group
    return tuple(jobs) if jobs and _may_cost(jobs, total) else None


def _may_cost(jobs: Sequence[OpenJob], total: int) -> bool:
    if sum(job.low_micro_usd for job in jobs) > total:
        return False
    highs = [job.high_micro_usd for job in jobs]
    bounded = [high for high in highs if high is not None]
    return len(bounded) < len(highs) or total <= sum(bounded)
