"""An entry: one submission in the history, and what became of it; pure.

Records of a job are merged into its entry: each field only moves forwards. Responses
can arrive late, twice or out of order, from several threads and processes, and the
entry still ends the same.
"""

from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from mediakit.api_models import BillingState, Job, JobStatus
from mediakit.errors import ServiceError

Changes = dict[str, Any]
"""New values of fields of an entry, by name."""

PAST = "past-"
"""The prefix of the keys of a sandbox's sample entries, which nobody submitted."""

REBUILT = "rebuilt-"
"""The prefix of the keys of jobs whose request is unknown."""

LONGEST_RUN_S = 86_400.0


class EntryState(StrEnum):
    """The state of a submission, as far as the history knows."""

    UNANSWERED = "unanswered"
    """Written to the history, not answered yet: the only ambiguous state."""
    SUBMITTED = "submitted"
    """A job was made."""
    TERMINAL = "terminal"
    """The job completed or failed; its charge is not known yet (spec 3.1)."""
    SETTLED = "settled"
    """The charge is known, 0 included (spec 2.2)."""
    REFUSED = "refused"
    """Answered without a job: the key is not bound, nothing is charged (spec 4.3)."""
    GONE = "gone"
    """The service has not known the job for a day; its charge is not known."""


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A request as it is about to be sent; committed before it is sent."""

    key: str  # for idempotency (spec 4.3)
    draw_key: str  # the exact content without `take` and `attempt`
    asked_key: str
    """The content as the user gave it, also without them: a job by its id and a file by
    its hash, in place of URLs. What makes two requests the same."""
    service: str
    account: str  # an opaque name; never the API key
    function: str  # the path `vendor/model/function`
    kind: str
    body: bytes = field(repr=False)
    """The exact bytes to send."""
    prompt: str | None
    webhook_url: str | None = field(repr=False)
    take: int  # the number of the draw of this content, from 1
    attempt: int  # the number of the attempt at this take, from 1
    estimate_kind: str
    estimate_low_micro_usd: int | None  # None is unknown
    estimate_high_micro_usd: int | None
    reserved_micro_usd: int
    """The hold until it settles or fails."""
    project: str | None
    budget: str | None = None  # the name of the one that it counts against
    sweep: str | None = None
    """The id of the sweep that first submits it; None for none."""


@dataclass(frozen=True, kw_only=True)
class Entry(Submission):
    """A submission and its outcome."""

    number: int  # in this history; higher is newer
    created_at: datetime
    state: EntryState
    job_id: str | None = None
    status: JobStatus | None = None  # the furthest seen (spec 3.1)
    error_code: str | None = None  # of the failure (spec 7.3) or the refusal
    error_message: str | None = None
    billing_state: BillingState | None = None  # the furthest seen (spec 2.2)
    charge_micro_usd: int | None = None
    """The first settled charge; None until there is one."""
    restated_charge_micro_usd: int | None = None
    """The charge that the service reports now, if it is not the first settled one."""
    output_url: str | None = field(default=None, repr=False)
    """Where the output is; None before completion and after erasure."""
    content_type: str | None = None
    media_type: str | None = None
    submitted_at: datetime | None = None  # when a job was first seen
    finished_at: datetime | None = None  # when it was first seen completed or failed
    settled_at: datetime | None = None  # when the charge was first seen
    deleted_at: datetime | None = None
    """When the service says that it erased the media (spec 2.1)."""
    gone_at: datetime | None = None  # when the service first no longer had the job


HOLDING = (EntryState.UNANSWERED, EntryState.SUBMITTED, EntryState.TERMINAL)
AT_WORK = (EntryState.SUBMITTED, EntryState.TERMINAL)
SUBMISSION_FIELDS = tuple(item.name for item in fields(Submission))
ENTRY_FIELDS = tuple(item.name for item in fields(Entry))


def plain_values(submission: Submission) -> dict[str, Any]:
    """Return the fields of a submission by name, without those that an entry adds."""
    return {name: getattr(submission, name) for name in SUBMISSION_FIELDS}


def fresh_entry(submission: Submission, *, number: int, created_at: datetime) -> Entry:
    """Return the entry of a submission that was just written."""
    return Entry(
        **plain_values(submission),
        number=number,
        created_at=created_at,
        state=EntryState.UNANSWERED,
    )


def rebuilt_key(job_id: str) -> str:
    """Return the key of a job's entry while its request is unknown."""
    return f"{REBUILT}{job_id}"


