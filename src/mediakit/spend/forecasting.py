"""Forecasts of a month's total, and days with unusual spend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mediakit.errors import InputError
from mediakit.history.frames import text_array
from mediakit.money import format_usd
from mediakit.spend.dates import end_of_month, first_of_month, month_name, month_of

if TYPE_CHECKING:
    from mediakit.client.budgets import Budget

CHARGE = "charge_micro_usd"
WEEK = 7
HISTORY = timedelta(weeks=13)
MEAN_DAYS = 28
CLIP = 4
"""A day counts in the mean up to this many times the median of the days with spend."""
BACKTEST_FROM = 14
LEAST_BACKTEST = 21
NORMAL_80 = 1.2816
CENT_MICRO_USD = 10_000

MEDIAN_WEEKS = 8
FEWEST_WEEKS = 3
MAD_TO_DEVIATION = 1.4826
LEAST_SPREAD, UNKNOWN_SPREAD = 0.15, 0.75
MOST_Z, LEAST_FACTOR = 3.5, 2.0
SMALL_SHARE = 20
"""Amounts below a twentieth of a usual day count as zero."""

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
            spend there is none, and this is what is charged so far.
        high_micro_usd: The upper end of the 80% interval; after less than a week of
            spend, for the remaining days three times what is expected.
        method: How it was made, in a sentence.
        text: A summary, in a sentence or two.
        budget: The budget that it is compared with; None for none.
        complete_days: How many complete days of spend it rests on.
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

    def __repr__(self) -> str:
        return self.text

    def frame(self) -> pd.DataFrame:
        """Return the cumulative forecast by day.

        Returns:
            One row per day of the month: day (datetime64[us, UTC]); spent_micro_usd
            (Int64, <NA> after today); expected_micro_usd, low_micro_usd and
            high_micro_usd (Int64, <NA> before today, and everywhere for a month that
            is over).
        """
        return self._days.copy()


def first_day_needed(month: str) -> date:
    """Return the first day whose charges a forecast of a month uses."""
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
        )


def daily_totals(daily: pd.DataFrame, first: date, last: date) -> Whole:
    """Add up the known charges of each day of a range, micro-USD."""
    known = daily.dropna(subset=["day", CHARGE]).astype({CHARGE: "int64"})
    days = pd.date_range(first, last, tz="UTC")
    totals = known.groupby("day")[CHARGE].sum().reindex(days, fill_value=0)
    return totals.to_numpy("int64")


def forecast_month(
    month: str,
    totals: Whole,
    today: date,
    budget: Budget | None = None,
    *,
    of: str = "",
    before_micro_usd: int = 0,
) -> Forecast:
    """Forecast a month from its charges so far and those before it.

    `totals` are the charges of each day from `first_day_needed(month)` to today, whose
    charges are incomplete, or to the end of the month; micro-USD. `of` says whose they
    are.
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
        complete = np.trim_zeros(totals[:-1], "f")
        ahead = _ahead(complete, int(totals[-1]), so_far, (last - today).days + 1)
        low, expected, high = ahead[-1].tolist()
        method = _method(len(complete))
        text = _text(where, so_far, (low, expected, high), len(complete))
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
    days = pd.DataFrame({"day": pd.date_range(first, last, tz="UTC", unit="us")})
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
    )


