"""Submits requests; the same request again returns its existing job."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Literal

from mediakit.api_models import JobStatus
from mediakit.client.account_history import AccountHistory
from mediakit.client.async_job import AsyncJob
from mediakit.client.budgets import ANYONE, Admission, Caller
from mediakit.client.idempotency_keys import (
    draw_of,
    is_known,
    submission_of,
    take_of,
    was_rejected,
)
from mediakit.client.job_state import estimate_of
from mediakit.client.jobs import Jobs
from mediakit.client.request_preparation import (
    Preparer,
    ValidatedRequest,
    stripped_body,
)
from mediakit.client.sender import Sender
from mediakit.client.service import Service
from mediakit.client.submit_responses import KEY_BOUND, may_resend_unasked
from mediakit.clock import Clock
from mediakit.errors import (
    ConflictError,
    GoneError,
    InputError,
    MediakitError,
    NotFoundError,
    ServiceError,
)
from mediakit.estimates import Estimate, check_price_limit
from mediakit.history import Entry, EntryState, History, Submission, lineage
from mediakit.history.entry import AT_WORK
from mediakit.history.store import JOB_OF_ANOTHER
from mediakit.plain_numbers import whole

log = logging.getLogger("mediakit.client")

Take = int | Literal["next"]
# Takes that ended with these errors are not retried: the key belongs to another
# request.
_NOT_RETRIED = frozenset({str(KEY_BOUND), JOB_OF_ANOTHER})
HIGHEST_TAKE = 2**31 - 1  # the largest value of an integer column in every database
NEXT_TAKE = 'take="next" submits a new job, which is charged.'

# The number of calls that send a key, by the history's place and the key. An entry
# whose key is being sent does not count as unanswered. All clients of a process submit
# on its I/O thread, so no lock is needed.
_SENDING: Counter[tuple[str, str]] = Counter()


class _Claims(ExitStack):
    """The claims of one call; their keys count as in flight until it ends."""

    def __init__(
        self,
        place: str,
        admission: Admission,
        caller: Caller,
        price: Estimate | None,
    ) -> None:
        super().__init__()
        self._place = place
        self._admission = admission
        self._caller = caller
        self._price = price

    def _begin(self, key: str) -> None:
        _SENDING[self._place, key] += 1
        self.callback(self._end, key)

    def _end(self, key: str) -> None:
        _SENDING[self._place, key] -= 1
        if not _SENDING[self._place, key]:
            del _SENDING[self._place, key]

    async def claim(self, submission: Submission) -> tuple[Entry, bool]:
        """Record a submission; return its entry, and whether it is new.

        A submission that costs more than the shown price is not recorded.
        """
        check_price_limit(estimate_of(submission), self._price)
        # Other tasks may read the entry as soon as it is committed, before this task
        # continues.
        self._begin(submission.key)
        return await self._admission.claim(submission, self._caller)

    async def take_over(self, entry: Entry) -> Entry:
        """Take over an unanswered submission of another call."""
        self._begin(entry.key)
        return await self._admission.take_over(entry, self._caller)

    async def claim_or_take_over(self, submission: Submission) -> tuple[Entry, bool]:
        """Claim or take over; return the entry, and whether it is new."""
        entry, is_new = await self.claim(submission)
        return (entry, True) if is_new else (await self.take_over(entry), False)


class Submissions:
    """Turns validated requests into jobs, each submitted once.

    `price` is the price that was shown, and the most that is paid; None accepts any
    price.
    """

    def __init__(
        self,
        sender: Sender,
        jobs: Jobs,
        account_history: AccountHistory,
        admission: Admission,
        preparer: Preparer,
        clock: Clock,
        project: str | None,
    ) -> None:
        self._sender = sender
        self._jobs = jobs
        self._service = jobs.service
        self._account_history = account_history
        self._admission = admission
        self._preparer = preparer
        self._clock = clock
        self._project = project
        self._submitted: set[str] = set()
        self._padded: dict[str, list[Entry]] = {}  # by path
        self._place = account_history.history.place

    def of(
        self,
        request: ValidatedRequest,
        sweep: str | None = None,
        service: Service | None = None,
    ) -> Submission:
        """Return the submission of a request, as its first take and attempt."""
        return submission_of(
            service or self._service,
            request.function,
            request.canonical_body,
            request.estimate,
            names=request.names,
            webhook_url=request.webhook_url,
            project=self._project,
            budget=self._admission.name,
            sweep=sweep,
        )

    async def submit(
        self,
        request: ValidatedRequest,
        take: Take,
        caller: Caller = ANYONE,
        price: Estimate | None = None,
    ) -> AsyncJob:
        """Return a request's existing job, or submit the request."""
        first = self.of(request, caller.sweep)
        draw = draw_of(first)
        if take == "next":
            entry = await self._unanswered(draw)
        else:
            entry = await self._newest(draw, take)
            if entry is None:
                entry = await self._of_other_name(request, take)
        if entry is not None and entry.job_id and not was_rejected(entry):
            return await self.job_of(entry, entry.job_id)
        caller = replace(caller, parents=request.parents)
        with self._claims(caller, price) as claims:
            entry, fresh = await self._claim(claims, first, take, entry)
            return await self._send(claims, entry, sent_before=not fresh)

    async def owned(self, request: ValidatedRequest) -> Entry | None:
        """Return the newest entry with a usable job for a request.

        Returns None if submitting cannot pay twice: there is no job, the job failed, or
        it is gone.
        """
        draw = draw_of(self.of(request))
        last_take = await self._account_history.ask(History.last_take, **draw)
        for take in range(last_take, 0, -1):
            entry = await self._newest(draw, take)
            if entry is not None and _has_job(entry):
                return entry
        return await self._of_other_name(request, 1)

    async def _of_other_name(
        self, request: ValidatedRequest, take: int
    ) -> Entry | None:
        """Return the job of a request under another name of the service, if any."""
        for identity in self._service.also:
            service = replace(self._service, identity=identity)
            draw = draw_of(self.of(request, service=service))
            entry = await self._newest(draw, take)
            if entry is not None and _has_job(entry):
                return entry
        return await self._with_outer_space(request, take)

    async def _with_outer_space(
        self, request: ValidatedRequest, take: int
    ) -> Entry | None:
        """Return the job of a request sent with space around its prompt, if any."""
        function = request.function
        if function.path not in self._padded:
            self._padded[function.path] = await self._account_history.ask(
                lineage.padded_draws,
                service=self._service.identity,
                function=function.path,
            )
        body = self.of(request).body
        for entry in self._padded[function.path]:
            is_same = entry.take == take and stripped_body(function, entry.body) == body
            if is_same and _has_job(entry):
                return entry
        return None

    async def unused_take(self, request: ValidatedRequest) -> Take:
        """Return the take under which to submit a request that has no usable job."""
        draw = draw_of(self.of(request))
        last_take = await self._account_history.ask(History.last_take, **draw)
        return "next" if last_take else 1

    async def attempt_again(
        self,
        job_id: str,
        price: Estimate | None = None,
    ) -> AsyncJob:
        """Submit a failed job's request again, with a fresh key (spec 4.3).

        Returns a later attempt if that has not failed, so that two calls do not pay
        twice.
        """
        failed, caller = await self._known(job_id), _ASKER.get()
        if failed.status is not JobStatus.FAILED:
            raise ConflictError(
                f"{job_id} has not failed, so there is nothing to retry. Nothing "
                f"was sent. {NEXT_TAKE}",
                job_id=job_id,
            )
        draw = draw_of(take_of(failed, self._service, take=failed.take))
        last = await self._newest(draw, failed.take) or failed
        with self._claims(caller, price) as claims:
            fresh = False
            is_failed = last.status is JobStatus.FAILED
            if is_failed or last.state is EntryState.REFUSED:
                # An attempt that made no job is repeated, if limits and price allow.
                number = last.attempt + 1 if is_failed else last.attempt
                attempt = take_of(last, self._service, take=last.take, attempt=number)
                attempt = replace(attempt, sweep=caller.sweep or attempt.sweep)
                attempt = await self._preparer.repriced(attempt, is_sent=True)
                last, fresh = await claims.claim(attempt)
            if last.job_id is not None:
                return await self.job_of(last, last.job_id)
            return await self._send(claims, last, sent_before=not fresh)

    async def price_again(self, job_id: str) -> Estimate:
        """Return the current price of another take, or attempt, of a job."""
        entry = await self._known(job_id)
        draw = take_of(entry, self._service, take=entry.take)
        return estimate_of(await self._preparer.repriced(draw, is_sent=False))

    async def next_take(
        self,
        job_id: str,
        price: Estimate | None = None,
    ) -> AsyncJob:
        """Submit another take of a job's request, with the bytes that were sent.

        It belongs to no cell of a sweep, but counts against the caller's sweep.
        """
        before, caller = await self._known(job_id), _ASKER.get()
        draw = replace(take_of(before, self._service, take=1), sweep=caller.sweep)
        entry = await self._unanswered(draw_of(draw))
        fresh = entry is None
        with self._claims(caller, price) as claims:
            if entry is None:
                draw = await self._preparer.repriced(draw, is_sent=True)
                entry = await self._claim_next(claims, draw)
            return await self._send(claims, entry, sent_before=not fresh)

    def _claims(self, caller: Caller, price: Estimate | None = None) -> _Claims:
        caller = replace(caller, origin=_ASKER.get().origin)
        return _Claims(self._place, self._admission, caller, price)

    async def _known(self, job_id: str) -> Entry:
        entry = await self._account_history.ask(History.find, job_id)
        if entry is not None and is_known(entry):
            return entry
        what = f"{job_id} is not in this history"
        if entry is not None:
            what = f"This history has {job_id}, but not its request"
        raise NotFoundError(
            f"{what}. Nothing was sent. Submit a new request.", job_id=job_id
        )

    async def _send(
        self, claims: _Claims, submission: Entry, *, sent_before: bool
    ) -> AsyncJob:
        if sent_before:
            submission = await claims.take_over(submission)
        try:
            entry, record = await self._sender.send(
                submission, sent_before=sent_before, claim=claims.claim_or_take_over
            )
        except InputError:
            await self._jobs.uploads.forget_missing(json.loads(submission.body))
            raise
        if record.status is JobStatus.FAILED:
            await self._jobs.uploads.forget_missing(json.loads(submission.body))
        self._submitted.add(record.id)
        if entry.charge_micro_usd is not None:
            await self._admission.charged(entry, entry.charge_micro_usd)
        return await self._jobs.begun(entry, record)

    async def _newest(self, draw: dict[str, str], take: int) -> Entry | None:
        return await self._account_history.ask(History.newest, **draw, take=take)

    async def _last(self, draw: dict[str, str]) -> tuple[int, Entry | None]:
        """Return the last take of a request and its newest attempt, or (0, None)."""
        take = await self._account_history.ask(History.last_take, **draw)
        entry = await self._newest(draw, take) if take else None
        return take, entry

    async def _unanswered(self, draw: dict[str, str]) -> Entry | None:
        """Return the latest take with an unknown outcome, which has priority.

        A user who presses Generate again after a lost response wants one job, not two.
        """
        _, entry = await self._last(draw)
        if entry is None or not self._is_unanswered(entry):
            return None
        # The call that sent the entry may have had a response since the read.
        entry = await self._account_history.ask(History.find_key, entry.key)
        return entry if entry and self._is_unanswered(entry) else None

    def _is_being_sent(self, entry: Entry) -> bool:
        return _SENDING[self._place, entry.key] > 0

    def _is_unanswered(self, entry: Entry) -> bool:
        is_open = entry.state is EntryState.UNANSWERED
        return is_open and not self._is_being_sent(entry)

    async def _claim(
        self,
        claims: _Claims,
        first: Submission,
        take: Take,
        entry: Entry | None,
    ) -> tuple[Entry, bool]:
        """Return the entry to send, and whether it cannot have been sent before."""
        if entry is not None and entry.state is EntryState.UNANSWERED:
            return entry, False
        if take == "next":
            return await self._claim_next(claims, first), True
        attempt = entry.attempt if entry else 1
        if entry is not None and was_rejected(entry):
            attempt += 1
        wanted = take_of(first, self._service, take=take, attempt=attempt)
        if entry is not None:
            # The entry may have been found by its exact content, under another key.
            wanted = replace(wanted, asked_key=entry.asked_key)
        return await claims.claim(wanted)

    async def _claim_next(self, claims: _Claims, draw: Submission) -> Entry:
        while True:
            take, attempt = await self._next_key(draw_of(draw))
            its = take_of(draw, self._service, take=take, attempt=attempt)
            entry, claimed = await claims.claim(its)
            if claimed:
                return entry

    async def _next_key(self, draw: dict[str, str]) -> tuple[int, int]:
        """Return take and attempt of the next submission.

        A refused take is sent again with the same key: the refusal may have come from a
        gateway, and the job may exist. A rejected take gets another attempt.
        """
        last, entry = await self._last(draw)
        if entry is not None and was_rejected(entry):
            return last, entry.attempt + 1
        is_refused = entry is not None and entry.state is EntryState.REFUSED
        if entry is None or not is_refused or entry.error_code in _NOT_RETRIED:
            return last + 1, 1
        return last, entry.attempt

    async def job_of(self, entry: Entry, job_id: str) -> AsyncJob:
        """Return the existing job of a request; nothing is submitted."""
        if entry.deleted_at is not None:
            raise GoneError(
                f"This request was already submitted as {job_id}, which was erased. "
                f"Nothing was sent. {NEXT_TAKE}",
                job_id=job_id,
            )
        try:
            job = await self._jobs.job(job_id)
        except ServiceError as error:
            if error.status is not None and error.status < 500:
                raise
            # The job is paid for and continues; it is in the history and is read later.
            job = await self._jobs.resume(entry)
        except NotFoundError:
            if self._may_be_found(entry):
                job = await self._jobs.resume(entry)
                job.update(replace(job.state, reused=True))
                return job
            what = f"This request was already submitted as {job_id}"
            if entry.account == self._service.account:
                text = f"{what}, which the service no longer knows. Nothing was sent."
            else:
                text = (
                    f"{what} with another API key, and the service does not find that "
                    "job with this key. Nothing was sent. If both keys belong to the "
                    "same organization, the job no longer exists."
                )
            raise GoneError(f"{text} {NEXT_TAKE}", job_id=job_id) from None
        if job_id not in self._submitted:
            job.update(replace(job.state, reused=True))
        return job

    def _may_be_found(self, entry: Entry) -> bool:
        """Return whether one 404 is inconclusive: the job was accepted, not settled."""
        is_ours = entry.account == self._service.account
        return is_ours and entry.state in AT_WORK and entry.gone_at is None

    async def left_to_resend(self) -> list[Entry]:
        """Return the unanswered entries that `resume` resends, oldest first."""
        unanswered = await self._account_history.ask(
            History.unanswered_entries, **self._account_history.owner
        )
        now = self._clock.now()
        return [
            entry
            for entry in unanswered
            if self._is_unanswered(entry) and may_resend_unasked(entry, now)
        ]

    async def resume(self) -> list[AsyncJob]:
        """Resume the submissions of earlier processes; see `AsyncClient.resume`."""
        owner = self._account_history.owner
        unsettled = await self._account_history.ask(
            History.unsettled, service=self._service.identity
        )
        unanswered = await self._account_history.ask(
            History.unanswered_entries, **owner
        )
        # Read existing jobs first, without waiting for requests that may be slow to
        # send.
        jobs = {}
        for entry in unsettled:
            job = await self._resumed(entry)
            if job is not None:
                jobs[entry.number] = job
        sent = await asyncio.gather(*(self._resent(entry) for entry in unanswered))
        for entry, job in zip(unanswered, sent, strict=True):
            if job is not None:
                jobs[entry.number] = job
        return [jobs[number] for number in sorted(jobs)]

    async def _resumed(self, entry: Entry) -> AsyncJob | None:
        if not entry.job_id:
            return None
        try:
            return await self._jobs.resume(entry)
        except Exception:
            # One bad entry must not stop the others from resuming.
            log.exception("the job %s could not be resumed", entry.job_id)
            return None

    async def _resent(self, entry: Entry) -> AsyncJob | None:
        if self._is_being_sent(entry):
            return None
        if not may_resend_unasked(entry, self._clock.now()):
            log.warning(
                "a submission from %s got no answer, and was stopped or is too old to "
                "be sent again automatically; repeat the original call to send it",
                f"{entry.created_at:%Y-%m-%d %H:%M} UTC",
            )
            return None
        try:
            with self._claims(Caller(resumes=True)) as claims:
                return await self._send(claims, entry, sent_before=True)
        except MediakitError as error:
            log.warning(
                "a submission of an earlier process could not be resumed: %s", error
            )
        except Exception:
            log.exception("a submission of an earlier process could not be resumed")
        return None


def _has_job(entry: Entry) -> bool:
    is_there = entry.job_id is not None and not (entry.deleted_at or entry.gone_at)
    return is_there and entry.status is not JobStatus.FAILED


def read_take(take: object) -> Take:
    """Validate a take: a whole number from 1, or "next"."""
    if isinstance(take, str) and take == "next":
        return "next"
    count = whole(take)
    if count is None or not 1 <= count <= HIGHEST_TAKE:
        accepted = f'a whole number from 1 to {HIGHEST_TAKE:,}, or "next"'
        raise InputError("take", got=take, accepted=accepted)
    return count


_ASKER: ContextVar[Caller] = ContextVar("mediakit_asker", default=ANYONE)


@contextmanager
def asking_from(origin: str | None, caller: Caller = ANYONE) -> Iterator[None]:
    """Attribute the submissions within the block to a form.

    Another take and another attempt count against the caller's budget. This is a
    context variable because `submit`, `retry` and `next_take` are public, and the
    user's own calls have no form.
    """
    token = _ASKER.set(replace(caller, origin=origin))
    try:
        yield
    finally:
        _ASKER.reset(token)
