"""One submit as the history knows it."""

from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any

from mediakit.frozen import made
from mediakit.records import BillingState, JobStatus

PAST = "past-"
"""What keys of entries begin with that a sandbox made up: nobody submitted them."""


class EntryState(StrEnum):
    """How far a submit is, as seen from here."""

    UNANSWERED = "unanswered"
    """Written to the history, not answered yet: the only ambiguous state."""
    SUBMITTED = "submitted"
    """A job was made."""
    TERMINAL = "terminal"
    """The job completed or failed; its charge is not known yet (spec 3.1)."""
    SETTLED = "settled"
    """The charge is known, 0 included (spec 2.2)."""
    REFUSED = "refused"
    """Answered without a job: nothing was bound and nothing is charged (spec 4.3)."""


@dataclass(frozen=True, kw_only=True)
class Submission:
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
        budget: The name of the caller's budget that it counts against; None for none.
        sweep: The id of the sweep that submits it first; None for none.
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
    budget: str | None = None
    sweep: str | None = None


@dataclass(frozen=True, kw_only=True)
class Entry(Submission):
    """A submission and everything that is known of what became of it.

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
        created_at: When the submission was written down.
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


SUBMISSION_FIELDS = tuple(item.name for item in fields(Submission))
ENTRY_FIELDS = tuple(item.name for item in fields(Entry))
_NOTHING_YET: dict[str, Any] = dict.fromkeys(set(ENTRY_FIELDS) - set(SUBMISSION_FIELDS))


def plain_values(submission: Submission) -> dict[str, Any]:
    """Return a submission's fields by name, without those that an entry adds."""
    values = vars(submission)
    return {name: values[name] for name in SUBMISSION_FIELDS}


def fresh_entry(submission: Submission, *, number: int, created_at: datetime) -> Entry:
    """Return the entry of a submission that was just written down."""
    known = {"number": number, "created_at": created_at, "state": EntryState.UNANSWERED}
    return made(Entry, _NOTHING_YET | plain_values(submission) | known)
