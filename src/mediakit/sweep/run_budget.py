"""The budget of a run: its limit and its reserve for charges above holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from math import ceil

from mediakit.client import AnyBudget
from mediakit.client.budgets import Budget, Caller
from mediakit.client.components import Components
from mediakit.errors import BudgetError, InputError
from mediakit.estimates import Estimate
from mediakit.history import BudgetUse, History
from mediakit.money import format_usd
from mediakit.rules import ValueDescription
from mediakit.safe_text import shown

UNTRIED_MARGIN = Fraction(5, 4)
"""The reserve for each micro-USD of a hold until there is a charge."""


def shared_budget(own: Budget | None, amount: AnyBudget | None) -> Budget | None:
    """Return the named budget that a run counts against; None for an amount.

    A request counts against one budget. A client with its own budget therefore runs
    sweeps only under that budget; otherwise their cost would not count there.
    """
    if not isinstance(amount, Budget):
        return None
    if own is None:
        return amount
    if (own.name, own.period) != (amount.name, amount.period):
        raise InputError(
            "budget",
            got=ValueDescription(f"the budget {shown(amount.name)}"),
            accepted='an amount such as "$5", because this client already has a budget '
            "and a request counts against only one; to run sweeps under another "
            "budget, use a client without one",
        )
    return min(own, amount, key=lambda budget: budget.limit_micro_usd)


class RunBudget:
    """The budget of a run, for its cells and other jobs submitted on its wall.

    Args:
        components: The client's components.
        sweep: The id of the sweep.
        limit_micro_usd: The limit; None for no limit, or for the limit of an earlier
            run.
        shared: The named budget that the limit comes from; None for a limit of the
            sweep itself.
        is_past: Whether the history has the limit.
    """

    def __init__(
        self,
        components: Components,
        sweep: str,
        limit_micro_usd: int | None,
        shared: Budget | None,
        *,
        is_past: bool,
    ) -> None:
        self._components = components
        self._sweep = sweep
        self._limit_micro_usd = limit_micro_usd
        self._shared = shared
        self._is_past = is_past
        self._largest_ratio: Fraction | None = None

    @property
    def own_limit_micro_usd(self) -> int | None:
        """Return the limit of this sweep alone; None if it is shared."""
        return self._limit_micro_usd if self._shared is None else None

    @property
    def caller(self) -> Caller:
        """Return the caller of the cells, and of other jobs submitted on the wall.

        A past sweep keeps its recorded limit until that is raised.
        """
        limit_micro_usd = self.own_limit_micro_usd
        if not self._is_past or limit_micro_usd is not None:
            self._components.admission.limit_sweep(self._sweep, limit_micro_usd)
        return Caller(self._shared, sweep=self._sweep)

    def margin(self, *, is_alone: bool) -> Fraction:
        """Return the reserve per micro-USD held; lower with nothing in flight."""
        ratio = self._largest_ratio
        if ratio is None:
            return Fraction(1) if is_alone else UNTRIED_MARGIN
        return max(Fraction(1), ratio)

    async def use(self) -> BudgetUse:
        """Read the sweep's charges and holds, over all runs and processes."""
        ask = self._components.account_history.ask
        return await ask(History.sweep_use, self._sweep)

    def charged(self, charge_micro_usd: int, held_micro_usd: int) -> None:
        """Record a charge and its hold."""
        ratio = Fraction(charge_micro_usd, held_micro_usd)
        self._largest_ratio = max(self._largest_ratio or ratio, ratio)

    def refused(self, error: BudgetError) -> bool:
        """Return whether this budget was the one that did not cover a request."""
        return self._shared is not None or error.scope == "sweep"

    async def over_text(self, hold_micro_usd: int) -> str:
        """Explain that a cell exceeds this budget."""
        use = await self.use()
        if self._shared is not None:
            label = self._shared.label(self._components.clock.now())
            ask = self._components.account_history.ask
            use = await ask(History.budget_use, label)
        return over_text(
            hold_micro_usd,
            use,
            self._limit_micro_usd or 0,
            ratio=float(self._largest_ratio or 1),
            shared=self._shared,
        )

    async def limits_for(
        self, prices: Sequence[Estimate], *, are_cells: bool
    ) -> list[int | None]:
        """Return the limit that each request needs; None if the limit covers it.

        The sweep cannot raise a shared budget.
        """
        limit_micro_usd = await self._current_limit_micro_usd()
        if limit_micro_usd is None or not prices:
            return [None] * len(prices)
        use = await self.use()
        is_alone = not use.reserved_micro_usd
        margin = self.margin(is_alone=is_alone) if are_cells else Fraction(1)

        def needed(price: Estimate) -> int | None:
            if price.hold_micro_usd is None:
                return None  # no limit covers an unknown price
            held_micro_usd = use.reserved_micro_usd + price.hold_micro_usd
            needed_micro_usd = use.spent_micro_usd + ceil(margin * held_micro_usd)
            return needed_micro_usd if needed_micro_usd > limit_micro_usd else None

        return [*map(needed, prices)]

    async def accepts_unknown_prices(self) -> bool:
        """Return whether a request of unknown price may be sent: without a budget."""
        if self._shared or self._components.admission.budget:
            return False
        return await self._current_limit_micro_usd() is None

    async def _current_limit_micro_usd(self) -> int | None:
        """Return the limit of this sweep alone, perhaps from an earlier run."""
        if self.own_limit_micro_usd is not None or not self._is_past:
            return self.own_limit_micro_usd
        ask = self._components.account_history.ask
        latest = await ask(History.sweep_limit, self._sweep)
        return None if latest is None else latest.limit_micro_usd

    @contextmanager
    def raised_to(self, limit_micro_usd: int | None) -> Iterator[None]:
        """Raise the sweep's limit within the block, at the user's request.

        A limit of None changes nothing. If nothing is sent, the earlier limit is
        restored.
        """
        before_micro_usd = self._limit_micro_usd
        if limit_micro_usd is not None:
            self._limit_micro_usd = limit_micro_usd
        try:
            yield
        except BaseException:
            self._limit_micro_usd = before_micro_usd
            raise


def over_text(
    hold_micro_usd: int,
    use: BudgetUse,
    limit_micro_usd: int,
    *,
    ratio: float,
    shared: Budget | None,
) -> str:
    """Explain that a cell exceeds the budget of its run.

    `ratio` is the highest ratio of a charge to its hold.
    """
    drift = f" (charges were up to {ratio:.2f} times what was held)"
    name = "" if shared is None else f" {shown(shared.name)}"
    held_micro_usd = use.reserved_micro_usd
    return (
        f"Not sent: {format_usd(hold_micro_usd)}{drift if ratio > 1 else ''} would "
        f"exceed the {format_usd(limit_micro_usd)} budget{name} "
        f"({format_usd(use.spent_micro_usd)} spent"
        f"{f', {format_usd(held_micro_usd)} held' if held_micro_usd else ''})."
    )
