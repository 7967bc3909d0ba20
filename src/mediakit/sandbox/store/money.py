"""Holds, charges, the ledger and the invoice cycle (spec 2.2, 2.4)."""

import json
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from sqlite3 import Row
from typing import Any

from mediakit.clock import to_instant, to_us
from mediakit.sandbox.store.database import SandboxDatabase


def hold(db: SandboxDatabase, org: str, amount_micro_usd: int) -> None:
    """Increase a hold, or decrease it, inside the caller's transaction."""
    db.run(
        "UPDATE org SET held_micro_usd = held_micro_usd + ? WHERE id = ?",
        amount_micro_usd,
        org,
    )


def held_micro_usd(db: SandboxDatabase, job_id: str) -> int:
    """Return the hold of a job in micro-USD."""
    return int(db.value("SELECT hold_micro_usd FROM job WHERE id = ?", job_id))


def open_charge(
    db: SandboxDatabase,
    job_id: str,
    charge_micro_usd: int,
    *,
    hold_micro_usd: int,
    due_us: int,
) -> None:
    """Record the pending charge of an ended job, inside the caller's transaction."""
    db.run(
        "INSERT INTO charge (job, org, api_key, function, completed,"
        " charge_micro_usd, hold_micro_usd, state, due_us)"
        " SELECT id, org, api_key, function, status = 'completed', ?, ?, 'pending', ?"
        " FROM job WHERE id = ?",
        charge_micro_usd,
        hold_micro_usd,
        due_us,
        job_id,
    )


def next_settlement_us(db: SandboxDatabase) -> int | None:
    """Return when the next pending charge settles, or None if there is none."""
    due: int | None = db.value("SELECT min(due_us) FROM charge WHERE state = 'pending'")
    return due


def settle_due(db: SandboxDatabase, now_us: int) -> int:
    """Settle each due charge once; return their number (spec 2.2)."""
    due = db.all(
        "SELECT job FROM charge WHERE state = 'pending' AND due_us <= ?"
        " ORDER BY due_us, job",
        now_us,
    )
    for row in due:
        with db.transaction():
            _settle(db, row["job"], now_us)
    return len(due)


def _settle(db: SandboxDatabase, job_id: str, now_us: int) -> None:
    charge = db.one(
        "UPDATE charge SET state = 'settled', settled_us = ?"
        " WHERE job = ? AND state = 'pending'"
        " RETURNING org, charge_micro_usd, hold_micro_usd",
        now_us,
        job_id,
    )
    if charge is None:
        return
    org, amount = charge["org"], charge["charge_micro_usd"]
    paid, credit = _payment(db, org, amount)
    # One statement, because the checks of the table compare the balance and the hold.
    db.run(
        "UPDATE org SET balance_micro_usd = balance_micro_usd - ?,"
        " credit_micro_usd = credit_micro_usd - ?,"
        " held_micro_usd = held_micro_usd - ? WHERE id = ?",
        paid,
        credit,
        charge["hold_micro_usd"],
        org,
    )
    db.update("charge", {"job": job_id}, credit_micro_usd=credit)
    enter(db, org, "charge", -paid, credit_micro_usd=-credit, at_us=now_us, job=job_id)


def _payment(db: SandboxDatabase, org: str, amount_micro_usd: int) -> tuple[int, int]:
    """Return the parts of a charge that come from the balance and from credits."""
    row = db.one("SELECT mode, credit_micro_usd FROM org WHERE id = ?", org)
    if row is None or row["mode"] == "postpaid":
        return 0, 0  # postpaid: the charge counts towards the cycle
    return amount_micro_usd, min(amount_micro_usd, row["credit_micro_usd"])


def enter(
    db: SandboxDatabase,
    org: str,
    kind: str,
    amount_micro_usd: int,
    *,
    credit_micro_usd: int,
    at_us: int,
    job: str | None = None,
) -> None:
    """Write a ledger entry, inside the transaction that moves the money."""
    db.insert(
        "ledger",
        org=org,
        job=job,
        kind=kind,
        amount_micro_usd=amount_micro_usd,
        credit_micro_usd=credit_micro_usd,
        at_us=at_us,
    )


def cycle_at(now_us: int) -> tuple[int, int]:
    """Return when the invoice cycle at an instant starts and ends.

    A cycle is a calendar month in UTC; a charge belongs to the cycle in which it
    settles.
    """
    now = to_instant(now_us)
    return to_us(_month(now.year, now.month)), to_us(_month(now.year, now.month + 1))


def _month(year: int, month: int) -> datetime:
    more_years, month_index = divmod(month - 1, 12)
    return datetime(year + more_years, month_index + 1, 1, tzinfo=UTC)


