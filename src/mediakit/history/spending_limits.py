"""Refuses claims beyond balance and budgets, and keeps the totals of both.

Summing the 100,000 jobs of a budget takes several times as long as a claim
(`benchmarks/history.py`). So the transaction that changes an entry also changes the
totals of its account, budget and sweep.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, func, select
from sqlalchemy.sql.dml import ReturningInsert

from mediakit.api_models import JobStatus
from mediakit.errors import NOTHING_SENT, BalanceError, BudgetError
from mediakit.estimates import METERED_HOLD_TEXT, EstimateKind
from mediakit.history.entry import HOLDING, Entry, Submission
from mediakit.history.tables import insert_into, storable, totals
from mediakit.money import format_usd
from mediakit.safe_text import shown


@dataclass(frozen=True)
class Spendable:
    """A balance that was read, and the account's settled total just before."""

    micro_usd: int
    settled_micro_usd: int


@dataclass(frozen=True)
class BudgetLimit:
    """The limit for all submissions under a name, in every process."""

    name: str
    limit_micro_usd: int
    margin: Fraction = Fraction(1)
    """Reserved per micro-USD held, because charges may exceed estimates; at least 1."""


@dataclass(frozen=True)
class BudgetUse:
    """The settled charges and the holds of a budget, sweep or account (spec 2.2)."""

    spent_micro_usd: int
    reserved_micro_usd: int

    def plus(self, other: "BudgetUse", times: int = 1) -> "BudgetUse":
        """Add another use, or subtract it with `times=-1`."""
        return BudgetUse(
            self.spent_micro_usd + times * other.spent_micro_usd,
            self.reserved_micro_usd + times * other.reserved_micro_usd,
        )


_OF_ONE_CLIENT = re.compile("client [0-9a-f]{32}")
THE_SWEEPS = "the sweep's budget"  # users do not know the sweep's ID
MAY_BE_MADE = (
    "This call sent nothing, but an earlier attempt got no answer and may have created "
    "a job: client.resume() sends it again, under the budget of that earlier attempt."
)


def refuse_beyond_balance(
    submission: Submission, spendable: Spendable, use: BudgetUse
) -> None:
    """Raise if the balance does not cover a submission; `use` includes it."""
    if submission.estimate_high_micro_usd is None:
        return
    # The service admits the request by its own holds, so the balance need not cover the
    # margin of a metered price; only budgets keep the margin.
    needed = submission.estimate_high_micro_usd
    holds = use.reserved_micro_usd - submission.reserved_micro_usd
    settled_since = use.spent_micro_usd - spendable.settled_micro_usd
    available = spendable.micro_usd - settled_since - holds
    if needed <= available:
        return
    of_which = f" ({format_usd(holds)} is held for jobs in progress)" if holds else ""
    raise BalanceError(
        f"This request may cost up to {format_usd(needed)}, but only "
        f"{format_usd(max(0, available))} of the balance is available{of_which}. "
        f"{NOTHING_SENT} Top up, or request something cheaper.",
        needed_micro_usd=needed,
        available_micro_usd=available,
    )


def refuse_beyond_budget(
    submission: Submission,
    budget: BudgetLimit,
    use: BudgetUse,
    *,
    is_sweep: bool = False,
    in_doubt: bool = False,
) -> None:
    """Raise if a budget does not cover a submission; `use` includes it."""
    needed = submission.reserved_micro_usd
    holds = use.reserved_micro_usd - needed
    reserved = ceil(budget.margin * use.reserved_micro_usd)
    over = use.spent_micro_usd + reserved - budget.limit_micro_usd
    has_price = submission.estimate_high_micro_usd is not None
    if has_price and over <= 0:
        return
    name = THE_SWEEPS if is_sweep else _named(budget.name)
    named = f"{name} of {format_usd(budget.limit_micro_usd)}"
    sent = MAY_BE_MADE if in_doubt else NOTHING_SENT
    text = (
        f"This request may cost up to {format_usd(needed)}{_margin_text(submission)}, "
        f"which is {format_usd(over)} over what is left of {named}: "
        f"{format_usd(use.spent_micro_usd)} is spent and {format_usd(holds)} is held "
        f"for jobs in progress. {sent} Raise the budget, or request something cheaper."
    )
    if not has_price:
        text = (
            f"The price of this request is unknown, so {named} cannot be enforced. "
            f"{sent} Send the request without a budget, or request something whose "
            "price is known."
        )
    raise BudgetError(
        text,
        needed_micro_usd=needed if has_price else None,
        available_micro_usd=needed - over,
        limit_micro_usd=budget.limit_micro_usd,
        scope="sweep" if is_sweep else "budget",
        sent=None if in_doubt else False,
    )


