"""The remaining budget of a run: its limit minus the sweep's charges and holds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from fractions import Fraction

from mediakit.client.budgets import AnyBudget, Budget, budget_of
from mediakit.errors import InputError, shown
from mediakit.history import BudgetUse
from mediakit.money import format_usd

UNTRIED_FACTOR = Fraction(5, 4)
"""How much to hold for each micro-USD of a price until there is a charge."""


def parse_budget(amount: AnyBudget | None) -> int | None:
    """Parse a run's budget to micro-USD; None for no limit.

    Raises:
        InputError: It is not an amount of US dollars.
    """
    budget = budget_of("sweep", amount)
    return None if budget is None else budget.limit_micro_usd


def shared_budget(own: Budget | None, amount: AnyBudget | None) -> Budget | None:
    """Return the named budget that a run counts against; None for a plain amount.

    A request counts against one budget. A client with its own budget would spend
    without counting it there, so it runs sweeps only under that budget.

    Args:
        own: The client's own budget; None for none.
        amount: The budget given for the run.

    Raises:
        InputError: The client has another budget of its own.
    """
    if not isinstance(amount, Budget):
        return None
    if own is None:
        return amount
    if (own.name, own.period) != (amount.name, amount.period):
        raise InputError(
            "budget",
            got=f"the budget {shown(amount.name)}",
            accepted='an amount such as "$5", because this client has a budget of its '
            "own and a request counts against one budget only. Use a client without a "
            "budget to run sweeps under another one",
        )
    return min(own, amount, key=lambda budget: budget.limit_micro_usd)


def too_small(budget_micro_usd: int, cheapest_micro_usd: int) -> InputError:
    """Return the error for a budget that is too small for any cell.

    Args:
        budget_micro_usd: The budget.
        cheapest_micro_usd: The upper price of the cheapest new cell.
    """
    return InputError(
        "budget",
        got=format_usd(budget_micro_usd),
        accepted=f"at least {format_usd(cheapest_micro_usd)}, the price of the "
        "cheapest new cell",
    )


class Reservations:
    """Reserves the upper price of each cell before the cell is sent.

    The history has what the sweep spent and holds, over all runs and processes. It is
    read again only if a cell does not fit the last known amounts, so most cells are
    reserved without reading it.

    A charge may differ from its estimate. Until there is a charge, a quarter more than
    the holds is kept; after that, the holds are scaled by the largest ratio of a charge
    to its hold.

    Args:
        limit_micro_usd: The budget; None for no limit.
        read_use: Reads the sweep's charges and holds from the history.
        shared: The named budget that sets the limit. Others spend from it at the same
            time, so it is read for each cell. None if only this sweep spends it.
    """

    def __init__(
        self,
        limit_micro_usd: int | None,
        read_use: Callable[[], Awaitable[BudgetUse]],
        shared: Budget | None = None,
    ) -> None:
        self.limit_micro_usd = limit_micro_usd
        self._read_use = read_use
        self._shared = shared
        self._use: BudgetUse | None = None
        self._pending: dict[int, int] = {}
        self._pending_micro_usd = 0
        # Claimed in the history: in all, and when the history was last read.
        self._claimed_micro_usd = 0
        self._claimed_then_micro_usd = 0
        self._largest_ratio: Fraction | None = None

    @property
    def factor(self) -> Fraction:
        """Return how much is kept for each micro-USD of a hold."""
        ratio = self._largest_ratio
        return UNTRIED_FACTOR if ratio is None else max(Fraction(1), ratio)

    async def reserve(
        self, cell: int, hold_micro_usd: int, *, is_alone: bool = False
    ) -> bool:
        """Reserve the price of a cell before it is sent; False if it does not fit.

        Args:
            cell: The cell.
            hold_micro_usd: What a budget holds for it.
            is_alone: Whether nothing else is in flight. Until there is a charge, such
                a cell may use the whole budget.
        """
        if self.limit_micro_usd is None:
            return True
        # Reserve before reading the history, because other cells continue meanwhile.
        self._add_pending(cell, hold_micro_usd)
        is_whole = is_alone and self._largest_ratio is None
        factor = Fraction(1) if is_whole else self.factor
        known = self._use if self._shared is None else None
        if known is not None and self._fits(known, factor):
            return True
        if self._fits(await self._read(), factor):
            return True
        self._remove_pending(cell)
        return False

    def claimed(self, cell: int) -> None:
        """Record that the history now holds the price of a reserved cell."""
        self._claimed_micro_usd += self._remove_pending(cell)

    def dropped(self, cell: int) -> None:
        """Release a reservation, because nothing was submitted for the cell."""
        self._remove_pending(cell)

    def charged(self, hold_micro_usd: int | None, charge_micro_usd: int) -> None:
        """Record the charge of a job with this hold.

        Args:
            hold_micro_usd: What was held for it; None if its price was unknown.
            charge_micro_usd: The settled charge of a completed job.
        """
        if hold_micro_usd:
            ratio = Fraction(charge_micro_usd, hold_micro_usd)
            self._largest_ratio = max(self._largest_ratio or ratio, ratio)

    def over_text(self, hold_micro_usd: int) -> str:
        """Explain that a cell with this hold does not fit."""
        limit_micro_usd = self.limit_micro_usd or 0
        spent = held = 0
        if self._use is not None:
            spent, held = self._use.spent_micro_usd, self._use.reserved_micro_usd
        holding = f" and {format_usd(held)} is held" if held else ""
        return (
            f"It may cost up to {format_usd(hold_micro_usd)}{self._margin_text}, and "
            f"{format_usd(spent)} of {self._name} of {format_usd(limit_micro_usd)} is "
            f"spent{holding}. This cell was not sent. Run the plan with a larger "
            "budget to send it."
        )

    @property
    def _name(self) -> str:
        shared = self._shared
        return "the budget" if shared is None else f"the budget {shown(shared.name)}"

    @property
    def _margin_text(self) -> str:
        ratio = self._largest_ratio
        if ratio is None or ratio <= 1:
            return ""
        return f" (charges were up to {float(ratio):.2f} times what was held)"

    def unknown_text(self) -> str:
        """Explain that a budget cannot be enforced for a cell with an unknown price."""
        return (
            "Its price is unknown, so a budget of "
            f"{format_usd(self.limit_micro_usd)} cannot be enforced. This cell was not "
            "sent. Run the plan without a budget to send it."
        )

    def _fits(self, use: BudgetUse, factor: Fraction) -> bool:
        since = self._claimed_micro_usd - self._claimed_then_micro_usd
        held = use.reserved_micro_usd + since + self._pending_micro_usd
        return use.spent_micro_usd + factor * held <= (self.limit_micro_usd or 0)

    async def _read(self) -> BudgetUse:
        # A claim made during the read may be missing from its result.
        claimed_micro_usd = self._claimed_micro_usd
        self._use = await self._read_use()
        self._claimed_then_micro_usd = claimed_micro_usd
        return self._use

    def _add_pending(self, cell: int, hold_micro_usd: int) -> None:
        self._remove_pending(cell)
        self._pending[cell] = hold_micro_usd
        self._pending_micro_usd += hold_micro_usd

    def _remove_pending(self, cell: int) -> int:
        hold_micro_usd = self._pending.pop(cell, 0)
        self._pending_micro_usd -= hold_micro_usd
        return hold_micro_usd