def _ahead(complete: Whole, of_today: int, so_far: int, left_n: int) -> Whole:
    """Return low, expected and high, cumulative, for today and each day after."""
    if not len(complete):
        return np.full((left_n, 3), so_far)
    means = np.array([_mean(complete[:n]) for n in range(1, len(complete) + 1)])
    ranges = np.array([_range(complete, means, n) for n in range(1, left_n + 1)])
    # What today has cost beyond the usual is known and not part of the forecast.
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
    if count <= LEAST_BACKTEST:
        spread = float(complete.std(ddof=1))
        half = NORMAL_80 * spread * float(np.sqrt(days_n + days_n**2 / count))
        return max(0.0, mean * days_n - half), mean * days_n, mean * days_n + half
    length = min(days_n, (count - BACKTEST_FROM) // 2)
    at = np.arange(BACKTEST_FROM, count - length + 1)
    sums = np.concatenate([[0], np.cumsum(complete)])
    came = (sums[at + length] - sums[at]) / length
    # After a pause the mean is small: errors are then relative to the usual spend.
    scales = np.maximum(means[at - 1], sums[at] / at / 2)
    low, high = np.quantile((came - means[at - 1]) / scales, [0.1, 0.9])
    # Forecasts that overlap are not independent; few of them need a wider interval, as
    # with Student's t.
    n = len(at) / length
    wider = (1 + 0.66 / n + 0.45 / n**2) * np.sqrt(1 + 1 / n)
    scale = max(mean, sums[-1] / count / 2) * wider
    return (
        days_n * max(0.0, min(mean, mean + low * scale)),
        days_n * mean,
        days_n * max(mean, mean + high * scale),
    )


def _method(days_n: int) -> str:
    if not days_n:
        return "There is no complete day with spend before today, so nothing is added."
    interval = (
        "the 80% interval comes from the errors of the same forecast on earlier days"
    )
    if days_n < WEEK:
        interval = "there is no interval, because there is less than a week of spend"
    elif days_n <= LEAST_BACKTEST:
        interval = "the 80% interval comes from how much these days vary"
    return (
        f"Each remaining day is the mean of the last {MEAN_DAYS} days (known: "
        f"{min(days_n, MEAN_DAYS)}), in which a day counts up to {CLIP} times the "
        f"median of the days with spend; {interval}."
    )


def _text(where: str, so_far: int, total: tuple[int, int, int], days_n: int) -> str:
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
    """Format an estimate in whole cents; finer digits are not meaningful."""
    cents = (2 * micro_usd + CENT_MICRO_USD) // (2 * CENT_MICRO_USD)
    return format_usd(cents * CENT_MICRO_USD)


# -- unusual days ----------------------------------------------------------------------


def anomalies_frame(
    daily: pd.DataFrame, start: date, end: date, by: Sequence[str] = ()
) -> pd.DataFrame:
    """Find unusual days in rows from thirteen weeks before the start.

    See `AsyncSpend.anomalies`.
    """
    groups: list[tuple[Any, pd.DataFrame]] = [((), daily)]
    if by:
        groups = list(daily.groupby(list(by), dropna=False)) or groups
    found = []
    for names, rows in groups:
        judged = _judged(daily_totals(rows, start - HISTORY, end), start, end)
        unusual = judged[judged["is_unusual"]].drop(columns="is_unusual")
        for place, name in enumerate(by):
            text = names[place] if names and pd.notna(names[place]) else None
            unusual.insert(1 + place, name, text_array([text] * len(unusual)))
        found.append(unusual)
    frame = pd.concat(found).sort_values("day", kind="stable", ignore_index=True)
    usual = frame["usual_micro_usd"].round().astype("int64")
    frame["usual_micro_usd"] = usual
    frame["factor"] = frame[CHARGE] / usual
    directions = ["high" if z > 0 else "low" for z in frame["z_score"]]
    frame["direction"] = text_array(directions)
    return frame


def _judged(totals: Whole, start: date, end: date) -> pd.DataFrame:
    """Return the robust z-score of each day from the first spend on.

    It uses only days before the judged one. On a logarithmic scale, twice as much is as
    far off as half.
    """
    days = pd.date_range(start - HISTORY, end, tz="UTC", unit="us")
    charges = pd.Series(totals, days)
    spent = charges.where(charges.cumsum() > 0)
    small = spent.where(spent > 0).expanding().median().shift() / SMALL_SHARE
    usual = spent.groupby(days.day_of_week).transform(
        lambda own: own.shift().rolling(MEDIAN_WEEKS, min_periods=FEWEST_WEEKS).median()
    )
    off = np.log((spent + small) / (usual + small))
    spread = off.abs().rolling(HISTORY.days, min_periods=WEEK).median().shift()
    spread = (MAD_TO_DEVIATION * spread).fillna(UNKNOWN_SPREAD).clip(LEAST_SPREAD)
    z_score = off / spread
    is_unusual = (z_score.abs() > MOST_Z) & (off.abs() > np.log(LEAST_FACTOR))
    columns = {
        CHARGE: charges,
        "usual_micro_usd": usual,
        "z_score": z_score,
        "is_unusual": is_unusual,
    }
    judged = pd.DataFrame(columns).rename_axis("day").reset_index()
    return judged[spent.notna().to_numpy() & (days >= pd.Timestamp(start, tz="UTC"))]
