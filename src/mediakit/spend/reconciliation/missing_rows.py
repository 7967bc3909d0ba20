"""Finds the row that a daily report lacks or has twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from mediakit.spend.reconciliation.charge_matching import FunctionSides, settled_days
from mediakit.spend.reconciliation.service_and_history import Spent
from mediakit.spend.reconciliation.settlement_days import Days
from mediakit.spend.reconciliation.verdicts import Part, Reason

Cells = dict[tuple[date, str], int]


def corrected(
    sides: FunctionSides, others: Cells, difference: int
) -> tuple[FunctionSides, Cells, Part]:
    """Find the day on which the daily report is wrong, and correct it.

    It is one of our days if correcting it brings the two sides closer; otherwise it is
    a duplicated row of another key. A missing row of another key shows only in the sum.

    Args:
        sides: Our side of the function.
        others: What other keys spent, by day and key.
        difference: The daily report minus the other reports, micro-USD.

    Returns:
        Both corrected, and the part for the row; without a day if it is unknown.
    """
    part = Part(Reason.DAILY, sides.path, difference=difference)
    ours = _our_day(sides, difference)
    if ours is not None:
        sides = _without(sides, ours, difference)
        part = replace(part, days=(ours,), daily=difference)
        return sides, others, part
    for (day, key), micro_usd in others.items():
        if micro_usd == 2 * difference:
            others = {**others, (day, key): difference}
            part = replace(part, days=(day,), key=key, daily=difference)
            break
    return sides, others, part


def _our_day(sides: FunctionSides, difference: int) -> date | None:
    """Return our day that best explains the difference; None if there is none."""
    days = settled_days(sides)
    able = [day for day in days.days if _may_be_wrong(sides, days, day, difference)]
    trials = ((settled_days(_without(sides, day, difference)), day) for day in able)
    weighed = [(trial.apart, trial.moved, day) for trial, day in trials]
    if not weighed or min(weighed)[0] >= days.apart:
        return None
    return min(weighed)[-1]


def _may_be_wrong(sides: FunctionSides, days: Days, day: date, difference: int) -> bool:
    if day not in sides.month:
        return False
    said = sides.cells.get(day, Spent()).micro_usd
    is_gone = not said and difference < 0
    is_doubled = said == 2 * difference
    return is_gone or is_doubled or days.micro_usd[day] == difference


def _without(sides: FunctionSides, day: date, difference: int) -> FunctionSides:
    spent = sides.cells.get(day, Spent())
    right = Spent(spent.micro_usd - difference, None)
    return replace(sides, cells={**sides.cells, day: right})
