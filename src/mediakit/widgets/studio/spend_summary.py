"""A summary of balance and spend in words; pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from mediakit.client import BudgetState
from mediakit.money import format_usd
from mediakit.widgets.dashboard.figures import cents_text
from mediakit.widgets.form.price.funds import Funds

Fact = tuple[str, str, str]
"""A short figure, what it is, and the same in full."""


@dataclass(frozen=True)
class SpendSummary:
    """What can be spent and what was spent, as far as it is known.

    Args:
        funds: The balance and what is held of it.
        today_micro_usd: Charges that settled since midnight, UTC.
        month_micro_usd: Charges that settled since the month began, UTC.
        budget: The client's own limit; None without one.
        outlook: The month's end, as people read it; empty while it is not known.
    """

    funds: Funds = field(default_factory=Funds)
    today_micro_usd: int | None = None
    month_micro_usd: int | None = None
    budget: BudgetState | None = None
    outlook: str = ""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Return the figures of the header, in the order in which they stand."""
        left = self.funds.left_micro_usd
        facts: list[Fact] = [
            (known_text(left), "balance", f"Balance: {exact_text(left)}"),
            self._running,
            (
                known_text(self.today_micro_usd),
                "today",
                f"Charged today (UTC): {exact_text(self.today_micro_usd)}",
            ),
        ]
        if self.budget is not None:
            left = self.budget.left_micro_usd
            limit = self.budget.limit_micro_usd
            full = f"Budget: {exact_text(left)} left of {exact_text(limit)}"
            facts.insert(1, (known_text(left), "left of budget", full))
        return tuple(facts)

    @property
    def spend_facts(self) -> tuple[Fact, ...]:
        """Return the figures above the chart of the spend."""
        today, month = self.today_micro_usd, self.month_micro_usd
        facts: list[Fact] = [
            (known_text(today), "today", exact_text(today)),
            (known_text(month), "this month", exact_text(month)),
        ]
        if self.outlook:
            full = "Forecast of the month's total, 80% interval"
            facts.append((self.outlook, "expected by the month's end", full))
        return tuple(facts)

    @property
    def _running(self) -> Fact:
        held, jobs = self.funds.held_micro_usd, self.funds.held_jobs
        if self.funds == Funds() or (jobs is None and held):  # nothing was read yet
            return UNKNOWN, "running", "Running jobs: unknown"
        count = f"{jobs or 0:,}"
        if not jobs:
            return count, "running", "Running jobs: 0"
        # Only what has no known price holds nothing; it is not free.
        holds = f"{format_usd(held)} held" if held else "price unknown"
        return count, "running", f"Running jobs: {count}, {holds}"

    @property
    def text(self) -> str:
        """Return all of it in one line."""
        month = f"This month: {exact_text(self.month_micro_usd)}"
        return " · ".join([*(full for _, _, full in self.facts), month])


UNKNOWN = "–"  # noqa: RUF001 - the dash is intended


def known_text(micro_usd: int | None) -> str:
    """Write an amount to the cent; what was not read is not known, never 0."""
    return UNKNOWN if micro_usd is None else cents_text(micro_usd)


def exact_text(micro_usd: int | None) -> str:
    """Write an amount exactly, or that it is unknown."""
    return format_usd(micro_usd)


def midnight(now: datetime) -> datetime:
    """Return when the day of an instant began; the service's days are UTC's."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def first_of_month(now: datetime) -> datetime:
    """Return when the month of an instant began, in UTC."""
    return midnight(now).replace(day=1)
