"""Budgets, as users give them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import ClassVar, Literal
from uuid import uuid4

from mediakit.errors import InputError
from mediakit.history import (
    BudgetLimit,
)
from mediakit.money import format_usd, parse_usd

Amount = str | int | Decimal

WARN_PERCENTS = (50, 80, 95)
_MONTH_AT_END = re.compile(r" \d{4}-\d{2}", re.ASCII)
_MONTH_LENGTH = len(" 2026-11")


@dataclass(frozen=True)
class Budget:
    """A limit that is shared by its name.

    Every request under the budget counts against it in the same transaction that
    records the request, across all clients, sweeps and processes that share a history.
    A request in flight is held at its upper price until it is charged.

    The same object caps a client (`mk.connect(budget=...)`) and a sweep
    (`plan.run(budget=...)`), and `client.spend.budget(...)` reports on it.
    Requests under a named budget do not count against the amount of a project.

    Args:
        name: The name. Budgets with the same name and period are the same budget.
        limit: The most that may be spent, such as "$500", `Decimal("499.99")` or 500.
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
    """Whether only requests under this name count, and not the spend of all."""

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_limit(self.limit)
        if self.period not in (None, "month"):
            accepted = '"month", or None for a budget that never resets'
            raise InputError("period", got=self.period, accepted=accepted)
        object.__setattr__(self, "warn", _percents(self.warn))

    @property
    def limit_micro_usd(self) -> int:
        """Return the limit, micro-USD."""
        return parse_usd(self.limit)

    def label(self, at: datetime) -> str:
        """Return the name that requests count against at an instant."""
        if self.period is None:
            return self.name
        return f"{self.name} {at.astimezone(UTC):%Y-%m}"

    def limit_at(self, at: datetime) -> BudgetLimit:
        """Return the limit that the history enforces at an instant."""
        return BudgetLimit(self.label(at), self.limit_micro_usd)

    def has_label(self, label: str | None) -> bool:
        """Return whether requests of this label count against it, in any period."""
        if label is None or self.period is None:
            return label == self.name
        name, month = label[:-_MONTH_LENGTH], label[-_MONTH_LENGTH:]
        return name == self.name and bool(_MONTH_AT_END.fullmatch(month))

    def level(self, used_micro_usd: int) -> int | None:
        """Return the highest warning level that an amount reaches; None below all."""
        limit_micro_usd = self.limit_micro_usd
        reached = [
            percent
            for percent in self.warn
            if used_micro_usd * 100 >= percent * limit_micro_usd
        ]
        return max(reached, default=None)


AnyBudget = Amount | Budget


class Allowance(Budget):
    """An unnamed budget, with a name that the client assigns; it has no levels."""

    counts_by_name: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_limit(self.limit)
        object.__setattr__(self, "warn", ())


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
        """Return the highest price that a further request may have."""
        used = self.spent_micro_usd + self.reserved_micro_usd
        return max(0, self.limit_micro_usd - used)


def _check_name(name: object) -> None:
    """Reject an invalid name: only the label of a period may end in a month."""
    is_text = isinstance(name, str) and name != "" and name == name.strip()
    if not is_text or _MONTH_AT_END.fullmatch(str(name)[-_MONTH_LENGTH:]):
        accepted = (
            "a name as text, without spaces around it and without a month at its end "
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
        is_whole = isinstance(percent, int) and not isinstance(percent, bool)
        if not is_whole or not 1 <= percent <= 100:
            raise InputError("warn", got=percent, accepted=accepted)
    return tuple(sorted(set(warn)))


def budget_text(budget: Budget, spent_micro_usd: int, held_micro_usd: int) -> str:
    """Summarize in one sentence how much of a budget is used."""
    limit = budget.limit_micro_usd
    percent = spent_micro_usd * 100 // limit if limit else 100
    held = f", {format_usd(held_micro_usd)} is held" if held_micro_usd else ""
    left = max(0, limit - spent_micro_usd - held_micro_usd)
    return (
        f"{format_usd(spent_micro_usd)} of {format_usd(limit)} is spent "
        f"({percent} %){held}; {format_usd(left)} is left."
    )


def budget_name(project: str | None, amount: AnyBudget | None) -> str | None:
    """Return the budget that a client's submissions count against; None for none.

    A project is one budget for all its clients and processes, and another client may
    limit it. Without a project, a client that has a limit is a budget of its own.
    """
    if project is not None and not isinstance(project, str):
        raise InputError("project", got=project, accepted="a label as text, or None")
    if isinstance(amount, Budget):
        return amount.name
    if project:
        return f"project {project}"
    return None if amount is None else f"client {uuid4().hex}"


def budget_of(name: str | None, amount: AnyBudget | None) -> Budget | None:
    """Return a budget; None for no name or no amount."""
    if isinstance(amount, Budget):
        return amount
    if name is None or amount is None:
        return None
    try:
        return Allowance(name, amount)
    except InputError as error:
        raise InputError("budget", got=amount, accepted=error.accepted) from None
