"""Sends a submission with its key until the outcome is known, so that it is one job."""

from __future__ import annotations

import logging

from mediakit.client.http.client_pool import UnusableProxyError
from mediakit.client.http.exchange import Answer, NoAnswerError
from mediakit.client.http.response_errors import NOT_CHARGED, rejection
from mediakit.client.http.response_parsing import retry_after_s
from mediakit.client.http.retry import retry
from mediakit.client.http.service_client import ServiceClient
from mediakit.client.loop import ClosedError
from mediakit.client.records.account_history import AccountHistory
from mediakit.client.records.idempotency import next_attempt, was_rejected
from mediakit.client.submissions.concurrency import SubmitConcurrency
from mediakit.client.submissions.keys_in_flight import Claim
from mediakit.client.submissions.lost_responses import (
    decides,
    is_success,
    job_unless_lost,
    leaves_doubt,
)
from mediakit.client.submissions.rejection_retry import (
    FIRST_PAUSE_S,
    LONGEST_S,
    SubmitResponse,
    TemporarilyRejectedError,
    submit_backoff_s,
    submit_should_stop,
    temporary_rejection,
)
from mediakit.client.submissions.submission_errors import refusal, silence
from mediakit.clock import Clock
from mediakit.errors import AnswerError, MediakitError, ServiceError
from mediakit.history import Entry, History, Submission
from mediakit.records import Job

log = logging.getLogger("mediakit.client")

SUBMIT_RETRY_FOR_S = 60.0
UNSENT = "unsent"
ONCE = "tried once"


class Sender:
    """Sends submissions from the history, and records their outcome.

    Args:
        transport: Sends requests.
        account_history: Records outcomes.
        clock: Gives the time between attempts.
        retry_for_s: Seconds to retry while there is no response, in all.
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
        """Return the remaining seconds of the wait that the service requested."""
        return self._concurrency.closed_for_s

    async def send(
        self,
        submission: Submission,
        *,
        sent_before: bool,
        claim: Claim,
    ) -> tuple[Entry, Job]:
        """Send a submission until its job is known.

        Retries while the service is rate limited or unavailable, after the time it
        asks for, and under a fresh key if the rejected request made a job.

        Args:
            submission: What the history holds.
            sent_before: Whether any call may have sent it before.
            claim: Records a submission under a fresh key before it is sent, or rejects
                it; returns the entry, and whether it is new.

        Raises:
            BalanceError: The balance does not cover it.
            RateLimitError: The service asks to wait longer than this call waits.
            InputError: The service refused the body.
            ConflictError: Its key is bound to another body.
            ServiceError: No response; the history keeps the submission and its key.
        """
        in_doubt = sent_before
        last_rejection: SubmitResponse | None = None

        async def once() -> tuple[Entry, Job]:
            nonlocal submission, in_doubt, last_rejection
            if last_rejection is not None:
                in_doubt = last_rejection.in_doubt
            if last_rejection is not None and last_rejection.job is not None:
                # The key cannot be reused: its job has failed for good (spec 7.2).
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
        try:
            return await self._account_history.write(
                History.record_job, submission.key, job
            )
        except MediakitError as error:
            if isinstance(error, AnswerError):
                error.sent = True
                raise
            # The disk is full, or the database is away.
            raise MediakitError(
                f"{error} The request was sent, and the service answered with the job "
                f"{job.id}, which may be charged; the same call finds it.",
                sent=True,
            ) from error

    async def _post_until_answered(
        self, submission: Submission, *, in_doubt: bool
    ) -> SubmitResponse:
        """Post the same key and bytes until the outcome is known."""
        started_s, tries = self._clock.monotonic_s(), 0

        async def once() -> tuple[Answer, Job | None]:
            nonlocal in_doubt, tries
            tries += 1
            try:
                answer = await self._post(submission)
                return answer, job_unless_lost(answer, in_doubt=in_doubt)
            except NoAnswerError as error:
                in_doubt = in_doubt or error.sent
                raise

        def silent(reason: str, *, was_answered: bool) -> ServiceError:
            for_s = self._clock.monotonic_s() - started_s
            return silence(
                reason,
                submission,
                self._transport.service.base_url,
                in_doubt=in_doubt,
                was_answered=was_answered,
                times=f"tried {tries} times in {for_s:.0f} s" if tries > 1 else ONCE,
            )

        try:
            answer, job = await self._transport.retry_until_answered(
                once, for_s=self._retry_for_s
            )
        except (ClosedError, UnusableProxyError) as error:
            if not in_doubt:
                await self._note_unsent(submission, str(error))
            elif isinstance(error, ClosedError):
                reason = "the client was closed meanwhile"
                raise silent(reason, was_answered=False) from error
            else:
                error.sent = None
            raise
        except NoAnswerError as error:
            found = silent(error.reason, was_answered=error.status is not None)
            if not in_doubt:
                await self._note_unsent(submission, str(found))
            raise found from error
        return SubmitResponse(answer, job, in_doubt or leaves_doubt(answer, job))

    async def _note_unsent(self, submission: Submission, why: str) -> None:
        """Record that nothing was sent: so nothing is held, or sent at a next start."""
        await self._account_history.write(
            History.record_refusal, submission.key, code=UNSENT, message=why
        )

    async def _post(self, submission: Submission) -> Answer:
        async with self._concurrency.slot() as its_round:
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
        now = self._clock.now()
        if decides(answer, submission, now, in_doubt=said.in_doubt):
            await self._account_history.write(
                History.record_refusal,
                submission.key,
                code=str(answer.status),
                message=answer.message or NOT_CHARGED,
            )
        return refusal(answer, submission, self._clock, in_doubt=said.in_doubt)


def _is_taken(answer: Answer, entry: Entry) -> bool:
    """Return whether a job was accepted or ran, and not rejected on submission."""
    return is_success(answer) and not was_rejected(entry)
