"""Balance and spend at a glance; pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from mediakit.client import BudgetState
from mediakit.money import format_usd
from mediakit.widgets.funds import Funds


@dataclass(frozen=True)
class Glance:
    """What can be spent and what was spent, as far as it is known.

    Args:
        funds: The balance and what is held of it.
        today_micro_usd: Charges that settled since midnight, UTC.
        month_micro_usd: Charges that settled since the month began, UTC.
        budget: The client's own limit; None without one.
        days_micro_usd: Charges that settled on each day of this month so far, UTC.
        outlook: The month's end, as people read it; empty while it is not known.
    """

    funds: Funds = field(default_factory=Funds)
    today_micro_usd: int | None = None
    month_micro_usd: int | None = None
    budget: BudgetState | None = None
    days_micro_usd: tuple[int, ...] = ()
    outlook: str = ""

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return label and amount of each fact, in the order in which they stand."""
        facts = [
            ("Left to spend", known_text(self.funds.left_micro_usd)),
            ("In flight", self._in_flight),
            ("Charged today (UTC)", known_text(self.today_micro_usd)),
            ("This month", known_text(self.month_micro_usd)),
        ]
        if self.outlook:
            facts.append(("Month's end, 80 %", self.outlook))
        if self.budget is not None:
            left = format_usd(self.budget.left_micro_usd)
            limit = format_usd(self.budget.limit_micro_usd)
            facts.append(("Budget", f"{left} left of {limit}"))
        return tuple(facts)

    @property
    def _in_flight(self) -> str:
        held, jobs = self.funds.held_micro_usd, self.funds.held_jobs
        if self.funds == Funds():  # nothing was read yet
            return known_text(None)
        if jobs is None:
            return format_usd(held) if held else "nothing"
        if held:
            return f"{_jobs_text(jobs)}, {format_usd(held)} held"
        # Only what has no known price holds nothing; it is not free.
        holder = "it holds" if jobs == 1 else "they hold"
        return f"{_jobs_text(jobs)}, what {holder} is not known"

    @property
    def text(self) -> str:
        """Return all of it in one line."""
        return " · ".join(f"{label}: {amount}" for label, amount in self.facts)


def _jobs_text(jobs: int) -> str:
    return f"{jobs:,} job{'' if jobs == 1 else 's'}"


def known_text(micro_usd: int | None) -> str:
    """Write an amount; what was not read is not known, never 0."""
    return "not known" if micro_usd is None else format_usd(micro_usd)


def midnight(now: datetime) -> datetime:
    """Return when the day of an instant began; the service's days are UTC's."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def first_of_month(now: datetime) -> datetime:
    """Return when the month of an instant began, in UTC."""
    return midnight(now).replace(day=1)
