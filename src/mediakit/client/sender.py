"""Sends a submission under its key until the outcome is known: one job."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import anyio

from mediakit.api_models import JobRecord
from mediakit.client.account_history import CANCELLED, AccountHistory
from mediakit.client.http import ServiceClient
from mediakit.client.idempotency_keys import next_attempt, was_rejected
from mediakit.client.io_thread import ClosedError
from mediakit.client.responses import (
    NOT_CHARGED,
    HttpResponse,
    NoAnswerError,
    rejection,
    retry_after_s,
)
from mediakit.client.retries import (
    FIRST_PAUSE_S,
    MAX_RETRY_AFTER_TOTAL_S,
    SUBMIT_RETRY_FOR_S,
    RejectionBackoff,
    RetryWindow,
)
from mediakit.client.stopping import (
    NOTHING_MADE,
    Stoppable,
    SubmissionStopped,
    stoppable_here,
)
from mediakit.client.submit_responses import (
    NOT_RESENT,
    is_conclusive,
    is_success,
    job_unless_lost,
    leaves_doubt,
    refusal,
    search_text,
    temporary_rejection,
)
from mediakit.client.submit_slots import SubmitSlots
from mediakit.clock import Clock
from mediakit.errors import (
    AnswerError,
    MediakitError,
    ServiceError,
)
from mediakit.history import Entry, History, Submission
from mediakit.history.entry import STOPPED_CODE
from mediakit.money import format_usd
from mediakit.proxies_and_certificates import (
    UnusableCertificatesError,
    UnusableProxyError,
)

IN_DOUBT = "It was stopped before an answer arrived: a job may exist."
UNRECORDED = (
    "To find out, submit the same request again: it has the same idempotency key, and "
    "is paid once. The stop was not recorded, so connecting again may send it, too."
)

# Records a submission before it is sent; returns its entry, and whether it is new.
Claim = Callable[[Submission], Awaitable[tuple[Entry, bool]]]


class Sender:
    """Sends recorded submissions, and records their outcome."""

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
        """Return the rest of the wait that the service requested, in seconds."""
        return self._slots.closed_for_s

    async def send(
        self, submission: Submission, *, sent_before: bool, claim: Claim
    ) -> tuple[Entry, JobRecord]:
        """Send a submission until its job is known.

        Without a conclusive response, the same key and bytes are sent again. While the
        service is rate limited or unavailable, they are sent after the requested wait,
        under a fresh key if the rejected request created a job.
        """
        call = stoppable_here()
        call.begin_sending(lambda: self._record_stop(submission.key))
        in_doubt = call.in_doubt = sent_before
        if isinstance(submission, Entry) and submission.error_code == STOPPED_CODE:
            await self._account_history.write(History.clear_stop, submission.key)
        window = RetryWindow(self._clock, self._retry_for_s)
        rejections = RejectionBackoff()
        while True:
            try:
                async with self._slot(call, submission):
                    answer = await self._post(call, submission)
                job = job_unless_lost(answer, in_doubt=in_doubt)
            except NoAnswerError as error:
                in_doubt = call.in_doubt = in_doubt or error.sent
                pause_s = window.pause_s(error)
                if pause_s is None and not call.is_stopped:
                    search = await self._search(call, submission) if in_doubt else ""
                    failure = self._unanswered(error, submission, window, search)
                    raise await self._given_up(submission, failure) from error
                await self._pause(call, submission, pause_s or 0.0)
                continue
            except (
                ClosedError,
                UnusableProxyError,
                UnusableCertificatesError,
            ) as error:
                if in_doubt:
                    lost = NoAnswerError("the client cannot send it again", sent=True)
                    search = await self._search(call, submission)
                    failure = self._unanswered(lost, submission, window, search)
                    raise failure from error
                raise await self._given_up(submission, error) from None
            in_doubt = job is None and (in_doubt or leaves_doubt(answer, job))
            call.in_doubt = in_doubt
            entry = await self._record(submission, job)
            if job is not None and entry is not None and _is_taken(answer, entry):
                return entry, job
            reason = temporary_rejection(answer, job)
            pause_s = None
            is_charged = job is not None and job.settled_charge_micro_usd
            if reason is not None and not is_charged:
                pause_s = rejections.pause_s(reason, retry_after_s(answer) or 0.0)
            if pause_s is None:
                raise await self._refused(
                    call, submission, answer, job, in_doubt=in_doubt
                )
            await self._pause(call, submission, pause_s)
            if job is not None:
                # The key cannot be reused: its job has failed for good (spec 7.2).
                again = next_attempt(submission, self._transport.service)
                try:
                    submission, is_new = await claim(again)
                except MediakitError as error:
                    raise rejection(answer, job, self._clock) from error
                in_doubt = call.in_doubt = not is_new
            window = RetryWindow(self._clock, self._retry_for_s)

    @asynccontextmanager
    async def _slot(
        self, call: Stoppable, submission: Submission
    ) -> AsyncIterator[None]:
        """Wait for a free slot and occupy it."""
        async with AsyncExitStack() as stack:
            async with self._ended_well(call, submission):
                await call.wait(stack.enter_async_context(self._slots.slot()))
            yield

    async def _pause(
        self, call: Stoppable, submission: Submission, pause_s: float
    ) -> None:
        async with self._ended_well(call, submission):
            await call.wait(self._clock.sleep(pause_s))

    @asynccontextmanager
    async def _ended_well(
        self, call: Stoppable, submission: Submission
    ) -> AsyncIterator[None]:
        """Record the outcome if the body is cancelled or stopped.

        A refusal recorded here has no effect once the key has a job.
        """
        record_unsent = self._account_history.record_unsent
        try:
            yield
        except asyncio.CancelledError:
            if not call.in_doubt:
                with anyio.CancelScope(shield=True):
                    await record_unsent(submission.key, CANCELLED)
            raise
        except SubmissionStopped:
            if not call.in_doubt:
                await record_unsent(submission.key, NOTHING_MADE)
                raise MediakitError(NOTHING_MADE) from None
            search = await self._search(call, submission)
            raise _stopped_in_doubt(submission, search) from None

    async def _record_stop(self, key: str) -> None:
        """Record that an unanswered submission is resent only on request."""
        await self._account_history.write(History.record_stop, key, message=IN_DOUBT)

    async def _search(self, call: Stoppable, submission: Submission) -> str:
        """Return how the job of a request without an answer is found."""
        if not call.is_stopped:
            return search_text(submission, self._clock.now())
        try:
            await self._record_stop(submission.key)
        except MediakitError as error:
            return f"{UNRECORDED} {error}"
        return NOT_RESENT

    async def _post(self, call: Stoppable, submission: Submission) -> HttpResponse:
        def connected() -> None:
            call.in_doubt = True  # no part of the request is sent before this

        async with self._ended_well(call, submission):
            answer = await self._transport.exchange(
                "POST",
                f"/v1/media/{submission.function}",
                content=submission.body,
                headers={"Idempotency-Key": submission.key},
                connected=connected,
            )
        if answer.status == 429:
            asked_s = retry_after_s(answer) or FIRST_PAUSE_S
            self._slots.rejected(asked_s if asked_s <= MAX_RETRY_AFTER_TOTAL_S else 0.0)
        elif answer.status == 200:
            self._slots.accepted()
        return answer

    async def _record(
        self, submission: Submission, job: JobRecord | None
    ) -> Entry | None:
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
        search: str,
    ) -> ServiceError:
        """Return the error for a submission without an outcome.

        `search` explains how to find the job; it is empty if nothing was sent.
        """
        base_url = self._transport.service.base_url
        why = f"{error.reason}; {window.text}"
        if not search:
            return ServiceError(
                f"The service at {base_url} cannot be reached ({why}). Nothing was "
                "sent and nothing is charged. Check the base URL and the network; the "
                "same call tries again."
            )
        price = _price_text(submission)
        did = "did not answer" if error.status is None else "answered without a job"
        return ServiceError(
            f"The request was sent to {base_url}, which {did} ({why}). It is not known "
            "whether the job was created; if it was, you are charged "
            f"{price}. {search}",
            in_doubt=True,
        )

    async def _given_up(
        self, submission: Submission, error: MediakitError
    ) -> MediakitError:
        """Return the error; if nothing was sent, record that and release the hold."""
        if error.sent is False:
            await self._account_history.record_unsent(submission.key, error.message)
        return error

    async def _refused(
        self,
        call: Stoppable,
        submission: Submission,
        answer: HttpResponse,
        job: JobRecord | None,
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
                message=answer.reason or NOT_CHARGED,
            )
        search = await self._search(call, submission) if in_doubt else ""
        return refusal(
            answer, submission, self._clock, in_doubt=in_doubt, search=search
        )


def _price_text(submission: Submission) -> str:
    if submission.estimate_high_micro_usd is None:
        return "once"
    return f"once, up to {format_usd(submission.reserved_micro_usd)}"


def _stopped_in_doubt(submission: Submission, search: str) -> ServiceError:
    return ServiceError(
        "Stopped. Nothing more is sent. The request was sent earlier and got no "
        "answer, so a job may exist; if it does, you are charged "
        f"{_price_text(submission)}. {search}",
        in_doubt=True,
    )


def _is_taken(answer: HttpResponse, entry: Entry) -> bool:
    """Return whether a job was accepted, and not rejected on submission."""
    return is_success(answer) and not was_rejected(entry)
