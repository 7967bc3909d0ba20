"""A response of the service, its content, and the typed error for it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mediakit.api_models import (
    Balance,
    ErrorCode,
    JobRecord,
    Record,
    UploadGrant,
    without_lone_surrogates,
)
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
from mediakit.forks import cached_property
from mediakit.money import format_usd
from mediakit.rules import Problem
from mediakit.safe_text import quoted, shown
from mediakit.web_urls import is_http, parts_of

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


@dataclass(eq=False, repr=False)
class NoAnswerError(ConnectionError):
    """A request got no usable response; if `is_final`, a retry does not help.

    `sent` tells whether the service may have received the request; `status` is the
    status of an inconclusive response.
    """

    reason: str
    _: KW_ONLY
    sent: bool
    retry_after_s: float | None = None
    is_final: bool = False
    status: int | None = None

    def __post_init__(self) -> None:
        super().__init__(self.reason)


@dataclass(frozen=True)
class HttpResponse:
    """A response of the service; it may hold a signed URL or a secret."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)

    def json(self) -> Any:
        """Parse the body."""
        try:
            return _parsed(self.content)
        except (ValueError, RecursionError):
            raise ServiceError(
                f"The service returned {self.status} with something that is not JSON. "
                "Check the base URL.",
                status=self.status,
            ) from None

    @cached_property
    def fields(self) -> Mapping[str, Any]:
        """Return the body if it is a JSON object, else an empty mapping."""
        try:
            body = _parsed(self.content)
        except (ValueError, RecursionError):
            return {}
        return body if isinstance(body, dict) else {}

    @property
    def message(self) -> str:
        """Return the `message` of a request-level error, if there is one (spec 7.1)."""
        message = self.fields.get("message")
        return quoted(message) if isinstance(message, str) else ""

    @property
    def reason(self) -> str:
        """Return the reason for a refusal, from any usual error shape, or "".

        Unlike `message`, it does not show that the service itself responded.
        """
        return self.message or quoted(_reason_in(self.fields))

    @property
    def is_web_page(self) -> bool:
        """Return whether the body is a web page, such as a network's sign-in page."""
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        start = self.content[:LONGEST_PIECE].lstrip().lower()
        is_html = start.startswith((b"<!doctype html", b"<html"))
        return is_html or (kind == "text/html" and 200 <= self.status < 300)

    @property
    def piece(self) -> str:
        """Return the beginning of a body of unknown shape; "" for a web page."""
        text = self.content[:LONGEST_PIECE].decode(errors="replace").strip()
        if not text or text.startswith("<") or text in ("{}", "[]", "null"):
            return ""
        return f"it returned {shown(text)}"


LONGEST_PIECE = 200
REASONS = (
    "message",
    "error",
    "errors",
    "detail",
    "title",
    "description",
    "msg",
    "reason",
    "errormessage",
    "error_message",
    "error_description",
    "non_field_errors",
    "fault",
    "faultstring",
)
"""Fields in which services and gateways give the reason for a refusal, best first."""
MOST_REASONS = 10
DEEPEST_REASON = 6


def _reason_in(fields: Mapping[str, Any], depth: int = 0) -> str:
    """Return the reason in a body, or "" if there is none."""
    by_name = {name.lower(): value for name, value in fields.items()}
    texts = [_text_in(by_name[name], depth) for name in REASONS if name in by_name]
    return ". ".join(dict.fromkeys(text.rstrip(".") for text in texts if text))


def _text_in(value: object, depth: int) -> str:
    """Return a text, or one text for the problems of several fields."""
    if isinstance(value, str):
        return value.strip()
    if depth > DEEPEST_REASON:
        return ""
    if isinstance(value, list):
        texts = [_text_in(each, depth + 1) for each in value[:MOST_REASONS]]
        return "; ".join(filter(None, texts))
    if not isinstance(value, Mapping):
        return ""
    if text := _reason_in(value, depth + 1):
        # FastAPI names the field in `loc`, others in `field` or `param`.
        where = value.get("loc") or value.get("field") or value.get("param")
        names = where if isinstance(where, list) else [where]
        field = ".".join(str(name) for name in names if name not in (None, "body"))
        return f"{field}: {text}" if field else text
    fields = [*value.items()][:MOST_REASONS]
    by_field = {name: _text_in(each, depth + 1) for name, each in fields}
    return "; ".join(f"{name}: {text}" for name, text in by_field.items() if text)


