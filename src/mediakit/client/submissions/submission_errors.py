"""Errors of a submission without a job: what was sent, its cost, what to do.

`http.response_parsing` reads the response; this module says what it means for a
submission.
"""

from __future__ import annotations

from hashlib import sha256

from mediakit.client.http.exchange import Answer
from mediakit.client.http.response_parsing import NOT_CHARGED, error_of
from mediakit.clock import Clock
from mediakit.errors import ConflictError, MediakitError, ServiceError, shown
from mediakit.history import Submission
from mediakit.money import format_usd

SHOWN_DIGITS = 12

# These depend on the sent bytes alone: each earlier attempt had the same response.
_OF_THE_REQUEST = frozenset({400, 404, 409, 413, 422})
_ADVICE = {
    401: "Set it; the same call then submits the request again.",
    403: "Its owner has to activate it; the same call then submits the request again.",
    404: "Bind the function in mediakit.toml to one that the service has.",
    429: "Wait; the same call then submits the request again.",
}


def is_final(answer: Answer) -> bool:
    """Return whether a request-level error holds for earlier attempts, too.

    A wrong API key or a gateway's limit says nothing about an earlier attempt.
    """
    return answer.status in _OF_THE_REQUEST


def is_foreign(answer: Answer) -> bool:
    """Return whether a refusal lacks the service's error shape (spec 7.1).

    A gateway that cannot find the service answers 404, and knows nothing about earlier
    attempts. A body that is too large for it (413) was too large each time.
    """
    status = answer.status
    return status in _OF_THE_REQUEST and status != 413 and not answer.message


def refusal(
    answer: Answer, submission: Submission, clock: Clock, *, in_doubt: bool
) -> MediakitError:
    """Return the error for an answer without a job (spec 7.1).

    Args:
        answer: The answer.
        submission: What was sent.
        clock: Turns `Retry-After` into an instant.
        in_doubt: Whether an earlier attempt with the same bytes may have created a job.
    """
    if answer.status == 409:
        return _conflict(answer, submission)
    then = f"It was sent and refused: no job was created. {NOT_CHARGED}"
    if in_doubt and not is_final(answer):
        then = f"It was sent and refused; {_EARLIER}"
    advice = _ADVICE.get(answer.status, "Once it is fixed, repeat the call.")
    of_callback = answer.status == 400  # the only reason for it (spec 4.3)
    what = "webhook_url" if of_callback else f"the function {submission.function}"
    return error_of(answer, what, clock, then=f"{then} {advice}")


_EARLIER = (
    "an earlier attempt may have created the job, which is then charged once. The "
    "history keeps its key: the same call, or the next start, finds or creates the job."
)


def _conflict(answer: Answer, asked: Submission) -> ConflictError:
    said = f" The service says: {answer.message}" if answer.message else ""
    callback = "a" if asked.webhook_url else "no"
    digest = sha256(asked.body).hexdigest()
    return ConflictError(
        f"The key {asked.key[:SHOWN_DIGITS]}… of this request is bound at the service "
        "to another body or webhook_url (409). This request was sent for "
        f"{asked.function} with the prompt {shown(asked.prompt)} and {callback} "
        f"webhook_url: {len(asked.body):,} bytes, sha256 {digest[:SHOWN_DIGITS]}…, "
        f"take {asked.take}, attempt {asked.attempt}.{said} It created no job and is "
        "not sent again under this key; a job under it belongs to another request. "
        f'{NOT_CHARGED} take="next" sends it under a key of its own.',
        status=409,
    )


def silence(
    reason: str, submission: Submission, base_url: str, *, in_doubt: bool, times: str
) -> ServiceError:
    """Return the error for a submission without a response.

    Args:
        reason: Why there is no response, in words.
        submission: What was sent.
        base_url: Where it was sent.
        in_doubt: Whether it, or an earlier attempt, may have arrived.
        times: The number of attempts, and their time.
    """
    where = f"The service at {base_url}"
    if not in_doubt:
        return ServiceError(
            f"{where} cannot be reached ({reason}; {times}). Nothing was sent and "
            "nothing is charged. Check the base URL and the network; the same call "
            "tries again."
        )
    most = submission.estimate_high_micro_usd
    price = "once" if most is None else f"once, up to {format_usd(most)}"
    return ServiceError(
        f"{where} was sent the request and did not answer it ({reason}; {times}), so "
        "it is not known whether the job was created. If it was, it is charged "
        f"{price}. The history keeps its key: the same call, or the next start, finds "
        "the job or creates it, once."
    )
