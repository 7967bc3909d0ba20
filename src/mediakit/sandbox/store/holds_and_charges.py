"""Holds, charges, the ledger, the balance and the invoice cycle (spec 2.2, 2.4)."""

from datetime import UTC, datetime

from mediakit.sandbox.store.database import Database
from mediakit.sandbox.timing.clock import to_instant, to_us


def balance_micro_usd(db: Database, org: str) -> int:
    """Return an organization's balance, before holds."""
    row = db.row("SELECT balance_micro_usd AS balance FROM org WHERE id = ?", org)
    if row is None:
        raise LookupError(f"no organization {org}")
    balance: int = row["balance"]
    return balance


def hold(db: Database, org: str, amount_micro_usd: int) -> None:
    """Hold money for a job, inside the caller's transaction."""
    db.run(
        "UPDATE org SET held_micro_usd = held_micro_usd + ? WHERE id = ?",
        amount_micro_usd,
        org,
    )


def held_micro_usd(db: Database, job_id: str) -> int:
    """Return the hold of a job, micro-USD."""
    row = db.row("SELECT hold_micro_usd AS held FROM job WHERE id = ?", job_id)
    if row is None:
        raise LookupError(f"no job {job_id}")
    held: int = row["held"]
    return held


def release(db: Database, org: str, amount_micro_usd: int) -> None:
    """Release held money, inside the caller's transaction."""
    hold(db, org, -amount_micro_usd)


def open_charge(
    db: Database,
    job_id: str,
    charge_micro_usd: int,
    *,
    hold_micro_usd: int,
    due_us: int,
) -> None:
    """Record the pending charge of an ended job, inside the caller's transaction.

    Args:
        db: The database.
        job_id: The job; the database rejects a second charge of it.
        charge_micro_usd: The charge; 0 for a failed job.
        hold_micro_usd: The hold until it settles.
        due_us: When it settles.
    """
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
    row = db.row("SELECT min(due_us) AS due FROM charge WHERE state = 'pending'")
    return None if row is None else row["due"]


def settle_due(db: Database, now_us: int) -> int:
    """Settle every due charge, each once; return their number (spec 2.2)."""
    due = db.rows(
        "SELECT job FROM charge WHERE state = 'pending' AND due_us <= ?"
        " ORDER BY due_us, job",
        now_us,
    )
    for row in due:
        with db.transaction():
            _settle(db, row["job"], now_us)
    return len(due)


def _settle(db: Database, job_id: str, now_us: int) -> None:
    charge = db.row(
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
    db.run("UPDATE charge SET credit_micro_usd = ? WHERE job = ?", credit, job_id)
    enter(
        db,
        org,
        "charge",
        -paid,
        credit_micro_usd=-credit,
        at_us=now_us,
        job_id=job_id,
    )


def _payment(db: Database, org: str, amount_micro_usd: int) -> tuple[int, int]:
    """Return the part of a charge that the balance pays, and its credits."""
    row = db.row("SELECT mode, credit_micro_usd FROM org WHERE id = ?", org)
    if row is None:
        raise LookupError(f"no organization {org}")
    if row["mode"] == "postpaid":  # by invoice: the charge counts towards the cycle
        return 0, 0
    return amount_micro_usd, min(amount_micro_usd, row["credit_micro_usd"])


def enter(
    db: Database,
    org: str,
    kind: str,
    amount_micro_usd: int,
    *,
    credit_micro_usd: int,
    at_us: int,
    job_id: str | None = None,
) -> None:
    """Write a ledger entry, inside the transaction that moves the money.

    Args:
        db: The database.
        org: The organization.
        kind: `opening`, `grant` or `charge`.
        amount_micro_usd: The change of the balance; negative for a charge.
        credit_micro_usd: The credits in it.
        at_us: The time of the change.
        job_id: The charged job.
    """
    db.run(
        "INSERT INTO ledger (org, job, kind, amount_micro_usd, credit_micro_usd, at_us)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        org,
        job_id,
        kind,
        amount_micro_usd,
        credit_micro_usd,
        at_us,
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
    row = db.row(
        "SELECT coalesce(sum(charge_micro_usd), 0) AS total FROM charge"
        " WHERE state = 'settled' AND org = ? AND settled_us >= ?",
        org,
        since_us,
    )
    return 0 if row is None else int(row["total"])


def latest_us(db: Database) -> int:
    """Return the latest date of a ledger entry or a job; 0 when there is none."""
    row = db.row(
        "SELECT max((SELECT coalesce(max(at_us), 0) FROM ledger),"
        " (SELECT coalesce(max(created_us), 0) FROM job)) AS latest"
    )
    latest: int = row["latest"] if row is not None else 0
    return latest