def _parsed(content: bytes) -> Any:
    body = json.loads(content)
    escapes = _SURROGATE_ESCAPE.search(content)
    return without_lone_surrogates(body) if escapes else body


# A shorter key could occur in a response by chance.
SHORTEST_KEY_BYTES = 8


def without_key(answer: HttpResponse, api_key: str) -> HttpResponse:
    """Remove the API key from a response, because errors quote its message."""
    key = api_key.encode()
    if len(key) < SHORTEST_KEY_BYTES or key not in answer.content:
        return answer
    return replace(answer, content=answer.content.replace(key, b"***"))


# -- the content of an answer ---------------------------------------------------------

R = TypeVar("R", bound=Record)

LONGEST_RETRY_AFTER_S = 366 * 86_400.0


def parse(record_type: type[R], answer: HttpResponse) -> R:
    """Parse a response as a record."""
    with suppress(ValidationError):
        return record_type.model_validate_json(answer.content)
    # The slower parser accepts all of JSON, and reports what is wrong.
    body = answer.json()
    try:
        return record_type.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ServiceError(
            f"The service returned {answer.status} with "
            f"{_NOUNS.get(record_type, 'an answer')} that cannot be read: "
            f"{_problem_text(first)}",
            status=answer.status,
        ) from None


_NOUNS: Mapping[type[Record], str] = {
    Balance: "a balance",
    JobRecord: "a job",
    UploadGrant: "an upload grant",
}


def _problem_text(problem: ErrorDetails) -> str:
    """Describe the problem of a field without its value, which may be a secret."""
    names = [str(part) for part in problem["loc"]]
    where = f"`{'.'.join(names)}`" if names else "it"
    if problem["type"] == "missing":
        return f"{where} is missing."
    if names and names[-1].endswith("_micro_usd"):
        got = shown(problem["input"])
        return f"{where} must be a whole number of micro-USD (got {got})."
    return f"{where} has an unexpected value."


def failed_job(answer: HttpResponse) -> JobRecord | None:
    """Return the failed job of a rejection envelope, if it is one (spec 7.1)."""
    if answer.fields.get("status") != "failed" or "id" not in answer.fields:
        return None
    return parse(JobRecord, answer)


def retry_after_s(answer: HttpResponse) -> float | None:
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


def answered_at(answer: HttpResponse) -> datetime | None:
    """Return the `Date` of a response, UTC by the service's clock, or None."""
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


# -- errors (spec 7.2) ----------------------------------------------------------------

BALANCE_CODES = {ErrorCode.INSUFFICIENT_BALANCE, ErrorCode.CYCLE_LIMIT_EXCEEDED}
NOT_ADMITTED = {ErrorCode.ADMISSION_SUSPENDED, ErrorCode.MEMBERSHIP_REQUIRED}
NOT_CHARGED = "Nothing was charged."
SUBMITS_AGAIN = "the same call then submits the request again."
NEXT_TAKE_SUBMITS = 'take="next" submits the request again.'


def leads_to(answer: HttpResponse) -> str:
    """Return the target of a redirect, without path and query; else ""."""
    location = answer.headers.get("location", "")
    if not 300 <= answer.status < 400 or not is_http(location):
        return ""
    parts = parts_of(location)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def error_of(
    answer: HttpResponse,
    what: str,
    clock: Clock,
    *,
    then: str = "",
    in_doubt: bool = False,
) -> MediakitError:
    """Return the typed error for a response that is not a success (spec 7.2)."""
    job = failed_job(answer)
    if job is not None:
        return rejection(answer, job, clock)
    if answer.status in (400, 422):
        return refused_input(answer, what)
    tail = f"{words_of_service(answer.reason)} {then}".rstrip()
    if answer.status == 429:
        text = f"Too many requests.{tail}"
        return _rate_limit(answer, text, None, clock, in_doubt=in_doubt)
    if answer.status not in _TYPED:
        text = f"The service returned {answer.status} for {what}."
        if place := leads_to(answer):
            text += f" It redirects to {place}; should that be the base URL?"
        return ServiceError(f"{text}{tail}", status=answer.status, in_doubt=in_doubt)
    error_type, text = _TYPED[answer.status]
    text = _capital(text.format(what)) + tail
    return error_type(text, status=answer.status, in_doubt=in_doubt)


