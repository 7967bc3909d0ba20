"""Turns a response that is not a success into a typed error (spec 7.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import urlsplit

from mediakit.client.http.exchange import Answer
from mediakit.client.http.response_parsing import failed_job, retry_after_s
from mediakit.clock import Clock
from mediakit.errors import (
    AnswerError,
    AuthError,
    BalanceError,
    ConflictError,
    GoneError,
    InputError,
    MediakitError,
    NotFoundError,
    RateLimitError,
    ServiceError,
)
from mediakit.records import ErrorCode, Job
from mediakit.rules import Problem

BALANCE_CODES = {ErrorCode.INSUFFICIENT_BALANCE, ErrorCode.CYCLE_LIMIT_EXCEEDED}
NOT_ADMITTED = {ErrorCode.ADMISSION_SUSPENDED, ErrorCode.MEMBERSHIP_REQUIRED}
NOT_CHARGED = "Nothing was charged."
SUBMITS_AGAIN = "the same call then submits it under a new key."
NEXT_TAKE_SUBMITS = 'take="next" submits the request again.'


def leads_to(answer: Answer) -> str:
    """Say where a redirect leads, without path and query; empty for other responses."""
    location = answer.headers.get("location", "")
    try:
        parts = urlsplit(location)
        place = parts.hostname and f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    except ValueError:
        place = None
    if not 300 <= answer.status < 400 or not place:
        return ""
    return f", which leads to {place}: is that the base URL?"


def error_of(
    answer: Answer,
    what: str,
    clock: Clock,
    *,
    then: str = "",
    in_doubt: bool = False,
) -> MediakitError:
    """Return the typed error of a response that is not a success (spec 7.2).

    Args:
        answer: The response.
        what: What was requested, such as "the job media_...".
        clock: Turns `Retry-After` into an instant.
        then: Sentences that follow: what was sent, and what to do.
        in_doubt: Whether an earlier attempt may have arrived.
    """
    job = failed_job(answer)
    if job is not None:
        return rejection(answer, job, clock)
    if answer.status in (400, 422):
        return refused_input(answer, what)
    said = f" The service says: {answer.message}" if answer.message else ""
    tail = f"{said} {then}".rstrip()
    if answer.status == 429:
        text = f"Too many requests.{tail}"
        return _rate_limit(answer, text, None, clock, in_doubt=in_doubt)
    if answer.status not in _TYPED:
        text = f"The service answered {answer.status} for {what}"
        text += leads_to(answer) or "."
        return ServiceError(f"{text}{tail}", status=answer.status, in_doubt=in_doubt)
    error_type, text = _TYPED[answer.status]
    text = _capital(text.format(what)) + tail
    return error_type(text, status=answer.status, in_doubt=in_doubt)


_TYPED: Mapping[int, tuple[type[AnswerError], str]] = {
    401: (AuthError, "The API key is missing or not valid; set MEDIAKIT_API_KEY."),
    403: (AuthError, "This API key may not request {}."),
    404: (NotFoundError, "The service does not know {}."),
    409: (ConflictError, "{} is not in a state for that."),
    410: (GoneError, "{} was erased."),
}


# Such as `tracks[0].keyframes[1].url`.
_FIELD = re.compile(r"\w+(\[\d*\]|\.\w+)*")


def refused_input(
    answer: Answer, what: str, *, then: str = "", in_doubt: bool = False
) -> InputError:
    """Return the error for a body or parameter that the service refused.

    Args:
        answer: The response.
        what: What was requested.
        then: What was sent and created, if anything may have been.
        in_doubt: Whether an earlier attempt may have arrived.
    """
    field = answer.message.split(":", 1)[0].strip() if ":" in answer.message else ""
    words = answer.message.rstrip(".") or "it does not say why"
    problem = Problem(
        field if _FIELD.fullmatch(field) else what,
        got=f"a refusal ({answer.status})",
        accepted=words,
        said=f"was not accepted by the service ({answer.status}): {words}",
    )
    then = then or f"It was sent and refused. {NOT_CHARGED}"
    return InputError.of([problem], then=then, sent=None if in_doubt else True)


def rejection(answer: Answer, job: Job, clock: Clock) -> MediakitError:
    """Return the error for a job that was rejected on submission (spec 4.3)."""
    code = job.error.code if job.error else ErrorCode.PROVIDER_ERROR
    words = job.error.message if job.error else ""
    said = f" The service says: {words}" if words else ""
    text = (
        f"{_REJECTED.get(code, 'The service rejected the request')} ({code}).{said} "
        f"It was sent and rejected as {job.id}. {NOT_CHARGED} "
        f"{_ADVICE.get(code, NEXT_TAKE_SUBMITS)}"
    )
    if code in BALANCE_CODES:
        return BalanceError(text, status=answer.status, job_id=job.id)
    if code is ErrorCode.RATE_LIMITED:
        return _rate_limit(answer, text, job.id, clock)
    kind = AuthError if answer.status == 403 or code in NOT_ADMITTED else ServiceError
    return kind(text, status=answer.status, job_id=job.id)


_REJECTED: Mapping[ErrorCode, str] = {
    ErrorCode.INSUFFICIENT_BALANCE: "The balance does not cover this request",
    ErrorCode.CYCLE_LIMIT_EXCEEDED: "The balance does not cover this request",
    ErrorCode.RATE_LIMITED: "The service is limiting requests",
    ErrorCode.PROVIDER_UNAVAILABLE: "The service is not available at the moment",
}
_ADVICE: Mapping[ErrorCode, str] = {
    ErrorCode.INSUFFICIENT_BALANCE: f"Top up, or request less; {SUBMITS_AGAIN}",
    ErrorCode.CYCLE_LIMIT_EXCEEDED: f"Raise the cycle limit, or wait; {SUBMITS_AGAIN}",
    ErrorCode.ADMISSION_SUSPENDED: f"Its owner has to lift that; {SUBMITS_AGAIN}",
    ErrorCode.MEMBERSHIP_REQUIRED: f"Its owner has to grant that; {SUBMITS_AGAIN}",
    ErrorCode.PROVIDER_UNAVAILABLE: f"Try later: {SUBMITS_AGAIN}",
    ErrorCode.RATE_LIMITED: f"Wait, or raise the limit; {SUBMITS_AGAIN}",
}


def _rate_limit(
    answer: Answer,
    text: str,
    job_id: str | None,
    clock: Clock,
    *,
    in_doubt: bool = False,
) -> RateLimitError:
    seconds = retry_after_s(answer)
    if seconds is None:
        return RateLimitError(
            text, status=answer.status, job_id=job_id, in_doubt=in_doubt
        )
    retry_at = clock.now() + timedelta(seconds=seconds)
    return RateLimitError(
        f"{text} Try again in {seconds:,.0f} s, at {retry_at:%Y-%m-%d %H:%M:%S} UTC.",
        retry_after_s=seconds,
        retry_at=retry_at,
        status=answer.status,
        job_id=job_id,
        in_doubt=in_doubt,
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
