"""Jobs and their state transitions, each in one transaction (spec 3.1)."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mediakit.records import ErrorCode
from mediakit.sandbox.store.database import Database
from mediakit.sandbox.store.holds_and_charges import (
    held_micro_usd,
    open_charge,
    release,
)

_SELECT = """
SELECT job.*, charge.state AS billing_state, charge.charge_micro_usd
FROM job LEFT JOIN charge ON charge.job = job.id
"""


@dataclass(frozen=True)
class JobRow:
    """A job as it is stored, with the state of its charge."""

    id: str
    org: str
    api_key: str
    function: str
    status: str
    body: str | None
    hold_micro_usd: int
    run_no: int
    file: str
    media_type: str | None
    content_type: str | None
    error_code: str | None
    error_message: str | None
    usage: dict[str, Any] | None
    webhook_url: str | None
    runtime_ms: int | None
    created_us: int
    ended_us: int | None
    deleted_us: int | None
    billing_state: str | None
    charge_micro_usd: int | None

    @property
    def terminal(self) -> bool:
        """Return whether the job has ended."""
        return self.status in ("completed", "failed")


@dataclass(frozen=True)
class Finished:
    """The output type, usage and charge of a completed job."""

    media_type: str
    content_type: str
    usage: dict[str, Any] | None
    charge_micro_usd: int
    runtime_ms: int


def find(db: Database, job_id: str) -> JobRow | None:
    """Read a job by id; None when there is none."""
    row = db.row(f"{_SELECT} WHERE job.id = ?", job_id)
    return None if row is None else _job(row)


def find_in_org(db: Database, org: str, job_id: str) -> JobRow | None:
    """Read a job of one organization by id; None when there is none."""
    job = find(db, job_id)
    return job if job is not None and job.org == org else None


def find_by_file(db: Database, file: str) -> JobRow | None:
    """Read the job whose output has this name; None when there is none."""
    row = db.row(f"{_SELECT} WHERE job.file = ?", file)
    return None if row is None else _job(row)


def latest(db: Database, org: str, limit: int) -> list[JobRow]:
    """Read the newest jobs of an organization, newest first."""
    # By date, because a seeded past is older than the jobs before it.
    rows = db.rows(
        f"{_SELECT} WHERE job.org = ? ORDER BY job.created_us DESC, job.seq DESC"
        " LIMIT ?",
        org,
        limit,
    )
    return [_job(row) for row in rows]


def claim(db: Database, now_us: int, stuck: Sequence[str] = ()) -> JobRow | None:
    """Start the oldest job that may run now; None when there is none.

    Partial indexes and the counters of the organization keep this fast with thousands
    of queued jobs.

    Args:
        db: The database.
        now_us: The sandbox's time.
        stuck: The functions whose jobs do not start.
    """
    with db.transaction():
        row = db.row(
            "SELECT job.id FROM org JOIN job ON job.org = org.id"
            " WHERE org.queued_n > 0 AND org.running_n < org.concurrency"
            " AND job.status = 'queued' AND job.start_due_us <= ?"
            f" {_not_stuck(stuck)} ORDER BY job.seq LIMIT 1",
            now_us,
            *stuck,
        )
        if row is None:
            return None
        db.run(
            "UPDATE job SET status = 'running', started_us = ?, run_no = run_no + 1"
            " WHERE id = ?",
            now_us,
            row["id"],
        )
        db.run(
            "UPDATE org SET queued_n = queued_n - 1, running_n = running_n + 1"
            " WHERE id = (SELECT org FROM job WHERE id = ?)",
            row["id"],
        )
        return find(db, row["id"])


def next_start_us(db: Database, stuck: Sequence[str] = ()) -> int | None:
    """Return when the next queued job may start; None when none waits for time.

    Args:
        db: The database.
        stuck: The functions whose jobs do not start.
    """
    row = db.row(
        "SELECT min(job.start_due_us) AS due FROM org JOIN job ON job.org = org.id"
        " WHERE org.queued_n > 0 AND org.running_n < org.concurrency"
        f" AND job.status = 'queued' {_not_stuck(stuck)}",
        *stuck,
    )
    return None if row is None else row["due"]


def _not_stuck(stuck: Sequence[str]) -> str:
    if not stuck:
        return ""
    return f"AND job.function NOT IN ({', '.join('?' * len(stuck))})"


def complete(
    db: Database, job: JobRow, made: Finished, *, now_us: int, settle_due_us: int
) -> bool:
    """End a running job as completed, with its charge pending.

    Returns:
        False when this run of the job is no longer the running one.
    """
    with db.transaction():
        changed = db.run(
            "UPDATE job SET status = 'completed', media_type = ?, content_type = ?,"
            " usage = ?, runtime_ms = ?, ended_us = ?"
            " WHERE id = ? AND status = 'running' AND run_no = ?",
            made.media_type,
            made.content_type,
            None if made.usage is None else json.dumps(made.usage),
            made.runtime_ms,
            now_us,
            job.id,
            job.run_no,
        )
        if not changed:
            return False
        _leave_slot(db, job.org)
        open_charge(
            db,
            job.id,
            made.charge_micro_usd,
            hold_micro_usd=held_micro_usd(db, job.id),
            due_us=settle_due_us,
        )
    return True


def fail(
    db: Database,
    job: JobRow,
    code: ErrorCode,
    message: str,
    *,
    now_us: int,
    settle_due_us: int,
) -> bool:
    """End a running job as failed: its hold is released, its charge is 0.

    Returns:
        False when this run of the job is no longer the running one.
    """
    with db.transaction():
        changed = db.run(
            "UPDATE job SET status = 'failed', error_code = ?, error_message = ?,"
            " ended_us = ? WHERE id = ? AND status = 'running' AND run_no = ?",
            code,
            message,
            now_us,
            job.id,
            job.run_no,
        )
        if not changed:
            return False
        _leave_slot(db, job.org)
        release(db, job.org, held_micro_usd(db, job.id))
        open_charge(db, job.id, 0, hold_micro_usd=0, due_us=settle_due_us)
    return True


def _leave_slot(db: Database, org: str) -> None:
    db.run("UPDATE org SET running_n = running_n - 1 WHERE id = ?", org)


def erase(db: Database, job: JobRow, now_us: int) -> None:
    """Erase the request of an ended job; the caller removes its file."""
    db.run(
        "UPDATE job SET body = NULL, webhook_url = NULL, deleted_us = ?"
        " WHERE id = ? AND deleted_us IS NULL",
        now_us,
        job.id,
    )


def erased_files(db: Database) -> list[str]:
    """List the outputs that must no longer be on disk."""
    rows = db.rows("SELECT file FROM job WHERE deleted_us IS NOT NULL")
    return [row["file"] for row in rows]


def outputs(db: Database) -> list[tuple[int, str]]:
    """List the outputs on disk, each with its creation time."""
    rows = db.rows(
        "SELECT ended_us, file FROM job"
        " WHERE status = 'completed' AND deleted_us IS NULL"
    )
    return [(row["ended_us"], row["file"]) for row in rows]


def unfinished_bodies(db: Database) -> list[str]:
    """List the request bodies of the jobs that have not ended."""
    rows = db.rows("SELECT body FROM job WHERE status = 'queued' AND body IS NOT NULL")
    rows += db.rows(
        "SELECT body FROM job WHERE status = 'running' AND body IS NOT NULL"
    )
    return [row["body"] for row in rows]


def requeue_running(db: Database) -> int:
    """Queue the jobs again that ran when the server was killed; return their number."""
    with db.transaction():
        n = db.run("UPDATE job SET status = 'queued' WHERE status = 'running'")
        db.run("UPDATE org SET queued_n = queued_n + running_n, running_n = 0")
    return n


def _job(row: sqlite3.Row) -> JobRow:
    values = {name: row[name] for name in JobRow.__dataclass_fields__}
    usage = values["usage"]
    return JobRow(**values | {"usage": None if usage is None else json.loads(usage)})
