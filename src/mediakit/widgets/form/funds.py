"""The available funds, and whether they cover a price."""

from dataclasses import dataclass
from datetime import datetime

from mediakit.api_models import Balance
from mediakit.client import BudgetState
from mediakit.money import format_cents, format_usd


@dataclass(frozen=True)
class Funds:
    """The available funds, as far as known."""

    balance: Balance | None = None  # None while it is unknown
    held_micro_usd: int = 0  # by jobs in progress
    held_jobs: int | None = None  # None while it is unknown
    trouble: str | None = None  # why the balance is unknown, as a sentence
    budget: BudgetState | None = None  # the client's own limit, or None
    read_at: datetime | None = None  # when the balance was read

    @property
    def balance_left_micro_usd(self) -> int | None:
        if self.balance is None:
            return None
        return self.balance.spendable_micro_usd - self.held_micro_usd

    @property
    def left_micro_usd(self) -> int | None:
        """Return what a new request may cost; None while unknown."""
        if self._limit is not None:
            return self._limit.left_micro_usd
        return self.balance_left_micro_usd

    @property
    def left_of(self) -> str:
        return "balance" if self._limit is None else "budget"

    @property
    def left_text(self) -> str | None:
        """Return the amount left, exactly; None while unknown."""
        if self.left_micro_usd is None:
            return None
        left = format_usd(max(0, self.left_micro_usd))
        return left if self._limit is None else f"{left} of your budget"

    @property
    def held_text(self) -> str | None:
        """Return what is held for jobs in progress; None for nothing."""
        if not self.held_now_micro_usd:
            return None
        count = self.held_jobs if self._limit is None else None
        jobs = "jobs"
        if count is not None:
            jobs = f"{count} job{'' if count == 1 else 's'}"
        return f"{format_cents(self.held_now_micro_usd)} is held for {jobs} in progress"

    @property
    def held_now_micro_usd(self) -> int:
        """Return the hold on the balance, or on the budget if less is left of it."""
        limit = self._limit
        return self.held_micro_usd if limit is None else limit.reserved_micro_usd

    @property
    def age_text(self) -> str:
        """Return the age of the balance if it is the limit; else ""."""
        if self.read_at is None or self._limit is not None:
            return ""
        return f" (as of {self.read_at.astimezone():%H:%M:%S})"

    @property
    def _limit(self) -> BudgetState | None:
        """Return the budget if less is left of it than of the balance."""
        budget = self.budget
        balance = self.balance_left_micro_usd
        if budget is None or (balance is not None and balance <= budget.left_micro_usd):
            return None
        return budget


@dataclass(frozen=True)
class Affordability:
    """A price compared with the available funds."""

    # the upper end of the price, or the lower one where there is no upper
    needed_micro_usd: int | None
    left_micro_usd: int | None

    @property
    def covered(self) -> bool | None:
        """Return whether the funds cover it; None while unknown."""
        if self.needed_micro_usd is None or self.left_micro_usd is None:
            return None
        return self.needed_micro_usd <= self.left_micro_usd

    @property
    def count(self) -> int | None:
        """Return how many such requests fit; None for unknown or any number."""
        if not self.needed_micro_usd or self.left_micro_usd is None:
            return None
        return max(0, self.left_micro_usd) // self.needed_micro_usd

    @property
    def share(self) -> float | None:
        """Return the price as a share of what is left; 1 is all of it."""
        if self.needed_micro_usd is None or self.left_micro_usd is None:
            return None
        if self.needed_micro_usd == 0:
            return 0.0
        if self.left_micro_usd <= 0:
            return float("inf")
        return self.needed_micro_usd / self.left_micro_usd