# -- merging what the service reports -----------------------------------------------

_STATUS_ORDER = (None, JobStatus.QUEUED, JobStatus.RUNNING)
_OF_THE_JOB = set(ENTRY_FIELDS) - {*SUBMISSION_FIELDS, "number", "created_at"}
# Unavailable billing says nothing; pending billing announces a charge.
_BILLING_ORDER = (
    None,
    BillingState.UNAVAILABLE,
    BillingState.PENDING,
    BillingState.SETTLED,
)


def changes_from_job(entry: Entry, job: Job, *, now: datetime) -> Changes:
    """Return what a record of a job, which may be old, changes in its entry."""
    if entry.job_id not in (None, job.id):
        raise ServiceError(
            f"One idempotency key was answered with two jobs, {entry.job_id} and "
            f"{job.id}, although a repeat returns the existing job (spec 4.3). The "
            "history keeps the first. Ask the service which of them it charges.",
            job_id=job.id,
        )
    found: Changes = {"job_id": job.id, "gone_at": None}
    found |= _status(entry, job, now) | _output(entry, job) | _charge(entry, job, now)
    found["state"] = EntryState.SUBMITTED
    if found["charge_micro_usd"] is not None:
        found["state"] = EntryState.SETTLED
    elif found["status"].terminal:
        found["state"] = EntryState.TERMINAL
    return _new(entry, found)


def changes_from_refusal(entry: Entry, *, code: str, message: str) -> Changes:
    """Return what a response without a job changes: nothing after a job."""
    if entry.job_id is not None:
        return {}
    found = {"state": EntryState.REFUSED, "error_code": code, "error_message": message}
    return _new(entry, found)


def changes_from_rebuilt(entry: Entry, rebuilt: Entry) -> Changes:
    """Return what the rebuilt entry of its job changes in an entry."""
    found = {name: getattr(rebuilt, name) for name in _OF_THE_JOB}
    for name in ("project", "budget", "sweep"):
        found[name] = getattr(entry, name) or getattr(rebuilt, name)
    # Repeats of a request do not change when it was first made.
    found["created_at"] = min(entry.created_at, rebuilt.created_at)
    return _new(entry, found)


def _new(entry: Entry, found: Changes) -> Changes:
    return dict(found.items() - vars(entry).items())


def _status(entry: Entry, job: Job, now: datetime) -> Changes:
    status = further_status(entry.status, job.status)
    # The job of a rebuilt entry may have ended unseen; then the time is unknown.
    ended = status.terminal and not (entry.status and entry.status.terminal)
    code = entry.error_code if entry.job_id else None  # drops those of a refusal
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


def _ran_for(job: Job) -> timedelta:
    """Return how long a failed job ran, which tells it from one that was rejected."""
    if job.status is not JobStatus.FAILED or job.runtime_s is None:
        return timedelta()
    return timedelta(seconds=min(max(0.0, job.runtime_s), LONGEST_RUN_S))


def further_status(known: JobStatus | None, read: JobStatus) -> JobStatus:
    """Return the later of two states of a job: reads may arrive in another order."""
    if known is None or (read.terminal and not known.terminal):
        return read
    if known.terminal:
        return known
    return max(known, read, key=_STATUS_ORDER.index)


def _output(entry: Entry, job: Job) -> Changes:
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


def _charge(entry: Entry, job: Job, now: datetime) -> Changes:
    state = job.billing.state if job.billing else None
    amount = job.settled_charge_micro_usd
    known = entry.charge_micro_usd
    changes: Changes = {
        "billing_state": max(entry.billing_state, state, key=_BILLING_ORDER.index),
        "charge_micro_usd": amount if known is None else known,
    }
    if amount is not None and known is None:
        changes["settled_at"] = now
    elif amount is not None:
        changes["restated_charge_micro_usd"] = None if amount == known else amount
    return changes
