"""What a job's record changes in its entry; pure.

Records are merged, not replayed: each field only ever goes forwards, so that answers
may arrive late, twice or out of order, from several threads and processes, and the
entry still ends the same.
"""

from datetime import UTC, datetime
from typing import Any

from mediakit.errors import ServiceError
from mediakit.history.entries.entries import (
    ENTRY_FIELDS,
    SUBMISSION_FIELDS,
    Entry,
    EntryState,
)
from mediakit.records import BillingState, Job, JobStatus

News = dict[str, Any]
"""Fields of an entry, by name, with new values."""

_STATUS_ORDER = (None, JobStatus.QUEUED, JobStatus.RUNNING)
_OF_THE_JOB = set(ENTRY_FIELDS) - {*SUBMISSION_FIELDS, "number", "created_at"}
# An unavailable billing says nothing, a pending one that a charge is on its way.
_BILLING_ORDER = (
    None,
    BillingState.UNAVAILABLE,
    BillingState.PENDING,
    BillingState.SETTLED,
)


def news_of_job(entry: Entry, job: Job, *, now: datetime) -> News:
    """Return what a job's record says that its entry does not know yet.

    The first settled charge stays; a later, different amount is kept beside it.

    Args:
        entry: The entry as it is.
        job: Any record of its job, old or new.
        now: The instant at which it was read.

    Raises:
        ServiceError: The record is of another job than the entry's.
    """
    if entry.job_id not in (None, job.id):
        raise ServiceError(
            f"One idempotency key was answered with two jobs, {entry.job_id} and "
            f"{job.id}, although a repeat returns the existing job (spec 4.3). The "
            "history keeps the first. Ask the service which of them it charges.",
            job_id=job.id,
        )
    said: News = {"job_id": job.id, "gone_at": None}
    said |= _status(entry, job, now) | _output(entry, job) | _charge(entry, job, now)
    said["state"] = _state(said["charge_micro_usd"], said["status"])
    return _new(entry, said)


def news_of_refusal(entry: Entry, *, code: str, message: str) -> News:
    """Return what it changes that the submit was answered without a job.

    A known job outweighs it.
    """
    if entry.job_id is not None:
        return {}
    said = {"state": EntryState.REFUSED, "error_code": code, "error_message": message}
    return _new(entry, said)


def news_of_rebuilt(entry: Entry, rebuilt: Entry) -> News:
    """Return what an entry without a job learns from the rebuilt one of its job.

    All that is known of the job, and of the request what the entry does not say.
    """
    said = {name: getattr(rebuilt, name) for name in _OF_THE_JOB}
    for name in ("project", "budget", "sweep"):
        said[name] = getattr(entry, name) or getattr(rebuilt, name)
    # It was asked for by then, however late the same was asked for again.
    said["created_at"] = min(entry.created_at, rebuilt.created_at)
    return _new(entry, said)


def _new(entry: Entry, said: News) -> News:
    return dict(said.items() - vars(entry).items())


def _status(entry: Entry, job: Job, now: datetime) -> News:
    status = _further_status(entry.status, job.status)
    # A rebuilt entry may have ended before anybody here saw it: then nobody knows when.
    ended = status.terminal and not (entry.status and entry.status.terminal)
    code = entry.error_code if entry.job_id else None  # drops a refusal's
    message = entry.error_message if entry.job_id else None
    if status is JobStatus.FAILED and job.error and code is None:
        code, message = job.error.code.value, job.error.message
    return {
        "status": status,
        "error_code": code,
        "error_message": message,
        "submitted_at": entry.submitted_at or (now if entry.job_id is None else None),
        "finished_at": entry.finished_at or (now if ended else None),
    }


def _further_status(known: JobStatus | None, said: JobStatus) -> JobStatus:
    if known is None or (said.terminal and not known.terminal):
        return said
    if known.terminal:
        return known
    return max(known, said, key=_STATUS_ORDER.index)


def _output(entry: Entry, job: Job) -> News:
    deleted_at = entry.deleted_at or _aware(job.deleted_at)
    file = job.output.file if job.output else None
    # The newest URL wins: a sandbox serves the same file on another port tomorrow.
    url = file.url if file else entry.output_url
    return {
        "deleted_at": deleted_at,
        "output_url": None if deleted_at else url,
        "media_type": job.output.media_type if job.output else entry.media_type,
        "content_type": (file.content_type if file else None) or entry.content_type,
    }


def _charge(entry: Entry, job: Job, now: datetime) -> News:
    said = job.billing.state if job.billing else None
    amount = job.settled_charge_micro_usd
    known = entry.charge_micro_usd
    news: News = {
        "billing_state": max(entry.billing_state, said, key=_BILLING_ORDER.index),
        "charge_micro_usd": amount if known is None else known,
    }
    if amount is not None and known is None:
        news["settled_at"] = now
    elif amount is not None:
        news["restated_charge_micro_usd"] = None if amount == known else amount
    return news


def _state(charge_micro_usd: int | None, status: JobStatus) -> EntryState:
    if charge_micro_usd is not None:
        return EntryState.SETTLED
    return EntryState.TERMINAL if status.terminal else EntryState.SUBMITTED


def _aware(instant: datetime | None) -> datetime | None:
    if instant is None or instant.tzinfo is not None:
        return instant
    return instant.replace(tzinfo=UTC)
