"""The use of a named budget, and its burn-down by day."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

import numpy as np
import numpy.typing as npt
import pandas as pd

from mediakit.client.budgets import Budget, budget_text
from mediakit.errors import InputError
from mediakit.history import History
from mediakit.spend.dates import (
    end_of_month,
    first_of_month,
    month_of,
    month_text,
)

__all__ = ["Budget", "BudgetStatus", "budget_status"]

A_DAY = timedelta(days=1)
Charges = tuple[tuple[date, int], ...]


@dataclass(frozen=True)
class BudgetStatus:
    """How much of a budget is used; amounts are micro-USD.

    Args:
        budget: The budget.
        month: The month, YYYY-MM in UTC; None for a budget without a period.
        spent_micro_usd: Settled charges (spec 2.2).
        held_micro_usd: Held for requests in flight, at their upper price.
        charges: The days of the settled charges, and their micro-USD.
        days: The first and the last day of the burn-down.
    """

    budget: Budget
    month: str | None
    spent_micro_usd: int
    held_micro_usd: int
    charges: Charges = field(repr=False)
    days: tuple[date, date] = field(repr=False)

    @property
    def left_micro_usd(self) -> int:
        """Return the highest price that another request may have."""
        used = self.spent_micro_usd + self.held_micro_usd
        return max(0, self.budget.limit_micro_usd - used)

    @property
    def level(self) -> int | None:
        """Return the highest warning level that is reached, as a percentage.

        Held amounts count, as they do for the limit. None below all levels.
        """
        return self.budget.level(self.spent_micro_usd + self.held_micro_usd)

    @property
    def text(self) -> str:
        """Return a sentence on how much of the budget is used."""
        return budget_text(self.budget, self.spent_micro_usd, self.held_micro_usd)

    def __repr__(self) -> str:
        return self.text

    def frame(self) -> pd.DataFrame:
        """Return the burn-down, one row per day.

        Returns:
            day (datetime64[us], UTC), charge_micro_usd (int64, the charges of that
            day), spent_micro_usd (int64, all charges up to and including that day) and
            left_micro_usd (int64, the limit less that, at least 0). Held amounts are
            not included. The rows end today, or at the end of the budget's month if
            that is over: what settles later counts on its last day.
        """
        days = pd.date_range(*self.days, unit="us")
        at = pd.DatetimeIndex([day for day, _ in self.charges]).as_unit("us")
        charges = pd.Series([micro_usd for _, micro_usd in self.charges], at, "int64")
        of_day = charges.groupby(level=0).sum().reindex(days, fill_value=0)
        spent = of_day.cumsum()
        columns = {
            "day": days,
            "charge_micro_usd": of_day,
            "spent_micro_usd": spent,
            "left_micro_usd": (self.budget.limit_micro_usd - spent).clip(0),
        }
        return pd.DataFrame(columns).reset_index(drop=True)


def budget_status(
    history: History, budget: object, now: datetime, month: str | None = None
) -> BudgetStatus:
    """Read a budget's use from the history; blocks.

    Charges of all services and accounts of the history count.
    """
    if not isinstance(budget, Budget):
        accepted = 'a budget, such as mk.Budget("team", "$500", period="month")'
        raise InputError("budget", got=budget, accepted=accepted, then="")
    month = _month_of_budget(budget, now.date(), month)
    label = budget.name if month is None else f"{budget.name} {month}"
    # A charge that settles between the two reads counts twice; none is missed.
    use = history.budget_use(label)
    charges = _charges(history, label, month)
    return BudgetStatus(
        budget,
        month,
        sum(charge for _, charge in charges),
        use.reserved_micro_usd,
        charges,
        _range_of(charges, month, now.date()),
    )


def budget_days(
    history: History, budget: Budget, month: str, first: date, last: date
) -> tuple[npt.NDArray[np.int64], int]:
    """Read a budget's daily charges from the history; blocks.

    Returns one amount per day, in micro-USD, and what was spent before the month under
    a budget that never resets. The last day is in that month.
    """
    charges: list[tuple[date, int]] = []
    if budget.period is None:
        charges += _charges(history, budget.name, None)
    else:
        begin = first
        while begin <= last:
            its = month_of(begin)
            charges += _charges(history, f"{budget.name} {its}", its)
            begin = end_of_month(its) + A_DAY
    totals = np.zeros((last - first).days + 1, "int64")
    for day, charge_micro_usd in charges:
        if day >= first:
            totals[(min(day, last) - first).days] += charge_micro_usd
    if budget.period is not None:
        return totals, 0
    start = first_of_month(month)
    return totals, sum(charge for day, charge in charges if day < start)


def _charges(history: History, label: str, month: str | None) -> Charges:
    """Read the charges under a label, each with a day of its month."""
    dated = ((at.date(), charge) for at, charge in history.budget_charges(label))
    if month is None:
        return tuple(dated)
    first, last = first_of_month(month), end_of_month(month)
    return tuple((min(max(day, first), last), charge) for day, charge in dated)


def _month_of_budget(budget: Budget, today: date, month: str | None) -> str | None:
    current = month_of(today)
    if budget.period is None:
        if month is None:
            return None
        accepted = f"omitted, because {budget.name!r} is a budget without a period"
        raise InputError("month", got=month, accepted=accepted, then="")
    chosen = current if month is None else month_text(month)
    if chosen > current:
        accepted = f"a month that has begun, up to {current}"
        raise InputError("month", got=month, accepted=accepted, then="")
    return chosen


def _range_of(charges: Charges, month: str | None, today: date) -> tuple[date, date]:
    days = [day for day, _ in charges]
    if month is None:
        return min(days, default=today), max([*days, today])
    first = first_of_month(month)
    return first, max([*days, min(today, end_of_month(month))])
