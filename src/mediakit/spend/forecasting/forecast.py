"""Forecasts a month's total, with an 80 % interval from past forecast errors.

The forecast adds up what the remaining weekdays usually cost. The same forecast is
made for each earlier day of the last thirteen weeks, for the same number of days ahead.
The 10th and 90th percentiles of its errors give the interval. If there are few past
periods of that length, the interval is widened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mediakit.client.budgets import Budget
from mediakit.errors import InputError, shown
from mediakit.money import format_usd
from mediakit.spend.dates import end_of_month, month_name, month_of
from mediakit.spend.forecasting.weekday_medians import (
    A_DAY,
    WEEK,
    Real,
    Whole,
    since_first_spend,
    weekday_medians,
)

if TYPE_CHECKING:
    import pandas as pd

HISTORY_DAYS = 13 * WEEK
TRAINING_DAYS = 3 * WEEK
"""Days of history before the first backtested forecast."""
WIDENING = 4.5
"""How much to widen the interval if there are few past periods; tuned on simulated
months so that 80 % of totals are inside it."""
LEVEL_DAYS = 8 * WEEK
CENT_MICRO_USD = 10_000
LOW, MIDDLE, HIGH = 0.1, 0.5, 0.9
NORMAL_80 = 1.2816


class Range(NamedTuple):
    """The forecast total of a number of days, micro-USD."""

    low: float
    expected: float
    high: float

    def add(self, micro_usd: float) -> Range:
        """Return the range shifted by an amount."""
        return Range(*(each + micro_usd for each in self))


@dataclass(frozen=True)
class Forecast:
    """The forecast of a month; amounts are micro-USD.

    Args:
        month: The month, YYYY-MM in UTC.
        so_far_micro_usd: The charges so far, including today; exact.
        expected_micro_usd: The expected total of the whole month.
        low_micro_usd: The lower end of the 80 % interval.
        high_micro_usd: The upper end of the 80 % interval.
        method: How it was made, in a sentence.
        text: A summary, in a sentence or two.
        budget: The budget that it is compared with; None for none.
        days: The charges of each day up to today, and the ranges of the days from
            today on, cumulative.
    """

    month: str
    so_far_micro_usd: int
    expected_micro_usd: int
    low_micro_usd: int
    high_micro_usd: int
    method: str
    text: str
    budget: Budget | None
    days: tuple[tuple[int, ...], tuple[tuple[int, int, int], ...]] = field(repr=False)

    def __str__(self) -> str:
        return self.text

    def frame(self) -> pd.DataFrame:
        """Return the cumulative forecast by day.

        Returns:
            One row per day of the month: day (datetime64[us, UTC]); spent_micro_usd
            (Int64, <NA> after today); expected_micro_usd, low_micro_usd and
            high_micro_usd (Int64, <NA> before today, and everywhere for a month that
            is over).
        """
        import pandas as pd

        first = date.fromisoformat(f"{self.month}-01")
        spent, ahead = self.days
        count = (end_of_month(self.month) - first).days + 1
        midnights = np.array(
            [first + n * A_DAY for n in range(count)], "datetime64[us]"
        )
        columns = {"day": pd.DatetimeIndex(midnights).tz_localize("UTC")} | {
            "spent_micro_usd": _padded(np.cumsum(spent).tolist(), count, at_end=True)
        }
        for place, name in enumerate(("low", "expected", "high")):
            values = [each[place] for each in ahead]
            columns[f"{name}_micro_usd"] = _padded(values, count, at_end=False)
        order = ("day", "spent", "expected", "low", "high")
        names = [name if name == "day" else f"{name}_micro_usd" for name in order]
        return pd.DataFrame(columns)[names]


def _padded(
    values: Sequence[int], count: int, *, at_end: bool
) -> pd.api.extensions.ExtensionArray:
    import pandas as pd

    missing = [None] * (count - len(values))
    filled = [*values, *missing] if at_end else [*missing, *values]
    return pd.array(filled, dtype="Int64")


def first_day_needed(month: str) -> date:
    """Return the first day whose charges a forecast of a month uses."""
    return date.fromisoformat(f"{month}-01") - HISTORY_DAYS * A_DAY


def refuse_future(month: str, today: date) -> None:
    """Reject a month that has not begun.

    Raises:
        InputError: The month has not begun.
    """
    current = month_of(today)
    if month > current:
        raise InputError(
            "month",
            got=month,
            accepted=f"a month that has begun, up to {current}: a forecast is made "
            "from what the month has cost so far",
            spec="4.19",
        )


def forecast_month(
    month: str,
    totals: Whole,
    today: date,
    budget: Budget | None = None,
    *,
    before_micro_usd: int = 0,
    note: str = "",
) -> Forecast:
    """Forecast a month from its charges so far and those before it.

    Args:
        month: The month, YYYY-MM.
        totals: The charges of each day from `first_day_needed(month)` to today, or
            to the end of the month if that is earlier; micro-USD.
        today: Today in UTC by the service's clock; its charges are incomplete.
        budget: What to compare it with; None for nothing.
        before_micro_usd: What the budget had spent before the month.
        note: A note about the charges to append to the text; empty for none.

    Raises:
        InputError: The month has not begun.
    """
    refuse_future(month, today)
    spent, so_far = totals[HISTORY_DAYS:], int(totals[HISTORY_DAYS:].sum())
    if today > end_of_month(month):
        where = f"{month_name(month)}{_under(budget)}"
        text = f"{format_usd(so_far)} was charged in {where}; the month is over."
        ahead: list[tuple[int, int, int]] = []
        method = "The sum of the month's charges; nothing is estimated."
        total = (so_far, so_far, so_far)
    else:
        complete = since_first_spend(totals[:-1])
        left_n = (end_of_month(month) - today).days + 1
        ahead = _ahead(complete, int(totals[-1]), so_far, left_n)
        method, total = _method(len(complete), left_n), ahead[-1]
        where = f"{month_name(month)}{_under(budget)}"
        text = _text(where, so_far, total, len(complete))
    compared = _budget_text(month, budget, before_micro_usd, total, is_over=not ahead)
    return Forecast(
        month=month,
        so_far_micro_usd=so_far,
        expected_micro_usd=total[1],
        low_micro_usd=total[0],
        high_micro_usd=total[2],
        method=method,
        text=f"{text}{compared} {note}".rstrip(),
        budget=budget,
        days=(tuple(spent.tolist()), tuple(ahead)),
    )


def _ahead(
    complete: Whole, of_today: int, so_far: int, left_n: int
) -> list[tuple[int, int, int]]:
    """Return the cumulative range at the end of today and of each day after.

    Args:
        complete: The charges of the complete days, from the first spend.
        of_today: Charges so far today.
        so_far: Charges so far this month, including today.
        left_n: The number of days left, including today.
    """
    if not len(complete):
        return [(so_far, so_far, so_far)] * left_n
    known = weekday_medians(complete)
    ranges = [_range(complete, known, days_n) for days_n in range(1, left_n + 1)]
    # What today has cost beyond the usual is known and not part of the forecast.
    surplus = max(0.0, of_today - ranges[0].expected)
    before = so_far - of_today
    columns = np.array([each.add(before + surplus) for each in ranges])
    # Each length has its own range, but a cumulative sum never falls.
    columns = np.minimum.accumulate(columns[::-1])[::-1]
    columns[:, 0] = np.minimum(columns[:, 0], columns[:, 1])
    columns[:, 2] = np.maximum(columns[:, 2], columns[:, 1])
    rounded = np.maximum(np.rint(columns).astype("int64"), so_far)
    return [(int(low), int(middle), int(high)) for low, middle, high in rounded]


def _range(complete: Whole, known: Real, days_n: int) -> Range:
    """Forecast the total of the days that follow the complete ones."""
    if len(complete) <= TRAINING_DAYS:
        return _rough_range(complete, days_n)
    back_n = min(days_n, (len(complete) - TRAINING_DAYS) // 2 or 1)
    at = np.arange(TRAINING_DAYS, len(complete) - back_n + 1)
    sums = np.concatenate([[0], np.cumsum(complete)])
    came = sums[at + back_n] - sums[at]
    errors = (came - _usual(known, at, back_n)) / _level(sums, known, at, back_n)
    stretches = max(1.0, len(at) / back_n)
    low, middle, high = np.quantile(errors, [LOW, MIDDLE, HIGH])
    wider = np.sqrt(1 + WIDENING / stretches)
    shift = middle * stretches / (stretches + 1)
    now = np.array([len(complete)])
    usual = float(_usual(known, now, days_n)[0])
    level = float(_level(sums, known, now, days_n)[0])
    return Range(
        max(0.0, usual + level * (shift + (low - middle) * wider)),
        max(0.0, usual + level * shift),
        max(0.0, usual + level * (shift + (high - middle) * wider)),
    )


def _usual(known: Real, at: Whole, days_n: int) -> Real:
    """Return the usual total of the days that follow each position."""
    weekdays = (at[:, None] + np.arange(days_n)) % WEEK
    total: Real = known[at[:, None], weekdays].sum(axis=1)
    return total


def _level(sums: Whole, known: Real, at: Whole, days_n: int) -> Real:
    """Return the scale of errors: the usual cost, or half the mean if it is higher.

    If most days cost nothing, the medians are 0 and only the mean shows the scale.
    """
    begin = np.maximum(at - LEVEL_DAYS, 0)
    mean = (sums[at] - sums[begin]) / (at - begin)
    level: Real = np.maximum(1.0, np.maximum(known[at].sum(axis=1) / WEEK, mean / 2))
    return level * days_n


def _rough_range(complete: Whole, days_n: int) -> Range:
    """Return a range from the mean, while there are too few days for medians."""
    mean = float(complete.mean()) * days_n
    if len(complete) < WEEK:
        return Range(0.0, mean, 3 * mean)
    spread = float(complete.std(ddof=1))
    half = NORMAL_80 * spread * float(np.sqrt(days_n + days_n**2 / len(complete)))
    return Range(max(0.0, mean - half), mean, mean + half)


def _method(days_n: int, left_n: int) -> str:
    if not days_n:
        return "There is no complete day with spend before today, so nothing is added."
    if days_n < WEEK:
        return (
            f"Each remaining day is the mean of {_counted(days_n)}; the interval runs "
            "from $0 to three times that, because there is less than a week of data."
        )
    if days_n <= TRAINING_DAYS:
        return (
            f"Each remaining day is the mean of {_counted(days_n)}; the interval comes "
            "from how much these days vary."
        )
    return (
        "The median of each weekday over its last eight weeks, corrected for the "
        "typical error of past forecasts; the 80 % interval comes from the errors of "
        f"the same forecast for up to {_counted(left_n)} ahead within the last "
        f"{_counted(days_n)}."
    )


def _counted(days_n: int) -> str:
    return "1 day" if days_n == 1 else f"{days_n} days"


def _under(budget: Budget | None) -> str:
    """Name the budget whose charges these are; empty for those of all keys."""
    if budget is None or not budget.counts_by_name:
        return ""
    return f" under the budget {shown(budget.name)}"


def _text(where: str, so_far: int, total: tuple[int, int, int], complete_n: int) -> str:
    begin = f"{format_usd(so_far)} has been charged so far in {where}"
    if not complete_n:
        return (
            f"{begin}. There is no complete day of spend to forecast from; try again "
            "tomorrow."
        )
    low, expected, high = (_cents(each) for each in total)
    said = (
        f"{begin}; about {expected} is expected by the end of the month (80 % "
        f"interval: {low} to {high})."
    )
    if complete_n < WEEK:
        are = "is" if complete_n == 1 else "are"
        said += (
            f" Only {_counted(complete_n)} of spend {are} available, so this is a "
            "rough estimate."
        )
    elif complete_n <= TRAINING_DAYS:
        said += (
            " Less than three weeks of spend are available, so this is a rough "
            "estimate."
        )
    return said


def _budget_text(
    month: str,
    budget: Budget | None,
    before_micro_usd: int,
    total: tuple[int, int, int],
    *,
    is_over: bool,
) -> str:
    if budget is None:
        return ""
    low, expected, high = total
    limit = budget.limit_micro_usd - before_micro_usd
    named = f"the budget of {format_usd(budget.limit_micro_usd)}"
    if before_micro_usd:
        left = format_usd(max(0, limit))
        named = f"the {left} that {month_name(month)} began with"
    if is_over:
        excess = expected - limit
        is_within = (
            "was not exceeded" if excess <= 0 else f"was exceeded by {_cents(excess)}"
        )
        return f" {named[0].upper()}{named[1:]} {is_within}."
    if high <= limit:
        return f" The whole interval is within {named}."
    if low > limit:
        return f" The whole interval is over {named}."
    if expected <= limit:
        return f" The estimate is within {named}, but the upper end is over it."
    return f" The estimate is {_cents(expected - limit)} over {named}."


def _cents(micro_usd: int) -> str:
    """Format an estimate in whole cents; finer digits are not meaningful."""
    cents = (2 * micro_usd + CENT_MICRO_USD) // (2 * CENT_MICRO_USD)
    return format_usd(cents * CENT_MICRO_USD)
