"""Holds and spending: when a hold begins and is released, and their stored totals.

A sum over the 100,000 jobs of a budget takes 7 ms, even with a covering index; a claim
takes 0.1 ms (`benchmarks/history.py`). The transaction that changes an entry also
changes its totals, so that they always agree.
"""

from mediakit.history.admission.spending_limits import (
    NOTHING_USED,
    BudgetLimit,
    BudgetUse,
)
from mediakit.history.entries import queries
from mediakit.history.entries.entry import Entry
from mediakit.history.storage.database import Database
from mediakit.history.storage.file_connection import Connected
from mediakit.records import JobStatus


class Holds:
    """The part of the history that gives spending and holds."""

    _database: Database

    def reserved_micro_usd(self, *, service: str, account: str) -> int:
        """Return the holds for submissions that can still be charged, in micro-USD.

        Settled, refused, failed and vanished jobs hold nothing (spec 7.3).
        """
        use = self.account_use(service=service, account=account)
        return use.reserved_micro_usd

    def account_use(self, *, service: str, account: str) -> BudgetUse:
        """Return the use of an account, in micro-USD (spec 2.2)."""
        return self._total(of_account(service, account))

    def budget_use(self, name: str) -> BudgetUse:
        """Return the use of a budget by all accounts (spec 2.2)."""
        return self._total(of_budget(name))

    def sweep_use(self, name: str) -> BudgetUse:
        """Return the use of a sweep's budget, by the sweep's id (spec 2.2)."""
        return self._total(of_sweep(name))

    def budget_limit(self, name: str) -> BudgetLimit | None:
        """Return the limit that a budget had last; None if it never had one."""
        return self._limit(of_budget(name), name)

    def sweep_limit(self, name: str) -> BudgetLimit | None:
        """Return the limit that a sweep had last, by its id; None for none."""
        return self._limit(of_sweep(name), name)

    def _limit(self, total: str, name: str) -> BudgetLimit | None:
        row = self._database.first(queries.LIMIT, {"name": total})
        return None if row is None else BudgetLimit(name, row[0])

    def _total(self, name: str) -> BudgetUse:
        row = self._database.first(queries.TOTAL, {"name": name})
        return NOTHING_USED if row is None else BudgetUse(*row)


def of_account(service: str, account: str) -> str:
    """Return the name of an account's total."""
    return f"account {service} {account}"


def of_budget(name: str) -> str:
    """Return the name of a budget's total over all accounts."""
    return f"budget {name}"


def of_sweep(name: str) -> str:
    """Return the name of a sweep's total."""
    return f"sweep {name}"


def of_entry(entry: Entry) -> dict[str, BudgetUse]:
    """Return the use that an entry adds to its totals, by name.

    Settled, refused, failed and vanished jobs hold nothing (spec 7.3).
    """
    holds = entry.state in queries.HOLDING and entry.status is not JobStatus.FAILED
    held = entry.reserved_micro_usd if holds else 0
    names = [of_account(entry.service, entry.account)]
    if entry.budget is not None:
        names.append(of_budget(entry.budget))
    if entry.sweep is not None:
        names.append(of_sweep(entry.sweep))
    return dict.fromkeys(names, BudgetUse(entry.charge_micro_usd or 0, held))


def changes(before: Entry, after: Entry) -> dict[str, BudgetUse]:
    """Return what a change of an entry adds to totals, by name."""
    was, found = of_entry(before), of_entry(after)
    for name, use in was.items():
        found[name] = found.get(name, NOTHING_USED) - use
    return {name: use for name, use in found.items() if use != NOTHING_USED}


def without(entry: Entry) -> dict[str, BudgetUse]:
    """Return what the removal of an entry adds to totals, by name."""
    return {name: NOTHING_USED - use for name, use in of_entry(entry).items()}


def keep_limit(connection: Connected, total: str, limit: BudgetLimit) -> None:
    """Keep the limit of a total, for clients that do not have it."""
    values = {"name": total, "limit_micro_usd": limit.limit_micro_usd}
    connection.execute(queries.keep_limit(connection.dialect.name), values)


def add_to_totals(
    connection: Connected, added: dict[str, BudgetUse]
) -> dict[str, BudgetUse]:
    """Add to totals; return the new totals, by name."""
    statement = queries.add_to_total(connection.dialect.name)
    found = {}
    # Always in the same order, so that two transactions cannot deadlock.
    for name, use in sorted(added.items()):
        values = {
            "name": name,
            "spent_micro_usd": use.spent_micro_usd,
            "reserved_micro_usd": use.reserved_micro_usd,
        }
        found[name] = BudgetUse(*connection.execute(statement, values).one())
    return found
