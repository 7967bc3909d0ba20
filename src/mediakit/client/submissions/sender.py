"""Sending an order so that its job is made once, whatever happens on the way."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from mediakit.client.http.exchange import Answer, NoAnswerError
from mediakit.client.http.responses import (
    NOT_CHARGED,
    failed_job,
    leads_to,
    parse,
    rejection,
    retry_after_s,
)
from mediakit.client.http.retry import retry
from mediakit.client.http.service_client import ServiceClient
from mediakit.client.records.account_history import AccountHistory
from mediakit.client.records.idempotency import next_attempt, was_rejected
from mediakit.client.runtime.process_bound import ClosedError
from mediakit.client.submissions.concurrency import SubmitConcurrency
from mediakit.client.submissions.refusals import is_final, is_foreign, refusal, silence
from mediakit.client.submissions.sending import Claim
from mediakit.client.submissions.submit_retry import (
    FIRST_PAUSE_S,
    LONGEST_S,
    SubmitResponse,
    TemporarilyRejectedError,
    submit_backoff_s,
    submit_should_stop,
    temporary_rejection,
)
from mediakit.clock import Clock
from mediakit.errors import MediakitError, ServiceError
from mediakit.history import Entry, History, Submission
from mediakit.records import Job

log = logging.getLogger("mediakit.client")

SUBMIT_RETRY_FOR_S = 60.0
ASKED_UNASKED_FOR = timedelta(days=1)


class Sender:
    """Sends submissions that the history holds, and writes down what became of them.

    Args:
        transport: Sends.
        account_history: Remembers.
        clock: Gives the time between tries.
        retry_for_s: Seconds to go on asking while no answer comes, in all.
    """

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
        self._concurrency = SubmitConcurrency(clock)

    def asked_to_wait_s(self) -> float:
        """Return for how many more seconds the service asked to be left alone."""
        return self._concurrency.closed_for_s

    async def send(
        self,
        submission: Submission,
        *,
        asked_before: bool,
        claim: Claim,
    ) -> tuple[Entry, Job]:
        """Send a submission until its job is known.

        Retries while the service is rate limited or unavailable, after the time it
        asks for, and under a fresh key if the rejected request made a job.

        Args:
            submission: What the history holds.
            asked_before: Whether it may have been sent before, by whomever.
            claim: Records a submission under a fresh key before it is sent, or refuses
                to; returns the entry, and whether it is new.

        Raises:
            BalanceError: The balance cannot carry it.
            RateLimitError: The service asks to wait for longer than this call does.
            InputError: The service refused the body.
            ConflictError: Its key is bound to another body.
            ServiceError: No answer came; the history keeps the submission and its key.
        """
        in_doubt = asked_before
        last_rejection: SubmitResponse | None = None

        async def once() -> tuple[Entry, Job]:
            nonlocal submission, in_doubt, last_rejection
            if last_rejection is not None:
                in_doubt = last_rejection.in_doubt
            if last_rejection is not None and last_rejection.job is not None:
                # The key is spent: its job has failed for good (spec 7.2).
                again = next_attempt(submission, self._transport.service)
                submission, is_new = await claim(again)
                in_doubt = not is_new
            said = await self._post_until_answered(submission, in_doubt=in_doubt)
            entry = await self._record(submission, said.job)
            if entry is not None and said.job and _is_taken(said.answer, entry):
                return entry, said.job
            reason = temporary_rejection(said.answer, said.job)
            if reason is None:
                raise await self._refused(submission, said)
            last_rejection = said
            raise TemporarilyRejectedError(reason, said)

        try:
            return await retry(
                once,
                clock=self._clock,
                stop=submit_should_stop,
                wait=submit_backoff_s,
                on=lambda error: isinstance(error, TemporarilyRejectedError),
            )
        except TemporarilyRejectedError as error:
            refused = await self._refused(submission, error.said)
        raise refused

    async def _record(self, submission: Submission, job: Job | None) -> Entry | None:
        if job is None:
            return None
        return await self._account_history.write(
            History.record_job, submission.key, job
        )

    async def _post_until_answered(
        self, submission: Submission, *, in_doubt: bool
    ) -> SubmitResponse:
        """Post a submission, the same key and bytes again until it is decided."""
        started_s, tries = self._clock.monotonic_s(), 0

        async def once() -> tuple[Answer, Job | None]:
            nonlocal in_doubt, tries
            tries += 1
            try:
                answer = await self._post(submission)
                return answer, outcome(answer, in_doubt=in_doubt)
            except NoAnswerError as error:
                in_doubt = in_doubt or error.sent
                raise

        try:
            answer, job = await self._transport.again(once, for_s=self._retry_for_s)
        except (NoAnswerError, ClosedError) as error:
            if isinstance(error, ClosedError) and not in_doubt:
                raise
            for_s = self._clock.monotonic_s() - started_s
            raise silence(
                getattr(error, "reason", "the client was closed meanwhile"),
                submission,
                self._transport.service.base_url,
                in_doubt=in_doubt,
                times=f"tried {tries} times in {for_s:.0f} s",
            ) from error
        return SubmitResponse(answer, job, in_doubt)

    async def _post(self, submission: Submission) -> Answer:
        async with self._concurrency.turn() as its_round:
            answer = await self._transport.exchange(
                "POST",
                f"/v1/media/{submission.function}",
                content=submission.body,
                headers={"Idempotency-Key": submission.key},
            )
            if answer.status == 429:
                asked_s = retry_after_s(answer) or FIRST_PAUSE_S
                closed_for_s = asked_s if asked_s <= LONGEST_S else 0.0
                self._concurrency.full(its_round, closed_for_s=closed_for_s)
            elif answer.status == 200:
                self._concurrency.accepted()
            return answer

    async def _refused(
        self, submission: Submission, said: SubmitResponse
    ) -> MediakitError:
        answer, job = said.answer, said.job
        if job is not None:
            return rejection(answer, job, self._clock)
        if is_final(answer) or not said.in_doubt:
            await self._account_history.write(
                History.record_refusal,
                submission.key,
                code=str(answer.status),
                message=answer.message or NOT_CHARGED,
            )
        return refusal(answer, submission, self._clock, in_doubt=said.in_doubt)


def outcome(answer: Answer, *, in_doubt: bool = False) -> Job | None:
    """Return the job that an answer tells of; None for a request-level error.

    Of the answers of a 5xx status only the two error shapes are the service's own
    words (spec 7.1), and `{message}` is so at 500 alone (spec 4.3): a gateway says
    502 to 504 when it did not hear the end of what it passed on.

    Args:
        answer: The answer.
        in_doubt: Whether an earlier try of the same bytes may have made a job: then
            only the service's own words say that it did not.

    Raises:
        NoAnswerError: The answer is neither: nobody can tell what was done.
    """
    try:
        job = parse(Job, answer) if _is_success(answer) else failed_job(answer)
    except ServiceError as error:
        said_id = answer.fields.get("id")
        named = f" of {said_id:.50}" if isinstance(said_id, str) else ""
        reason = f"HTTP {answer.status} with a job{named} that cannot be read"
        raise _undecided(answer, reason) from error
    if 300 <= answer.status < 400:
        reason = f"HTTP {answer.status}{leads_to(answer)}"
        raise NoAnswerError(reason, sent=True, is_final=True)
    # A status below 200 ends nothing, and so refuses nothing.
    lost = answer.status < 200 or answer.status == 408 or answer.status > 500
    unsaid = answer.status == 500 and not answer.message
    unsure = in_doubt and is_foreign(answer)
    if job is None and (lost or unsaid or unsure):
        raise _undecided(answer, f"HTTP {answer.status}")
    if job is not None and not job.id:
        raise _undecided(answer, f"HTTP {answer.status} with a job without an id")
    return job


def asks_unasked(entry: Entry, now: datetime) -> bool:
    """Tell whether an unanswered submit is sent again without its user's asking.

    For how long a service remembers a key is not specified (spec 4.3). A submit that
    was not answered for a day could meet a service that has forgotten it, and then be
    made twice: from then on only its user sends it again, by the same call.

    Args:
        entry: An unanswered submit.
        now: The instant.
    """
    return now - entry.created_at <= ASKED_UNASKED_FOR


def _undecided(answer: Answer, reason: str) -> NoAnswerError:
    return NoAnswerError(reason, sent=True, retry_after_s=retry_after_s(answer))


def _is_success(answer: Answer) -> bool:
    return 200 <= answer.status < 300


def _is_taken(answer: Answer, entry: Entry) -> bool:
    """Tell a job that was accepted, or ran, from one turned away at the door."""
    return _is_success(answer) and not was_rejected(entry)
