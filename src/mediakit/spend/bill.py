"""Reads what the service reports of a month, and where its reports differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any, NamedTuple

from anyio import to_thread

from mediakit.client.account import Billing, Report
from mediakit.clock import Clock
from mediakit.errors import (
    AuthError,
    InputError,
    MediakitError,
    NotFoundError,
    ServiceError,
)
from mediakit.spend.columns import CHARGE, path_of, plain_rows, whole_number
from mediakit.spend.dates import ServiceClock, end_of_month
from mediakit.spend.frames import csv_frame, daily_frame, monthly_frame

NAMES = {"daily": "daily report", "monthly": "monthly report", "csv": "month's CSV"}
# Charges are read up to days after they were settled.
MARGIN = timedelta(days=7)
SAME_CLOCK = timedelta(hours=1)
EARLIEST = "2000-01"
WHOLE_SLASHES = 2  # vendor/model/function
BALANCE = ("opening_balance", "credits_granted", "top_ups", "closing_balance")


@dataclass(frozen=True)
class Span:
    """Days, both ends included."""

    first: date
    last: date

    def __contains__(self, day: date | None) -> bool:
        """Tell whether a day is within the span."""
        return day is not None and self.first <= day <= self.last


class Odd(NamedTuple):
    """How much a report differs from the others; without a path in all of it."""

    report: str
    path: str | None
    micro_usd: int


@dataclass
class Bill:
    """What the service reports of a month, micro-USD.

    Args:
        month: The month, "YYYY-MM".
        today: Today by the service's clock.
        ahead: How far the service's clock is ahead of this machine's.
        daily: The daily report by day, API key and function, a week around the month
            included.
        sums: The monthly report and the CSV by function.
        stated: The totals that these state, or their sums.
        fell: By how much the balance fell; None if that is not shown.
        refusals: Why a report could not be read in full; such a report has no sums.
    """

    month: str
    today: date
    ahead: timedelta = timedelta()
    daily: Counter[tuple[date, str, str]] = field(default_factory=Counter)
    sums: dict[str, Counter[str]] = field(default_factory=dict)
    stated: dict[str, int] = field(default_factory=dict)
    fell: int | None = None
    refusals: dict[str, str] = field(default_factory=dict)

    @property
    def span(self) -> Span:
        """Return the month's days."""
        last = end_of_month(self.month)
        return Span(last.replace(day=1), last)

    @property
    def window(self) -> Span:
        """Return the days of the daily report."""
        span = self.span
        last = max(span.first, min(span.last + MARGIN, self.today))
        return Span(span.first - MARGIN, last)

    @property
    def charged(self) -> int | None:
        """Return the month's charge; None if no report of it could be read."""
        if "monthly" in self.sums:
            return self.stated["monthly"]
        if "daily" in self.refusals:
            return None
        return self.by_function().total()

    def by_function(self) -> Counter[str]:
        """Return the month's sums of the daily report."""
        span, sums = self.span, Counter[str]()
        for (day, _, path), micro_usd in self.daily.items():
            if day in span:
                sums[path] += micro_usd
        return sums

    def take(self, name: str, body: Any) -> None:
        """Take in a report; one that cannot be read in full has a refusal instead."""
        try:
            if name == "monthly":
                frame = monthly_frame(body, self.month)
            else:
                frame = daily_frame(body) if name == "daily" else csv_frame(body)
        except ServiceError as error:
            self.refusals[name] = error.message
            return
        unread = list(frame.attrs["unread"])
        if name == "daily" and frame["day"].isna().any():
            unread.append(f"The {NAMES[name]} has rows without a readable day.")
        if unread:
            self.refusals[name] = unread[0]
            return
        rows = [(path_of(row) or "not named", row) for row in plain_rows(frame)]
        if name == "daily":
            for path, row in rows:
                key = row["api_key_id"] or "no API key"
                self.daily[row["day"].date(), key, path] += row[CHARGE]
            return
        self.sums[name] = sums = Counter[str]()
        for path, row in rows:
            sums[path] += row[CHARGE]
        total = whole_number(frame.attrs["total_micro_usd"])
        self.stated[name] = sums.total() if total is None else total
        if name == "monthly":
            report = frame.attrs["report"]
            moved = [whole_number(report.get(f"{part}_micro_usd")) for part in BALANCE]
            # An organization that pays by invoice has no balance that falls.
            if None not in moved and not report.get("invoices"):
                *added, closing = (amount or 0 for amount in moved)
                self.fell = sum(added) - closing

    def with_whole_names(self, paths: Iterable[str], known: Iterable[str]) -> Bill:
        """Return it with the whole name of each function, where only one is meant."""
        said = {path for _, _, path in self.daily}.union(*self.sums.values(), paths)
        whole = {path: _whole_name(path, said, set(known)) for path in said}
        daily: Counter[tuple[date, str, str]] = Counter()
        for (day, key, path), micro_usd in self.daily.items():
            daily[day, key, whole[path]] += micro_usd
        sums: dict[str, Counter[str]] = {}
        for name, by_path in self.sums.items():
            sums[name] = Counter()
            for path, micro_usd in by_path.items():
                sums[name][whole[path]] += micro_usd
        return replace(self, daily=daily, sums=sums)

    def odd(self) -> Iterator[Odd]:
        """Find which report differs from the others, by function.

        It is the one that the other two contradict. If all differ, or only two were
        read, the daily report is taken as right because it has the most detail. A
        report with other names than the daily one is compared by its total.
        """
        daily = self.by_function()
        others = dict(self.sums)
        for name, sums in self.sums.items():
            lacking = [path for path in daily if daily[path] and not sums[path]]
            if lacking and any(sums[path] and not daily[path] for path in sums):
                del others[name]
                if difference := sums.total() - daily.total():
                    yield Odd(name, None, difference)
        for path in sorted({*daily}.union(*others.values())):
            said = {name: sums[path] - daily[path] for name, sums in others.items()}
            if len(said) == len(NAMES) - 1 and len(set(said.values())) == 1:
                said = {"daily": -said["csv"]}
            for name, difference in said.items():
                if difference:
                    yield Odd(name, path, difference)