def _margin_text(submission: Submission) -> str:
    """Explain a hold above the estimate; "" if they are equal."""
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


# -- stored totals --------------------------------------------------------------------

NOTHING_USED = BudgetUse(0, 0)
NO_LIMITS: Mapping[str, int] = MappingProxyType({})
Uses = dict[str, BudgetUse]
"""Charges and holds to add to totals, or in them, by the name of the total."""


def account_total(service: str, account: str) -> str:
    """Return the name of an account's total."""
    return storable(f"account {service} {account}")


def budget_total(name: str) -> str:
    """Return the name of a budget's total over all accounts."""
    return storable(f"budget {name}")


def sweep_total(name: str) -> str:
    """Return the name of a sweep's total."""
    return storable(f"sweep {name}")


def add_use(uses: Uses, entry: Entry, times: int = 1) -> None:
    """Add an entry's charge or hold to its totals, or subtract it (spec 7.3)."""
    holds = entry.state in HOLDING and entry.status is not JobStatus.FAILED
    hold = entry.reserved_micro_usd if holds else 0
    use = BudgetUse(entry.charge_micro_usd or 0, hold)
    names = [account_total(entry.service, entry.account)]
    if entry.budget is not None:
        names.append(budget_total(entry.budget))
    if entry.sweep is not None:
        names.append(sweep_total(entry.sweep))
    for name in names:
        uses[name] = uses.get(name, NOTHING_USED).plus(use, times)


def change_totals(db: Connection, before: Entry | None, after: Entry | None) -> None:
    """Update the totals after an entry is added, changed or removed."""
    uses: Uses = {}
    if after is not None:
        add_use(uses, after)
    if before is not None:
        add_use(uses, before, -1)
    add_to_totals(db, {n: use for n, use in uses.items() if use != NOTHING_USED})


def add_to_totals(
    db: Connection, uses: Uses, limits: Mapping[str, int] = NO_LIMITS
) -> Uses:
    """Add to totals, and return the new ones; a limit replaces that of its total."""
    if not uses:
        return {}
    rows = [
        {"name": name, **vars(use), "limit_micro_usd": limits.get(name)}
        for name, use in uses.items()
    ]
    new: Iterable[Any] = db.execute(_add(db.dialect.name), rows)
    return {name: BudgetUse(spent, reserved) for name, spent, reserved in new}


@cache
def _add(dialect: str) -> ReturningInsert[Any]:
    spent, reserved = totals.c.spent_micro_usd, totals.c.reserved_micro_usd
    new = insert_into(dialect, totals)
    limit = func.coalesce(new.excluded.limit_micro_usd, totals.c.limit_micro_usd)
    return new.on_conflict_do_update(
        index_elements=[totals.c.name],
        set_={
            spent: spent + new.excluded.spent_micro_usd,
            reserved: reserved + new.excluded.reserved_micro_usd,
            totals.c.limit_micro_usd: limit,
        },
    ).returning(totals.c.name, spent, reserved)


def total(db: Connection, name: str) -> BudgetUse:
    """Return a stored total; zero for an unknown name."""
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
    """Add a new entry to its totals; raise if a limit does not cover it."""
    added: Uses = {}
    add_use(added, entry)
    limits = {}
    if budget is not None:
        limits[budget_total(budget.name)] = budget.limit_micro_usd
    if sweep is not None:
        limits[sweep_total(sweep.name)] = sweep.limit_micro_usd
    uses = add_to_totals(db, added, limits)
    if spendable is not None:
        use = uses[account_total(entry.service, entry.account)]
        refuse_beyond_balance(entry, spendable, use)
    if budget is not None:
        refuse_beyond_budget(entry, budget, uses[budget_total(budget.name)])
    if sweep is not None:
        refuse_beyond_budget(entry, sweep, uses[sweep_total(sweep.name)], is_sweep=True)
