"""Reads the reports and the history of a month, and compares them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from anyio import to_thread

from mediakit.catalog import Catalog
from mediakit.client.account import Billing, Report
from mediakit.client.history_view import AsyncHistoryView
from mediakit.clock import Clock
from mediakit.errors import (
    AuthError,
    InputError,
    MediakitError,
    NotFoundError,
    ServiceError,
)
from mediakit.spend.dates import month_text
from mediakit.spend.reconciliation.charge_matching import Span
from mediakit.spend.reconciliation.messages import REPORTS
from mediakit.spend.reconciliation.month_comparison import Sources, compared, month_span
from mediakit.spend.reconciliation.result import Reconciliation
from mediakit.spend.responses import csv_frame, daily_frame, monthly_frame

if TYPE_CHECKING:
    import pandas as pd

# Charges may be read days after they were settled, or their jobs days before.
AROUND = timedelta(days=7)
SAME_CLOCK = timedelta(hours=1)
EARLIEST = "2000-01"

T = TypeVar("T")


class Reconciler:
    """Reads a month's history and reports, and compares them.

    Args:
        billing: Reads the reports from the service.
        history: The request history.
        catalog: Names the functions.
        clock: Gives the current month in UTC until the service's time is known.
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

    async def compare(
        self, month: str | None, own_keys: str | Iterable[str] | None
    ) -> Reconciliation:
        """Compare a month; see `AsyncSpend.reconcile`."""
        asked = None if month is None else month_text(month)
        keys = _checked_keys(own_keys)
        if asked is not None and asked < EARLIEST:
            raise _not_a_past_month(asked, self._clock.now())
        result, is_over = await self._once(asked, keys)
        if not result.is_explained and not is_over:
            # A charge may have settled between two reads of the current month.
            result, _ = await self._once(result.month, keys)
        return result

    async def _once(
        self, asked: str | None, keys: tuple[str, ...] | None
    ) -> tuple[Reconciliation, bool]:
        # Read the history first: a charge that settles meanwhile is still an open job.
        history = await self._history.frame()
        reads = _Reads(self._clock)
        month = asked or f"{self._clock.now():%Y-%m}"
        monthly = await reads.read("monthly", self._billing.monthly, month)
        now = reads.now
        if asked is None and f"{now:%Y-%m}" != month:
            month = f"{now:%Y-%m}"
            monthly = await reads.read("monthly", self._billing.monthly, month)
        if month > f"{now:%Y-%m}":
            raise _not_a_past_month(month, now)
        span = month_span(month)
        last = max(span.first, min(span.last + AROUND, now.date()))
        read = Span(span.first - AROUND, last)
        csv = await reads.read("csv", self._billing.monthly_csv, month)
        daily = await reads.read("daily", self._daily, read)
        reads.check()
        sources = Sources(
            month=month,
            read=read,
            today=now.date(),
            history=history,
            daily=reads.frame("daily", daily, daily_frame),
            monthly=reads.frame("monthly", monthly, lambda b: monthly_frame(b, month)),
            csv=reads.frame("csv", csv, csv_frame),
            kinds={function.path: function.kind for function in self._catalog},
            own_keys=keys,
            ahead=reads.ahead,
            refusals=reads.refusals,
        )
        result = await to_thread.run_sync(compared, sources)
        return result, now.date() > span.last

    async def _daily(self, read: Span) -> Report:
        return await self._billing.daily(read.first.isoformat(), read.last.isoformat())


@dataclass
class _Reads:
    """The reads of one comparison: refusals, and the service's time."""

    clock: Clock
    responded_at: datetime | None = None
    asked_at: datetime | None = None
    refusals: dict[str, str] = field(default_factory=dict)
    errors: list[MediakitError] = field(default_factory=list)

    @property
    def now(self) -> datetime:
        """Return the service's time, or the local time if it is unknown."""
        return self.responded_at or self.clock.now()

    @property
    def ahead(self) -> timedelta:
        """Return how far the service's clock is ahead; 0 within an hour."""
        if self.responded_at is None or self.asked_at is None:
            return timedelta()
        ahead = self.responded_at - self.asked_at
        return ahead if abs(ahead) > SAME_CLOCK else timedelta()

    async def read(
        self, name: str, ask: Callable[[T], Awaitable[Report]], what: T
    ) -> Report | None:
        """Read a report; None if the service refuses it."""
        self.refusals.pop(name, None)
        try:
            report = await ask(what)
        except (AuthError, NotFoundError, ServiceError) as error:
            why = error.message.rstrip(".")
            text = f"The {REPORTS[name]} could not be read ({why})."
            self._refused(name, text, error)
            return None
        if report.responded_at is not None:
            self.responded_at, self.asked_at = report.responded_at, self.clock.now()
        return report

    def frame(
        self, name: str, report: Report | None, make: Callable[[Any], pd.DataFrame]
    ) -> pd.DataFrame | None:
        """Make a frame of a report; None if it was refused or cannot be read."""
        if report is None:
            return None
        try:
            return make(report.body)
        except ServiceError as error:
            self._refused(name, error.message, error)
            return None

    def check(self) -> None:
        """Raise if neither the daily nor the monthly report could be read."""
        if {"daily", "monthly"} <= self.refusals.keys():
            raise self.errors[0]

    def _refused(self, name: str, text: str, error: MediakitError) -> None:
        self.refusals[name] = text
        self.errors.append(error)


def _checked_keys(own_keys: str | Iterable[str] | None) -> tuple[str, ...] | None:
    if own_keys is None:
        return None
    if isinstance(own_keys, str):
        return (own_keys,)
    accepted = "ids of API keys, as api_key_id in client.spend.daily()"
    try:
        keys = tuple(own_keys)
    except TypeError:
        raise InputError("own_keys", got=own_keys, accepted=accepted) from None
    if not all(isinstance(key, str) for key in keys):
        raise InputError("own_keys", got=own_keys, accepted=accepted)
    return keys


def _not_a_past_month(month: str, now: datetime) -> InputError:
    accepted = f"a month from {EARLIEST} to {now:%Y-%m}, the current month in UTC"
    sent = "Nothing was compared."
    return InputError("month", got=month, accepted=accepted, then=sent, spec="4.19")
