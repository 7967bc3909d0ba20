"""Admits a submission: checks its limits and writes its entry in one transaction."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from mediakit.clock import Clock
from mediakit.history.admission import holds
from mediakit.history.admission.outcomes import with_revision
from mediakit.history.admission.spending_limits import (
    NOTHING_USED,
    THE_SWEEPS,
    BudgetLimit,
    Spendable,
    check_balance,
    check_budget,
)
from mediakit.history.entries import queries
from mediakit.history.entries.entry import (
    Entry,
    EntryState,
    Submission,
    attempt_of,
    fresh_entry,
)
from mediakit.history.entries.fast_replace import changed
from mediakit.history.form_drafts import write_origin
from mediakit.history.results.lineage import Parent, write_parents
from mediakit.history.storage.database import Database
from mediakit.history.storage.file_connection import Connected


class Admissions:
    """The part of the history that decides what may be sent."""

    _database: Database
    _clock: Clock

    def claim(
        self,
        submission: Submission,
        *,
        spendable: Spendable | None = None,
        budget: BudgetLimit | None = None,
        sweep: BudgetLimit | None = None,
        parents: Sequence[Parent] = (),
        origin: str | None = None,
        created_at: datetime | None = None,
    ) -> tuple[Entry, bool]:
        """Write a submission that is about to be sent; committed on return.

        One transaction checks the key and the money for all threads and processes: a
        submission is written only if it fits together with all that is in flight. A
        refused key is bound to nothing (spec 4.3), so it can be claimed again.

        Args:
            submission: The submission.
            spendable: The balance that must cover it; None for no check.
            budget: The budget that it counts against; None for the one that the
                submission names, unchecked.
            sweep: The sweep that it counts against, by its id, and the limit of the
                sweep's total cost; None for the one that the submission names,
                unchecked. An existing entry keeps its sweep.
            parents: The jobs whose outputs are its inputs.
            origin: The form that requests it, see `asked_from`; None for none.
            created_at: When it was first requested; None for now.

        Returns:
            The entry, and whether it is new. False: this attempt already has this
            entry, perhaps with another key, if a medium had another URL then.

        Raises:
            BalanceError: The balance does not cover it; nothing was written.
            BudgetError: The budget, or the sweep's budget, does not cover it; nothing
                was written.
        """
        if budget is not None:
            submission = replace(submission, budget=budget.name)
        if sweep is not None and submission.sweep != sweep.name:
            submission = replace(submission, sweep=sweep.name)
        values = queries.claim_values(submission, created_at or self._clock.now())
        with self._database.transaction() as connection:
            statement = queries.claim(self._database.dialect)
            row = connection.execute(statement, values).first()
            if row is None:
                known = connection.execute(queries.BY_ATTEMPT, attempt_of(submission))
                return queries.entry_of(known.one()), False
            entry = fresh_entry(
                submission, number=row.number, created_at=row.created_at
            )
            _reserve(connection, entry, spendable, budget, sweep)
            write_parents(connection, submission.draw_key, parents)
            is_reused = row.revision > 0
            write_origin(connection, submission.key, origin, is_reused=is_reused)
        return entry, True

    def count_against(self, key: str, budget: BudgetLimit) -> Entry:
        """Move an unanswered submission to another budget, if it fits.

        One transaction decides, as in `claim`. A submission that was answered
        meanwhile stays in its budget.

        Raises:
            NotFoundError: No entry has this key.
            BudgetError: The budget does not cover it; nothing was changed.
        """
        while True:
            entry, revision = with_revision(self._database, key)
            if entry.state is not EntryState.UNANSWERED or entry.budget == budget.name:
                return entry
            after = changed(entry, {"budget": budget.name})
            if self._move(entry, after, revision, budget):
                return after

    def _move(
        self, before: Entry, after: Entry, revision: int, budget: BudgetLimit
    ) -> bool:
        """Write another budget; False if the entry was changed concurrently."""
        its = {"its_number": before.number, "its_revision": revision}
        values = {"budget": budget.name, **its}
        name = holds.of_budget(budget.name)
        # Compare the total even if this entry adds nothing to it.
        added = {name: NOTHING_USED, **holds.changes(before, after)}
        with self._database.transaction() as connection:
            statement = queries.change(("budget",))
            if not connection.execute(statement, values).rowcount:
                return False
            use = holds.add_to_totals(connection, added)[name]
            check_budget(after, budget, use, in_doubt=True)
        return True


def _reserve(
    connection: Connected,
    entry: Entry,
    spendable: Spendable | None,
    budget: BudgetLimit | None,
    sweep: BudgetLimit | None,
) -> None:
    """Add an entry to its totals, and refuse an entry that does not fit.

    The transaction locks a total once it adds to it, so that a comparison with the
    total stays true until the commit.
    """
    uses = holds.add_to_totals(connection, holds.of_entry(entry))
    if spendable is not None:
        account = holds.of_account(entry.service, entry.account)
        check_balance(entry, spendable, uses[account])
    if budget is not None:
        total = holds.of_budget(budget.name)
        check_budget(entry, budget, uses[total])
        holds.keep_limit(connection, total, budget)
    if sweep is not None:
        total = holds.of_sweep(sweep.name)
        check_budget(entry, sweep, uses[total], name=THE_SWEEPS)
        holds.keep_limit(connection, total, sweep)
