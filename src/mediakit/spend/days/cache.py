"""A cache of days that no longer change."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from mediakit.spend.days.day_numbers import between
from mediakit.spend.days.month_ranges import ONE_DAY, Range

if TYPE_CHECKING:
    import pandas as pd

MOST_CACHED_MONTHS = 240
# A day is cached two days after it ends: charges may settle late (spec 2.2).
SETTLED_AFTER = timedelta(days=3)

Filters = tuple[str | None, str | None]


@dataclass(frozen=True)
class CachedDays:
    """Consecutive days of one month.

    Args:
        first: The first day.
        last: The last day, included.
        frame: Their rows; callers must copy it.
    """

    first: date
    last: date
    frame: pd.DataFrame

    def part(self, first: date, last: date) -> pd.DataFrame:
        """Return a copy of the rows of some of the days."""
        frame = self.frame[between(self.frame["day"], first, last)].copy()
        total = self.frame.attrs["total_micro_usd"]
        summed = None if total is None else int(frame["charge_micro_usd"].sum())
        frame.attrs = {"total_micro_usd": summed, "notes": [], "report": {}}
        return frame


class DayCache:
    """Complete days by month and filter; the least recently used month goes first."""

    def __init__(self) -> None:
        self._months: OrderedDict[tuple[str, Filters], CachedDays] = OrderedDict()

    def find(self, filters: Filters, days: Range) -> CachedDays | None:
        """Return the cached days from the first day of the range, or None."""
        key = (days[0].isoformat()[:7], filters)
        cached = self._months.get(key)
        if cached is None or not cached.first <= days[0] <= cached.last:
            return None
        self._months.move_to_end(key)
        return cached

    def forget(self, days: Range) -> None:
        """Drop the month of a range, whatever the filter."""
        month = days[0].isoformat()[:7]
        for key in [key for key in self._months if key[0] == month]:
            del self._months[key]

    def store(
        self, filters: Filters, days: Range, frame: pd.DataFrame, today: date
    ) -> None:
        """Cache the complete days of the range, unless its rows are inconsistent.

        Args:
            filters: The requested key and model.
            days: Days of one month.
            frame: All their rows.
            today: Today at the service.
        """
        last = min(days[1], date.fromordinal(_settled(today)))
        if last < days[0] or not _is_consistent(frame, days):
            return
        rows = frame[between(frame["day"], days[0], last)].copy()
        # A total that was not sent cannot be computed from cached days.
        rows.attrs = {"total_micro_usd": frame.attrs["total_micro_usd"]}
        key = (days[0].isoformat()[:7], filters)
        known = self._months.get(key)
        if known is not None and known.first <= days[0] and last <= known.last:
            return
        self._months[key] = CachedDays(days[0], last, rows)
        self._months.move_to_end(key)
        while len(self._months) > MOST_CACHED_MONTHS:
            self._months.popitem(last=False)


def missing(cached: CachedDays | None, days: Range) -> Range | None:
    """Return the days of the range that are not cached; None if all are."""
    if cached is None:
        return days
    return None if days[1] <= cached.last else (cached.last + ONE_DAY, days[1])


def _settled(today: date) -> int:
    return max((today.toordinal() - SETTLED_AFTER.days), 1)


def _is_consistent(frame: pd.DataFrame, days: Range) -> bool:
    if frame.attrs["notes"] or frame["charge_micro_usd"].isna().any():
        return False
    return bool(between(frame["day"], *days).all())
