"""Parses a response of the service: its record, and when to retry."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mediakit.client.http.exchange import Answer
from mediakit.errors import ServiceError, shown
from mediakit.records import Balance, Job, Record, UploadGrant

R = TypeVar("R", bound=Record)

LONGEST_RETRY_AFTER_S = 366 * 86_400.0


def parse(record_type: type[R], answer: Answer) -> R:
    """Parse a response as a record.

    Raises:
        ServiceError: The response is not such a record.
    """
    with suppress(ValidationError):
        return record_type.model_validate_json(answer.content)
    # The slower way accepts all that JSON allows, and reports what is wrong.
    body = answer.json()
    try:
        return record_type.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ServiceError(
            f"The service answered {answer.status} with "
            f"{_NOUNS.get(record_type, 'an answer')} that cannot be read: "
            f"{_problem_text(first)}",
            status=answer.status,
        ) from None


_NOUNS: Mapping[type[Record], str] = {
    Balance: "a balance",
    Job: "a job",
    UploadGrant: "an upload grant",
}


def _problem_text(problem: ErrorDetails) -> str:
    """Say in a sentence what is wrong with a field; the value may be a secret."""
    names = [str(part) for part in problem["loc"]]
    where = f"`{'.'.join(names)}`" if names else "it"
    if problem["type"] == "missing":
        return f"{where} is missing."
    if names and names[-1].endswith("_micro_usd"):
        got = shown(problem["input"])
        return f"{where} must be a whole number of micro-USD (got {got})."
    return f"{where} is not what the specification says."


def failed_job(answer: Answer) -> Job | None:
    """Return the failed job of a rejection envelope, if it is one (spec 7.1)."""
    if answer.fields.get("status") != "failed" or "id" not in answer.fields:
        return None
    return parse(Job, answer)


def retry_after_s(answer: Answer) -> float | None:
    """Return the seconds of `Retry-After`; None when it is absent or unreadable.

    A date is relative to the response's own `Date`, because two clocks seldom agree.
    """
    text = answer.headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII):
        return min(float(text), LONGEST_RETRY_AFTER_S)
    then, now = _instant(text), answered_at(answer)
    if then is None or now is None:
        return None
    return min(max(0.0, (then - now).total_seconds()), LONGEST_RETRY_AFTER_S)


def answered_at(answer: Answer) -> datetime | None:
    """Return the `Date` of a response, UTC by the service's clock; None without it."""
    instant = _instant(answer.headers.get("date", ""))
    try:
        return instant.astimezone(UTC) if instant else None
    except OverflowError:  # on the first or last day that datetime supports
        return None


def _instant(http_date: str) -> datetime | None:
    try:
        instant = parsedate_to_datetime(http_date)
    except (ValueError, OverflowError):
        return None
    return instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)
