"""Budgets, and the admission of a submission by budget and balance.

`history.spending_limits` compares each submission with what is spent and held.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, Literal
from uuid import uuid4

import anyio

from mediakit.client.account_history import CANCELLED, AccountHistory
from mediakit.client.billing import BillingReader
from mediakit.clock import Clock
from mediakit.errors import (
    AnswerError,
    BalanceError,
    InputError,
    MediakitError,
    nothing_sent_yet,
)
from mediakit.history import (
    BudgetLimit,
    Entry,
    EntryState,
    History,
    Parent,
    Spendable,
    Submission,
    forms,
)
from mediakit.money import format_usd, parse_usd
from mediakit.safe_text import shown

Amount = str | int | Decimal

WARN_PERCENTS = (50, 80, 95)
NO_BALANCE = "Nothing was sent, because the balance could not be read."
_MONTH_AT_END = re.compile(r" \d{4}-\d{2}$", re.ASCII)


@dataclass(frozen=True)
class Budget:
    """A spending limit, shared by all budgets with the same name.

    Every request under the budget counts against it in the transaction that records the
    request, across all clients, sweeps and processes that share a history. Until a
    request is charged, its upper price is held.

    The same object limits a client (`mk.connect(budget=...)`) and a sweep
    (`plan.run(budget=...)`), and `client.spend.budget(...)` reports on it. Requests
    under a named budget do not count against the amount of a project.

    Args:
        name: The name. Budgets with the same name and period are the same budget.
        limit: The spending limit, such as "$500", `Decimal("499.99")` or 500.
        period: "month" resets at the start of each calendar month in UTC, by the
            client's clock. A request counts in the month in which it is sent. None
            never resets.
        warn: Percentages of the limit; a warning is logged once when each is reached.

    Raises:
        InputError: An argument is invalid.
    """

    name: str
    limit: Amount
    period: Literal["month"] | None = None
    warn: tuple[int, ...] = WARN_PERCENTS
    counts_by_name: ClassVar[bool] = True
    """Whether only requests under this name count, rather than all spend."""

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_limit(self.limit)
        if self.period not in (None, "month"):
            accepted = '"month", or None for a budget that never resets'
            raise InputError("period", got=self.period, accepted=accepted)
        object.__setattr__(self, "warn", _percents(self.warn))

    @property
    def limit_micro_usd(self) -> int:
        """Return the limit in micro-USD."""
        return parse_usd(self.limit)

    def label(self, at: datetime) -> str:
        """Return the label under which requests count at an instant."""
        if self.period is None:
            return self.name
        return f"{self.name} {at.astimezone(UTC):%Y-%m}"

    def limit_at(self, at: datetime) -> BudgetLimit:
        """Return the limit that the history enforces at an instant."""
        return BudgetLimit(self.label(at), self.limit_micro_usd)

    def level(self, used_micro_usd: int) -> int | None:
        """Return the highest warning level that an amount reaches; None if none."""
        limit_micro_usd = self.limit_micro_usd
        reached = (p for p in self.warn if used_micro_usd * 100 >= p * limit_micro_usd)
        return max(reached, default=None)


AnyBudget = Amount | Budget


class Allowance(Budget):
    """An unnamed budget, which the client names; it has no warning levels."""

    counts_by_name: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_limit(self.limit)
        object.__setattr__(self, "warn", ())


@dataclass(frozen=True)
class BudgetState:
    """How much of a budget is used, in micro-USD.

    Args:
        limit_micro_usd: The limit.
        spent_micro_usd: Settled charges.
        reserved_micro_usd: Holds for requests in flight, at their upper price.
    """

    limit_micro_usd: int
    spent_micro_usd: int
    reserved_micro_usd: int

    @property
    def left_micro_usd(self) -> int:
        """Return the highest price that another request may have."""
        used = self.spent_micro_usd + self.reserved_micro_usd
        return max(0, self.limit_micro_usd - used)


def _check_name(name: object) -> None:
    """Reject an invalid name; only the label of a period ends in a month."""
    is_text = isinstance(name, str) and name != "" and name == name.strip()
    if not is_text or _MONTH_AT_END.search(str(name)):
        accepted = (
            "text that has no leading or trailing spaces and does not end in a month "
            '(period="month" adds the month)'
        )
        raise InputError("name", got=name, accepted=accepted)


def _check_limit(limit: Amount) -> None:
    try:
        parse_usd(limit)
    except InputError as error:
        raise InputError("limit", got=limit, accepted=error.accepted) from None


def _percents(warn: object) -> tuple[int, ...]:
    accepted = "whole percentages from 1 to 100, such as (50, 80, 95)"
    if not isinstance(warn, tuple | list):
        raise InputError("warn", got=warn, accepted=accepted)
    for percent in warn:
        if type(percent) is not int or not 1 <= percent <= 100:
            raise InputError("warn", got=percent, accepted=accepted)
    return tuple(sorted(set(warn)))


def budget_text(budget: Budget, spent_micro_usd: int, held_micro_usd: int) -> str:
    """Return a sentence on how much of a budget is used."""
    limit = budget.limit_micro_usd
    used = spent_micro_usd + held_micro_usd
    percent = used * 100 // limit if limit else 100
    holds = f" and {format_usd(held_micro_usd)} is held" if held_micro_usd else ""
    return (
        f"{format_usd(spent_micro_usd)} of {format_usd(limit)} is spent{holds} "
        f"({percent}%); {format_usd(max(0, limit - used))} is left."
    )


def budget_name(project: str | None, amount: AnyBudget | None) -> str | None:
    """Return the budget that a client's submissions count against, if any.

    A project is one budget for all its clients and processes, and another client may
    limit it. Without a project, a client with a limit is a budget of its own.
    """
    if project is not None and not isinstance(project, str):
        raise InputError("project", got=project, accepted="a label as text, or None")
    if isinstance(amount, Budget):
        return amount.name
    if project:
        return f"project {project}"
    return None if amount is None else f"client {uuid4().hex}"


def budget_of(name: str | None, amount: AnyBudget | None) -> Budget | None:
    """Return a budget, or None if neither a name nor an amount is given."""
    if isinstance(amount, Budget):
        return amount
    if name is None or amount is None:
        return None
    try:
        return Allowance(name, amount)
    except InputError as error:
        raise InputError("budget", got=amount, accepted=error.accepted) from None


# -- admission -------------------------------------------------------------------------


log = logging.getLogger("mediakit.client")

# The history has the later spend of this account, so only other clients' spend and
# top-ups make a cached balance outdated.
BALANCE_FOR_S = 10.0
EXCEEDED = 101  # above all warning levels, in percent


@dataclass(frozen=True)
class Caller:
    """The caller of a submission.

    Args:
        sweep: The id of the sweep that submits it, or None if there is none.
        margin: The part of the sweep's budget to reserve for each micro-USD held.
    """

    budget: Budget | None = None
    resumes: bool = False
    parents: Sequence[Parent] = ()
    origin: str | None = None
    sweep: str | None = None
    margin: Fraction = Fraction(1)


ANYONE = Caller()


class Admission:
    """Claims submissions in the history if balance and budget cover them."""

    def __init__(
        self,
        account_history: AccountHistory,
        billing: BillingReader,
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
        if budget is not None:
            self._named[budget.label(clock.now())] = budget
        self._read_at_s: float | None = None
        self._last: Spendable | None = None
        self._reading: asyncio.Task[Spendable] | None = None

    def limit_sweep(self, sweep: str, limit_micro_usd: int | None) -> None:
        """Set the limit for the total cost of a sweep's submissions."""
        self._sweeps[sweep] = None
        if limit_micro_usd is not None:
            self._sweeps[sweep] = BudgetLimit(sweep, limit_micro_usd)

    async def claim(self, submission: Submission, caller: Caller) -> tuple[Entry, bool]:
        """Record a submission if all limits cover it.

        Returns its entry, and whether it is new.
        """
        with nothing_sent_yet():
            budget = self._budget_of(caller)
            if budget is None:
                submission, limit = await self._inherited(submission, caller)
            else:
                limit = self._limit(budget, caller)
            entry, is_new = await self._write(submission, caller, limit)
        if is_new and budget is not None:
            # A cancellation here would leave the claim unsent, with its hold.
            with anyio.CancelScope(shield=True):
                await self._counted(budget)
        return entry, is_new

    async def take_over(self, entry: Entry, caller: Caller) -> Entry:
        """Count an unanswered submission against the caller's budget, if it fits."""
        with nothing_sent_yet():
            await self._account_history.ask(History.refuse_replaced)
        if caller.origin is not None:
            await self._account_history.write(
                forms.note_origin, entry.key, caller.origin
            )
        budget = self._budget_of(caller)
        is_moved = budget is not None or caller.sweep is not None
        if not is_moved or entry.state is not EntryState.UNANSWERED:
            return entry
        entry = await self._account_history.write(
            History.count_against,
            entry.key,
            None if budget is None else self._limit(budget, caller),
            caller.sweep,
            await self._sweep_limit(caller.sweep, caller),
        )
        if budget is not None:
            await self._counted(budget)
        return entry

    async def charged(self, entry: Entry, charge_micro_usd: int) -> None:
        """Log a charge above its hold, and a budget that was exceeded."""
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
        if label is not None and (budget := self._named.get(label)) is not None:
            await self._warn(budget, label)

    async def state(self) -> BudgetState | None:
        """Return how much of the budget is used; None if there is no budget."""
        if self.budget is None:
            return None
        label = self.budget.label(self._clock.now())
        use = await self._account_history.ask(History.budget_use, label)
        return BudgetState(
            self.budget.limit_micro_usd, use.spent_micro_usd, use.reserved_micro_usd
        )

    def _budget_of(self, caller: Caller) -> Budget | None:
        return None if caller.resumes else caller.budget or self.budget

    def _limit(self, budget: Budget, caller: Caller) -> BudgetLimit:
        """Return the current limit, with the margin of a sweep that runs under it."""
        limit = budget.limit_at(self._clock.now())
        return limit if caller.budget is None else replace(limit, margin=caller.margin)

    async def _inherited(
        self, submission: Submission, caller: Caller
    ) -> tuple[Submission, BudgetLimit | None]:
        """Return a submission, and the limit of the budget that it inherits, if any."""
        label, limit = submission.budget, None
        if label not in (None, self.name):
            limit = await self._account_history.ask(History.budget_limit, label)
        stays = caller.resumes or label == budget_name(submission.project, None)
        if limit is None and not stays:
            submission = replace(submission, budget=self.name)
        return submission, limit

    async def _sweep_limit(
        self, sweep: str | None, caller: Caller
    ) -> BudgetLimit | None:
        """Return the limit of a sweep, which may stem from an earlier run."""
        if sweep is None:
            return None
        if sweep in self._sweeps:
            limit = self._sweeps[sweep]
        else:
            limit = await self._account_history.ask(History.sweep_limit, sweep)
        return limit and replace(limit, margin=caller.margin)

    async def _write(
        self, submission: Submission, caller: Caller, budget: BudgetLimit | None
    ) -> tuple[Entry, bool]:
        sweep = await self._sweep_limit(submission.sweep, caller)

        async def write(spendable: Spendable | None) -> tuple[Entry, bool]:
            claiming = asyncio.ensure_future(
                self._account_history.write(
                    History.claim,
                    submission,
                    spendable=spendable,
                    budget=budget,
                    sweep=sweep,
                    parents=caller.parents,
                    origin=caller.origin,
                )
            )
            try:
                return await asyncio.shield(claiming)
            except asyncio.CancelledError:
                # A write that waits for a lock or a server finishes anyway.
                with anyio.CancelScope(shield=True):
                    await self._withdraw(claiming)
                raise

        if submission.estimate_high_micro_usd is None:
            return await write(None)
        recent = self._recent()
        if recent is not None:
            try:
                return await write(recent)
            except BalanceError:
                self._last = None
        return await write(await self._spendable())

    async def _withdraw(self, claiming: asyncio.Future[tuple[Entry, bool]]) -> None:
        """Record that nothing was sent for a claim whose call was cancelled."""
        await asyncio.wait([claiming])
        if claiming.cancelled() or claiming.exception() is not None:
            return
        entry, is_new = claiming.result()
        if is_new:
            await self._account_history.record_unsent(entry.key, CANCELLED)

    async def _counted(self, budget: Budget) -> None:
        label = budget.label(self._clock.now())
        self._named[label] = budget
        if budget.warn:
            await self._warn(budget, label)

    async def _warn(self, budget: Budget, label: str) -> None:
        """Log each warning level, and an exceeded limit, once."""
        if self._warned.get(label, 0) >= EXCEEDED:
            return
        try:
            use = await self._account_history.ask(History.budget_use, label)
        except MediakitError as error:
            # The claim is committed: a failed warning must not prevent its sending.
            log.warning("the budget %s cannot be read: %s", shown(label), error)
            return
        spent, reserved = use.spent_micro_usd, use.reserved_micro_usd
        is_exceeded = spent + reserved > budget.limit_micro_usd
        level = EXCEEDED if is_exceeded else budget.level(spent + reserved)
        if level is None or level <= self._warned.get(label, 0):
            return
        self._warned[label] = level
        text = budget_text(budget, spent, reserved)
        if is_exceeded:
            log.warning("Budget %s is exceeded: %s", shown(label), text)
        else:
            log.warning("Budget %s has reached %s%%: %s", shown(label), level, text)

    def _recent(self) -> Spendable | None:
        if self._read_at_s is None:
            return None
        age_s = self._clock.monotonic_s() - self._read_at_s
        return self._last if age_s < BALANCE_FOR_S else None

    async def _spendable(self) -> Spendable:
        """Read the balance, once for all concurrent callers."""
        reading = self._reading
        if reading is None or reading.done():
            reading = self._reading = asyncio.create_task(self._read())
        # A caller that stops waiting must not cancel the read that others wait for.
        return await asyncio.shield(reading)

    async def _read(self) -> Spendable:
        use = await self._account_history.ask(
            History.account_use, **self._account_history.owner
        )
        read_at_s = self._clock.monotonic_s()
        try:
            balance = await self._billing.balance()
        except AnswerError as error:
            # "Try again" alone would not say whether the request was sent.
            raise replace(error, message=f"{NO_BALANCE} {error}") from error
        self._last = Spendable(balance.spendable_micro_usd, use.spent_micro_usd)
        self._read_at_s = read_at_s
        return self._last
