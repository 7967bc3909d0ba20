"""Holds, charges, the ledger and the invoice cycle (spec 2.2, 2.4)."""

from datetime import UTC, datetime

from mediakit.sandbox.clock import to_instant, to_us
from mediakit.sandbox.store.database import Database


def hold(db: Database, org: str, amount_micro_usd: int) -> None:
    """Hold more money, or less, inside the caller's transaction."""
    db.run(
        "UPDATE org SET held_micro_usd = held_micro_usd + ? WHERE id = ?",
        amount_micro_usd,
        org,
    )


def held_micro_usd(db: Database, job_id: str) -> int:
    """Return the hold of a job, micro-USD."""
    return int(db.value("SELECT hold_micro_usd FROM job WHERE id = ?", job_id))


def open_charge(
    db: Database,
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


def next_settlement_us(db: Database) -> int | None:
    """Return when the next pending charge settles; None when none is pending."""
    due: int | None = db.value("SELECT min(due_us) FROM charge WHERE state = 'pending'")
    return due


def settle_due(db: Database, now_us: int) -> int:
    """Settle every due charge, each once; return their number (spec 2.2)."""
    due = db.all(
        "SELECT job FROM charge WHERE state = 'pending' AND due_us <= ?"
        " ORDER BY due_us, job",
        now_us,
    )
    for row in due:
        with db.transaction():
            _settle(db, row["job"], now_us)
    return len(due)


def _settle(db: Database, job_id: str, now_us: int) -> None:
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


def _payment(db: Database, org: str, amount_micro_usd: int) -> tuple[int, int]:
    """Return the part of a charge that the balance pays, and its credits."""
    row = db.one("SELECT mode, credit_micro_usd FROM org WHERE id = ?", org)
    if row is None or row["mode"] == "postpaid":
        return 0, 0  # by invoice: the charge counts towards the cycle
    return amount_micro_usd, min(amount_micro_usd, row["credit_micro_usd"])


def enter(
    db: Database,
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
    """Return when the invoice cycle of an instant starts and ends.

    It is the calendar month in UTC; a charge belongs to the one it settles in.
    """
    now = to_instant(now_us)
    return to_us(_month(now.year, now.month)), to_us(_month(now.year, now.month + 1))


def _month(year: int, month: int) -> datetime:
    more_years, month_index = divmod(month - 1, 12)
    return datetime(year + more_years, month_index + 1, 1, tzinfo=UTC)


def settled_micro_usd(db: Database, org: str, since_us: int) -> int:
    """Sum the settled charges of an organization since an instant, micro-USD."""
    return int(
        db.value(
            "SELECT coalesce(sum(charge_micro_usd), 0) FROM charge"
            " WHERE state = 'settled' AND org = ? AND settled_us >= ?",
            org,
            since_us,
        )
    )


def latest_us(db: Database) -> int:
    """Return the latest date of a ledger entry or a job; 0 when there is none."""
    return int(
        db.value(
            "SELECT max((SELECT coalesce(max(at_us), 0) FROM ledger),"
            " (SELECT coalesce(max(created_us), 0) FROM job))"
        )
    )
