"""The service's bill of a month: daily by API key, and the monthly report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any

import pandas as pd
from anyio import to_thread

from mediakit.client.billing import BillingReader
from mediakit.errors import AuthError, MediakitError, NotFoundError, ServiceError
from mediakit.spend.billing_responses import DAILY, MONTHLY, daily_frame, monthly_frame
from mediakit.spend.column_types import CHARGE, plain_rows, whole_number
from mediakit.spend.dates import ServiceClock, end_of_month, first_of_month, month_of
from mediakit.spend.function_names import path_of
from mediakit.spend.service_reports import MonthlyReader

UNREADABLE = (AuthError, NotFoundError, ServiceError)
NO_KEY = "no API key"
ALL_KEYS = "all API keys"
NO_FUNCTION = "no function"

Sums = Counter[tuple[str, str]]
"""Micro-USD by function and API key."""


@dataclass(frozen=True)
class Bill:
    """The service's reports on a month, in micro-USD."""

    month: str
    today: date  # by the service's clock
    ahead: timedelta = timedelta()  # of this machine's clock
    daily: Sums = field(default_factory=Counter)
    monthly: Sums = field(default_factory=Counter)
    # by the monthly report, or by the daily report if that is unreadable
    total: int = 0
    refusals: Mapping[str, str] = field(default_factory=dict)

    @property
    def days(self) -> tuple[date, date]:
        """Return the month's first and last day."""
        return first_of_month(self.month), end_of_month(self.month)

    @property
    def functions(self) -> set[str]:
        """Return every function name in the reports."""
        return {function for function, _ in (*self.daily, *self.monthly)}

    def renamed(self, names: Mapping[str, str]) -> Bill:
        """Return the bill with other function names; sums of one name are added."""
        sums = Sums(), Sums()
        for its, renamed in zip((self.daily, self.monthly), sums, strict=True):
            for (function, key), micro_usd in its.items():
                renamed[names.get(function, function), key] += micro_usd
        return replace(self, daily=sums[0], monthly=sums[1])


async def read_bill(
    billing: BillingReader,
    months: MonthlyReader,
    clock: ServiceClock,
    month: str | None,
) -> Bill:
    """Read the month's reports; an incomplete one becomes a refusal.

    Raises:
        MediakitError: Neither can be read.
    """
    chosen, monthly, total = month or clock.month(), Sums(), 0
    error: MediakitError | None = None
    try:
        chosen, report = await months.one(month, billing.monthly)
        monthly, total = await to_thread.run_sync(_monthly_sums, report.body, chosen)
    except UNREADABLE as reason:
        error = reason
    refusals = {} if error is None else {MONTHLY: error.message}
    bill = Bill(chosen, clock.today(), clock.ahead, Sums(), monthly, total, refusals)
    first, last = bill.days
    dates = first.isoformat(), max(first, min(last, bill.today)).isoformat()
    try:
        report = await billing.daily(*dates)
        daily = await to_thread.run_sync(_daily_sums, report.body, bill.month)
    except UNREADABLE as reason:
        if error is not None:
            raise error from None
        return replace(bill, refusals={DAILY: reason.message})
    return replace(bill, daily=daily, total=total if error is None else daily.total())


def _monthly_sums(body: Any, month: str) -> tuple[Sums, int]:
    frame = monthly_frame(body, month)
    sums = Sums()
    for path, row in _rows(frame):
        sums[path, ALL_KEYS] += row[CHARGE]
    total = whole_number(frame.attrs["total_micro_usd"])
    return sums, sums.total() if total is None else total


def _daily_sums(body: Any, month: str) -> Sums:
    frame = daily_frame(body)
    if frame["day"].isna().any():
        frame.attrs["unread"].append(f"The {DAILY} has rows without a readable day.")
    sums = Sums()
    for path, row in _rows(frame):
        if month_of(row["day"].date()) == month:
            sums[path, row["api_key_id"] or NO_KEY] += row[CHARGE]
    return sums


def _rows(frame: pd.DataFrame) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each row with its function's name, if the report is complete."""
    for text in frame.attrs["unread"]:
        raise ServiceError(text, status=200)
    for row in plain_rows(frame):
        yield path_of(row) or NO_FUNCTION, row
