"""The spend reports of a client, as frames."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from mediakit.catalog import Catalog
from mediakit.client.billing import Billing, Report
from mediakit.client.history_view import AsyncHistoryView
from mediakit.clock import Clock
from mediakit.spend.answers import csv_frame, daily_frame, monthly_frame
from mediakit.spend.dates import day_range, month_text, read_day

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_DAYS = 30

T = TypeVar("T")


class AsyncSpend:
    """Reads what was spent; reading is free (spec 4.19).

    Args:
        billing: Asks the service.
        history: What was bought from here.
        catalog: Names the functions.
        clock: Tells what today is, in UTC, until the service has told it.
    """

    def __init__(
        self,
        billing: Billing,
        history: AsyncHistoryView,
        catalog: Catalog,
        clock: Clock,
    ) -> None:
        self._billing = billing
        self._history = history
        self._catalog = catalog
        self._clock = clock

    def __repr__(self) -> str:
        return "<spend, read by daily(...), monthly(...) and monthly_csv(...)>"

    async def daily(
        self,
        start: str | date | None = None,
        end: str | date | None = None,
        *,
        api_key_id: str | None = None,
        model: str | None = None,
    ) -> pd.DataFrame:
        """Read the spend of some days by key and function (spec 4.19).

        Args:
            start: The first day, YYYY-MM-DD in UTC; 30 days up to `end` when omitted.
            end: The last day, included; today in UTC by the service's clock when
                omitted.
            api_key_id: Only what this key spent.
            model: Only what this model cost.

        Returns:
            Columns day (datetime64, UTC), api_key_id, model and function (category),
            jobs (Int64), charge_micro_usd (int64); no rows but the same dtypes when
            nothing has settled.

        Raises:
            InputError: A day cannot be read, or the end is before the start; nothing
                was sent.
            ServiceError: The service does not answer.
        """
        first_day = None if start is None else read_day("start", start)
        last_day = None if end is None else read_day("end", end)

        async def up_to(day: date) -> Report:
            days = day_range(first_day or _days_before(day), day)
            return await self._billing.daily(*days, api_key_id=api_key_id, model=model)

        _, report = await self._current(last_day, datetime.date, up_to)
        return daily_frame(report.body)

    async def monthly(self, month: str | None = None) -> pd.DataFrame:
        """Read the report of a calendar month by settlement date (spec 4.19).

        Args:
            month: YYYY-MM in UTC; this month by the service's clock when omitted.

        Returns:
            One row per function; amounts are int64 micro-USD.

        Raises:
            InputError: The month cannot be read; nothing was sent.
            ServiceError: The service does not answer.
        """
        asked = None if month is None else month_text(month)
        shown, report = await self._current(asked, _month_of, self._billing.monthly)
        return monthly_frame(report.body, shown)

    async def monthly_csv(self, month: str | None = None) -> pd.DataFrame:
        """Read the same month from its CSV, without the totals row (spec 4.19).

        Args:
            month: YYYY-MM in UTC; this month by the service's clock when omitted.

        Returns:
            One row per function; the totals row is in `attrs["total_micro_usd"]`.

        Raises:
            InputError: The month cannot be read; nothing was sent.
            ServiceError: The service does not answer.
        """
        asked = None if month is None else month_text(month)
        _, report = await self._current(asked, _month_of, self._billing.monthly_csv)
        return csv_frame(report.body)

    async def _current(
        self,
        asked: T | None,
        period_of: Callable[[datetime], T],
        read: Callable[[T], Awaitable[Report]],
    ) -> tuple[T, Report]:
        """Read a period, or else the one in which the service is.

        Charges are dated by the service's clock. Near midnight, or where this machine's
        clock is wrong, that is another day: then its first answer says so, and the
        right one is read.
        """
        if asked is not None:
            return asked, await read(asked)
        period = period_of(self._clock.now())
        report = await read(period)
        told = period_of(report.told_at) if report.told_at else period
        return (period, report) if told == period else (told, await read(told))


def _month_of(instant: datetime) -> str:
    return f"{instant:%Y-%m}"


def _days_before(last: date) -> date:
    return last - timedelta(days=DEFAULT_DAYS - 1)