async def read_bill(billing: Billing, clock: Clock, month: str | None) -> Bill:
    """Read the month's reports; one that the service refuses has a refusal instead."""
    service_clock = ServiceClock(clock)
    bodies: dict[str, Any] = {}
    refusals: dict[str, str] = {}
    errors: list[MediakitError] = []

    async def read(name: str, asked: Awaitable[Report]) -> None:
        refusals.pop(name, None)
        try:
            report = await asked
        except (AuthError, NotFoundError, ServiceError) as error:
            why = error.message.rstrip(".")
            refusals[name] = f"The {NAMES[name]} could not be read ({why})."
            errors.append(error)
            return
        service_clock.note(report.responded_at)
        bodies[name] = report.body

    asked = month or service_clock.month()
    await read("monthly", billing.monthly(asked))
    if month is None and service_clock.month() != asked:
        asked = service_clock.month()
        await read("monthly", billing.monthly(asked))
    if not EARLIEST <= asked <= service_clock.month():
        current = f"{service_clock.month()}, the current month in UTC"
        raise InputError(
            "month",
            got=asked,
            accepted=f"a month from {EARLIEST} to {current}",
            then="Nothing was compared.",
            spec="4.19",
        )
    bill = Bill(asked, service_clock.today(), refusals=refusals)
    await read("csv", billing.monthly_csv(asked))
    window = bill.window
    days = (window.first.isoformat(), window.last.isoformat())
    await read("daily", billing.daily(*days))
    if {"daily", "monthly"} <= refusals.keys():
        raise errors[0]
    ahead = service_clock.now() - clock.now()
    bill.ahead = ahead if abs(ahead) > SAME_CLOCK else timedelta()
    for name in bodies:
        await to_thread.run_sync(bill.take, name, bodies[name])
    return bill


def _whole_name(path: str, said: set[str], known: set[str]) -> str:
    if path in known or path.count("/") >= WHOLE_SLASHES:
        return path
    for among in (said, known):
        longer = [other for other in among if other.endswith(f"/{path}")]
        if len(longer) == 1:
            return longer[0]
    return path
