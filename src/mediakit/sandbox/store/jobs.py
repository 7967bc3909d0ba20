"""Jobs: the queue, and all changes of state (spec 3.1)."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mediakit.sandbox.store.database import SandboxDatabase, Value
from mediakit.sandbox.store.money import held_micro_usd, hold, open_charge

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
    base_url: str | None
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

    @property
    def has_output(self) -> bool:
        """Return whether the job's output exists."""
        return self.status == "completed" and self.deleted_us is None


def find(db: SandboxDatabase, job_id: str) -> JobRow | None:
    """Read a job by id; None if it does not exist."""
    return _job(db.one(f"{_SELECT} WHERE job.id = ?", job_id))


def find_by_file(db: SandboxDatabase, file: str) -> JobRow | None:
    """Read the job whose output has this name, or None if there is none."""
    return _job(db.one(f"{_SELECT} WHERE job.file = ?", file))


def latest(db: SandboxDatabase, limit: int) -> list[JobRow]:
    """Read the newest jobs, newest first."""
    # Sort by date, because a seeded past is older than the jobs that were stored before
    # it.
    rows = db.all(
        f"{_SELECT} ORDER BY job.created_us DESC, job.seq DESC LIMIT ?", limit
    )
    return [job for row in rows if (job := _job(row))]


def claim(db: SandboxDatabase, now_us: int, stuck: Sequence[str] = ()) -> JobRow | None:
    """Start the oldest job that may run now; None if there is none.

    Partial indexes and the organization's counters keep this fast with thousands of
    queued jobs.
    """
    with db.transaction():
        job_id: str | None = db.value(
            "SELECT job.id FROM org JOIN job ON job.org = org.id"
            " WHERE org.queued_n > 0 AND org.running_n < org.concurrency"
            f" AND job.status = 'queued' {_not_stuck(stuck)} ORDER BY job.seq LIMIT 1",
            *stuck,
        )
        if job_id is None:
            return None
        db.run(
            "UPDATE job SET status = 'running', started_us = ?, run_no = run_no + 1"
            " WHERE id = ?",
            now_us,
            job_id,
        )
        db.run(
            "UPDATE org SET queued_n = queued_n - 1, running_n = running_n + 1"
            " WHERE id = (SELECT org FROM job WHERE id = ?)",
            job_id,
        )
        return find(db, job_id)


def _not_stuck(stuck: Sequence[str]) -> str:
    if not stuck:
        return ""
    return f"AND job.function NOT IN ({', '.join('?' * len(stuck))})"


def complete(
    db: SandboxDatabase,
    job: JobRow,
    charge_micro_usd: int,
    *,
    now_us: int,
    settle_due_us: int,
    **columns: Value,
) -> bool:
    """End a running job, with its charge pending; False for a stale run."""
    with db.transaction():
        if not _end(db, job, now_us, status="completed", **columns):
            return False
        hold_micro_usd = held_micro_usd(db, job.id)
        open_charge(
            db,
            job.id,
            charge_micro_usd,
            hold_micro_usd=hold_micro_usd,
            due_us=settle_due_us,
        )
    return True


def fail(
    db: SandboxDatabase,
    job: JobRow,
    code: str,
    message: str,
    *,
    now_us: int,
    settle_due_us: int,
) -> bool:
    """End a running job as failed, without hold or charge; False for a stale run."""
    error = {"error_code": code, "error_message": message}
    with db.transaction():
        if not _end(db, job, now_us, status="failed", **error):
            return False
        hold(db, job.org, -held_micro_usd(db, job.id))
        open_charge(db, job.id, 0, hold_micro_usd=0, due_us=settle_due_us)
    return True


def _end(db: SandboxDatabase, job: JobRow, now_us: int, **columns: Value) -> bool:
    run: dict[str, Value] = {"id": job.id, "status": "running", "run_no": job.run_no}
    if not db.update("job", run, ended_us=now_us, **columns):
        return False
    db.run("UPDATE org SET running_n = running_n - 1 WHERE id = ?", job.org)
    return True


def erase(db: SandboxDatabase, job: JobRow, now_us: int) -> None:
    """Erase the request of an ended job; the caller removes its file."""
    db.run(
        "UPDATE job SET body = NULL, webhook_url = NULL, deleted_us = ?"
        " WHERE id = ? AND deleted_us IS NULL",
        now_us,
        job.id,
    )


def unfinished_bodies(db: SandboxDatabase) -> list[str]:
    """List the request bodies of the jobs that have not ended."""
    # Two statements, because each status has its own index.
    return [
        row["body"]
        for status in ("queued", "running")
        for row in db.all(f"SELECT body FROM job WHERE status = '{status}'")
    ]


def requeue_running(db: SandboxDatabase) -> None:
    """Queue the jobs again that a killed server was running."""
    with db.transaction():
        db.update("job", {"status": "running"}, status="queued")
        db.run("UPDATE org SET queued_n = queued_n + running_n, running_n = 0")


def stored_files(db: SandboxDatabase) -> list[sqlite3.Row]:
    """List outputs and uploads on disk, with their times."""
    return db.all(
        "SELECT ended_us AS at_us, file FROM job"
        " WHERE status = 'completed' AND deleted_us IS NULL"
        " UNION ALL SELECT stored_us, file FROM upload WHERE stored_us IS NOT NULL"
        " ORDER BY 1, 2"
    )


def removed_files(db: SandboxDatabase) -> list[str]:
    """List the outputs and uploads that must no longer be on disk."""
    rows = db.all(
        "SELECT file FROM job WHERE deleted_us IS NOT NULL"
        " UNION ALL SELECT file FROM upload WHERE stored_us IS NULL"
    )
    return [row["file"] for row in rows]


def _job(row: sqlite3.Row | None) -> JobRow | None:
    if row is None:
        return None
    values = {name: row[name] for name in JobRow.__dataclass_fields__}
    usage = values["usage"]
    return JobRow(**values | {"usage": None if usage is None else json.loads(usage)})
