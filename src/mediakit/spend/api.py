"""The spend reports of a client, as frames."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from mediakit.client.billing import Billing
from mediakit.client.docstrings import explained_by
from mediakit.client.io_thread import IOThread
from mediakit.clock import Clock, SystemClock
from mediakit.spend.dates import day_range, month_text
from mediakit.spend.frames import csv_frame, daily_frame, monthly_frame

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_DAYS = 30


class AsyncSpend:
    """Reads what was spent; reading is free (spec 4.19).

    Args:
        billing: Asks the service.
        clock: Tells what today is, in UTC.
    """

    def __init__(self, billing: Billing, clock: Clock | None = None) -> None:
        self._billing = billing
        self._clock = clock or SystemClock()

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
            end: The last day, included; today in UTC when omitted.
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
        end = end or self._clock.now().date()
        first, last = day_range(start or _days_before(end), end)
        body = await self._billing.daily(
            first, last, api_key_id=api_key_id, model=model
        )
        return daily_frame(body)

    async def monthly(self, month: str | None = None) -> pd.DataFrame:
        """Read the report of a calendar month by settlement date (spec 4.19).

        Args:
            month: YYYY-MM in UTC; this month when omitted.

        Returns:
            One row per function; amounts are int64 micro-USD.

        Raises:
            InputError: The month cannot be read; nothing was sent.
            ServiceError: The service does not answer.
        """
        month = self._month(month)
        return monthly_frame(await self._billing.monthly(month), month)

    async def monthly_csv(self, month: str | None = None) -> pd.DataFrame:
        """Read the same month from its CSV, without the totals row (spec 4.19).

        Args:
            month: YYYY-MM in UTC; this month when omitted.

        Returns:
            One row per function; the totals row is in `attrs["total_micro_usd"]`.

        Raises:
            InputError: The month cannot be read; nothing was sent.
            ServiceError: The service does not answer.
        """
        return csv_frame(await self._billing.monthly_csv(self._month(month)))

    def _month(self, month: str | None) -> str:
        return month_text(month or f"{self._clock.now():%Y-%m}")


def _days_before(end: str | date) -> date:
    _, last = day_range(end, end)
    return date.fromisoformat(last) - timedelta(days=DEFAULT_DAYS - 1)


class Spend:
    """The blocking face of `AsyncSpend`: one line a method, on the I/O thread.

    Args:
        core: The reports.
        io: The I/O thread.
    """

    def __init__(self, core: AsyncSpend, io: IOThread) -> None:
        self._core = core
        self._io = io

    def __repr__(self) -> str:
        return repr(self._core)

    @explained_by(AsyncSpend.daily)
    def daily(
        self,
        start: str | date | None = None,
        end: str | date | None = None,
        *,
        api_key_id: str | None = None,
        model: str | None = None,
    ) -> pd.DataFrame:
        """Read the spend of some days by key and function (spec 4.19)."""
        return self._io.call(
            self._core.daily, start, end, api_key_id=api_key_id, model=model
        )

    @explained_by(AsyncSpend.monthly)
    def monthly(self, month: str | None = None) -> pd.DataFrame:
        """Read the report of a calendar month by settlement date (spec 4.19)."""
        return self._io.call(self._core.monthly, month)

    @explained_by(AsyncSpend.monthly_csv)
    def monthly_csv(self, month: str | None = None) -> pd.DataFrame:
        """Read the same month from its CSV, without the totals row (spec 4.19)."""
        return self._io.call(self._core.monthly_csv, month)
