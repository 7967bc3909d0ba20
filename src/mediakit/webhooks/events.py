"""Events: the service's reports that a job has ended (spec 6.1, 6.3)."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Annotated, Any

from pydantic import AwareDatetime, BeforeValidator, Field, ValidationError
from pydantic_core import from_json

from mediakit.api_models import JobRecord, Record, without_lone_surrogates
from mediakit.errors import SignatureError

COMPLETED = "media.job.completed"
FAILED = "media.job.failed"
TEST = "webhook.test"
JOB_EVENTS = frozenset({COMPLETED, FAILED})


def _text(value: object) -> object:
    # A number would be parsed as seconds since 1970.
    if not isinstance(value, str):
        raise ValueError("it must be ISO 8601 text with an offset")
    return value


class Event(Record):
    """One event, as received in a delivery (spec 6.3).

    Unknown keys and events of unknown types are kept.

    Args:
        id: The `webhook-id`, `msg_<uuid>`: the same for retries and replays.
        type: `media.job.completed`, `media.job.failed`, `webhook.test` or another.
        timestamp: When the event happened, not when it was sent.
        data: The content as received; for job events, the job.
    """

    id: str
    type: str
    timestamp: Annotated[AwareDatetime, BeforeValidator(_text)]
    # Omitted from the repr: an output's URL may be enough to download the output.
    data: dict[str, Any] = Field(repr=False)

    @cached_property
    def job(self) -> JobRecord | None:
        """The job as it was when it ended; None if the event is not about a job.

        Its billing is always None: the charge settles later (spec 6.3).
        """
        return JobRecord.model_validate(self.data) if self.type in JOB_EVENTS else None


def read_event(event_id: str, body: bytes) -> Event:
    """Parse the body of a delivery whose signature was verified.

    Raises `SignatureError` ("payload") if the body is not an event.
    """
    try:
        document = _parsed(body)
    except (ValueError, RecursionError):
        raise _unreadable("it is not JSON") from None
    if not isinstance(document, dict):
        raise _unreadable("it is not a JSON object")
    try:
        # The signed id is in the header: a key of that name cannot replace it.
        event = Event.model_validate({**document, "id": event_id})
        _ = event.job  # parsed here, so that its errors are raised now
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "data"
        raise _unreadable(f"{place}: {first['msg']}") from None
    return event


def _parsed(body: bytes) -> Any:
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError:
        # pydantic's parser rejects half an emoji, which a service may send in a
        # message.
        content = json.dumps(without_lone_surrogates(json.loads(body)))
        return from_json(content, allow_inf_nan=False)


def _unreadable(why: str) -> SignatureError:
    return SignatureError(
        f"The body of this webhook is not an event ({why}). It was signed with your "
        "secret, so the service sent it: report it to the service's support.",
        reason="payload",
    )
