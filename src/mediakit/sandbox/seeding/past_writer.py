"""Writes past jobs into the store: ended, settled, and paid by a grant."""

import json
import sqlite3
from collections.abc import Iterable, Sequence

from mediakit.sandbox.files import new_name
from mediakit.sandbox.seeding.past_jobs import PastJob
from mediakit.sandbox.store import orgs
from mediakit.sandbox.store.database import Database
from mediakit.sandbox.store.money import enter

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
    """
    with db.transaction():
        postpaid = orgs.find_org(db, org)["mode"] == "postpaid"
        spent = 0 if postpaid else sum(job.charge_micro_usd for job in past)
        if spent:
            first_us = past[0].created_us
            orgs.grant(db, org, spent, is_credit=False, now_us=first_us)
        for job, job_id in zip(past, job_ids, strict=True):
            _add_job(db, org, api_keys[job.key_index], job, job_id)
            paid = 0 if postpaid else job.charge_micro_usd
            at_us = job.settled_us
            enter(db, org, "charge", -paid, credit_micro_usd=0, at_us=at_us, job=job_id)
        db.run(
            "UPDATE org SET balance_micro_usd = balance_micro_usd - ? WHERE id = ?",
            spent,
            org,
        )


def find_past(db: Database, job_ids: Sequence[str]) -> list[sqlite3.Row]:
    """Read the jobs of a past with their charges; none when it was never added.

    A past is added in one transaction: all of it exists, or nothing.
    """
    if db.one(_PAST, job_ids[0]) is None:
        return []
    found = (db.one(_PAST, job_id) for job_id in job_ids)
    return [row for row in found if row is not None]


def _add_job(db: Database, org: str, api_key: str, job: PastJob, job_id: str) -> None:
    code, message = job.failure or (None, None)
    failed = job.failure is not None
    db.insert(
        "job",
        id=job_id,
        org=org,
        api_key=api_key,
        function=job.function,
        status="failed" if failed else "completed",
        body=json.dumps(job.body),
        hold_micro_usd=job.charge_micro_usd,
        run_no=1,
        file=new_name(),
        media_type=None if failed else job.media_type,
        content_type=None if failed else job.content_type,
        error_code=code,
        error_message=message,
        usage=None if job.usage is None else json.dumps(job.usage),
        runtime_ms=None if failed else (job.ended_us - job.started_us) // 1_000,
        created_us=job.created_us,
        start_due_us=job.created_us,
        started_us=job.started_us,
        ended_us=job.ended_us,
        # There never was an output, so the job reads as erased.
        deleted_us=job.settled_us,
    )
    db.insert(
        "charge",
        job=job_id,
        org=org,
        api_key=api_key,
        function=job.function,
        completed=not failed,
        charge_micro_usd=job.charge_micro_usd,
        hold_micro_usd=job.charge_micro_usd,
        state="settled",
        due_us=job.settled_us,
        settled_us=job.settled_us,
    )


def keys_of(db: Database, org: str, names: Iterable[str], now_us: int) -> list[str]:
    """List the keys of a past: the organization's first one, and its members'.

    Missing members are created, each with a key that is not shown.
    """
    with db.transaction():
        own: str = db.value(
            "SELECT id FROM api_key WHERE org = ? AND member IS NULL ORDER BY rowid",
            org,
        )
        own = own or orgs.add_key(db, now_us, org=org)[0]
        return [own, *(_key_of(db, org, name, now_us) for name in names)]


def _key_of(db: Database, org: str, name: str, now_us: int) -> str:
    key_id: str | None = db.value(
        "SELECT api_key.id FROM member JOIN api_key ON api_key.member = member.id"
        " WHERE member.org = ? AND member.name = ? ORDER BY api_key.rowid",
        org,
        name,
    )
    if key_id is None:
        member = orgs.add_member(db, org=org, name=name, role="member")
        key_id, _ = orgs.add_key(db, now_us, org=org, member=member)
    return key_id
