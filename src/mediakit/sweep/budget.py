"""The budget of a run: an amount for its sweep, or a named budget that it shares."""

from __future__ import annotations

from mediakit.client.budgets import AnyBudget, Budget, budget_of
from mediakit.errors import InputError
from mediakit.history import BudgetUse
from mediakit.money import format_usd
from mediakit.safe_text import shown


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
    """Return the error for a budget that is too small for any new cell."""
    return InputError(
        "budget",
        got=format_usd(budget_micro_usd),
        accepted=f"at least {format_usd(cheapest_micro_usd)}, the price of the "
        "cheapest new cell",
    )


def over_text(
    hold_micro_usd: int,
    use: BudgetUse,
    limit_micro_usd: int,
    *,
    ratio: float,
    shared: Budget | None,
) -> str:
    """Explain that a cell does not fit the budget of its run.

    Args:
        hold_micro_usd: What the budget would hold for it.
        use: What is spent and held.
        limit_micro_usd: The budget.
        ratio: The highest charge for what was held for it.
        shared: The named budget that sets the limit; None for an amount.
    """
    drift = f" (charges were up to {ratio:.2f} times what was held)"
    name = "the budget" if shared is None else f"the budget {shown(shared.name)}"
    held = use.reserved_micro_usd
    return (
        f"It may cost up to {format_usd(hold_micro_usd)}{drift if ratio > 1 else ''}, "
        f"and {format_usd(use.spent_micro_usd)} of {name} of "
        f"{format_usd(limit_micro_usd)} is spent"
        f"{f' and {format_usd(held)} is held' if held else ''}. This cell was not "
        "sent. Run the plan with a larger budget to send it."
    )
