"""Writes past jobs into the store: ended, settled, and paid by a grant."""

import json
import sqlite3
from collections.abc import Iterable, Sequence

from mediakit.sandbox.core.files import new_name
from mediakit.sandbox.seeding.past_jobs import PastJob
from mediakit.sandbox.store.database import Database
from mediakit.sandbox.store.holds_and_charges import enter
from mediakit.sandbox.store.organizations import organization_records
from mediakit.sandbox.store.organizations.keys import make_key

_PAST = """
SELECT job.*, charge.charge_micro_usd, charge.settled_us,
  lower(hex(substr(api_key.sha256, 1, 8))) AS account
FROM job JOIN charge ON charge.job = job.id JOIN api_key ON api_key.id = job.api_key
WHERE job.id = ?
"""


def add_past(
    db: Database,
    org: str,
    api_keys: Sequence[str],
    past: Sequence[PastJob],
    job_ids: Sequence[str],
) -> None:
    """Write ended jobs with their money, in one transaction.

    Their total charge is granted on the first day, so that the balance stays as it
    was, and was never below zero in the past.

    Args:
        db: The database.
        org: The organization.
        api_keys: The ids of the keys that submitted them.
        past: The jobs, oldest first.
        job_ids: The id of each job.
    """
    with db.transaction():
        postpaid = organization_records.find_org(db, org)["mode"] == "postpaid"
        spent = 0 if postpaid else sum(job.charge_micro_usd for job in past)
        if spent:
            first_us = past[0].created_us
            organization_records.grant(db, org, spent, is_credit=False, now_us=first_us)
        for job, job_id in zip(past, job_ids, strict=True):
            _add_job(db, org, api_keys[job.key_index], job, job_id)
            _add_charge(db, job_id, job)
            paid = 0 if postpaid else job.charge_micro_usd
            at_us = job.settled_us
            enter(
                db, org, "charge", -paid, credit_micro_usd=0, at_us=at_us, job_id=job_id
            )
        db.run(
            "UPDATE org SET balance_micro_usd = balance_micro_usd - ? WHERE id = ?",
            spent,
            org,
        )


def find_past(db: Database, job_ids: Sequence[str]) -> list[sqlite3.Row]:
    """Read the jobs of a past with their charges; none when it was never added.

    A past is added in one transaction: all of it exists, or nothing.

    Args:
        db: The database.
        job_ids: The ids of its jobs.
    """
    if db.row(_PAST, job_ids[0]) is None:
        return []
    found = (db.row(_PAST, job_id) for job_id in job_ids)
    return [row for row in found if row is not None]


def _add_job(db: Database, org: str, api_key: str, job: PastJob, job_id: str) -> None:
    code, message = job.failure or (None, None)
    failed = job.failure is not None
    db.run(
        "INSERT INTO job (id, org, api_key, function, status, body, hold_micro_usd,"
        " run_no, file, media_type, content_type, error_code, error_message, usage,"
        " runtime_ms, created_us, start_due_us, started_us, ended_us, deleted_us)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        job_id,
        org,
        api_key,
        job.function,
        "failed" if failed else "completed",
        json.dumps(job.body),
        job.charge_micro_usd,
        new_name(),
        None if failed else job.media_type,
        None if failed else job.content_type,
        code,
        message,
        None if job.usage is None else json.dumps(job.usage),
        None if failed else (job.ended_us - job.started_us) // 1_000,
        job.created_us,
        job.created_us,
        job.started_us,
        job.ended_us,
        # There never was an output, so the job reads as erased.
        job.settled_us,
    )


def _add_charge(db: Database, job_id: str, job: PastJob) -> None:
    db.run(
        "INSERT INTO charge (job, org, api_key, function, completed,"
        " charge_micro_usd, hold_micro_usd, state, due_us, settled_us)"
        " SELECT id, org, api_key, function, status = 'completed', ?, ?, 'settled',"
        " ?, ? FROM job WHERE id = ?",
        job.charge_micro_usd,
        job.charge_micro_usd,
        job.settled_us,
        job.settled_us,
        job_id,
    )


def keys_of(db: Database, org: str, names: Iterable[str], now_us: int) -> list[str]:
    """List the keys of a past: the organization's first one, and its members'.

    Missing members are created, each with a key that is not shown.

    Args:
        db: The database.
        org: The organization.
        names: The members' names.
        now_us: The creation time of missing members.
    """
    with db.transaction():
        first = db.row(
            "SELECT id FROM api_key WHERE org = ? AND member IS NULL ORDER BY rowid",
            org,
        )
        own = first["id"] if first else make_key(db, org, None, None, now_us)[0]
        return [own, *(_key_of(db, org, name, now_us) for name in names)]


def _key_of(db: Database, org: str, name: str, now_us: int) -> str:
    row = db.row(
        "SELECT api_key.id FROM member JOIN api_key ON api_key.member = member.id"
        " WHERE member.org = ? AND member.name = ? ORDER BY api_key.rowid",
        org,
        name,
    )
    if row is not None:
        key_id: str = row["id"]
        return key_id
    member = organization_records.add_member(db, org, name, "member", None)
    return make_key(db, org, member, None, now_us)[0]
