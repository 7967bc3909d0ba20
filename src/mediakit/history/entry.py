"""An entry: one submission in the history, and its outcome."""

from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any

from mediakit.api_models import BillingState, JobStatus

PAST = "past-"
"""The prefix of the keys of a sandbox's sample entries, which were not submitted."""

REBUILT = "rebuilt-"
"""The prefix of the keys of jobs whose request is unknown."""


STOPPED_CODE = "stopped"
"""The `error_code` of an unanswered entry that is sent again only on request."""


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
    """A request about to be sent, which is committed first."""

    key: str  # for idempotency (spec 4.3)
    draw_key: str  # the exact content without `take` and `attempt`
    asked_key: str
    """The content as the user gave it, without `take` and `attempt`, with job IDs and
    file hashes in place of URLs. Requests with equal keys are the same."""
    service: str
    account: str  # an opaque name; never the API key
    function: str  # the path `vendor/model/function`
    kind: str
    body: bytes = field(repr=False)
    """The exact bytes to send."""
    prompt: str | None
    webhook_url: str | None = field(repr=False)
    take: int  # the number of the take of this content, from 1
    attempt: int  # the number of the attempt at this take, from 1
    estimate_kind: str
    estimate_low_micro_usd: int | None  # None means unknown
    estimate_high_micro_usd: int | None
    reserved_micro_usd: int
    """The hold until the job settles or fails."""
    project: str | None
    budget: str | None = None  # the name of the budget that it counts against
    sweep: str | None = None
    """The id of the sweep that first submitted the request, or None."""


@dataclass(frozen=True, kw_only=True)
class Entry(Submission):
    """A submission and its outcome."""

    number: int  # in this history; higher is newer
    created_at: datetime
    state: EntryState
    job_id: str | None = None
    status: JobStatus | None = None  # the latest status read (spec 3.1)
    error_code: str | None = None  # of the failure (spec 7.3) or the refusal
    error_message: str | None = None
    billing_state: BillingState | None = None  # the latest state read (spec 2.2)
    charge_micro_usd: int | None = None
    """The first settled charge; None until there is one."""
    restated_charge_micro_usd: int | None = None
    """The charge that the service reports now, if it is not the first settled one."""
    output_url: str | None = field(default=None, repr=False)
    """The URL of the output; None before completion and after erasure."""
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
    """Return the fields of a submission by name, without those of an entry."""
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
