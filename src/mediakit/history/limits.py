"""The limits of a submission, the totals that they are compared with, and sentences.

A sum over the 100,000 jobs of a budget takes several times as long as a claim
(`benchmarks/history.py`). So the unit of work that changes an entry also changes the
totals of its account, budget and sweep.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, bindparam, select

from mediakit.errors import NOTHING_SENT, BalanceError, BudgetError, shown
from mediakit.history.entry import HOLDING, Entry, Submission
from mediakit.history.tables import totals, upsert
from mediakit.money import format_usd
from mediakit.rates import METERED_HOLD_TEXT, EstimateKind
from mediakit.records import JobStatus


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

    def __add__(self, other: "BudgetUse") -> "BudgetUse":
        return BudgetUse(
            self.spent_micro_usd + other.spent_micro_usd,
            self.reserved_micro_usd + other.reserved_micro_usd,
        )

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

    An estimate without an upper end cannot be compared; the service decides. `use`
    includes this submission.

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

    `use` includes this submission. `in_doubt`: an earlier attempt may have arrived.

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


# -- the kept totals ------------------------------------------------------------------

# Made once, like the statements of entries.
_TOTALS = select(totals).where(totals.c.name.in_(bindparam("names", expanding=True)))
NO_LIMITS: Mapping[str, int] = MappingProxyType({})


def account_total(service: str, account: str) -> str:
    """Return the name of an account's total."""
    return f"account {service} {account}"


def budget_total(name: str) -> str:
    """Return the name of a budget's total over all accounts."""
    return f"budget {name}"


def sweep_total(name: str) -> str:
    """Return the name of a sweep's total."""
    return f"sweep {name}"


def use_of(entry: Entry) -> dict[str, BudgetUse]:
    """Return what an entry adds to each of its totals, by name.

    Settled, refused, failed and vanished jobs hold nothing (spec 7.3).
    """
    holds = entry.state in HOLDING and entry.status is not JobStatus.FAILED
    held = entry.reserved_micro_usd if holds else 0
    names = [account_total(entry.service, entry.account)]
    if entry.budget is not None:
        names.append(budget_total(entry.budget))
    if entry.sweep is not None:
        names.append(sweep_total(entry.sweep))
    return dict.fromkeys(names, BudgetUse(entry.charge_micro_usd or 0, held))


def change_totals(
    db: Connection,
    before: Entry | None,
    after: Entry | None,
    limits: Mapping[str, int] = NO_LIMITS,
) -> dict[str, BudgetUse]:
    """Change the totals of an entry that is added, changed or removed.

    Limits are kept by the name of the total. Returns the new totals of a new entry,
    else those that changed.
    """
    added = use_of(after) if after else {}
    for name, use in (use_of(before) if before else {}).items():
        added[name] = added.get(name, NOTHING_USED) - use
        if added[name] == NOTHING_USED:
            del added[name]
    return add_to_totals(db, dict.fromkeys(limits, NOTHING_USED) | added, limits)


def add_to_totals(
    db: Connection,
    added: Mapping[str, BudgetUse],
    limits: Mapping[str, int] = NO_LIMITS,
) -> dict[str, BudgetUse]:
    """Add to totals, and return the new ones, by name."""
    if not added:
        return {}
    known = {row.name: row for row in db.execute(_TOTALS, {"names": list(added)})}
    rows, found = [], {}
    for name, use in added.items():
        row = known.get(name)
        if row is not None:
            use = use + BudgetUse(row.spent_micro_usd, row.reserved_micro_usd)
        found[name] = use
        kept = row.limit_micro_usd if row is not None else None
        limit = {"limit_micro_usd": limits.get(name, kept)}
        rows.append({"name": name, **vars(use), **limit})
    names = ("spent_micro_usd", "reserved_micro_usd", "limit_micro_usd")
    upsert(db, totals, rows, update=names)
    return found


def total(db: Connection, name: str) -> BudgetUse:
    """Return a kept total; nothing for an unknown name."""
    query = select(totals.c.spent_micro_usd, totals.c.reserved_micro_usd)
    row = db.execute(query.where(totals.c.name == name)).first()
    return NOTHING_USED if row is None else BudgetUse(*row)


def reserve(
    db: Connection,
    entry: Entry,
    spendable: Spendable | None,
    budget: BudgetLimit | None,
    sweep: BudgetLimit | None,
) -> None:
    """Add an entry to its totals, and refuse an entry that does not fit."""
    limits = {}
    if budget is not None:
        limits[budget_total(budget.name)] = budget.limit_micro_usd
    if sweep is not None:
        limits[sweep_total(sweep.name)] = sweep.limit_micro_usd
    uses = change_totals(db, None, entry, limits)
    if spendable is not None:
        use = uses[account_total(entry.service, entry.account)]
        check_balance(entry, spendable, use)
    if budget is not None:
        check_budget(entry, budget, uses[budget_total(budget.name)])
    if sweep is not None:
        use = uses[sweep_total(sweep.name)]
        check_budget(entry, sweep, use, name=THE_SWEEPS)
