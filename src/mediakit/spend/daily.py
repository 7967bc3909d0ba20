"""Reads daily spend of any range, by calendar month, and sums it by name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING

from anyio import to_thread

from mediakit.catalog import Catalog
from mediakit.client.account import Billing
from mediakit.errors import InputError
from mediakit.spend.days.cache import CachedDays, DayCache, missing
from mediakit.spend.days.concurrency import gather_limited
from mediakit.spend.days.day_numbers import DAYS_IN_WEEK, is_over
from mediakit.spend.days.frame_concat import joined
from mediakit.spend.days.function_names import kinds_of, with_column
from mediakit.spend.days.grouping import (
    COLUMNS,
    Every,
    check_every,
    grouped,
    of_all_keys,
    read_by,
    weekly_until,
)
from mediakit.spend.days.month_ranges import (
    DEFAULT_DAYS,
    Range,
    by_month,
    days_before,
    month_end,
)
from mediakit.spend.days.projects import with_projects
from mediakit.spend.days.service_clock import ServiceClock
from mediakit.spend.responses import daily_frame, warn_of_unread

if TYPE_CHECKING:
    import pandas as pd

    from mediakit.spend.days.grouping import By

MOST_TRIES = 3
FUTURE = "Only the service's date was read; reading is free."

Charges = Callable[[date], Awaitable["pd.DataFrame"]]


@dataclass(frozen=True)
class DayQuery:
    """The query for a range of days.

    Args:
        first: The first day; None for 30 days up to the last.
        last: The last day, included; None for today at the service.
        api_key_id: Only what this key spent.
        model: Only what this model cost.
        refresh: Read days that are kept in memory again.
    """

    first: date | None
    last: date | None
    api_key_id: str | None = None
    model: str | None = None
    refresh: bool = False

    def range(self, today: date) -> Range:
        """Return the first and the last day that are meant today.

        Raises:
            InputError: The last is before the first.
        """
        last = self.last or max(today, self.first or today)
        first = self.first or days_before(last, DEFAULT_DAYS - 1)
        if last < first:
            accepted = f"a day not before the start, {first.isoformat()}"
            raise InputError(
                "end", got=last.isoformat(), accepted=accepted, spec="4.19"
            )
        return first, last


class DailyReader:
    """Reads days, a few requests at a time, and keeps those that are complete.

    Args:
        billing: Reads the reports from the service.
        catalog: Names the functions.
        clock: The service's.
    """

    def __init__(self, billing: Billing, catalog: Catalog, clock: ServiceClock) -> None:
        self._billing = billing
        self._catalog = catalog
        self._clock = clock
        self.cache = DayCache()

    async def rows(self, query: DayQuery) -> pd.DataFrame:
        """Read some days, one row per day, key and function.

        Raises:
            InputError: The range is not acceptable, or all of it is in the future.
            ServiceError: The service does not respond.
        """
        frame, whole = await self._read_until_today(query)
        return await to_thread.run_sync(self._named, frame, whole)

    async def _read_until_today(self, query: DayQuery) -> tuple[pd.DataFrame, Range]:
        """Read the days; repeat if the response shows that today is another day."""
        today = self._clock.today()
        for _ in range(MOST_TRIES):
            whole = query.range(today)
            wanted = _readable(whole, today)
            frame = await self._read(query, wanted, today)
            today = self._clock.today()
            if _readable(query.range(today), today) == wanted:
                break
        _check_begun(whole, today)
        return frame, whole

    async def _read(self, query: DayQuery, whole: Range, today: date) -> pd.DataFrame:
        months = by_month(*whole)
        if query.refresh:
            for days in months:
                self.cache.forget(days)
        reads = [partial(self._month, query, days, today) for days in months]
        found = [frame for frames in await gather_limited(reads) for frame in frames]
        if len(found) == 1 and found[0].attrs["report"]:
            return found[0]
        frame = await to_thread.run_sync(joined, found)
        ends = {"start_date": whole[0].isoformat(), "end_date": whole[1].isoformat()}
        total = {"total_micro_usd": frame.attrs["total_micro_usd"]}
        frame.attrs["report"] = ends | total
        return frame

    async def _month(
        self, query: DayQuery, days: Range, today: date
    ) -> list[pd.DataFrame]:
        """Return the days of one month, from memory and from the service."""
        filters = (query.api_key_id, query.model)
        cached = self.cache.find(filters, days)
        wanted = missing(cached, days)
        frames = [] if cached is None else [_cached_part(cached, days)]
        if wanted is None:
            return frames
        report = await self._billing.daily(
            wanted[0].isoformat(),
            wanted[1].isoformat(),
            api_key_id=query.api_key_id,
            model=query.model,
        )
        self._clock.note(report.responded_at)
        frame = await to_thread.run_sync(daily_frame, report.body)
        warn_of_unread(frame)
        # A local clock that is ahead of the service's must not end a day too early.
        until = min(today, self._clock.today())
        self.cache.store(filters, wanted, frame, until)
        return [*frames, frame]

    def _named(self, frame: pd.DataFrame, whole: Range) -> pd.DataFrame:
        today = self._clock.today()
        attrs = dict(frame.attrs)
        with_column(frame, "kind", kinds_of(frame, self._catalog))
        with_column(frame, "complete", is_over(frame["day"], today))
        frame.attrs = attrs
        if whole[1] > today:
            days = (
                f"{(today + timedelta(days=1)).isoformat()} to {whole[1].isoformat()}"
            )
            note = (
                f"Today is {today.isoformat()} at the service: {days} is in the future."
            )
            frame.attrs["notes"] = [*attrs["notes"], note]
        return frame

    async def summed(
        self, query: DayQuery, by: By, every: Every, charges: Charges
    ) -> pd.DataFrame:
        """Read some days and sum them; see `AsyncSpend.daily`.

        Args:
            query: The days.
            by: What to group by.
            every: A day or a week.
            charges: Reads the history's charges from a day on.

        Raises:
            InputError: An argument is not acceptable.
            ServiceError: The service does not respond.
        """
        names = read_by(by)
        check_every(every)
        if names and "project" in names:
            # Charges can be assigned to projects only when all keys are read.
            frame = await self.rows(replace(query, api_key_id=None))
            first, _ = query.range(self._clock.today())
            known = await charges(first)
            if "key" not in names and query.api_key_id is None:
                frame = await to_thread.run_sync(of_all_keys, frame)
            frame = await to_thread.run_sync(with_projects, frame, known)
            frame = _of_key(frame, query.api_key_id)
        else:
            frame = await self.rows(query)
        return await to_thread.run_sync(self._grouped, frame, names, every)

    def _grouped(
        self, frame: pd.DataFrame, names: tuple[str, ...] | None, every: Every
    ) -> pd.DataFrame:
        today = self._clock.today()
        if names is not None:
            _note_nameless(frame, names)
            frame = grouped(frame, names)
            frame["complete"] = is_over(frame["day"], today)
        if every == "week":
            _note_part_weeks(frame)
            frame = weekly_until(frame, today)
        return frame


def _cached_part(cached: CachedDays, days: Range) -> pd.DataFrame:
    return cached.part(days[0], min(days[1], cached.last))


def _readable(whole: Range, today: date) -> Range:
    """Return the part of a range in which there may be charges.

    The whole current month is read because the service's clock may be slightly ahead.
    For a range in the future, one day is read: the response shows what day it is.
    """
    first, last = whole
    return first, max(first, min(last, month_end(today)))


def _check_begun(whole: Range, today: date) -> None:
    if whole[0] > today:
        raise InputError(
            "start",
            got=whole[0].isoformat(),
            accepted=f"a day up to today at the service, {today.isoformat()} in UTC",
            spec="4.19",
            then=FUTURE,
        )


def _of_key(frame: pd.DataFrame, api_key_id: str | None) -> pd.DataFrame:
    if api_key_id is None:
        return frame
    found = frame[frame["api_key_id"] == api_key_id].reset_index(drop=True)
    total = int(found["charge_micro_usd"].sum())
    report = dict(frame.attrs["report"]) | {"total_micro_usd": total}
    found.attrs = dict(frame.attrs) | {"total_micro_usd": total, "report": report}
    return found


def _note_nameless(frame: pd.DataFrame, names: tuple[str, ...]) -> None:
    """Note which names the service does not report at all."""
    columns = [COLUMNS[name][0] for name in names if name != "project"]
    nameless = [n for n in columns if len(frame) and frame[n].isna().all()]
    notes = [f"The service reports no {name}; all is in one row." for name in nameless]
    frame.attrs["notes"] = [*frame.attrs["notes"], *notes]


def _note_part_weeks(frame: pd.DataFrame) -> None:
    """Note the partial weeks at either end of a range."""
    report = frame.attrs["report"]
    try:
        first = date.fromisoformat(str(report.get("start_date")))
        last = date.fromisoformat(str(report.get("end_date")))
    except ValueError:
        return
    notes = list(frame.attrs["notes"])
    if first.weekday():
        notes.append(f"The first week is partial: it starts on {first.isoformat()}.")
    if last.weekday() != DAYS_IN_WEEK - 1:
        notes.append(f"The last week is partial: it ends on {last.isoformat()}.")
    frame.attrs["notes"] = notes
