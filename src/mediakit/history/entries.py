"""One submit as the history knows it, and the pure rules by which it moves on.

What a job's records say is merged, not replayed: each field only ever goes
forwards, so that answers may arrive late, twice or out of order, from several
threads and processes, and the entry still ends the same.
"""

from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from enum import StrEnum

from mediakit.errors import ServiceError
from mediakit.records import BillingState, Job, JobStatus


class EntryState(StrEnum):
    """How far a submit is, as seen from here."""

    INTENT = "intent"
    """Written down, and no answer seen: the only ambiguous state."""
    SUBMITTED = "submitted"
    """A job was made."""
    TERMINAL = "terminal"
    """The job completed or failed; its charge is not known yet (spec 3.1)."""
    SETTLED = "settled"
    """The charge is known, 0 included (spec 2.2)."""
    REFUSED = "refused"
    """Answered without a job: nothing was bound and nothing is charged (spec 4.3)."""


@dataclass(frozen=True, kw_only=True)
class Intent:
    """What is about to be sent; written down before the first byte leaves.

    Args:
        key: The idempotency key (spec 4.3).
        draw_key: The content without `take` and `attempt`: what "the same" means.
        service: Which service, by a stable name.
        account: Which account of it, by an opaque name; never the API key.
        function: The path `vendor/model/function`.
        kind: The catalogue's name of the function.
        body: The exact bytes to send.
        prompt: The body's prompt; None if it has none.
        webhook_url: Where the job's end is posted; None for nowhere.
        take: Which draw of this content, from 1.
        attempt: Which attempt at this take, from 1.
        estimate_kind: How firm the estimate is.
        estimate_low_micro_usd: The least it may cost; None is unknown.
        estimate_high_micro_usd: The most it may cost; None is unknown.
        reserved_micro_usd: What is held for it until it settles or fails.
        project: A label of the user's; None for none.
    """

    key: str
    draw_key: str
    service: str
    account: str
    function: str
    kind: str
    body: bytes = field(repr=False)
    prompt: str | None
    webhook_url: str | None = field(repr=False)
    take: int
    attempt: int
    estimate_kind: str
    estimate_low_micro_usd: int | None
    estimate_high_micro_usd: int | None
    reserved_micro_usd: int
    project: str | None


@dataclass(frozen=True, kw_only=True)
class Entry(Intent):
    """An intent and everything that is known of what became of it.

    Args:
        number: The entry's place in this history; higher is newer.
        state: How far it is.
        job_id: The job that was made (spec 2.1); None while none is known.
        status: The furthest status seen (spec 3.1).
        error_code: Why the job failed (spec 7.3), or the code of a refusal.
        error_message: The same in the service's words.
        billing_state: The furthest billing state seen (spec 2.2).
        charge_micro_usd: The first settled charge; None until there is one.
        restated_charge_micro_usd: What the service says now, where that differs from
            the first settled charge; None while the two agree.
        output_url: Where the output is; None before completion and after erasure.
        content_type: The output's content type; kept after erasure.
        media_type: "video", "image" or "audio"; kept after erasure.
        created_at: When the intent was written down.
        submitted_at: When a job was first seen.
        finished_at: When the job was first seen ended.
        settled_at: When the charge was first seen.
        deleted_at: When the service erased the media, in its words (spec 2.1).
        gone_at: When the service was first found not to know the job any more.
    """

    number: int
    state: EntryState
    job_id: str | None
    status: JobStatus | None
    error_code: str | None
    error_message: str | None
    billing_state: BillingState | None
    charge_micro_usd: int | None
    restated_charge_micro_usd: int | None
    output_url: str | None
    content_type: str | None
    media_type: str | None
    created_at: datetime
    submitted_at: datetime | None
    finished_at: datetime | None
    settled_at: datetime | None
    deleted_at: datetime | None
    gone_at: datetime | None


INTENT_FIELDS = tuple(item.name for item in fields(Intent))

_STATUS_ORDER = (None, JobStatus.QUEUED, JobStatus.RUNNING)
# An unavailable billing says nothing, a pending one that a charge is on its way.
_BILLING_ORDER = (
    None,
    BillingState.UNAVAILABLE,
    BillingState.PENDING,
    BillingState.SETTLED,
)


def with_job(entry: Entry, job: Job, *, now: datetime) -> Entry:
    """Merge what a job's record says into its entry.

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
    merged = _with_status(entry, job, now)
    merged = _with_charge(_with_output(merged, job), job, now)
    return replace(merged, state=_state_of(merged), gone_at=None)


def with_refusal(entry: Entry, *, code: str, message: str) -> Entry:
    """Note that the submit was answered without a job; a known job outweighs it."""
    if entry.job_id is not None:
        return entry
    return replace(
        entry, state=EntryState.REFUSED, error_code=code, error_message=message
    )


def _with_status(entry: Entry, job: Job, now: datetime) -> Entry:
    status = _further_status(entry.status, job.status)
    known_error = entry.error_code if entry.job_id else None  # drops a refusal's
    known_message = entry.error_message if entry.job_id else None
    if status is JobStatus.FAILED and job.error and known_error is None:
        known_error, known_message = job.error.code.value, job.error.message
    return replace(
        entry,
        job_id=job.id,
        status=status,
        error_code=known_error,
        error_message=known_message,
        submitted_at=entry.submitted_at or now,
        finished_at=entry.finished_at or (now if status.terminal else None),
    )


def _further_status(known: JobStatus | None, said: JobStatus) -> JobStatus:
    if known is None or (said.terminal and not known.terminal):
        return said
    if known.terminal:
        return known
    return max(known, said, key=_STATUS_ORDER.index)


def _with_output(entry: Entry, job: Job) -> Entry:
    deleted_at = entry.deleted_at or _aware(job.deleted_at)
    file = job.output.file if job.output else None
    # The newest URL wins: a sandbox serves the same file on another port tomorrow.
    url = file.url if file else entry.output_url
    return replace(
        entry,
        deleted_at=deleted_at,
        output_url=None if deleted_at else url,
        media_type=job.output.media_type if job.output else entry.media_type,
        content_type=(file.content_type if file else None) or entry.content_type,
    )


def _with_charge(entry: Entry, job: Job, now: datetime) -> Entry:
    said = job.billing.state if job.billing else None
    billing_state = max(entry.billing_state, said, key=_BILLING_ORDER.index)
    entry = replace(entry, billing_state=billing_state)
    amount = job.settled_charge_micro_usd
    if amount is None:
        return entry
    if entry.charge_micro_usd is None:
        return replace(entry, charge_micro_usd=amount, settled_at=now)
    restated = None if amount == entry.charge_micro_usd else amount
    return replace(entry, restated_charge_micro_usd=restated)


def _state_of(entry: Entry) -> EntryState:
    if entry.charge_micro_usd is not None:
        return EntryState.SETTLED
    if entry.status is not None and entry.status.terminal:
        return EntryState.TERMINAL
    return EntryState.SUBMITTED


def _aware(instant: datetime | None) -> datetime | None:
    if instant is None or instant.tzinfo is not None:
        return instant
    return instant.replace(tzinfo=UTC)
