"""Decides whether a response leaves it unknown whether a job was created."""

from __future__ import annotations

from datetime import datetime, timedelta

from mediakit.client.answers import (
    Answer,
    NoAnswerError,
    failed_job,
    leads_to,
    parse,
    retry_after_s,
)
from mediakit.errors import ServiceError
from mediakit.history import Entry, Submission
from mediakit.records import Job

BOUND = 409
"""The status for a key that is bound to another body (spec 4.3)."""
# The service refuses the sent bytes; a gateway may answer the same.
_OF_THE_REQUEST = frozenset({400, 404, BOUND, 413, 422})

RESEND_UNASKED_FOR = timedelta(days=1)


def job_unless_lost(answer: Answer, *, in_doubt: bool = False) -> Job | None:
    """Return the job in a response; None for a request-level error.

    Of the responses with a 5xx status, only the two error shapes are the service's own
    (spec 7.1), and `{message}` only at 500 (spec 4.3): a gateway answers 502 to 504
    when it has lost the response to a request that it forwarded.

    Raises:
        NoAnswerError: The response is neither, so the outcome is unknown.
    """
    try:
        job = parse(Job, answer) if is_success(answer) else failed_job(answer)
    except ServiceError as error:
        said_id = answer.fields.get("id")
        named = f" of {said_id:.50}" if isinstance(said_id, str) else ""
        reason = f"HTTP {answer.status} with a job{named} that cannot be read"
        raise _undecided(answer, reason) from error
    if 300 <= answer.status < 400:
        reason = f"HTTP {answer.status}{leads_to(answer)}"
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


def leaves_doubt(answer: Answer, job: Job | None) -> bool:
    """Return whether an answer without a job may hide one.

    The service rejects what is too much with a job in its envelope (spec 7.1); a 429
    without any words of the service comes from a gateway, which may have passed the
    request on.
    """
    return job is None and answer.status == 429 and not answer.message


def decides(
    answer: Answer, entry: Submission, now: datetime, *, in_doubt: bool
) -> bool:
    """Return whether an answer without a job frees the key and the hold.

    Gateways answer with `{message}`, too, so after an attempt that may have arrived it
    says nothing about that attempt. Only a key that is bound to another body (409) has
    no job of this request. A doubt that is a day old ends with any refusal of the
    request.
    """
    if not in_doubt or (answer.status == BOUND and answer.message):
        return True
    is_old = isinstance(entry, Entry) and not may_resend_unasked(entry, now)
    return is_old and is_of_request(answer)


def may_resend_unasked(entry: Entry, now: datetime) -> bool:
    """Return whether an unanswered submission may be sent again without a call.

    How long a service remembers a key is not specified (spec 4.3). After a day the
    service may have forgotten it, and the job could be created twice: from then on,
    only the same call by the user sends it again.
    """
    return now - entry.created_at <= RESEND_UNASKED_FOR


def _undecided(answer: Answer, reason: str) -> NoAnswerError:
    asked_s = retry_after_s(answer)
    return NoAnswerError(reason, sent=True, retry_after_s=asked_s, status=answer.status)


def is_success(answer: Answer) -> bool:
    """Return whether the service accepted the request."""
    return 200 <= answer.status < 300


def is_of_request(answer: Answer) -> bool:
    """Return whether a request-level error depends on the sent bytes alone.

    A wrong API key or a limit says nothing about them.
    """
    return answer.status in _OF_THE_REQUEST


def is_foreign(answer: Answer) -> bool:
    """Return whether a refusal lacks the service's error shape (spec 7.1).

    A gateway that cannot find the service answers 404, and knows nothing about earlier
    attempts. It is worth a retry, except for a body that is too large for it (413).
    """
    status = answer.status
    return status in _OF_THE_REQUEST and status != 413 and not answer.message
