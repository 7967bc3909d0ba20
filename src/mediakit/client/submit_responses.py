"""The meaning of a response to a submission: a job, a refusal, or unknown."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256

from mediakit.api_models import ErrorCode, JobRecord, JobStatus
from mediakit.client.responses import (
    NOT_CHARGED,
    HttpResponse,
    NoAnswerError,
    error_of,
    failed_job,
    leads_to,
    parse,
    refused_input,
    retry_after_s,
    words_of_service,
)
from mediakit.clock import Clock
from mediakit.errors import ConflictError, MediakitError, ServiceError
from mediakit.history import Entry, Submission
from mediakit.history.entry import STOPPED_CODE
from mediakit.safe_text import shown

RESEND_UNASKED_FOR = timedelta(days=1)
KEY_BOUND = 409
"""The status for a key that is bound to another body (spec 4.3)."""
# Statuses with which the service rejects the request itself, unlike those for a wrong
# API key or a limit. A gateway may send the same statuses.
_OF_THE_REQUEST = frozenset({400, 404, KEY_BOUND, 413, 422})
# Another attempt may succeed (spec 7.2).
_TEMPORARY = {429: ErrorCode.RATE_LIMITED, 503: ErrorCode.PROVIDER_UNAVAILABLE}


def job_unless_lost(
    answer: HttpResponse, *, in_doubt: bool = False
) -> JobRecord | None:
    """Return the job in a response; None for a request-level error.

    Of the responses with a 5xx status, only the two error shapes come from the service
    (spec 7.1), and `{message}` only with 500 (spec 4.3): a gateway answers 502 to 504
    when it has lost the response to a forwarded request.

    Raises:
        NoAnswerError: The response is neither, so the outcome is unknown.
    """
    try:
        job = parse(JobRecord, answer) if is_success(answer) else failed_job(answer)
    except ServiceError as error:
        said_id = answer.fields.get("id")
        if is_success(answer) and said_id and not isinstance(said_id, str):
            reason = f"HTTP {answer.status} with a job whose ID is {shown(said_id)}, "
            reason += "but an ID must be a string"
            raise NoAnswerError(
                reason, sent=True, is_final=True, status=answer.status
            ) from error
        named = f" of {said_id:.50}" if isinstance(said_id, str) else ""
        reason = f"HTTP {answer.status} with a job{named} that cannot be read"
        raise _undecided(answer, reason) from error
    if 300 <= answer.status < 400:
        reason = f"HTTP {answer.status}"
        if place := leads_to(answer):
            reason += f", a redirect to {place}, which may be the right base URL"
        raise NoAnswerError(reason, sent=True, is_final=True, status=answer.status)
    # A status below 200 is not final, and so refuses nothing.
    lost = answer.status < 200 or answer.status == 408 or answer.status > 500
    unsaid = answer.status == 500 and not answer.message
    unsure = in_doubt and is_foreign(answer)
    if job is None and (lost or unsaid or unsure):
        raise _undecided(answer, f"HTTP {answer.status}")
    if job is not None and not job.id:
        raise _undecided(answer, f"HTTP {answer.status} with a job without an id")
    return job


def temporary_rejection(
    answer: HttpResponse, job: JobRecord | None
) -> ErrorCode | None:
    """Return why a response rejects a submission temporarily; None if not.

    Repeating a request that was rejected returns 200 with the failed job (spec 4.3);
    its error code then replaces the status of the lost response.
    """
    if job is None:
        return _TEMPORARY[429] if answer.status == 429 else None
    if answer.status != 200:
        return _TEMPORARY.get(answer.status)
    code = job.error.code if job.status is JobStatus.FAILED and job.error else None
    return code if code in _TEMPORARY.values() else None


def leaves_doubt(answer: HttpResponse, job: JobRecord | None) -> bool:
    """Return whether a job may exist despite a response without one.

    When the service limits the rate, it sends a job in its envelope (spec 7.1); a 429
    without the service's error shape comes from a gateway, which may have forwarded the
    request.
    """
    return job is None and answer.status == 429 and not answer.message


def is_conclusive(
    answer: HttpResponse, entry: Submission, now: datetime, *, in_doubt: bool
) -> bool:
    """Return whether a response without a job releases the key and the hold.

    Gateways respond with `{message}`, too, so such a response proves nothing about an
    earlier attempt that may have arrived. Only a key that is bound to another body
    (409) proves that there is no job. After a day, any refusal of the request is
    conclusive.
    """
    if not in_doubt or (answer.status == KEY_BOUND and answer.message):
        return True
    is_old = isinstance(entry, Entry) and _is_old(entry, now)
    return is_old and answer.status in _OF_THE_REQUEST


def may_resend_unasked(entry: Entry, now: datetime) -> bool:
    """Return whether an unanswered submission may be resent automatically.

    How long a service remembers a key is not specified (spec 4.3). After a day the
    service may have forgotten it, and might create the job twice: from then on, and
    after a stop, only the same call by the user sends it again.
    """
    return not _is_old(entry, now) and entry.error_code != STOPPED_CODE


def _is_old(entry: Entry, now: datetime) -> bool:
    return now - entry.created_at > RESEND_UNASKED_FOR


def _undecided(answer: HttpResponse, reason: str) -> NoAnswerError:
    asked_s = retry_after_s(answer)
    return NoAnswerError(reason, sent=True, retry_after_s=asked_s, status=answer.status)


def is_success(answer: HttpResponse) -> bool:
    """Return whether the service accepted the request."""
    return 200 <= answer.status < 300


def is_foreign(answer: HttpResponse) -> bool:
    """Return whether a refusal lacks the service's error shape (spec 7.1).

    A gateway that cannot find the service answers 404, which says nothing about earlier
    attempts. A retry may help, except if the body is too large (413).
    """
    status = answer.status
    return status in _OF_THE_REQUEST and status != 413 and not answer.message


# -- errors --------------------------------------------------------------------------

SHOWN_DIGITS = 12
_ADVICE = {
    401: "Set the key; the same call then submits the request again.",
    403: "The owner of the API key has to allow that; the same call then submits the "
    "request again.",
    404: "Bind the function in mediakit.toml to one that the service has.",
    429: "Wait; the same call then submits the request again.",
}


def refusal(
    answer: HttpResponse,
    submission: Submission,
    clock: Clock,
    *,
    in_doubt: bool,
    search: str,
) -> MediakitError:
    """Return the error for an answer without a job (spec 7.1).

    Args:
        answer: The response.
        submission: The submission that was sent.
        clock: The time, for times in the message.
        in_doubt: Whether an earlier attempt may have created the job.
        search: How to find that job.
    """
    if answer.status == KEY_BOUND and (answer.message or not in_doubt):
        return _conflict(answer, submission)
    may_be_made = f"may have created the job; if so, you are charged once. {search}"
    outcome = f"The request was sent and refused: no job was created. {NOT_CHARGED}"
    if in_doubt and answer.status == 429 and not answer.message:
        outcome = f"A gateway refused it, but the service {may_be_made}"
    elif in_doubt:
        outcome = f"The request was refused, but an earlier attempt {may_be_made}"
    # If there is a callback URL, it is the only reason for a 400 (spec 4.3).
    of_callback = answer.status == 400 and submission.webhook_url is not None
    subject = "webhook_url" if of_callback else f"the function {submission.function}"
    if answer.status in (400, 422):
        outcome = outcome if in_doubt else ""
        return refused_input(answer, subject, then=outcome, in_doubt=in_doubt)
    advice = _ADVICE.get(answer.status, "Once it is fixed, repeat the call.")
    outcome = f"{outcome} {advice}"
    return error_of(answer, subject, clock, then=outcome, in_doubt=in_doubt)


RESENT = (
    "The history keeps the idempotency key, so repeating the call or connecting again "
    "will find the job or create it."
)
NOT_RESENT = (
    "To find out, submit the same request again: it has the same idempotency key, and "
    "is paid once. Connecting again does not send it."
)


def search_text(submission: Submission, now: datetime) -> str:
    """Return how the job of a submission without an answer is found."""
    is_old = isinstance(submission, Entry) and _is_old(submission, now)
    return NOT_RESENT if is_old else RESENT


def _conflict(answer: HttpResponse, submission: Submission) -> ConflictError:
    callback = "a" if submission.webhook_url else "no"
    digest = sha256(submission.body).hexdigest()
    return ConflictError(
        "The service already has this request's idempotency key, "
        f"{submission.key[:SHOWN_DIGITS]}…, with a different body or webhook_url "
        f"(409).{words_of_service(answer.reason)} This request created no job and will "
        "not be sent again under that key, because any job under it belongs to a "
        "different request. "
        f'{NOT_CHARGED} To send it under a new key, use take="next". '
        f"It was sent to {submission.function} with {callback} webhook_url and "
        f"the prompt {shown(submission.prompt)}, as take {submission.take}, attempt "
        f"{submission.attempt}. Its body is {len(submission.body):,} bytes long "
        f"(SHA-256 {digest[:SHOWN_DIGITS]}…).",
        status=409,
    )
