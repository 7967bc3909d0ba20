"""What a submit has to fit: the balance, and the caller's own budget."""

from dataclasses import dataclass

from mediakit.errors import NOTHING_SENT, BalanceError, BudgetError, shown
from mediakit.history.entries.entries import Submission
from mediakit.money import format_usd


@dataclass(frozen=True)
class Spendable:
    """A balance as it was read, fit to be kept: it only ever errs towards too little.

    What the history settles after `settled_micro_usd` was taken is subtracted, although
    the balance may have known of it: so no clock has to tell which came first.

    Args:
        micro_usd: What the service said can be spent, micro-USD (spec 2.4).
        settled_micro_usd: The history's settled total of the same service and account,
            taken before that reading began.
    """

    micro_usd: int
    settled_micro_usd: int


@dataclass(frozen=True)
class BudgetLimit:
    """A limit of the caller's own, shared by all submits that name it.

    Args:
        name: What it is called; the same name is the same budget, in any process.
        limit_micro_usd: What its submits may cost together, micro-USD.
    """

    name: str
    limit_micro_usd: int


@dataclass(frozen=True)
class BudgetUse:
    """What is gone of a budget or of an account.

    Args:
        spent_micro_usd: The settled charges, micro-USD (spec 2.2).
        reserved_micro_usd: What is held for submits that may still be charged.
    """

    spent_micro_usd: int
    reserved_micro_usd: int

    def __sub__(self, other: "BudgetUse") -> "BudgetUse":
        return BudgetUse(
            self.spent_micro_usd - other.spent_micro_usd,
            self.reserved_micro_usd - other.reserved_micro_usd,
        )


THE_SWEEPS = "the sweep's budget"  # whose id says nothing to people
NOTHING_USED = BudgetUse(0, 0)
MAY_BE_MADE = (
    "Nothing was sent now, but an earlier try was not answered and may have made a "
    "job: client.resume() asks for it within the budget that it was bought under."
)


def check_balance(submission: Submission, spendable: Spendable, use: BudgetUse) -> None:
    """Refuse what the balance cannot carry beside all that is in flight.

    A price without a known end cannot be compared; the service decides on it.

    Args:
        submission: What is about to be sent.
        spendable: The balance as it was read.
        use: What the account has settled and reserved now, this submission included.

    Raises:
        BalanceError: It does not fit.
    """
    if submission.estimate_high_micro_usd is None:
        return
    needed = submission.reserved_micro_usd
    held = use.reserved_micro_usd - needed
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
    sent: str = NOTHING_SENT,
) -> None:
    """Refuse what a budget cannot carry beside all that was sent under its name.

    Args:
        submission: What is about to be sent.
        budget: The budget.
        use: What is gone of it now, this submission included.
        name: What to call it in the error; None for the budget's own name.
        sent: What was and was not sent of it, for the error.

    Raises:
        BudgetError: It does not fit, or nobody knows what it may cost.
    """
    needed = submission.reserved_micro_usd
    held = use.reserved_micro_usd - needed
    available = budget.limit_micro_usd - use.spent_micro_usd - held
    name = name or f"the budget {shown(budget.name)}"
    named = f"{name} of {format_usd(budget.limit_micro_usd)}"
    if submission.estimate_high_micro_usd is None:
        raise BudgetError(
            f"Nobody knows what it may cost, so {named} could not be kept. "
            f"{sent} Send it without a budget, or ask for something whose "
            "price is known.",
            needed_micro_usd=None,
            available_micro_usd=available,
        )
    if needed <= available:
        return
    raise BudgetError(
        f"It may cost up to {format_usd(needed)}, and of {named}, "
        f"{format_usd(use.spent_micro_usd)} is spent and {format_usd(held)} is held "
        f"for jobs in flight: it is {format_usd(needed - available)} over. "
        f"{sent} Raise the budget, or ask for less.",
        needed_micro_usd=needed,
        available_micro_usd=available,
    )
