"""Admission: whether the balance and the budgets cover a submission."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from mediakit.client.billing import Billing
from mediakit.client.records.account_history import AccountHistory
from mediakit.client.records.budgets import (
    Budget,
    BudgetState,
    budget_name,
    budget_text,
)
from mediakit.clock import Clock
from mediakit.errors import BalanceError, MediakitError, nothing_sent_yet, shown
from mediakit.history import (
    BudgetLimit,
    Entry,
    EntryState,
    History,
    Parent,
    Spendable,
    Submission,
    tuning,
)
from mediakit.money import format_usd

log = logging.getLogger("mediakit.client")

# The history has what this account has spent since; a balance becomes outdated only by
# what others spend or top up.
BALANCE_FOR_S = 10.0
EXCEEDED = 101  # above all warning levels, in percent


class Admission:
    """Claims submissions in the history while balance and budget cover them.

    Args:
        account_history: The history, as this account's.
        billing: Reads the balance.
        clock: Gives the age of a balance, and the month of a budget.
        budget: The caller's own limit; None for none.
        name: The budget that submissions count against without a limit; None for none.
    """

    def __init__(
        self,
        account_history: AccountHistory,
        billing: Billing,
        clock: Clock,
        budget: Budget | None,
        name: str | None = None,
    ) -> None:
        self._account_history = account_history
        self._billing = billing
        self._clock = clock
        self.budget = budget
        self.name = name
        self._sweeps: dict[str, BudgetLimit | None] = {}
        self._warned: dict[str, int] = {}
        self._named: dict[str, Budget] = {}
        self._read_at_s: float | None = None
        self._last: Spendable | None = None
        self._reading: asyncio.Task[Spendable] | None = None

    def limit_sweep(self, sweep: str, limit_micro_usd: int | None) -> None:
        """Limit the total cost of the submissions of a sweep, from now on.

        Later attempts count against the limit, too.

        Args:
            sweep: The sweep's id.
            limit_micro_usd: The limit; None for none.
        """
        self._sweeps[sweep] = None
        if limit_micro_usd is not None:
            self._sweeps[sweep] = BudgetLimit(sweep, limit_micro_usd)

    async def claim(
        self,
        submission: Submission,
        parents: Sequence[Parent] = (),
        budget: Budget | None = None,
        origin: str | None = None,
    ) -> tuple[Entry, bool]:
        """Record a submission if the balance and the budgets cover its upper price.

        A recent balance is enough to admit it; before rejecting it, the balance is
        read again.

        Args:
            submission: The submission that is about to be sent.
            parents: The jobs whose outputs are among its media.
            budget: What it counts against; None for the caller's own budget.
            origin: The form that submits it, as the history names it; None for none.

        Raises:
            BalanceError: It may cost more than is left; nothing was written or sent.
            BudgetError: The same, of the budget or of the sweep's.
        """
        budget = budget or self.budget
        with nothing_sent_yet():
            if budget is None:
                submission, limit = await self._inherited(submission)
                return await self._fitting(submission, limit, parents, origin)
            return await self._claim(submission, budget, parents, origin)

    async def claim_as_promised(self, submission: Submission) -> tuple[Entry, bool]:
        """Record a further attempt, which counts against the submission's own budget.

        Raises:
            BalanceError: It may cost more than is left; nothing was written or sent.
            BudgetError: The same, of its budget, or of the sweep's budget.
        """
        if self.budget is not None and self.budget.has_label(submission.budget):
            return await self._claim(submission, self.budget)
        limit = await self._last_limit(submission)
        return await self._fitting(submission, limit)

    async def take_over(
        self,
        entry: Entry,
        budget: Budget | None = None,
        origin: str | None = None,
    ) -> Entry:
        """Count an unanswered submission against the caller's budget before sending it.

        Args:
            entry: The unanswered submission.
            budget: What it counts against; None for the caller's own budget.
            origin: The form that now submits it, too; None for none.

        Returns:
            The updated entry.

        Raises:
            BudgetError: It does not fit; an earlier attempt may have created a job.
        """
        if origin is not None:
            await self._account_history.write(tuning.note_origin, entry.key, origin)
        budget = budget or self.budget
        if budget is None or entry.state is not EntryState.UNANSWERED:
            return entry
        limit = budget.limit_at(self._clock.now())
        entry = await self._account_history.write(
            History.count_against, entry.key, limit
        )
        self._named[limit.name] = budget
        await self._warn(budget, limit.name)
        return entry

    async def charged(self, entry: Entry, charge_micro_usd: int) -> None:
        """Log a charge above its hold, and a budget that a charge has exceeded.

        Args:
            entry: The entry of the job.
            charge_micro_usd: Its charge, as it was recorded.
        """
        held_micro_usd = entry.reserved_micro_usd
        has_upper_price = entry.estimate_high_micro_usd is not None
        if has_upper_price and charge_micro_usd > held_micro_usd:
            log.warning(
                "%s (%s) was charged %s, %s more than the %s that was held for it",
                entry.job_id,
                entry.kind,
                format_usd(charge_micro_usd),
                format_usd(charge_micro_usd - held_micro_usd),
                format_usd(held_micro_usd),
            )
        label = entry.budget
        if label is None:
            return
        budget = self._named.get(label)
        if budget is None and self.budget and self.budget.has_label(label):
            budget = self.budget
        if budget is not None:
            await self._warn(budget, label)

    async def state(self) -> BudgetState | None:
        """Return how far the budget is used; None without one."""
        if self.budget is None:
            return None
        label = self.budget.label(self._clock.now())
        use = await self._account_history.ask(History.budget_use, label)
        return BudgetState(
            self.budget.limit_micro_usd, use.spent_micro_usd, use.reserved_micro_usd
        )

    async def _inherited(
        self, submission: Submission
    ) -> tuple[Submission, BudgetLimit | None]:
        """Return a submission and the limit of the budget that it inherits.

        A further draw or attempt begins with the budget of the previous one, whose
        limit the caller does not have: the history knows the last one. Without one,
        only the caller's own project counts it.
        """
        if submission.budget == self.name:
            return submission, None
        limit = await self._last_limit(submission)
        is_of_project = submission.budget == budget_name(submission.project, None)
        if limit is None and not is_of_project:
            submission = replace(submission, budget=self.name)
        return submission, limit

    async def _last_limit(self, submission: Submission) -> BudgetLimit | None:
        if submission.budget is None:
            return None
        return await self._account_history.ask(History.budget_limit, submission.budget)

    async def _last_sweep_limit(self, submission: Submission) -> BudgetLimit | None:
        """Return the limit of a submission's sweep, which may be of an earlier start.

        A sweep that runs in this process without a limit has none.
        """
        if submission.sweep is None:
            return None
        if submission.sweep in self._sweeps:
            return self._sweeps[submission.sweep]
        return await self._account_history.ask(History.sweep_limit, submission.sweep)

    async def _claim(
        self,
        submission: Submission,
        budget: Budget,
        parents: Sequence[Parent] = (),
        origin: str | None = None,
    ) -> tuple[Entry, bool]:
        limit = budget.limit_at(self._clock.now())
        entry, is_new = await self._fitting(submission, limit, parents, origin)
        if is_new:
            self._named[limit.name] = budget
            if budget.warn:
                await self._warn(budget, limit.name)
        return entry, is_new

    async def _fitting(
        self,
        submission: Submission,
        budget: BudgetLimit | None,
        parents: Sequence[Parent] = (),
        origin: str | None = None,
    ) -> tuple[Entry, bool]:
        sweep = await self._last_sweep_limit(submission)

        async def write(spendable: Spendable | None) -> tuple[Entry, bool]:
            return await self._account_history.write(
                History.claim,
                submission,
                spendable=spendable,
                budget=budget,
                sweep=sweep,
                parents=parents,
                origin=origin,
            )

        if submission.estimate_high_micro_usd is None:
            return await write(None)
        known = self._recent()
        if known is not None:
            try:
                return await write(known)
            except BalanceError:
                self._last = None
        return await write(await self._spendable())

    async def _warn(self, budget: Budget, label: str) -> None:
        """Log each warning level, and that the limit is exceeded, once."""
        if self._warned.get(label, 0) >= EXCEEDED:
            return
        try:
            use = await self._account_history.ask(History.budget_use, label)
        except MediakitError as error:
            # The claim is committed: a failed warning must not prevent its sending.
            log.warning("the budget %s cannot be read: %s", shown(label), error)
            return
        spent, held = use.spent_micro_usd, use.reserved_micro_usd
        is_exceeded = spent + held > budget.limit_micro_usd
        level = EXCEEDED if is_exceeded else budget.level(spent + held)
        if level is None or level <= self._warned.get(label, 0):
            return
        self._warned[label] = level
        text = budget_text(budget, spent, held)
        if is_exceeded:
            log.warning("Budget %s is exceeded: %s", shown(label), text)
        else:
            log.warning("Budget %s has reached %s %%: %s", shown(label), level, text)

    def _recent(self) -> Spendable | None:
        if self._read_at_s is None:
            return None
        age_s = self._clock.monotonic_s() - self._read_at_s
        return self._last if age_s < BALANCE_FOR_S else None

    async def _spendable(self) -> Spendable:
        """Read the balance, once for all concurrent callers."""
        loop, reading = asyncio.get_running_loop(), self._reading
        # A fork's child does not have the tasks of its parent.
        if reading is None or reading.done() or reading.get_loop() is not loop:
            reading = self._reading = loop.create_task(self._read())
        # A caller that stops waiting must not cancel the read of the others.
        return await asyncio.shield(reading)

    async def _read(self) -> Spendable:
        use = await self._account_history.ask(
            History.account_use, **self._account_history.owner
        )
        read_at_s = self._clock.monotonic_s()
        balance = await self._billing.balance()
        self._last = Spendable(balance.spendable_micro_usd, use.spent_micro_usd)
        self._read_at_s = read_at_s
        return self._last
