"""Reads the monthly reports of one month or several, and their CSV (spec 4.19)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from mediakit.catalog import Catalog
from mediakit.client.account import Billing, Report
from mediakit.errors import InputError
from mediakit.spend.dates import month_text
from mediakit.spend.days.concurrency import gather_limited
from mediakit.spend.days.function_names import add_dollars, kinds_of, with_column
from mediakit.spend.days.month_ranges import months_between
from mediakit.spend.days.service_clock import ServiceClock
from mediakit.spend.responses import (
    csv_frame,
    joined,
    monthly_frame,
    warn_of_incomplete,
)

if TYPE_CHECKING:
    import pandas as pd

Months = str | tuple[str, str] | list[str] | None
FUTURE = "Only the service's date was read; reading is free."


class MonthlyReader:
    """Reads months, a few at the same time.

    Args:
        billing: Reads the reports from the service.
        catalog: Names the functions.
        clock: The service's.
    """

    def __init__(self, billing: Billing, catalog: Catalog, clock: ServiceClock) -> None:
        self._billing = billing
        self._catalog = catalog
        self._clock = clock

    async def frame(self, month: Months) -> pd.DataFrame:
        """Read a month, or each month of a range; see `AsyncSpend.monthly`."""
        if month is None or isinstance(month, str):
            shown, report = await self._one(month, self._billing.monthly)
            return self._typed(shown, report)
        first, last = _range_of(month)
        reports = await self._range(first, last)
        frame = joined([self._typed(shown, report) for shown, report in reports])
        frame.attrs["report"] = {
            "months": {shown: _around(report) for shown, report in reports}
        }
        until = reports[-1][0]
        if until < last:
            frame.attrs["notes"].append(f"Months after {until} are in the future.")
        return frame

    async def _range(self, first: str, last: str) -> list[tuple[str, Report]]:
        """Read the months of a range up to this one at the service."""
        reports = [await self._one(first, self._billing.monthly)]
        # The first response shows which month it is.
        until = min(last, self._clock.month())
        months = months_between(first, until)[1:]
        reads = [partial(self._one, each, self._billing.monthly) for each in months]
        return reports + await gather_limited(reads)

    async def csv(self, month: str | None) -> pd.DataFrame:
        """Read the CSV of a month; see `AsyncSpend.monthly_csv`."""
        _, report = await self._one(month, self._billing.monthly_csv)
        frame = csv_frame(report.body)
        warn_of_incomplete(frame)
        add_dollars(frame)
        return frame

    async def csv_content(self, month: str | None) -> bytes:
        """Read the CSV of a month as it was sent."""
        _, report = await self._one(month, self._billing.monthly_csv)
        return report.content

    def _typed(self, month: str, report: Report) -> pd.DataFrame:
        frame = monthly_frame(report.body, month)
        warn_of_incomplete(frame)
        add_dollars(frame)
        with_column(frame, "kind", kinds_of(frame, self._catalog))
        return frame

    async def _one(
        self, month: str | None, read: Callable[[str], Awaitable[Report]]
    ) -> tuple[str, Report]:
        """Read a month, or the service's current month if None.

        Near midnight, or if this machine's clock is wrong, the service may be in a
        different month. Its first response shows this, and the right month is read.

        Raises:
            InputError: It is not a month, or is in the future.
        """
        asked = self._clock.month() if month is None else month_text(month)
        report = await read(asked)
        self._clock.note(report.responded_at)
        now = self._clock.month()
        if month is None and now != asked:
            return now, await read(now)
        if asked > now:
            accepted = f"a month up to this one at the service, {now}"
            raise InputError(
                "month", got=asked, accepted=accepted, spec="4.19", then=FUTURE
            )
        return asked, report


def _around(report: Report) -> object:
    body = report.body
    if not isinstance(body, dict):
        return {}
    return {name: value for name, value in body.items() if name != "rows"}


def _range_of(months: object) -> tuple[str, str]:
    """Read a pair of months, both included.

    Raises:
        InputError: It is not a pair of months, or ends before it begins.
    """
    if not isinstance(months, tuple | list) or len(months) != 2:
        accepted = 'a month "YYYY-MM", or a pair of the first and the last'
        raise InputError("month", got=months, accepted=accepted, spec="4.19")
    first, last = (month_text(month) for month in months)
    if last < first:
        accepted = f"a last month not before the first, {first}"
        raise InputError("month", got=last, accepted=accepted, spec="4.19")
    return first, last
