"""An entry: one submission in the history, and what became of it."""

from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any

from mediakit.history.entries.fast_replace import made
from mediakit.records import BillingState, JobStatus

PAST = "past-"
"""The prefix of the keys of a sandbox's sample entries, which nobody submitted."""


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
    """A request as it is about to be sent; committed before it is sent.

    Args:
        key: The idempotency key (spec 4.3).
        draw_key: The exact content without `take` and `attempt`.
        asked_key: The content as the user gave it, also without them: a job by its id
            and a file by its hash, in place of URLs. What makes two requests the same.
        service: The stable name of the service.
        account: The opaque name of the account; never the API key.
        function: The path `vendor/model/function`.
        kind: The name of the function in the catalog.
        body: The exact bytes to send.
        prompt: The body's prompt; None if it has none.
        webhook_url: Where the service posts the end of the job; None for nowhere.
        take: The number of the draw of this content, from 1.
        attempt: The number of the attempt at this take, from 1.
        estimate_kind: How firm the estimate is.
        estimate_low_micro_usd: The minimum cost, micro-USD; None is unknown.
        estimate_high_micro_usd: The maximum cost, micro-USD; None is unknown.
        reserved_micro_usd: The hold until it settles or fails, micro-USD.
        project: The user's label; None for none.
        budget: The name of the caller's budget that it counts against; None for none.
        sweep: The id of the sweep that first submits it; None for none.
    """

    key: str
    draw_key: str
    asked_key: str
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
    budget: str | None = None
    sweep: str | None = None


@dataclass(frozen=True, kw_only=True)
class Entry(Submission):
    """A submission and its outcome.

    Args:
        number: The number of the entry in this history; higher is newer.
        state: The state of the submission.
        job_id: The job (spec 2.1); None while none is known.
        status: The furthest status seen (spec 3.1).
        error_code: The code of the failure (spec 7.3) or the refusal.
        error_message: The service's message.
        billing_state: The furthest billing state seen (spec 2.2).
        charge_micro_usd: The first settled charge, micro-USD; None until there is one.
        restated_charge_micro_usd: The charge that the service reports now, if it is not
            the first settled charge; None while the two agree.
        output_url: Where the output is; None before completion and after erasure.
        content_type: The output's content type; kept after erasure.
        media_type: "video", "image" or "audio"; kept after erasure.
        created_at: When the submission was written.
        submitted_at: When a job was first seen.
        finished_at: When the job was first seen completed or failed.
        settled_at: When the charge was first seen.
        deleted_at: When the service says that it erased the media (spec 2.1).
        gone_at: When the service first no longer had the job.
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
    output_url: str | None = field(repr=False)
    content_type: str | None
    media_type: str | None
    created_at: datetime
    submitted_at: datetime | None
    finished_at: datetime | None
    settled_at: datetime | None
    deleted_at: datetime | None
    gone_at: datetime | None


ATTEMPT = ("asked_key", "take", "attempt")
SUBMISSION_FIELDS = tuple(item.name for item in fields(Submission))
ENTRY_FIELDS = tuple(item.name for item in fields(Entry))
_NOTHING_YET: dict[str, Any] = dict.fromkeys(set(ENTRY_FIELDS) - set(SUBMISSION_FIELDS))


def plain_values(submission: Submission) -> dict[str, Any]:
    """Return the fields of a submission by name, without those that an entry adds."""
    values = vars(submission)
    return {name: values[name] for name in SUBMISSION_FIELDS}


def attempt_of(submission: Submission) -> dict[str, Any]:
    """Return what identifies one attempt at one take of a request, by name."""
    return {name: getattr(submission, name) for name in ATTEMPT}


def fresh_entry(submission: Submission, *, number: int, created_at: datetime) -> Entry:
    """Return the entry of a submission that was just written."""
    known = {"number": number, "created_at": created_at, "state": EntryState.UNANSWERED}
    return made(Entry, _NOTHING_YET | plain_values(submission) | known)
