"""Reads the service's daily and monthly reports: split by month, cached, summed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from typing import TypeVar

import anyio
import pandas as pd
from anyio import to_thread

from mediakit.catalog import Catalog
from mediakit.client.billing import BillingReader, Report
from mediakit.errors import InputError
from mediakit.spend.billing_responses import (
    csv_frame,
    daily_frame,
    joined,
    monthly_frame,
    warn_of_incomplete,
)
from mediakit.spend.charges import with_projects
from mediakit.spend.column_types import CHARGE, add_dollars, with_column
from mediakit.spend.dates import (
    DEFAULT_DAYS,
    Range,
    ServiceClock,
    by_month,
    day_range,
    days_before,
    month_end,
    month_text,
)
from mediakit.spend.function_names import kinds_of

READS_AT_ONCE = 4  # reads of the service
MOST_TRIES = 3
MOST_CACHED = 240
# A day no longer changes two days after it ends: charges may settle late (spec 2.2).
SETTLED_AFTER = timedelta(days=3)
FUTURE = "Only the service's date was read; reading is free."
COLUMNS = {
    "function": ("function", "kind"),
    "kind": ("kind",),
    "key": ("api_key_id",),
    "model": ("model",),
    "project": ("project",),
}
NAMES = ("model_id", "model", "function", "kind")

By = str | Sequence[str] | None
T = TypeVar("T")
Charges = Callable[[date], Awaitable["pd.DataFrame"]]


@dataclass(frozen=True)
class DayQuery:
    """A query for a range of days.

    By default, the last day is today at the service, and the first is 30 days earlier.
    `refresh` ignores cached days.
    """

    first: date | None
    last: date | None
    api_key_id: str | None = None
    model: str | None = None
    refresh: bool = False

    def range(self, today: date) -> Range:
        """Return the first and last day of the query, given today."""
        last = self.last or max(today, self.first or today)
        first = self.first or days_before(last, DEFAULT_DAYS - 1)
        day_range(first, last)
        return first, last


class DailyReader:
    """Reads days, a few months at a time, and caches those that are final."""

    def __init__(
        self, billing: BillingReader, catalog: Catalog, clock: ServiceClock
    ) -> None:
        self._billing = billing
        self._catalog = catalog
        self._clock = clock
        self._kept: dict[tuple[str | None, str | None, Range], pd.DataFrame] = {}

    async def rows(self, query: DayQuery) -> pd.DataFrame:
        """Read some days, one row per day, key and function."""
        frame = await self._read_until_today(query)
        return await to_thread.run_sync(self._named, frame)

    async def summed(self, query: DayQuery, by: By, charges: Charges) -> pd.DataFrame:
        """Read some days and sum them; see `AsyncSpend.daily`.

        `charges` reads the history's charges from a given day on.
        """
        names = read_by(by)
        if names is None:
            return await self.rows(query)
        if "project" in names:
            # Charges can be assigned to projects only when all keys are read.
            frame = await self.rows(replace(query, api_key_id=None))
            charged = await charges(query.range(self._clock.today())[0])
            if "key" not in names and query.api_key_id is None:
                its = ["day", *(name for name in NAMES if name in frame)]
                frame = await to_thread.run_sync(summed, frame, its)
            frame = await to_thread.run_sync(with_projects, frame, charged)
            frame = _of_key(frame, query.api_key_id)
        else:
            frame = await self.rows(query)
        return await to_thread.run_sync(self._grouped, frame, names)

    async def _read_until_today(self, query: DayQuery) -> pd.DataFrame:
        """Read the days; repeat if the response shows that today is another day."""
        today = self._clock.today()
        for _ in range(MOST_TRIES):
            whole = query.range(today)
            wanted = _readable(whole, today)
            frame = await self._read(query, wanted, today)
            today = self._clock.today()
            if _readable(query.range(today), today) == wanted:
                break
        if whole[0] > today:
            raise InputError(
                "start",
                got=whole[0].isoformat(),
                accepted=f"the service's current day, {today} in UTC, or earlier",
                spec="4.19",
                then=FUTURE,
            )
        return frame

    async def _read(self, query: DayQuery, whole: Range, today: date) -> pd.DataFrame:
        if query.refresh:
            self._kept.clear()
        reads = [partial(self._month, query, days, today) for days in by_month(*whole)]
        frames = await gather_limited(reads)
        if len(frames) == 1 and frames[0].attrs["report"]:
            return frames[0]
        frame = await to_thread.run_sync(joined, frames)
        ends = {"start_date": whole[0].isoformat(), "end_date": whole[1].isoformat()}
        total = {"total_micro_usd": frame.attrs["total_micro_usd"]}
        frame.attrs["report"] = ends | total
        return frame

    async def _month(self, query: DayQuery, days: Range, today: date) -> pd.DataFrame:
        """Return days of one month, from the cache or the service."""
        key = (query.api_key_id, query.model, days)
        if key in self._kept:
            return self._kept[key].copy()
        first, last = (day.isoformat() for day in days)
        filters = {"api_key_id": query.api_key_id, "model": query.model}
        report = await self._billing.daily(first, last, **filters)
        self._clock.note(report.responded_at)
        frame = await to_thread.run_sync(daily_frame, report.body)
        frame = _within(frame, days)
        is_in_doubt = warn_of_incomplete(frame)
        # A local clock that is ahead of the service's must not end a day too early.
        settled = min(today, self._clock.today()) - days[1] >= SETTLED_AFTER
        if settled and not is_in_doubt:
            if len(self._kept) == MOST_CACHED:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = frame.copy()
        return frame

    def _named(self, frame: pd.DataFrame) -> pd.DataFrame:
        attrs = dict(frame.attrs)
        add_dollars(frame)
        with_column(frame, "kind", kinds_of(frame, self._catalog))
        with_column(frame, "complete", _is_over(frame, self._clock.today()))
        frame.attrs = attrs
        return frame

    def _grouped(self, frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
        columns = dict.fromkeys(column for name in names for column in COLUMNS[name])
        grouped = summed(frame, ["day", *columns])
        add_dollars(grouped)
        grouped["complete"] = _is_over(grouped, self._clock.today())
        return grouped


def read_by(by: By) -> tuple[str, ...] | None:
    """Parse the grouping: one name or several; None for no grouping."""
    if by is None:
        return None
    names: object = (by,) if isinstance(by, str) else by
    if isinstance(names, list | tuple) and all(name in list(COLUMNS) for name in names):
        return tuple(dict.fromkeys(names))
    accepted = f"any of {', '.join(COLUMNS)}, alone or in a list; or None"
    raise InputError("by", got=by, accepted=accepted, then="")


def summed(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Sum jobs and charges exactly by columns, of which values may be missing.

    An unknown amount is left out of a sum; a sum of only unknown amounts is unknown.
    """
    whole = frame.astype({"jobs": "Int64", CHARGE: "Int64"})
    groups = whole.groupby(list(columns), dropna=False)[["jobs", CHARGE]]
    result = groups.sum(min_count=1).reset_index()
    result = result.astype(frame.dtypes[[*columns, CHARGE]].to_dict())
    result.attrs = dict(frame.attrs)
    return result


