"""What may be spent: nothing is claimed that balance and budget cannot carry."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import uuid4

from mediakit.client.billing import Billing
from mediakit.client.ledger import Ledger
from mediakit.clock import Clock
from mediakit.errors import BalanceError, InputError
from mediakit.history import (
    Budget,
    Entry,
    EntryState,
    History,
    Intent,
    Parent,
    Spendable,
)
from mediakit.money import parse_usd

# What this account spends meanwhile is in the history; only what others spend, or top
# up, makes a balance old.
BALANCE_FOR_S = 10.0


Amount = str | int | Decimal


@dataclass(frozen=True)
class BudgetState:
    """How far a budget is used, in micro-USD.

    Args:
        limit_micro_usd: What may be spent in all.
        spent_micro_usd: Settled charges.
        reserved_micro_usd: Held for what is in flight, at its upper price.
    """

    limit_micro_usd: int
    spent_micro_usd: int
    reserved_micro_usd: int

    @property
    def left_micro_usd(self) -> int:
        """Return what a further request may cost at the most."""
        used = self.spent_micro_usd + self.reserved_micro_usd
        return max(0, self.limit_micro_usd - used)


class Purse:
    """Claims intents in the history while balance and budget can carry them.

    Args:
        ledger: The history, as this account's.
        billing: Reads the balance.
        clock: Tells how old a balance is.
        budget: The caller's own limit; None for none.
    """

    def __init__(
        self, ledger: Ledger, billing: Billing, clock: Clock, budget: Budget | None
    ) -> None:
        self._ledger = ledger
        self._billing = billing
        self._clock = clock
        self._budget = budget
        self._sweeps: dict[str, Budget] = {}
        self._read_at_s: float | None = None
        self._last: Spendable | None = None
        self._reading: asyncio.Task[Spendable] | None = None

    def limit_sweep(self, sweep: str, limit_micro_usd: int | None) -> None:
        """Limit what the submits of a sweep may cost together, from now on.

        Their later attempts have to fit, too.

        Args:
            sweep: The sweep's id.
            limit_micro_usd: The limit; None for none.
        """
        if limit_micro_usd is None:
            self._sweeps.pop(sweep, None)
        else:
            self._sweeps[sweep] = Budget(sweep, limit_micro_usd)

    async def claim(
        self, intent: Intent, parents: Sequence[Parent] = ()
    ) -> tuple[Entry, bool]:
        """Write an intent down if its upper price fits what is left.

        A balance that was read a moment ago is enough to say yes; to say no it is
        read again.

        Args:
            intent: What is about to be sent.
            parents: The jobs whose outputs are among its media.

        Raises:
            BalanceError: It may cost more than is left; nothing was written or sent.
            BudgetError: The same, of the caller's budget or of the sweep's.
        """
        return await self._claim(intent, self._budget, parents)

    async def claim_as_promised(self, intent: Intent) -> tuple[Entry, bool]:
        """Write a further attempt at what its own budget was promised to.

        Raises:
            BalanceError: It may cost more than is left; nothing was written or sent.
            BudgetError: The same, where its budget is the caller's, or of the
                sweep's budget.
        """
        is_ours = self._budget is not None and self._budget.name == intent.budget
        return await self._claim(intent, self._budget if is_ours else None)

    async def take_over(self, entry: Entry) -> Entry:
        """Count what is not answered against the caller's budget, before it is sent.

        Returns:
            The entry as it is then.

        Raises:
            BudgetError: It does not fit; an earlier try may have made a job.
        """
        budget = self._budget
        if budget is None or entry.state is not EntryState.INTENT:
            return entry
        return await self._ledger.write(History.count_against, entry.key, budget)

    async def state(self) -> BudgetState | None:
        """Return how far the budget is used; None without one."""
        if self._budget is None:
            return None
        use = await self._ledger.ask(History.budget_use, self._budget.name)
        return BudgetState(
            self._budget.limit_micro_usd, use.spent_micro_usd, use.reserved_micro_usd
        )

    async def _claim(
        self, intent: Intent, budget: Budget | None, parents: Sequence[Parent] = ()
    ) -> tuple[Entry, bool]:
        if intent.estimate_high_micro_usd is None:
            return await self._written(intent, budget, None, parents)
        known = self._recent()
        if known is not None:
            try:
                return await self._written(intent, budget, known, parents)
            except BalanceError:
                self._last = None
        return await self._written(intent, budget, await self._spendable(), parents)

    async def _written(
        self,
        intent: Intent,
        budget: Budget | None,
        spendable: Spendable | None,
        parents: Sequence[Parent],
    ) -> tuple[Entry, bool]:
        sweep = None if intent.sweep is None else self._sweeps.get(intent.sweep)
        return await self._ledger.write(
            History.claim,
            intent,
            spendable=spendable,
            budget=budget,
            sweep=sweep,
            parents=parents,
        )

    def _recent(self) -> Spendable | None:
        if self._read_at_s is None:
            return None
        age_s = self._clock.monotonic_s() - self._read_at_s
        return self._last if age_s < BALANCE_FOR_S else None

    async def _spendable(self) -> Spendable:
        """Read the balance, once for all who want it at this moment."""
        loop, reading = asyncio.get_running_loop(), self._reading
        # A fork's child does not have the tasks of its parent.
        if reading is None or reading.done() or reading.get_loop() is not loop:
            reading = self._reading = loop.create_task(self._read())
        # Whoever stops waiting must not take the balance from the others.
        return await asyncio.shield(reading)

    async def _read(self) -> Spendable:
        use = await self._ledger.ask(History.account_use, **self._ledger.owner)
        read_at_s = self._clock.monotonic_s()
        balance = await self._billing.balance()
        self._last = Spendable(balance.spendable_micro_usd, use.spent_micro_usd)
        self._read_at_s = read_at_s
        return self._last


def budget_name(project: str | None, amount: Amount | None) -> str | None:
    """Return what the submits of a client count against; None for nothing.

    A project is one budget over all its clients and starts, of which another may have
    a limit; without one, a client that has a limit is a budget of its own.

    Raises:
        InputError: The project is no label.
    """
    _check_label(project)
    if project:
        return f"project {project}"
    return None if amount is None else f"client {uuid4().hex}"


def _check_label(project: object) -> None:
    if project is not None and not isinstance(project, str):
        raise InputError("project", got=project, accepted="a label as text, or None")


def check_budget(project: str | None, amount: Amount | None) -> None:
    """Refuse a project that is no label, and a budget that is no amount.

    Raises:
        InputError: One of them is.
    """
    budget_of(budget_name(project, amount), amount)


def budget_of(name: str | None, amount: Amount | None) -> Budget | None:
    """Return a budget; None for no name or no amount.

    Raises:
        InputError: It is no amount of US dollars.
    """
    if name is None or amount is None:
        return None
    try:
        return Budget(name, parse_usd(amount))
    except InputError as error:
        raise InputError("budget", got=amount, accepted=error.accepted) from None
