"""Merges a record of a job into its entry.

Fields only move forwards. Responses can arrive late, twice or out of order, from
several threads and processes, and the entry still ends up the same.
"""

from datetime import datetime, timedelta
from typing import Any

from mediakit.api_models import BillingState, JobRecord, JobStatus
from mediakit.errors import ServiceError
from mediakit.history.entry import (
    ENTRY_FIELDS,
    STOPPED_CODE,
    SUBMISSION_FIELDS,
    Entry,
    EntryState,
)

Changes = dict[str, Any]
"""New values for an entry's fields, by name."""

LONGEST_RUN_S = 86_400.0

_STATUS_ORDER = (None, JobStatus.QUEUED, JobStatus.RUNNING)
_OF_THE_JOB = set(ENTRY_FIELDS) - {*SUBMISSION_FIELDS, "number", "created_at"}
# In ascending order: pending billing announces a charge, unavailable billing does not.
_BILLING_ORDER = (
    None,
    BillingState.UNAVAILABLE,
    BillingState.PENDING,
    BillingState.SETTLED,
)


def changes_from_job(entry: Entry, job: JobRecord, *, now: datetime) -> Changes:
    """Return the changes from a record of a job, which may be old."""
    if entry.job_id not in (None, job.id):
        raise ServiceError(
            f"The service returned two jobs for one idempotency key, {entry.job_id} "
            f"and {job.id}, although a repeated request should return the existing "
            "job. The history keeps the first one. Ask the service which of them it "
            "charges.",
            job_id=job.id,
        )
    changes: Changes = {"job_id": job.id, "gone_at": None}
    changes |= _status(entry, job, now) | _output(entry, job) | _charge(entry, job, now)
    changes["state"] = EntryState.SUBMITTED
    if changes["charge_micro_usd"] is not None:
        changes["state"] = EntryState.SETTLED
    elif changes["status"].terminal:
        changes["state"] = EntryState.TERMINAL
    return _new(entry, changes)


def changes_from_refusal(entry: Entry, *, code: str, message: str) -> Changes:
    """Return the changes from a response without a job; none if it has a job."""
    if entry.job_id is not None:
        return {}
    changes = {
        "state": EntryState.REFUSED,
        "error_code": code,
        "error_message": message,
    }
    return _new(entry, changes)


def changes_from_stop(entry: Entry, *, message: str) -> Changes:
    """Return the changes when a submission is no longer resent automatically."""
    if entry.state is not EntryState.UNANSWERED:
        return {}
    return _new(entry, {"error_code": STOPPED_CODE, "error_message": message})


def changes_from_request(entry: Entry) -> Changes:
    """Return the changes when a stopped submission is requested again."""
    if entry.state is not EntryState.UNANSWERED:
        return {}
    return _new(entry, {"error_code": None, "error_message": None})


def changes_from_rebuilt(entry: Entry, rebuilt: Entry) -> Changes:
    """Return the changes from the rebuilt entry of the same job."""
    changes = {name: getattr(rebuilt, name) for name in _OF_THE_JOB}
    for name in ("project", "budget", "sweep"):
        changes[name] = getattr(entry, name) or getattr(rebuilt, name)
    # Repeats of a request do not change when it was first made.
    changes["created_at"] = min(entry.created_at, rebuilt.created_at)
    return _new(entry, changes)


def _new(entry: Entry, changes: Changes) -> Changes:
    return dict(changes.items() - vars(entry).items())


def _status(entry: Entry, job: JobRecord, now: datetime) -> Changes:
    status = further_status(entry.status, job.status)
    # The job of a rebuilt entry may have ended unseen; then the time is unknown.
    ended = status.terminal and not (entry.status and entry.status.terminal)
    code = entry.error_code if entry.job_id else None  # drop the error of a refusal
    message = entry.error_message if entry.job_id else None
    if status is JobStatus.FAILED and job.error and code is None:
        code, message = job.error.code.value, job.error.message
    began = now - _ran_for(job) if entry.job_id is None else None
    return {
        "status": status,
        "error_code": code,
        "error_message": message,
        "submitted_at": entry.submitted_at or began,
        "finished_at": entry.finished_at or (now if ended else None),
    }


def _ran_for(job: JobRecord) -> timedelta:
    """Return how long a failed job ran, which distinguishes it from a rejected one."""
    if job.status is not JobStatus.FAILED or job.runtime_s is None:
        return timedelta()
    return timedelta(seconds=min(max(0.0, job.runtime_s), LONGEST_RUN_S))


def further_status(current: JobStatus | None, read: JobStatus) -> JobStatus:
    """Return the later of two states of a job: reads may arrive out of order."""
    if current is None or (read.terminal and not current.terminal):
        return read
    if current.terminal:
        return current
    return max(current, read, key=_STATUS_ORDER.index)


def _output(entry: Entry, job: JobRecord) -> Changes:
    deleted_at = entry.deleted_at or job.deleted_at
    file = job.output.file if job.output else None
    # The newest URL wins: a sandbox can serve the same file on another port later.
    url = file.url if file else entry.output_url
    return {
        "deleted_at": deleted_at,
        "output_url": None if deleted_at else url,
        "media_type": job.output.media_type if job.output else entry.media_type,
        "content_type": (file.content_type if file else None) or entry.content_type,
    }


def _charge(entry: Entry, job: JobRecord, now: datetime) -> Changes:
    state = job.billing.state if job.billing else None
    amount = job.settled_charge_micro_usd
    charge = entry.charge_micro_usd
    changes: Changes = {
        "billing_state": max(entry.billing_state, state, key=_BILLING_ORDER.index),
        "charge_micro_usd": amount if charge is None else charge,
    }
    if amount is not None and charge is None:
        changes["settled_at"] = now
    elif amount is not None:
        changes["restated_charge_micro_usd"] = None if amount == charge else amount
    return changes
