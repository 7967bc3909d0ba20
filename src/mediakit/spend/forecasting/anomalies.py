"""Days that cost far more or less than their weekday usually does.

A day is compared with the median of its weekday over the eight weeks before, on a
logarithmic scale: twice as much is as far off as half. The usual distance is the median
of the same distances before, so a burst does not hide the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from mediakit.errors import InputError
from mediakit.money import format_usd
from mediakit.spend.dates import month_name, weekday_name
from mediakit.spend.forecasting.weekday_medians import (
    A_DAY,
    MEDIAN_WEEKS,
    WEEK,
    Real,
    Whole,
    daily_totals,
    unread_text,
)

if TYPE_CHECKING:
    import pandas as pd

HISTORY_DAYS = 13 * WEEK
FEWEST = 3
"""The minimum number of earlier days of the same weekday to compare with."""
THRESHOLD = 3.5
"""The distance from the median, in usual distances, that makes a day unusual."""
TO_DEVIATION = 1.4826
LEAST_FACTOR = 2.0
LEAST_SPREAD = 0.15
SMALL_SHARE = 20
"""Amounts below a twentieth of a usual day count as zero."""
BY_COLUMNS = {
    "function": "function",
    "key": "api_key_id",
    "model": "model",
    "project": "project",
}


@dataclass(frozen=True)
class Unusual:
    """A day that is unusual.

    Args:
        day: The day.
        charge_micro_usd: What it cost.
        usual_micro_usd: The median of its weekday before.
        compared_n: The number of earlier days of its weekday in that median.
    """

    day: date
    charge_micro_usd: int
    usual_micro_usd: int
    compared_n: int

    @property
    def factor(self) -> float:
        """Return the charge as a multiple of the usual; infinity if that is 0."""
        if not self.usual_micro_usd:
            return float("inf")
        ratio = Fraction(self.charge_micro_usd, self.usual_micro_usd)
        return float(ratio)

    @property
    def direction(self) -> str:
        """Return "high" or "low"."""
        return "high" if self.charge_micro_usd > self.usual_micro_usd else "low"

    @property
    def text(self) -> str:
        """Name the day, and explain what is unusual about it."""
        month = month_name(f"{self.day:%Y-%m}")
        when = f"{weekday_name(self.day)}, {self.day.day} {month}"
        return f"{when}: {self._explanation}"

    @property
    def _explanation(self) -> str:
        weekday = weekday_name(self.day)
        median = f"the median of the {self.compared_n} {weekday}s before"
        charge = format_usd(self.charge_micro_usd)
        usual = format_usd(self.usual_micro_usd)
        if not self.usual_micro_usd:
            return f"{charge}; a {weekday} usually costs nothing ({median})."
        if not self.charge_micro_usd:
            return f"nothing was charged; a {weekday} usually costs {usual} ({median})."
        factor = f"{self.factor:,.0f}" if self.factor >= 10 else f"{self.factor:.2g}"
        return (
            f"{charge} is {factor} times what a {weekday} usually costs, "
            f"{usual} ({median})."
        )


def by_columns(by: str | Sequence[str] | None) -> list[str]:
    """Return the columns of the daily spend to judge separately.

    Raises:
        InputError: There is no such column.
    """
    asked = [] if by is None else [by] if isinstance(by, str) else list(by)
    for name in asked:
        if name not in BY_COLUMNS:
            accepted = "function, key, model or project, or a list of these"
            raise InputError("by", got=name, accepted=accepted, spec="4.19")
    return [BY_COLUMNS[name] for name in asked]


def refuse_incomplete(start: date, yesterday: date) -> None:
    """Reject a range in which no day is over.

    Args:
        start: The first day to judge.
        yesterday: The last complete day.

    Raises:
        InputError: The start is after it.
    """
    if start > yesterday:
        accepted = f"a day that is over, up to {yesterday.isoformat()}"
        got = start.isoformat()
        raise InputError("start", got=got, accepted=accepted, spec="4.19")


def anomalies_frame(
    daily: pd.DataFrame, start: date, end: date, by: Sequence[str] = ()
) -> pd.DataFrame:
    """Find the days that cost far more or less than their weekday usually does.

    Args:
        daily: Rows with `day`, `charge_micro_usd` and the columns `by`, from
            thirteen weeks before the start.
        start: The first day to judge.
        end: The last day to judge, which is complete.
        by: Columns whose values are each judged on their own.

    Returns:
        One row per unusual day, in order: day (datetime64[us, UTC]), the columns `by`
        (category), charge_micro_usd and usual_micro_usd (int64), factor (float64),
        direction (category: high, low) and text. `attrs["notes"]` says what could not
        be judged.

    Raises:
        InputError: The daily spend has no such column.
    """
    _refuse_missing(daily, by)
    found: list[tuple[tuple[Any, ...], Unusual]] = []
    unjudged_n = 0
    first = start - HISTORY_DAYS * A_DAY
    for names, rows in _groups(daily, by):
        totals = daily_totals(rows, first, end)
        spent = np.flatnonzero(totals)
        if not len(spent):
            continue
        begin = first + int(spent[0]) * A_DAY
        judged = _judged(totals[spent[0] :], begin, max(start, begin))
        unjudged_n += judged.unjudged_n
        found += [(names, each) for each in judged.unusual]
    found.sort(key=lambda each: each[1].day)
    notes = [*_notes(unjudged_n), *filter(None, [unread_text(daily)])]
    return _framed(found, by, notes)


def _refuse_missing(daily: pd.DataFrame, by: Sequence[str]) -> None:
    for column in by:
        if column not in daily:
            there = [name for name in BY_COLUMNS.values() if name in daily]
            accepted = f"what the daily spend tells: {', '.join(there)}"
            raise InputError("by", got=column, accepted=accepted, spec="4.19")


def _groups(
    daily: pd.DataFrame, by: Sequence[str]
) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame]]:
    if not by:
        yield (), daily
        return
    groups = daily.groupby(list(by), observed=True, dropna=False, sort=True)
    yield from groups


@dataclass(frozen=True)
class _Judged:
    unusual: list[Unusual]
    unjudged_n: int


def _judged(totals: Whole, begin: date, start: date) -> _Judged:
    """Judge the days from the start on.

    Args:
        totals: The charges of the days from the first spend.
        begin: The day of the first of them.
        start: The first day to judge.
    """
    small = max(1, int(np.median(totals[totals > 0])) // SMALL_SHARE)
    distances = np.full(len(totals), np.nan)
    usual = np.zeros(len(totals), "int64")
    compared = np.zeros(len(totals), "int64")
    for place in range(FEWEST * WEEK, len(totals)):
        before = totals[place % WEEK : place : WEEK][-MEDIAN_WEEKS:]
        usual[place] = int(np.median(before))
        compared[place] = len(before)
        ratio = (int(totals[place]) + small) / (int(usual[place]) + small)
        distances[place] = np.log(ratio)
    first = (start - begin).days
    places = range(max(first, FEWEST * WEEK), len(totals))
    unusual = [
        Unusual(
            begin + place * A_DAY,
            int(totals[place]),
            int(usual[place]),
            int(compared[place]),
        )
        for place in places
        if _is_unusual(distances, place, HISTORY_DAYS)
    ]
    return _Judged(unusual, max(0, min(FEWEST * WEEK, len(totals)) - first))


def _is_unusual(distances: Real, place: int, days_n: int) -> bool:
    distance = abs(distances[place])
    before = distances[max(0, place - days_n) : place]
    before = np.abs(before[~np.isnan(before)])
    # With few distances the median is unreliable: require a larger one.
    usual = float(np.median(before)) if len(before) >= WEEK else LEAST_FACTOR / 4
    spread = max(LEAST_SPREAD, TO_DEVIATION * usual)
    return bool(distance > max(THRESHOLD * spread, np.log(LEAST_FACTOR)))


def _framed(
    found: Sequence[tuple[tuple[Any, ...], Unusual]],
    by: Sequence[str],
    notes: list[str],
) -> pd.DataFrame:
    import pandas as pd

    from mediakit.spend.responses.columns import as_category

    days = [each for _, each in found]
    midnights = np.array([each.day for each in days], "datetime64[us]")
    columns: dict[str, object] = {"day": pd.DatetimeIndex(midnights).tz_localize("UTC")}
    for place, name in enumerate(by):
        texts = [None if pd.isna(names[place]) else names[place] for names, _ in found]
        columns[name] = as_category(texts)
    for name in ("charge_micro_usd", "usual_micro_usd"):
        columns[name] = np.array([getattr(each, name) for each in days], "int64")
    columns["factor"] = np.array([each.factor for each in days], "float64")
    directions = [each.direction for each in days]
    columns["direction"] = pd.Categorical(directions, categories=["high", "low"])
    columns["text"] = pd.array([each.text for each in days], dtype="str")
    frame = pd.DataFrame(columns)
    frame.attrs = {"notes": notes}
    return frame


def _notes(unjudged_n: int) -> list[str]:
    if not unjudged_n:
        return []
    days = "1 day has" if unjudged_n == 1 else f"{unjudged_n} days have"
    return [
        f"{days} less than three weeks of spend before; too little to tell what is "
        "usual."
    ]
