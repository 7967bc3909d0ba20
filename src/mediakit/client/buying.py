"""Buying: the same order is one job, and nothing is sent that cannot be paid."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Literal

from mediakit.client.async_job import AsyncJob
from mediakit.client.billing import Billing
from mediakit.client.jobs import Jobs
from mediakit.client.orders import Order, next_attempt, was_rejected
from mediakit.client.submitting import Submitter
from mediakit.errors import (
    BalanceError,
    GoneError,
    InputError,
    MediakitError,
    NotFoundError,
)
from mediakit.history import Entry, EntryState, History, Intent
from mediakit.money import format_usd
from mediakit.rates import Estimate

log = logging.getLogger("mediakit.client")

Take = int | Literal["next"]
NEXT_TAKE = 'take="next" asks for a new one, which is paid for.'


class Buyer:
    """Turns orders into jobs, each bought once.

    Args:
        submitter: Sends.
        jobs: Reads the jobs that there are.
        history: Remembers what was bought.
        billing: Reads the balance.
    """

    def __init__(
        self,
        submitter: Submitter,
        jobs: Jobs,
        history: History,
        billing: Billing,
    ) -> None:
        self._submitter = submitter
        self._jobs = jobs
        self._history = history
        self._billing = billing
        self._bought: set[str] = set()
        self._sending: set[str] = set()

    async def place(self, order: Order, take: Take) -> AsyncJob:
        """Find the job of an order that was bought before, or buy it."""
        entry = self._unanswered(order) if take == "next" else self._newest(order, take)
        if entry is not None and entry.job_id and not was_rejected(entry):
            return await self._owned(entry, entry.job_id)
        if entry is None or entry.state is not EntryState.INTENT:
            await self._check_balance(order.estimate)
        intent = self._claim(order, take, entry)
        self._sending.add(intent.key)
        try:
            entry, record = await self._submitter.send(intent)
        finally:
            self._sending.discard(intent.key)
        self._bought.add(record.id)
        state = self._jobs.state_of(entry, record)
        return self._jobs.watched(replace(state, estimate=order.estimate))

    def _newest(self, order: Order, take: int) -> Entry | None:
        return self._history.newest(**self._owner, draw_key=order.draw_key, take=take)

    def _unanswered(self, order: Order) -> Entry | None:
        """Return the latest take while its outcome is unknown; it comes first.

        Whoever presses Generate again after a lost answer wants one job, not two.
        """
        last = self._history.last_take(**self._owner, draw_key=order.draw_key)
        entry = self._newest(order, last) if last else None
        if entry is None or entry.state is not EntryState.INTENT:
            return None
        return None if entry.key in self._sending else entry

    def _claim(self, order: Order, take: Take, entry: Entry | None) -> Intent:
        if entry is not None and entry.state is EntryState.INTENT:
            return entry
        if take == "next":
            return self._claim_next(order)
        if entry is not None and was_rejected(entry):
            return self._history.claim(next_attempt(entry))[0]
        attempt = entry.attempt if entry else 1
        return self._history.claim(order.intent(take=take, attempt=attempt))[0]

    def _claim_next(self, order: Order) -> Intent:
        while True:
            last = self._history.last_take(**self._owner, draw_key=order.draw_key)
            intent = order.intent(take=last + 1, attempt=1)
            entry, claimed = self._history.claim(intent)
            if claimed:
                return entry

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

    async def _check_balance(self, estimate: Estimate) -> None:
        if estimate.high is None:
            return
        spendable = (await self._billing.balance()).spendable_micro_usd
        held = self.reserved_micro_usd()
        available = spendable - held
        if estimate.high <= available:
            return
        of_which = f" ({format_usd(held)} is held for jobs in flight)" if held else ""
        raise BalanceError(
            f"It may cost up to {format_usd(estimate.high)}, and "
            f"{format_usd(max(0, available))} is left of the balance{of_which}. "
            "Nothing was sent. Top up, or ask for less.",
            needed_micro_usd=estimate.high,
            available_micro_usd=available,
        )

    def reserved_micro_usd(self) -> int:
        """Return what is held for jobs whose charge is not settled, micro-USD."""
        return self._history.reserved_micro_usd(**self._owner)

    async def resume(self) -> list[AsyncJob]:
        """Take up what an earlier process left: unanswered submits, open charges.

        An unanswered submit is asked again under its own key, so that its job is
        found, or made, once.

        Returns:
            The jobs, oldest first; they are watched until their charge is settled.
        """
        jobs = []
        for intent in self._history.open_intents(**self._owner):
            try:
                entry, record = await self._submitter.send(intent)
            except MediakitError as error:
                log.warning("a submit of an earlier start: %s", error)
                continue
            state = self._jobs.state_of(entry, record)
            jobs.append(self._jobs.watched(state))
        known = {job.id for job in jobs}
        for entry in self._history.unsettled(**self._owner):
            if entry.job_id and entry.job_id not in known:
                jobs += await self._taken_up(entry.job_id)
        return jobs

    async def _taken_up(self, job_id: str) -> list[AsyncJob]:
        try:
            return [await self._jobs.job(job_id)]
        except MediakitError as error:
            log.warning("a job of an earlier start: %s", error)
            return []

    @property
    def _owner(self) -> dict[str, str]:
        service = self._jobs.service
        return {"service": service.identity, "account": service.account}


def check_take(take: Take) -> None:
    """Refuse a take that is neither a count nor "next".

    Raises:
        InputError: It is neither.
    """
    is_count = isinstance(take, int) and not isinstance(take, bool) and take >= 1
    if take != "next" and not is_count:
        accepted = 'a whole number from 1, or "next"'
        raise InputError("take", got=take, accepted=accepted)
