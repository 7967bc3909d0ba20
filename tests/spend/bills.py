"""A made-up month: jobs, what a service bills for them, and what a history holds.

The bill is computed here from the jobs alone, by sums of its own, and goes through the
readers of answers as the JSON that a service sends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import anyio
import pandas as pd

from mediakit import Catalog
from mediakit.client.billing import Report
from mediakit.history.frames import _COLUMNS, entries_frame
from mediakit.spend.dates import ServiceClock
from mediakit.spend.reconcile import Reconciliation
from mediakit.spend.reconcile import reconciled as compared
from mediakit.spend.service_bill import read_bill
from mediakit.spend.service_reports import MonthlyReader

MONTH = "2026-10"
FIRST, LAST = date(2026, 10, 1), date(2026, 10, 31)
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
OWN = "key_1"
PATHS = {
    "acme/sora/reference-to-video": "r1",
    "acme/flux/text-to-image": "text-to-image",
    "other/up/image-upscale": "image-upscale",
}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Job:
    """A job: when the service settled it, and when this machine read that."""

    id: str
    path: str
    micro_usd: int
    settled_at: datetime
    key: str = OWN
    estimate_micro_usd: int | None = None
    read_at: datetime | None = None
    estimate_kind: str = "exact"
    restated_micro_usd: int | None = None
    submitted_at: datetime | None = None

    @property
    def day(self) -> date:
        return self.settled_at.date()


@dataclass(frozen=True)
class Bill:
    """The service's reports, as rows that a test may drop or repeat."""

    daily: list[dict[str, Any]]
    monthly: list[dict[str, Any]]
    total_micro_usd: int


def named(path: str) -> dict[str, str]:
    model, function = path.rsplit("/", 1)
    return {"model": model, "function": function, "model_id": path}


def bill_of(jobs: Iterable[Job]) -> Bill:
    """Sum jobs as a service does: by day, key and function, and by month."""
    jobs = list(jobs)
    by_day: Counter[tuple[date, str, str]] = Counter()
    n_by_day: Counter[tuple[date, str, str]] = Counter()
    by_month: Counter[str] = Counter()
    n_by_month: Counter[str] = Counter()
    for job in jobs:
        if FIRST <= job.day <= LAST:
            by_day[job.day, job.key, job.path] += job.micro_usd
            n_by_day[job.day, job.key, job.path] += 1
            by_month[job.path] += job.micro_usd
            n_by_month[job.path] += 1
    daily = [
        {
            "date": day.isoformat(),
            "api_key_id": key,
            **named(path),
            "jobs": n_by_day[day, key, path],
            "charge_micro_usd": micro_usd,
        }
        for (day, key, path), micro_usd in sorted(by_day.items())
    ]
    monthly = [
        {**named(path), "jobs": n_by_month[path], "charge_micro_usd": micro_usd}
        for path, micro_usd in sorted(by_month.items())
    ]
    return Bill(daily, monthly, sum(by_month.values()))


def entry(job: Job, **changes: Any) -> dict[str, Any]:
    """Return the history's row of a job whose charge was read."""
    read_at = job.read_at or job.settled_at + timedelta(seconds=2)
    submitted_at = job.submitted_at or job.settled_at - timedelta(minutes=3)
    estimate = job.estimate_micro_usd
    estimate = job.micro_usd if estimate is None else estimate
    row = {
        "created_at": submitted_at,
        "kind": PATHS[job.path],
        "state": "settled",
        "status": "completed",
        "estimate_kind": job.estimate_kind,
        "estimate_low_micro_usd": estimate,
        "estimate_high_micro_usd": estimate,
        "reserved_micro_usd": 0,
        "charge_micro_usd": job.micro_usd,
        "restated_charge_micro_usd": job.restated_micro_usd,
        "billing_state": "settled",
        "job_id": job.id,
        "take": 1,
        "attempt": 1,
        "submitted_at": submitted_at,
        "finished_at": job.settled_at,
        "settled_at": read_at,
        "function": job.path,
        "service": "test",
        "account": "a",
        "key": f"of {job.id}",
    }
    return row | changes


def unread(job: Job, **changes: Any) -> dict[str, Any]:
    """Return the history's row of a job that ended and whose charge was not read."""
    open_row = {
        "state": "terminal",
        "charge_micro_usd": None,
        "settled_at": None,
        "billing_state": "pending",
    }
    return entry(job) | open_row | changes


def history_of(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Make the frame that `client.history.frame()` gives."""
    plain = [tuple(_plain(row.get(name)) for name in _COLUMNS) for row in rows]
    return entries_frame(plain)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(microseconds=1)
    return value


class Reports:
    """The reports of a service, read at one moment."""

    def __init__(self, daily: Any, monthly: Any) -> None:
        self._daily, self._monthly = daily, monthly

    def now(self) -> datetime:
        return NOW

    async def daily(self, *_: str) -> Report:
        return Report(self._daily, NOW)

    async def monthly(self, _: str) -> Report:
        return Report(self._monthly, NOW)


def compared_reports(
    daily: Any,
    monthly: Any,
    rows: Sequence[Mapping[str, Any]],
    own_keys: tuple[str, ...] | None,
) -> Reconciliation:
    """Compare the bodies of two reports with a history, as seen in November."""
    reports: Any = Reports(daily, monthly)
    clock = ServiceClock(reports)
    months = MonthlyReader(reports, Catalog.default(), clock)
    bill = anyio.run(read_bill, reports, months, clock, MONTH)
    return compared(bill, history_of(rows), PATHS, own_keys)


def reconciled(
    bill: Bill,
    rows: Sequence[Mapping[str, Any]],
    own_keys: tuple[str, ...] | None = (OWN,),
) -> Reconciliation:
    """Compare a bill with a history, as October 2026 seen in November."""
    monthly = {"rows": bill.monthly, "total_micro_usd": bill.total_micro_usd}
    return compared_reports({"rows": bill.daily}, monthly, rows, own_keys)
