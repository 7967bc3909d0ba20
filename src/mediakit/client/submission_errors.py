"""Errors of a submission without a job: what was sent, its cost, what to do.

`http.response_errors` reads the response; this module says what it means for a
submission.
"""

from __future__ import annotations

from hashlib import sha256

from mediakit.client.answers import NOT_CHARGED, Answer, error_of, refused_input
from mediakit.clock import Clock
from mediakit.errors import ConflictError, MediakitError, ServiceError, shown
from mediakit.history import Submission
from mediakit.money import format_usd

SHOWN_DIGITS = 12

BOUND = 409
"""The status for a key that is bound to another body (spec 4.3)."""
# The service refuses the sent bytes; a gateway may answer the same.
_OF_THE_REQUEST = frozenset({400, 404, BOUND, 413, 422})
_ADVICE = {
    401: "Set it; the same call then submits the request again.",
    403: "Its owner has to activate it; the same call then submits the request again.",
    404: "Bind the function in mediakit.toml to one that the service has.",
    429: "Wait; the same call then submits the request again.",
}


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


def refusal(
    answer: Answer, submission: Submission, clock: Clock, *, in_doubt: bool
) -> MediakitError:
    """Return the error for an answer without a job (spec 7.1)."""
    if answer.status == BOUND and (answer.message or not in_doubt):
        return _conflict(answer, submission)
    then = f"It was sent and refused: no job was created. {NOT_CHARGED}"
    if in_doubt and answer.status == 429 and not answer.message:
        then = f"A gateway refused it, but the service {_MAY_BE_MADE}"
    elif in_doubt:
        then = f"It was sent and refused, but an earlier attempt {_MAY_BE_MADE}"
    of_callback = answer.status == 400  # the only reason for it (spec 4.3)
    what = "webhook_url" if of_callback else f"the function {submission.function}"
    if answer.status in (400, 422):
        then = then if in_doubt else ""
        return refused_input(answer, what, then=then, in_doubt=in_doubt)
    advice = _ADVICE.get(answer.status, "Once it is fixed, repeat the call.")
    then = f"{then} {advice}"
    return error_of(answer, what, clock, then=then, in_doubt=in_doubt)


_MAY_BE_MADE = (
    "may have created the job; if so, you are charged once. The history keeps the "
    "idempotency key: the same call, or the next start, finds or creates the job."
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
    reason: str,
    submission: Submission,
    base_url: str,
    *,
    in_doubt: bool,
    was_answered: bool,
    times: str,
) -> ServiceError:
    """Return the error for a submission whose outcome is not known, or not sent."""
    if not in_doubt:
        return ServiceError(
            f"The service at {base_url} cannot be reached ({reason}; {times}). Nothing "
            "was sent and nothing is charged. Check the base URL and the network; the "
            "same call tries again."
        )
    most = submission.reserved_micro_usd
    is_priced = submission.estimate_high_micro_usd is not None
    price = f"once, up to {format_usd(most)}" if is_priced else "once"
    did = "answered without a job" if was_answered else "did not answer"
    return ServiceError(
        f"The request was sent to {base_url}, which {did} ({reason}; {times}). It is "
        "not known whether the job was created; if it was, you are charged "
        f"{price}. The history keeps the idempotency key: the same call, or the next "
        "start, finds the job or creates it, never twice.",
        in_doubt=True,
    )
