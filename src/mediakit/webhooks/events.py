"""Events: what the service tells about a job that ended (spec 6.1, 6.3)."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any

from pydantic import AwareDatetime, BeforeValidator, Field, ValidationError
from pydantic_core import from_json

from mediakit.errors import SignatureError
from mediakit.records import Job, Record

COMPLETED = "media.job.completed"
FAILED = "media.job.failed"
TEST = "webhook.test"
JOB_EVENTS = frozenset({COMPLETED, FAILED})


def _text(value: object) -> object:
    # A number would be taken for seconds since 1970.
    if not isinstance(value, str):
        raise ValueError("it is a text in ISO 8601, with its offset")
    return value


class Event(Record):
    """One event, as a delivery brought it (spec 6.3).

    Unknown keys are kept, and so are events of types that are new to us.

    Args:
        id: The `webhook-id`, shape `msg_<uuid>`: the same for retries and replays.
        type: `media.job.completed`, `media.job.failed`, `webhook.test`, or new.
        timestamp: When it happened; not when it was sent.
        data: What it is about, as it came: the job for the events of jobs.
    """

    id: str
    type: str
    timestamp: Annotated[AwareDatetime, BeforeValidator(_text)]
    # Left out of the repr: the URL of an output may be all that is needed to fetch it.
    data: dict[str, Any] = Field(repr=False)

    @cached_property
    def job(self) -> Job | None:
        """The job as it stood when it ended; None when the event is not about one.

        Its billing is always None: the charge settles later (spec 6.3).
        """
        return Job.model_validate(self.data) if self.type in JOB_EVENTS else None


def read_event(event_id: str, body: bytes) -> Event:
    """Read the body of a delivery whose signature was checked.

    Args:
        event_id: Its `webhook-id`.
        body: Its bytes.

    Raises:
        SignatureError: The body is no event ("payload").
    """
    try:
        document = from_json(body, allow_inf_nan=False)
    except ValueError:
        raise _unreadable("it is not JSON") from None
    if not isinstance(document, dict):
        raise _unreadable("it is not a JSON object")
    try:
        # The header is what was signed as the id: a key of that name cannot replace it.
        event = Event.model_validate({**document, "id": event_id})
        _ = event.job  # read here, so that nobody meets its problems later
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "data"
        raise _unreadable(f"{place}: {first['msg']}") from None
    return event


def _unreadable(why: str) -> SignatureError:
    return SignatureError(
        f"The body of this webhook is no event ({why}). It was signed with your "
        "secret, so it comes from the service: show it to the service's support.",
        reason="payload",
    )
