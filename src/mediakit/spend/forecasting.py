"""Forecasts of a month's total from the charges of earlier days."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mediakit.errors import InputError
from mediakit.money import format_usd
from mediakit.spend.column_types import CHARGE
from mediakit.spend.dates import (
    day_name,
    end_of_month,
    first_of_month,
    month_name,
    month_of,
)

if TYPE_CHECKING:
    from mediakit.client.budgets import Budget

WEEK = 7
HISTORY = timedelta(weeks=13)
MEAN_DAYS = 28
CLIP = 4
"""A day counts in the mean up to this many times the median of the days with spend."""
BACKTEST_FROM = 14
LEAST_BACKTEST, FEW_BACKTESTS = 21, 42
LEAST_APART = 2
"""So many forecasts that do not overlap show errors on both sides."""
NORMAL_80 = 1.2816
SHORT_PAUSE = 2
"""A weekend without spend is no sign that a project has ended."""
SHARES = (0.0, 0.1, 0.5, 0.9)
"""The quantiles of 0, low, expected and high in the distribution of future spend."""
CENT_MICRO_USD = 10_000

Whole = np.ndarray[Any, np.dtype[np.int64]]
Real = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Forecast:
    """The forecast of a month; amounts are micro-USD.

    Args:
        month: The month, YYYY-MM in UTC.
        so_far_micro_usd: The charges so far, including today; exact.
        expected_micro_usd: The expected total of the whole month.
        low_micro_usd: The lower end of the 80% interval; after less than a week of
            spend, there is no interval, and this is the amount charged so far.
        high_micro_usd: The upper end of the 80% interval; after less than a week of
            spend, three times the expected amount for the remaining days.
        method: How it was made, in a sentence.
        text: A summary, in a sentence or two.
        budget: The budget that it is compared with, or None if there is none.
        complete_days: The number of complete days of spend that it is based on.
        project: The project that is forecast; None for all.
        api_key_id: The API key that is forecast; None for all.
        until: The last day on which spend is expected; None for no end.
    """

    month: str
    so_far_micro_usd: int
    expected_micro_usd: int
    low_micro_usd: int
    high_micro_usd: int
    method: str
    text: str
    budget: Budget | None
    complete_days: int
    _days: pd.DataFrame = field(repr=False, compare=False)
    project: str | None = None
    api_key_id: str | None = None
    until: date | None = None

    @property
    def has_interval(self) -> bool:
        """Return whether there is enough spend for an interval."""
        return self.complete_days >= WEEK

    def __repr__(self) -> str:
        return self.text

    def frame(self) -> pd.DataFrame:
        """Return the cumulative forecast by day.

        Returns:
            One row per day of the month: day (datetime64[us], UTC); spent_micro_usd
            (Int64, <NA> after today); expected_micro_usd, low_micro_usd and
            high_micro_usd (Int64, <NA> before today, and everywhere for a month that
            is over).
        """
        return self._days.copy()


def first_day_needed(month: str) -> date:
    """Return the first day that the forecast of a month uses."""
    return first_of_month(month) - HISTORY


def refuse_future(month: str, today: date) -> None:
    """Raise an `InputError` for a month that has not begun."""
    current = month_of(today)
    if month > current:
        raise InputError(
            "month",
            got=month,
            accepted=f"a month that has begun, up to {current}: a forecast is made "
            "from what the month has cost so far",
            spec="4.19",
            then="",
        )


def daily_totals(daily: pd.DataFrame, first: date, last: date) -> Whole:
    """Sum the known charges of each day in a range, in micro-USD."""
    charges = daily.dropna(subset=["day", CHARGE]).astype({CHARGE: "int64"})
    days = pd.date_range(first, last)
    totals = charges.groupby("day")[CHARGE].sum().reindex(days, fill_value=0)
    return totals.to_numpy("int64")


def forecast_month(
    month: str,
    totals: Whole,
    today: date,
    budget: Budget | None = None,
    *,
    of: str = "",
    before_micro_usd: int = 0,
    project: str | None = None,
    api_key_id: str | None = None,
    until: date | None = None,
) -> Forecast:
    """Forecast a month from its charges so far and earlier ones.

    `totals` are the charges of each day from `first_day_needed(month)` to today, whose
    charges are incomplete, or to the end of the month, in micro-USD. `of` describes
    their origin. A refund lowers the spend so far and widens the interval, but does not
    lower the coming days. Nothing is expected after `until`.
    """
    first, last = first_of_month(month), end_of_month(month)
    spent = np.cumsum(totals[HISTORY.days :])
    so_far, where = int(spent[-1]), f"{month_name(month)}{of}"
    if today > last:
        complete = totals
        ahead = np.zeros((0, 3), "int64")
        low = expected = high = so_far
        method = "The sum of the month's charges; nothing is estimated."
        text = f"{format_usd(so_far)} was charged in {where}; the month is over."
    else:
        paid = np.maximum(totals, 0)
        begin_n = len(np.trim_zeros(paid[:-1], "f"))
        complete = totals[:-1][len(totals) - 1 - begin_n :]
        ended = 0.0 if paid[-1] else _chance_of_end(complete)
        left_n = (last - today).days + 1
        open_n = left_n if until is None else min(left_n, (until - today).days + 1)
        ahead = _ahead(complete, int(paid[-1]), so_far, open_n, ended)
        ahead = np.pad(ahead, ((0, left_n - len(ahead)), (0, 0)), "edge")
        low, expected, high = ahead[-1].tolist()
        method = _method(len(complete), open_n, ended)
        where += "" if until is None else f", with spend until {day_name(until)}"
        text = _text(where, so_far, (low, expected, high), len(complete), ended)
    if budget is not None:
        total = (low, expected, high)
        text += _budget_text(
            month,
            budget,
            before_micro_usd,
            total,
            is_over=today > last,
            days_n=len(complete),
        )
    days = pd.DataFrame({"day": pd.date_range(first, last, unit="us")})
    days["spent_micro_usd"] = pd.Series(spent, dtype="Int64")
    for name, place in (("expected", 1), ("low", 0), ("high", 2)):
        index = days.index[len(days) - len(ahead) :]
        days[f"{name}_micro_usd"] = pd.Series(ahead[:, place], index, dtype="Int64")
    return Forecast(
        month=month,
        so_far_micro_usd=so_far,
        expected_micro_usd=expected,
        low_micro_usd=low,
        high_micro_usd=high,
        method=method,
        text=text,
        budget=budget,
        complete_days=len(complete),
        _days=days,
        project=project,
        api_key_id=api_key_id,
        until=until,
    )


def _chance_of_end(complete: Whole) -> float:
    """Return the probability that spending has ended, from the current pause.

    The probability is 0 unless the pause is longer than every earlier pause. Pauses are
    modelled as geometric, and one of them as the last.
    """
    is_idle = np.concatenate([[False], complete <= 0, [False]])
    pauses = np.diff(np.flatnonzero(np.diff(is_idle)))[::2]
    if not is_idle[-2] or pauses[-1] <= max([SHORT_PAUSE, *pauses[:-1]]):
        return 0.0
    mean_days = (pauses[:-1].sum() + SHORT_PAUSE) / len(pauses)
    goes_on = (1 - 1 / max(mean_days, SHORT_PAUSE)) ** (pauses[-1] - 1)
    is_last = 1 / (len(pauses) + 1)
    return float(is_last / (is_last + (1 - is_last) * goes_on))


def _ahead(
    complete: Whole, of_today: int, so_far: int, left_n: int, ended: float
) -> Whole:
    """Return low, expected and high, cumulative, for today and each later day.

    `complete` is net of refunds; `ended` is the probability that nothing more comes.
    """
    if not len(complete) or left_n < 1:
        return np.full((1, 3), so_far)
    paid = np.maximum(complete, 0)
    means = np.array([_mean(paid[:n]) for n in range(1, len(paid) + 1)])
    ranges = np.array([_range(complete, means, n) for n in range(1, left_n + 1)])
    if ended:
        shares = (np.array([SHARES[1], SHARES[-1]]) - ended) / (1 - ended)
        for row in ranges:
            low, high = np.interp(shares, SHARES, [0.0, *row])
            row[:] = low, min((1 - ended) * row[1], high), high
    # Today's cost above the usual is known, so it is not part of the forecast.
    ranges += so_far - of_today + max(0.0, of_today - means[-1])
    # Each number of days has its own interval, but a cumulative sum never falls.
    ranges = np.minimum.accumulate(ranges[::-1])[::-1]
    whole: Whole = np.maximum(np.rint(ranges).astype("int64"), so_far)
    return whole


def _mean(days: Whole) -> float:
    recent = days[-MEAN_DAYS:]
    if not recent.any():
        return 0.0
    return float(np.minimum(recent, CLIP * np.median(recent[recent > 0])).mean())


def _range(complete: Whole, means: Real, days_n: int) -> tuple[float, float, float]:
    """Return low, expected and high for the total of the next days."""
    mean, count = float(means[-1]), len(complete)
    if count < WEEK:
        return 0.0, mean * days_n, 3 * mean * days_n
    expected = mean * days_n
    half = NORMAL_80 * _spread(complete) * _wider(int(np.count_nonzero(complete)) - 1)
    half *= float(np.sqrt(days_n + days_n**2 / min(count, MEAN_DAYS)))
    if count <= LEAST_BACKTEST:
        return max(0.0, expected - half), expected, expected + half
    length = _backtest_length(count, days_n)
    at = np.arange(BACKTEST_FROM, count - length + 1)
    sums = np.concatenate([[0], np.cumsum(complete)])
    actual_means = (sums[at + length] - sums[at]) / length
    # After a pause the mean is small: errors are then relative to the usual spend.
    scales = np.maximum(means[at - 1], sums[at] / at / 2)
    low, high = np.quantile((actual_means - means[at - 1]) / scales, [0.1, 0.9])
    # Overlapping forecasts are not independent.
    n = len(at) / length
    scale = max(mean, sums[-1] / count / 2) * _wider(n) * np.sqrt(1 + 1 / n)
    if _has_backtests(count, days_n):
        half = 0.0
    # Few past errors miss rare events, so each end is at least as far away as the
    # spread of the days implies.
    below = min(0.0, days_n * low * scale, -half)
    above = max(0.0, days_n * high * scale, half)
    return max(0.0, expected + below), expected, expected + above


def _backtest_length(count: int, days_n: int) -> int:
    return min(days_n, (count - BACKTEST_FROM) // 2)


def _has_backtests(count: int, days_n: int) -> bool:
    """Return whether past errors alone tell how far off a forecast may be."""
    if count <= FEW_BACKTESTS:
        return False
    length = _backtest_length(count, days_n)
    return (count - length + 1 - BACKTEST_FROM) / length >= LEAST_APART


def _wider(n: float) -> float:
    """Return how much wider an interval of few values must be than of many.

    The factor is the ratio of Student's t, with n degrees of freedom, to the normal
    quantile at 80%.
    """
    n = max(n, 1)
    return 1 + 0.66 / n + 0.45 / n**2


def _spread(days: Whole) -> float:
    """Return the spread of days; from the third week on, around weekday means."""
    count = len(days)
    weekdays = np.arange(count) % WEEK if count > 2 * WEEK else np.zeros(count, "int64")
    sums, counts = np.bincount(weekdays, days), np.bincount(weekdays)
    off = days - (sums / counts)[weekdays]
    return float(np.sqrt((off**2).sum() / (count - len(counts))))


def _method(days_n: int, left_n: int, ended: float) -> str:
    if not days_n:
        return "There is no complete day with spend before today, so nothing is added."
    errors = "the errors of the same forecast on earlier days"
    interval = f"the 80% interval comes from {errors}"
    if days_n < WEEK:
        interval = "there is no interval, because there is less than a week of spend"
    elif days_n <= LEAST_BACKTEST:
        interval = "the 80% interval comes from how much these days vary"
    elif left_n > 0 and not _has_backtests(days_n, left_n):
        interval += ", and from how much these days vary"
    return (
        f"Each remaining day is forecast as the mean of the last {MEAN_DAYS} days "
        f"({min(days_n, MEAN_DAYS)} known), with each day capped at {CLIP} times the "
        f"median of the days with spend; {interval}."
        + (f" There is a {ended:.0%} chance that the spend has ended." if ended else "")
    )


def _text(
    where: str, so_far: int, total: tuple[int, int, int], days_n: int, ended: float
) -> str:
    begin = f"{format_usd(so_far)} has been charged so far in {where}"
    if not days_n:
        return (
            f"{begin}. There is no complete day of spend to forecast from; try again "
            "tomorrow."
        )
    low, expected, high = map(_cents, total)
    interval = f" (80% interval: {low} to {high})" if days_n >= WEEK else ""
    text = f"{begin}; about {expected} is expected by the end of the month{interval}."
    if days_n <= LEAST_BACKTEST:
        days = f"{days_n} day{'' if days_n == 1 else 's'}"
        text += f" This is rough: it is based on {days} of spend."
    if ended:
        text += (
            " This pause without charges is longer than any before it, so the spend "
            "may have ended."
        )
    return text


def _budget_text(
    month: str,
    budget: Budget,
    before_micro_usd: int,
    total: tuple[int, int, int],
    *,
    is_over: bool,
    days_n: int,
) -> str:
    low, expected, high = total
    has_interval = days_n >= WEEK
    what = "The estimate is" if days_n else "The charges so far are"
    limit = budget.limit_micro_usd - before_micro_usd
    named = f"the budget of {format_usd(budget.limit_micro_usd)}"
    if before_micro_usd:
        named = f"the {format_usd(max(0, limit))} that {month_name(month)} began with"
    if is_over:
        over = f"exceeded by {_cents(expected - limit)}"
        result = "not exceeded" if expected <= limit else over
        return f" {named[0].upper()}{named[1:]} was {result}."
    if has_interval and high <= limit:
        return f" The whole interval is within {named}."
    if has_interval and low > limit:
        return f" The whole interval is over {named}."
    if expected <= limit:
        but = ", but the upper end is over it" if has_interval else ""
        return f" {what} within {named}{but}."
    return f" {what} {_cents(expected - limit)} over {named}."


def _cents(micro_usd: int) -> str:
    """Format an estimate in whole cents."""
    cents = (2 * micro_usd + CENT_MICRO_USD) // (2 * CENT_MICRO_USD)
    return format_usd(cents * CENT_MICRO_USD)
