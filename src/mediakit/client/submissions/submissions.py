"""Submitting: the same request is one job; nothing is sent that cannot be paid."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Literal

from mediakit.client.jobs.async_job import AsyncJob
from mediakit.client.jobs.registry import Jobs
from mediakit.client.records.account_history import AccountHistory
from mediakit.client.records.budgets import Budget
from mediakit.client.records.idempotency import (
    draw_of,
    is_known,
    next_attempt,
    submission_of,
    take_of,
    was_rejected,
)
from mediakit.client.records.origin import current_origin
from mediakit.client.requests.repricing import Pricer
from mediakit.client.requests.validated import ValidatedRequest
from mediakit.client.submissions.admission import Admission
from mediakit.client.submissions.sender import Sender, asks_unasked
from mediakit.client.submissions.sending import SENDING, Purchase
from mediakit.clock import Clock
from mediakit.errors import (
    ConflictError,
    GoneError,
    InputError,
    MediakitError,
    NotFoundError,
)
from mediakit.history import Entry, EntryState, History, Parent, Submission
from mediakit.rates import Estimate
from mediakit.records import JobStatus

log = logging.getLogger("mediakit.client")

Take = int | Literal["next"]
# A gateway may have said it: a job that is there after all gets its hold back.
GONE_ASKED_FOR = timedelta(days=1)
HIGHEST_TAKE = 2**31 - 1  # what a column of a whole number holds in every database
NEXT_TAKE = 'take="next" asks for a new one, which is paid for.'


class Submissions:
    """Turns validated requests into jobs, each bought once.

    Args:
        sender: Sends.
        jobs: Reads the jobs that there are.
        account_history: Remembers what was bought.
        admission: Claims what can be paid.
        pricer: Prices what is asked for again.
        clock: Tells how old an unanswered submit is.
        project: A label for all that is bought; None for none.
    """

    def __init__(
        self,
        sender: Sender,
        jobs: Jobs,
        account_history: AccountHistory,
        admission: Admission,
        pricer: Pricer,
        clock: Clock,
        project: str | None,
    ) -> None:
        self._sender = sender
        self._jobs = jobs
        self._service = jobs.service
        jobs.retry = self.retry
        jobs.next_take = self.next_take
        self._account_history = account_history
        self._admission = admission
        self._pricer = pricer
        self._clock = clock
        self._project = project
        self._bought: set[str] = set()
        self._place = account_history.history.place

    def of(self, request: ValidatedRequest, sweep: str | None = None) -> Submission:
        """Return the submission of a request, as its first take and attempt."""
        return submission_of(
            self._service,
            request.function,
            request.canonical_body,
            request.estimate,
            webhook_url=request.webhook_url,
            project=self._project,
            budget=self._admission.name,
            sweep=sweep,
        )

    async def submit(
        self,
        request: ValidatedRequest,
        take: Take,
        *,
        sweep: str | None = None,
        budget: Budget | None = None,
    ) -> AsyncJob:
        """Find the job of a request that was bought before, or buy it.

        Args:
            request: The request; its files are uploaded.
            take: Which draw of it; "next" buys another one.
            sweep: The sweep that it is a cell of, by its id; None for none.
            budget: What it counts against; None for the client's own budget.
        """
        first = self.of(request, sweep)
        draw = draw_of(first)
        if take == "next":
            entry = await self._unanswered(draw)
        else:
            entry = await self._newest(draw, take)
        if entry is not None and entry.job_id and not was_rejected(entry):
            return await self._owned(entry, entry.job_id)
        with self._purchase(request.parents, budget) as purchase:
            entry, fresh = await self._claim(purchase, first, take, entry)
            return await self._send(
                purchase, entry, asked_before=not fresh, estimate=request.estimate
            )

    async def retry(
        self, job_id: str, *, sweep: str | None = None, budget: Budget | None = None
    ) -> AsyncJob:
        """Ask once more for what failed, under a fresh key (spec 4.3).

        A later attempt that has not failed is the answer, so that asking twice does
        not pay twice.

        Args:
            job_id: The job that failed.
            sweep: The sweep that asks, by its id; None leaves it to the one before.
            budget: What it counts against; None for the client's own budget.
        """
        failed = await self._known(job_id)
        if failed.status is not JobStatus.FAILED:
            raise ConflictError(
                f"{job_id} has not failed, so there is nothing to try again. Nothing "
                f"was sent. {NEXT_TAKE}",
                job_id=job_id,
            )
        last = await self._last_attempt(failed)
        with self._purchase(budget=budget) as purchase:
            fresh = False
            if last.status is JobStatus.FAILED:
                again = next_attempt(last, self._service)
                again = replace(again, sweep=sweep or again.sweep)
                again = await self._pricer.priced_anew(again)
                last, fresh = await purchase.claim(again)
            if last.job_id is not None:
                return await self._owned(last, last.job_id)
            return await self._send(purchase, last, asked_before=not fresh)

    async def next_take(self, job_id: str) -> AsyncJob:
        """Ask for another draw of a job's request, in the bytes that were sent.

        It is of no sweep: the plan has no such cell.
        """
        before = await self._known(job_id)
        draw = replace(take_of(before, self._service, take=1), sweep=None)
        entry = await self._unanswered(draw_of(draw))
        if entry is None and draw_of(before) != draw_of(draw):
            entry = await self._unanswered(draw_of(before))
        fresh = entry is None
        with self._purchase() as purchase:
            if entry is None:
                draw = await self._pricer.priced_anew(draw)
                entry = await self._claim_next(purchase, draw)
            return await self._send(purchase, entry, asked_before=not fresh)

    def _purchase(
        self, parents: Sequence[Parent] = (), budget: Budget | None = None
    ) -> Purchase:
        return Purchase(
            self._place,
            self._admission,
            parents=parents,
            budget=budget,
            origin=current_origin(),
        )

    async def _known(self, job_id: str) -> Entry:
        entry = await self._account_history.ask(History.find, job_id)
        if entry is not None and is_known(entry):
            return entry
        is_there = "not" if entry is None else "without its request"
        raise NotFoundError(
            f"{job_id} is {is_there} in this history, so what it asked for is not "
            "known. Nothing was sent. Submit it anew.",
            job_id=job_id,
        )

    async def _last_attempt(self, failed: Entry) -> Entry:
        """Return the latest attempt at what failed, whichever API key made it."""
        last = await self._newest(draw_of(failed), failed.take) or failed
        ours = draw_of(take_of(failed, self._service, take=failed.take))
        if last.status is not JobStatus.FAILED or ours == draw_of(failed):
            return last
        return await self._newest(ours, failed.take) or last

    async def _send(
        self,
        purchase: Purchase,
        submission: Entry,
        *,
        asked_before: bool,
        estimate: Estimate | None = None,
    ) -> AsyncJob:
        if asked_before:
            submission = await purchase.take_over(submission)
        entry, record = await self._sender.send(
            submission, asked_before=asked_before, claim=purchase.claim_or_take_over
        )
        self._bought.add(record.id)
        state = await self._jobs.state_of(entry, record, estimate)
        return await self._jobs.begun(state)

    async def _newest(self, draw: dict[str, str], take: int) -> Entry | None:
        return await self._account_history.ask(History.newest, **draw, take=take)

    async def _last_take(self, draw: dict[str, str]) -> int:
        return await self._account_history.ask(History.last_take, **draw)

    async def _unanswered(self, draw: dict[str, str]) -> Entry | None:
        """Return the latest take while its outcome is unknown; it comes first.

        Whoever presses Generate again after a lost answer wants one job, not two.
        """
        last = await self._last_take(draw)
        entry = await self._newest(draw, last) if last else None
        if entry is None or not self._is_unanswered(entry):
            return None
        # Whoever was sending it may have been answered since it was read.
        entry = await self._account_history.ask(History.find_key, entry.key)
        return entry if entry and self._is_unanswered(entry) else None

    def _is_unanswered(self, entry: Entry) -> bool:
        is_open = entry.state is EntryState.UNANSWERED
        return is_open and not SENDING.has(self._place, entry.key)

    async def _claim(
        self, purchase: Purchase, first: Submission, take: Take, entry: Entry | None
    ) -> tuple[Entry, bool]:
        """Return what to send, and whether nobody can have sent it before."""
        if entry is not None and entry.state is EntryState.UNANSWERED:
            return entry, False
        if take == "next":
            return await self._claim_next(purchase, first), True
        attempt = entry.attempt if entry else 1
        if entry is not None and was_rejected(entry):
            attempt += 1
        wanted = take_of(first, self._service, take=take, attempt=attempt)
        return await purchase.claim(wanted)

    async def _claim_next(self, purchase: Purchase, draw: Submission) -> Entry:
        while True:
            take = await self._last_take(draw_of(draw)) + 1
            its = take_of(draw, self._service, take=take)
            entry, claimed = await purchase.claim(its)
            if claimed:
                return entry
            purchase.leave(entry.key)

    async def _owned(self, entry: Entry, job_id: str) -> AsyncJob:
        if entry.deleted_at is not None:
            raise GoneError(
                f"This request was bought before, as {job_id}, and its job was erased. "
                f"Nothing was sent. {NEXT_TAKE}",
                job_id=job_id,
            )
        try:
            job = await self._jobs.job(job_id)
        except NotFoundError:
            raise GoneError(
                f"This request was bought before, as {job_id}, which the service no "
                f"longer knows. It is not bought again silently. {NEXT_TAKE}",
                job_id=job_id,
            ) from None
        if job_id not in self._bought:
            job.update(replace(job.state, reused=True))
        return job

    async def resume(self) -> list[AsyncJob]:
        """Take up what an earlier process left: unanswered submits, open charges.

        An unanswered submit is asked again under its own key, so that its job is
        found, or made, once; within the budget that it was promised to.

        Returns:
            The jobs, oldest first; they are watched until their charge is settled.
        """
        unanswered = await self._account_history.ask(
            History.unanswered_entries, **self._account_history.owner
        )
        asked = [await self._asked_again(entry) for entry in unanswered]
        jobs = [job for job in asked if job is not None]
        known = {job.id for job in jobs}
        gone_since = self._clock.now() - GONE_ASKED_FOR
        for entry in await self._account_history.ask(
            History.unsettled, **self._account_history.owner, gone_since=gone_since
        ):
            if entry.job_id and entry.job_id not in known:
                jobs.append(await self._jobs.resume(entry))
        return jobs

    async def _asked_again(self, entry: Entry) -> AsyncJob | None:
        if SENDING.has(self._place, entry.key):
            return None
        if not asks_unasked(entry, self._clock.now()):
            log.warning(
                "a submit of %s was never answered and is too old to be sent unasked; "
                "the same call sends it",
                f"{entry.created_at:%Y-%m-%d %H:%M} UTC",
            )
            return None
        try:
            with Purchase(self._place, self._admission, is_promised=True) as purchase:
                return await self._send(purchase, entry, asked_before=True)
        except MediakitError as error:
            log.warning("a submit of an earlier start: %s", error)
            return None


def check_take(take: Take) -> None:
    """Refuse a take that is neither a count nor "next".

    Raises:
        InputError: It is neither.
    """
    is_whole = isinstance(take, int) and not isinstance(take, bool)
    is_count = is_whole and take in range(1, HIGHEST_TAKE + 1)
    if take != "next" and not is_count:
        accepted = f'a whole number from 1 to {HIGHEST_TAKE:,}, or "next"'
        raise InputError("take", got=take, accepted=accepted)