_TYPED: Mapping[int, tuple[type[AnswerError], str]] = {
    401: (AuthError, "The API key is missing or invalid; set MEDIAKIT_API_KEY."),
    403: (AuthError, "This API key is not allowed to access {}."),
    404: (NotFoundError, "The service could not find {}."),
    409: (ConflictError, "The state of {} does not allow this."),
    410: (GoneError, "{} was erased."),
}


# Matches a path such as `tracks[0].keyframes[1].url`.
_FIELD = re.compile(r"\w+(\[\d*\]|\.\w+)*")


def refused_input(
    answer: HttpResponse, what: str, *, then: str = "", in_doubt: bool = False
) -> InputError:
    """Return the error for a body or parameter that the service rejected."""
    reason = answer.reason
    field = reason.split(":", 1)[0].strip() if ":" in reason else ""
    words = reason.rstrip(".") or answer.piece or "it does not say why"
    problem = Problem(
        field if _FIELD.fullmatch(field) else what,
        got=f"a refusal ({answer.status})",
        accepted=words,
        message=f"was not accepted by the service ({answer.status}): {words}",
    )
    then = then or f"The request was sent and refused. {NOT_CHARGED}"
    return InputError.of([problem], then=then, sent=None if in_doubt else True)


def words_of_service(words: str) -> str:
    """Return a sentence that quotes the service, after a space, or ""."""
    end = "" if words.endswith((".", "!", "?", "…")) else "."
    return f" The service says: {words}{end}" if words else ""


def charged_text(charge_micro_usd: int) -> str:
    """Return a sentence about a job that was charged but should not be (spec 7.3)."""
    return (
        f"It was charged {format_usd(charge_micro_usd)}, although failed jobs should "
        "not be charged. Ask the service about this charge."
    )


def failed_charge_text(charge_micro_usd: int | None) -> str:
    """Return a sentence about the charge of a failed job."""
    if charge_micro_usd:
        return charged_text(charge_micro_usd)
    return "Failed jobs are not charged."


def rejection(answer: HttpResponse, job: JobRecord, clock: Clock) -> MediakitError:
    """Return the error for a job that was rejected on submission (spec 4.3)."""
    code = job.error.code if job.error else ErrorCode.PROVIDER_ERROR
    words = job.error.message if job.error else ""
    text = (
        f"{_REJECTED.get(code, 'The service rejected the request')} ({code})."
        f"{words_of_service(words)} "
        f"The request was sent; job {job.id} was rejected. "
    )
    if charge_micro_usd := job.settled_charge_micro_usd:
        text += f"{charged_text(charge_micro_usd)} {NEXT_TAKE_SUBMITS}"
    else:
        text += f"{NOT_CHARGED} {_ADVICE.get(code, NEXT_TAKE_SUBMITS)}"
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
    ErrorCode.INSUFFICIENT_BALANCE: (
        "Top up and repeat the call, or request something cheaper."
    ),
    ErrorCode.CYCLE_LIMIT_EXCEEDED: f"Raise the cycle limit, or wait; {SUBMITS_AGAIN}",
    ErrorCode.ADMISSION_SUSPENDED: (
        f"The organization's owner has to lift the suspension; {SUBMITS_AGAIN}"
    ),
    ErrorCode.MEMBERSHIP_REQUIRED: (
        f"The organization's owner has to grant membership; {SUBMITS_AGAIN}"
    ),
    ErrorCode.PROVIDER_UNAVAILABLE: f"Try later: {SUBMITS_AGAIN}",
    ErrorCode.RATE_LIMITED: f"Wait, or raise the limit; {SUBMITS_AGAIN}",
}


def _rate_limit(
    answer: HttpResponse,
    text: str,
    job_id: str | None,
    clock: Clock,
    *,
    in_doubt: bool = False,
) -> RateLimitError:
    seconds, retry_at = retry_after_s(answer), None
    if seconds is not None:
        retry_at = clock.now() + timedelta(seconds=seconds)
        text += f" Try again in {seconds:,.0f} s, at {retry_at:%Y-%m-%d %H:%M:%S} UTC."
    return RateLimitError(
        text,
        retry_after_s=seconds,
        retry_at=retry_at,
        status=answer.status,
        job_id=job_id,
        in_doubt=in_doubt,
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