def settled_micro_usd(db: SandboxDatabase, org: str, since_us: int) -> int:
    """Sum the settled charges of an organization since an instant, in micro-USD."""
    return int(
        db.value(
            "SELECT coalesce(sum(charge_micro_usd), 0) FROM charge"
            " WHERE state = 'settled' AND org = ? AND settled_us >= ?",
            org,
            since_us,
        )
    )


def latest_us(db: SandboxDatabase) -> int:
    """Return the latest date of a ledger entry or a job; 0 without one."""
    return int(
        db.value(
            "SELECT max((SELECT coalesce(max(at_us), 0) FROM ledger),"
            " (SELECT coalesce(max(created_us), 0) FROM job))"
        )
    )


# -- Reports by day in UTC (spec 4.19) ---------------------------------------------


US_PER_DAY = 86_400_000_000
_EPOCH_DAY = date(1970, 1, 1)


def daily(
    db: SandboxDatabase,
    org: str,
    first: date,
    last: date,
    *,
    api_key: str | None = None,
    model: str | None = None,
) -> list[dict[str, Any]]:
    """Sum the settled charges of completed jobs by day, key and function."""
    rows = db.all(
        f"SELECT settled_us / {US_PER_DAY} AS day, api_key, function,"
        " count(*) AS jobs, sum(charge_micro_usd) AS charge FROM charge"
        " WHERE state = 'settled' AND completed = 1 AND org = ?"
        " AND settled_us >= ? AND settled_us < ?"
        " GROUP BY day, api_key, function ORDER BY day, api_key, function",
        org,
        _start_us(first),
        _start_us(last) + US_PER_DAY,
    )
    return [
        {
            "date": _EPOCH_DAY + timedelta(days=row["day"]),
            "api_key_id": row["api_key"],
            **_names(row["function"]),
            "jobs": row["jobs"],
            "charge_micro_usd": row["charge"],
        }
        for row in rows
        if api_key in (None, row["api_key"])
        and model in (None, row["function"], _names(row["function"])["model"])
    ]


def monthly(
    db: SandboxDatabase, org: str, first: date, last: date
) -> list[dict[str, Any]]:
    """Sum the settled charges and the usage of completed jobs by function."""
    rows = db.all(
        "SELECT charge.function, charge.charge_micro_usd AS charge,"
        " charge.credit_micro_usd AS credit, job.usage"
        " FROM charge JOIN job ON job.id = charge.job"
        " WHERE charge.state = 'settled' AND charge.completed = 1 AND charge.org = ?"
        " AND charge.settled_us >= ? AND charge.settled_us < ?"
        " ORDER BY charge.function",
        org,
        _start_us(first),
        _start_us(last) + US_PER_DAY,
    )
    return [
        _monthly_row(function, list(entries))
        for function, entries in groupby(rows, key=lambda row: row["function"])
    ]


def _monthly_row(function: str, entries: list[Row]) -> dict[str, Any]:
    return {
        **_names(function),
        "jobs": len(entries),
        "usage": _sum_usage(row["usage"] for row in entries),
        "charge_micro_usd": sum(row["charge"] for row in entries),
        "credits_applied_micro_usd": sum(row["credit"] for row in entries),
    }


def movements(db: SandboxDatabase, org: str, first: date, last: date) -> dict[str, int]:
    """Sum the ledger of an organization before, during and after a period of days."""
    row = db.one(
        "WITH line AS (SELECT *, at_us >= ? AS now, kind <> 'charge' AS is_income"
        " FROM ledger WHERE org = ? AND at_us < ?) SELECT"
        " sum(amount_micro_usd * (NOT now)) AS opening_balance_micro_usd,"
        " sum(credit_micro_usd * now * is_income) AS credits_granted_micro_usd,"
        " sum((amount_micro_usd - credit_micro_usd) * now * is_income)"
        " AS top_ups_micro_usd,"
        " sum(amount_micro_usd) AS closing_balance_micro_usd FROM line",
        _start_us(first),
        org,
        _start_us(last) + US_PER_DAY,
    )
    # A sum of no rows is null.
    return {name: amount or 0 for name, amount in dict(row or ()).items()}


def _names(function: str) -> dict[str, str]:
    model, _, name = function.rpartition("/")
    return {"model": model, "function": name, "model_id": function}


def _sum_usage(usages: Iterable[str | None]) -> dict[str, int | float] | None:
    total: dict[str, int | float] = {}
    for text in usages:
        for unit, quantity in json.loads(text or "{}").items():
            total[unit] = total.get(unit, 0) + quantity
    return total or None


def _start_us(day: date) -> int:
    return (day - _EPOCH_DAY).days * US_PER_DAY
