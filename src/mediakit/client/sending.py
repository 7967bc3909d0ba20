"""Sends a submission with its key until the outcome is known, so that it is one job."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from hashlib import sha256

from mediakit.client.answers import (
    NOT_CHARGED,
    Answer,
    NoAnswerError,
    error_of,
    failed_job,
    leads_to,
    parse,
    refused_input,
    rejection,
    retry_after_s,
)
from mediakit.client.http import ServiceClient, UnusableProxyError
from mediakit.client.idempotency import next_attempt, was_rejected
from mediakit.client.loop import ClosedError
from mediakit.client.retries import (
    ASKED_FOR_S,
    FIRST_PAUSE_S,
    Rejections,
    RetryWindow,
    SubmitSlots,
    temporary_rejection,
)
from mediakit.client.service import AccountHistory
from mediakit.clock import Clock
from mediakit.errors import AnswerError, ConflictError, MediakitError, ServiceError
from mediakit.history import Entry, History, Submission
from mediakit.money import format_usd
from mediakit.records import Job
from mediakit.safe_text import shown

SUBMIT_RETRY_FOR_S = 60.0
RESEND_UNASKED_FOR = timedelta(days=1)
UNSENT = "unsent"
BOUND = 409
"""The status for a key that is bound to another body (spec 4.3)."""
# The service refuses the sent bytes; a wrong API key or a limit says nothing of them. A
# gateway may answer the same.
_OF_THE_REQUEST = frozenset({400, 404, BOUND, 413, 422})

# Records a submission before it is sent; returns its entry, and whether it is new.
Claim = Callable[[Submission], Awaitable[tuple[Entry, bool]]]


class Sender:
    """Sends submissions from the history, and records their outcome."""

    def __init__(
        self,
        transport: ServiceClient,
        account_history: AccountHistory,
        clock: Clock,
        *,
        retry_for_s: float = SUBMIT_RETRY_FOR_S,
    ) -> None:
        self._transport = transport
        self._account_history = account_history
        self._clock = clock
        self._retry_for_s = retry_for_s
        self._slots = SubmitSlots(clock)

    def asked_to_wait_s(self) -> float:
        """Return the remaining seconds of the wait that the service requested."""
        return self._slots.closed_for_s

    async def send(
        self, submission: Submission, *, sent_before: bool, claim: Claim
    ) -> tuple[Entry, Job]:
        """Send a submission until its job is known.

        Without a response that decides, the same key and bytes are sent again. While
        the service is rate limited or unavailable, they are sent after the time it asks
        for, and under a fresh key if the rejected request made a job.

        Raises:
            BalanceError: The balance does not cover it.
            RateLimitError: The service asks to wait longer than this call waits.
            InputError: The service refused the body.
            ConflictError: Its key is bound to another body.
            ServiceError: No response; the history keeps the submission and its key.
        """
        in_doubt = sent_before
        window = RetryWindow(self._clock, self._retry_for_s)
        rejections = Rejections()
        while True:
            try:
                answer = await self._post(submission)
                job = job_unless_lost(answer, in_doubt=in_doubt)
            except NoAnswerError as error:
                in_doubt = in_doubt or error.sent
                pause_s = window.pause_s(error)
                if pause_s is None:
                    found = self._unanswered(
                        error, submission, window, in_doubt=in_doubt
                    )
                    raise await self._given_up(submission, found) from error
                await self._clock.sleep(pause_s)
                continue
            except (ClosedError, UnusableProxyError) as error:
                if in_doubt:
                    lost = NoAnswerError("the client cannot send it again", sent=True)
                    found = self._unanswered(lost, submission, window, in_doubt=True)
                    raise found from error
                raise await self._given_up(submission, error) from None
            in_doubt = in_doubt or leaves_doubt(answer, job)
            entry = await self._record(submission, job)
            if job is not None and entry is not None and _is_taken(answer, entry):
                return entry, job
            reason = temporary_rejection(answer, job)
            pause_s = None
            if reason is not None:
                pause_s = rejections.pause_s(reason, retry_after_s(answer) or 0.0)
            if pause_s is None:
                raise await self._refused(submission, answer, job, in_doubt=in_doubt)
            await self._clock.sleep(pause_s)
            if job is not None:
                # The key cannot be reused: its job has failed for good (spec 7.2).
                again = next_attempt(submission, self._transport.service)
                submission, is_new = await claim(again)
                in_doubt = not is_new
            window = RetryWindow(self._clock, self._retry_for_s)

    async def _post(self, submission: Submission) -> Answer:
        async with self._slots.slot():
            answer = await self._transport.exchange(
                "POST",
                f"/v1/media/{submission.function}",
                content=submission.body,
                headers={"Idempotency-Key": submission.key},
            )
            if answer.status == 429:
                asked_s = retry_after_s(answer) or FIRST_PAUSE_S
                self._slots.rejected(asked_s if asked_s <= ASKED_FOR_S else 0.0)
            elif answer.status == 200:
                self._slots.accepted()
            return answer

    async def _record(self, submission: Submission, job: Job | None) -> Entry | None:
        if job is None:
            return None
        try:
            return await self._account_history.write(
                History.record_job, submission.key, job
            )
        except AnswerError as error:
            error.sent = True
            raise
        except MediakitError as error:
            # The disk is full, or the database is away.
            raise MediakitError(
                f"{error} The request was sent, and the service answered with the job "
                f"{job.id}, which may be charged; the same call finds it.",
                sent=True,
            ) from error

    def _unanswered(
        self,
        error: NoAnswerError,
        submission: Submission,
        window: RetryWindow,
        *,
        in_doubt: bool,
    ) -> ServiceError:
        """Return the error for a submission whose outcome is not known, or not sent."""
        base_url = self._transport.service.base_url
        why = f"{error.reason}; {window.text}"
        if not in_doubt:
            return ServiceError(
                f"The service at {base_url} cannot be reached ({why}). Nothing was "
                "sent and nothing is charged. Check the base URL and the network; the "
                "same call tries again."
            )
        price = "once"
        if submission.estimate_high_micro_usd is not None:
            price = f"once, up to {format_usd(submission.reserved_micro_usd)}"
        did = "did not answer" if error.status is None else "answered without a job"
        return ServiceError(
            f"The request was sent to {base_url}, which {did} ({why}). It is not known "
            "whether the job was created; if it was, you are charged "
            f"{price}. {_KEPT}",
            in_doubt=True,
        )

    async def _given_up(
        self, submission: Submission, error: MediakitError
    ) -> MediakitError:
        """Record that nothing was sent, if so, and return the error.

        Nothing is then held for it, nor sent at the next start.
        """
        if error.sent is False:
            await self._account_history.write(
                History.record_refusal,
                submission.key,
                code=UNSENT,
                message=error.message,
            )
        return error

    async def _refused(
        self,
        submission: Submission,
        answer: Answer,
        job: Job | None,
        *,
        in_doubt: bool,
    ) -> MediakitError:
        if job is not None:
            return rejection(answer, job, self._clock)
        if is_conclusive(answer, submission, self._clock.now(), in_doubt=in_doubt):
            await self._account_history.write(
                History.record_refusal,
                submission.key,
                code=str(answer.status),
                message=answer.message or NOT_CHARGED,
            )
        return refusal(answer, submission, self._clock, in_doubt=in_doubt)


def _is_taken(answer: Answer, entry: Entry) -> bool:
    """Return whether a job was accepted or ran, and not rejected on submission."""
    return is_success(answer) and not was_rejected(entry)


# -- what an answer says about the job -----------------------------------------------


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


def leaves_doubt(answer: Answer, job: Job | None) -> bool:
    """Return whether an answer without a job may hide one.

    The service rejects what is too much with a job in its envelope (spec 7.1); a 429
    without any words of the service comes from a gateway, which may have passed the
    request on.
    """
    return job is None and answer.status == 429 and not answer.message


def is_conclusive(
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
    return is_old and answer.status in _OF_THE_REQUEST


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


def is_foreign(answer: Answer) -> bool:
    """Return whether a refusal lacks the service's error shape (spec 7.1).

    A gateway that cannot find the service answers 404, and knows nothing about earlier
    attempts. It is worth a retry, except for a body that is too large for it (413).
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
    answer: Answer, submission: Submission, clock: Clock, *, in_doubt: bool
) -> MediakitError:
    """Return the error for an answer without a job (spec 7.1)."""
    if answer.status == BOUND and (answer.message or not in_doubt):
        return _conflict(answer, submission)
    then = f"The request was sent and refused: no job was created. {NOT_CHARGED}"
    if in_doubt and answer.status == 429 and not answer.message:
        then = f"A gateway refused it, but the service {_MAY_BE_MADE}"
    elif in_doubt:
        then = f"The request was refused, but an earlier attempt {_MAY_BE_MADE}"
    of_callback = answer.status == 400  # the only reason for it (spec 4.3)
    what = "webhook_url" if of_callback else f"the function {submission.function}"
    if answer.status in (400, 422):
        then = then if in_doubt else ""
        return refused_input(answer, what, then=then, in_doubt=in_doubt)
    advice = _ADVICE.get(answer.status, "Once it is fixed, repeat the call.")
    then = f"{then} {advice}"
    return error_of(answer, what, clock, then=then, in_doubt=in_doubt)


_KEPT = (
    "The history keeps the idempotency key: repeat the call, or connect again, and the "
    "job is found or created."
)
_MAY_BE_MADE = f"may have created the job; if so, you are charged once. {_KEPT}"


def _conflict(answer: Answer, asked: Submission) -> ConflictError:
    said = f" The service says: {answer.message}" if answer.message else ""
    callback = "a" if asked.webhook_url else "no"
    digest = sha256(asked.body).hexdigest()
    return ConflictError(
        f"The service has the idempotency key {asked.key[:SHOWN_DIGITS]}… of this "
        f"request with another body or webhook_url (409).{said} This request created "
        "no job, and is not sent again under that key: a job under it belongs to "
        f'another request. {NOT_CHARGED} take="next" sends this request under a new '
        f"key. It was sent to {asked.function} with {callback} webhook_url and the "
        f"prompt {shown(asked.prompt)}, as take {asked.take}, attempt {asked.attempt}. "
        f"Its body has {len(asked.body):,} bytes, with the sha256 "
        f"{digest[:SHOWN_DIGITS]}….",
        status=409,
    )
