"""The limits of a submission: the balance and the budget that must cover it."""

import re
from dataclasses import dataclass
from typing import Any

from mediakit.errors import NOTHING_SENT, BalanceError, BudgetError, shown
from mediakit.history.entries.entry import Submission
from mediakit.money import format_usd
from mediakit.rates import METERED_HOLD_TEXT, EstimateKind


@dataclass(frozen=True)
class Spendable:
    """A balance as it was read; safe to reuse, because it can only be too low.

    Charges that settle after `settled_micro_usd` was read are subtracted, even if the
    balance includes them already. So their order does not need to be known.

    Args:
        micro_usd: The spendable amount that the service reported, micro-USD (spec
            2.4).
        settled_micro_usd: The history's settled total of the same service and account,
            micro-USD, read before the balance.
    """

    micro_usd: int
    settled_micro_usd: int


@dataclass(frozen=True)
class BudgetLimit:
    """The caller's own limit for all submissions that name it.

    Args:
        name: Its name; the same name is the same budget in every process.
        limit_micro_usd: The maximum total cost of its submissions, micro-USD.
    """

    name: str
    limit_micro_usd: int


@dataclass(frozen=True)
class BudgetUse:
    """The use of a budget or an account.

    Args:
        spent_micro_usd: The settled charges, micro-USD (spec 2.2).
        reserved_micro_usd: The holds for submissions that can still be charged,
            micro-USD.
    """

    spent_micro_usd: int
    reserved_micro_usd: int

    def __sub__(self, other: "BudgetUse") -> "BudgetUse":
        return BudgetUse(
            self.spent_micro_usd - other.spent_micro_usd,
            self.reserved_micro_usd - other.reserved_micro_usd,
        )


_OF_ONE_CLIENT = re.compile("client [0-9a-f]{32}")
THE_SWEEPS = "the sweep's budget"  # its id means nothing to users
NOTHING_USED = BudgetUse(0, 0)
MAY_BE_MADE = (
    "Nothing was sent now, but an earlier try was not answered and may have made a "
    "job: client.resume() sends it again, within the budget of the earlier try."
)


def check_balance(submission: Submission, spendable: Spendable, use: BudgetUse) -> None:
    """Refuse a submission that the balance does not cover besides all in flight.

    An estimate without an upper end cannot be compared; the service decides.

    Args:
        submission: The submission that is about to be sent.
        spendable: The balance as it was read.
        use: The current use of the account, this submission included.

    Raises:
        BalanceError: It does not fit.
    """
    if submission.estimate_high_micro_usd is None:
        return
    # The service admits it by its own holds: the margin of a metered price is not asked
    # of the balance, only kept for the budgets.
    needed = submission.estimate_high_micro_usd
    held = use.reserved_micro_usd - submission.reserved_micro_usd
    settled_since = use.spent_micro_usd - spendable.settled_micro_usd
    available = spendable.micro_usd - settled_since - held
    if needed <= available:
        return
    of_which = f" ({format_usd(held)} is held for jobs in flight)" if held else ""
    raise BalanceError(
        f"It may cost up to {format_usd(needed)}, and "
        f"{format_usd(max(0, available))} is left of the balance{of_which}: it is "
        f"{format_usd(needed - available)} short. {NOTHING_SENT} Top up, or ask for "
        "less.",
        needed_micro_usd=needed,
        available_micro_usd=available,
    )


def check_budget(
    submission: Submission,
    budget: BudgetLimit,
    use: BudgetUse,
    *,
    name: str | None = None,
    in_doubt: bool = False,
) -> None:
    """Refuse a submission that a budget does not cover besides all its others.

    Args:
        submission: The submission that is about to be sent.
        budget: The budget.
        use: The current use of the budget, this submission included.
        name: The name for the error; None for the budget's own name.
        in_doubt: Whether an earlier attempt may have arrived.

    Raises:
        BudgetError: It does not fit, or its maximum cost is unknown.
    """
    needed = submission.reserved_micro_usd
    held = use.reserved_micro_usd - needed
    available = budget.limit_micro_usd - use.spent_micro_usd - held
    sent = MAY_BE_MADE if in_doubt else NOTHING_SENT
    facts: dict[str, Any] = {
        "available_micro_usd": available,
        "limit_micro_usd": budget.limit_micro_usd,
        "scope": "sweep" if name == THE_SWEEPS else "budget",
        "sent": None if in_doubt else False,
    }
    name = name or _named(budget.name)
    named = f"{name} of {format_usd(budget.limit_micro_usd)}"
    if submission.estimate_high_micro_usd is None:
        raise BudgetError(
            f"Nobody knows what it may cost, so {named} could not be kept. "
            f"{sent} Send it without a budget, or ask for something whose "
            "price is known.",
            needed_micro_usd=None,
            **facts,
        )
    if needed <= available:
        return
    raise BudgetError(
        f"It may cost up to {format_usd(needed)}{_margin_text(submission)}, and of "
        f"{named}, "
        f"{format_usd(use.spent_micro_usd)} is spent and {format_usd(held)} is held "
        f"for jobs in flight: it is {format_usd(needed - available)} over. "
        f"{sent} Raise the budget, or ask for less.",
        needed_micro_usd=needed,
        **facts,
    )


def _margin_text(submission: Submission) -> str:
    """Explain a hold above the estimate; empty for a hold that equals it."""
    high_micro_usd = submission.estimate_high_micro_usd or 0
    if submission.reserved_micro_usd <= high_micro_usd:
        return ""
    price = format_usd(high_micro_usd)
    if submission.estimate_kind == EstimateKind.NOMINAL:
        return f" ({METERED_HOLD_TEXT} of {price})"
    return f" (more than its estimate of {price}, as the estimate's notes explain)"


def _named(budget: str) -> str:
    # The name of a client's own budget is random, and means nothing to users.
    if _OF_ONE_CLIENT.fullmatch(budget):
        return "this client's budget"
    return f"the budget {shown(budget)}"
