"""A made-up month: jobs, what a service bills for them, and what a history holds.

The bill is computed here from the jobs alone, by sums of its own, and goes through the
readers of answers as the JSON and CSV texts that a service sends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pandas as pd

from mediakit.history.frames import _COLUMNS, entries_frame
from mediakit.spend.bill import Bill as ReadBill
from mediakit.spend.reconcile import reconciled as compared
from mediakit.spend.reconcile_result import Reconciliation

MONTH = "2026-10"
FIRST, LAST = date(2026, 10, 1), date(2026, 10, 31)
READ_FIRST, READ_LAST = date(2026, 9, 24), date(2026, 11, 7)
TODAY = date(2026, 11, 15)
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
    """What the service reports, as rows that a test may lose or double."""

    daily: list[dict[str, Any]]
    monthly: list[dict[str, Any]]
    csv: list[dict[str, Any]]
    total_micro_usd: int
    opening_micro_usd: int = 10**18
    changes: Mapping[str, Any] = field(default_factory=dict)

    def monthly_body(self) -> dict[str, Any]:
        moved = {
            "opening_balance_micro_usd": self.opening_micro_usd,
            "credits_granted_micro_usd": 5,
            "top_ups_micro_usd": 7,
            "closing_balance_micro_usd": self.opening_micro_usd
            + 12
            - self.total_micro_usd,
        }
        body = {
            "month": MONTH,
            "rows": self.monthly,
            "total_micro_usd": self.total_micro_usd,
            "invoices": [],
        }
        return body | moved | dict(self.changes)

    def csv_text(self) -> str:
        names = ["model_id", "model", "function", "jobs", "charge_micro_usd"]
        lines = [",".join(names)]
        for row in self.csv:
            lines.append(",".join(str(row[name]) for name in names))
        lines.append(f"total,,,,{self.total_micro_usd}")
        return "\r\n".join(lines) + "\r\n"


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
        if READ_FIRST <= job.day <= READ_LAST:
            by_day[job.day, job.key, job.path] += job.micro_usd
            n_by_day[job.day, job.key, job.path] += 1
        if FIRST <= job.day <= LAST:
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
    total = sum(by_month.values())
    return Bill(daily, monthly, list(monthly), total)


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


def reconciled(
    bill: Bill,
    rows: Sequence[Mapping[str, Any]],
    own_keys: tuple[str, ...] | None = (OWN,),
    **changes: Any,
) -> Reconciliation:
    """Compare a bill with a history, as October 2026 seen in November."""
    read = ReadBill(MONTH, TODAY, **changes)
    bodies = {
        "monthly": bill.monthly_body(),
        "csv": bill.csv_text(),
        "daily": {"rows": bill.daily},
    }
    for name, body in bodies.items():
        read.take(name, body)
    return compared(read, history_of(rows), PATHS, own_keys)