def _is_over(frame: pd.DataFrame, today: date) -> pd.Series[bool]:
    return frame["day"] < pd.Timestamp(today)


def _within(frame: pd.DataFrame, days: Range) -> pd.DataFrame:
    """Drop rows outside the requested days, and report them."""
    first, last = map(pd.Timestamp, days)
    is_outside = (frame["day"] < first) | (frame["day"] > last)
    if not is_outside.any():
        return frame
    inside = frame[~is_outside].reset_index(drop=True)
    rows_n = int(is_outside.sum())
    is_for_a_day = "row of the daily report is for a day"
    are_for_days = "rows of the daily report are for days"
    text = f"{rows_n:,} {is_for_a_day if rows_n == 1 else are_for_days} outside "
    text += f"{days[0]} to {days[1]} and not included."
    inside.attrs = frame.attrs | {"doubts": [*frame.attrs["doubts"], text]}
    return inside


def _readable(whole: Range, today: date) -> Range:
    """Return the part of a range that may have charges.

    The whole current month is read because the service's clock may be slightly ahead.
    For a range in the future, a single day is read, because the response shows the
    current day.
    """
    first, last = whole
    return first, max(first, min(last, month_end(today)))


def _of_key(frame: pd.DataFrame, api_key_id: str | None) -> pd.DataFrame:
    if api_key_id is None:
        return frame
    rows = frame[frame["api_key_id"] == api_key_id].reset_index(drop=True)
    total = int(rows[CHARGE].sum())
    report = dict(frame.attrs["report"]) | {"total_micro_usd": total}
    rows.attrs = dict(frame.attrs) | {"total_micro_usd": total, "report": report}
    return rows


# -- months ----------------------------------------------------------------------------


class MonthlyReader:
    """Reads monthly reports."""

    def __init__(
        self, billing: BillingReader, catalog: Catalog, clock: ServiceClock
    ) -> None:
        self._billing = billing
        self._catalog = catalog
        self._clock = clock

    async def frame(self, month: str | None) -> pd.DataFrame:
        """Read a month; see `AsyncSpend.monthly`."""
        shown, report = await self.one(month, self._billing.monthly)
        frame = monthly_frame(report.body, shown)
        warn_of_incomplete(frame)
        add_dollars(frame)
        with_column(frame, "kind", kinds_of(frame, self._catalog))
        return frame

    async def csv(self, month: str | None) -> pd.DataFrame:
        """Read the CSV of a month; see `AsyncSpend.monthly_csv`."""
        _, report = await self.one(month, self._billing.monthly_csv)
        frame = csv_frame(report.body)
        warn_of_incomplete(frame)
        add_dollars(frame)
        return frame

    async def csv_content(self, month: str | None) -> bytes:
        """Read the CSV of a month, unchanged."""
        _, report = await self.one(month, self._billing.monthly_csv)
        return report.content

    async def one(
        self, month: str | None, read: Callable[[str], Awaitable[Report]]
    ) -> tuple[str, Report]:
        """Read a month, or the service's current month if None.

        Near midnight, or if this machine's clock is wrong, the service may be in a
        different month. Its first response shows this, and the right month is read.
        """
        month_read = self._clock.month() if month is None else month_text(month)
        report = await read(month_read)
        self._clock.note(report.responded_at)
        now = self._clock.month()
        if month is None and now != month_read:
            return now, await read(now)
        if month_read > now:
            accepted = f"the service's current month, {now}, or earlier"
            raise InputError(
                "month", got=month_read, accepted=accepted, spec="4.19", then=FUTURE
            )
        return month_read, report


# -- reading concurrently --------------------------------------------------------------


async def gather_limited(reads: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """Run reads concurrently, a few at a time; return their results in order.

    The first error is raised unchanged, and the other reads are cancelled.
    """
    results: dict[int, T] = {}
    slots = anyio.Semaphore(READS_AT_ONCE)

    async def run(place: int) -> None:
        async with slots:
            results[place] = await reads[place]()

    try:
        async with anyio.create_task_group() as group:
            for place in range(len(reads)):
                group.start_soon(run, place)
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [results[place] for place in range(len(reads))]
