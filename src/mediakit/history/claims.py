"""Claiming: a submission is written down, if it fits, before it is sent."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from mediakit.clock import Clock
from mediakit.frozen import changed
from mediakit.history.admission import totals
from mediakit.history.admission.limits import (
    MAY_BE_MADE,
    NOTHING_USED,
    THE_SWEEPS,
    BudgetLimit,
    Spendable,
    check_balance,
    check_budget,
)
from mediakit.history.admission.recording import with_revision
from mediakit.history.comparing.lineage import Parent, write_parents
from mediakit.history.entries import queries
from mediakit.history.entries.entries import (
    Entry,
    EntryState,
    Submission,
    fresh_entry,
)
from mediakit.history.forms import write_origin
from mediakit.history.storage.database import Database
from mediakit.history.storage.file_connection import Connected


class Claims:
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
        """Write down what is about to be sent; committed when this returns.

        One transaction decides between all threads and processes, on the key as well
        as on the money: what is written fits beside all else that is in flight, and
        what does not fit is not written. A key that was refused bound nothing (spec
        4.3), so it may be claimed again.

        Args:
            submission: What is about to be sent.
            spendable: The balance that has to carry it; None for no check.
            budget: The budget that it counts against; None for the one that the
                submission names, unchecked.
            sweep: The sweep that it counts against, by its id, and what its submits
                may cost together; None for the one that the submission names,
                unchecked.
                An entry that is there already keeps its sweep.
            parents: The jobs whose outputs it is made from.
            origin: The form that asks for it, see `asked_from`; None for none.
            created_at: When it was first asked for; None for now.

        Returns:
            The entry, and whether it was written now. False: the key was there
            already, and the entry is what is known of it.

        Raises:
            BalanceError: The balance cannot carry it; nothing was written.
            BudgetError: The budget, or the sweep's, cannot carry it; nothing was
                written.
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
                known = connection.execute(
                    queries.BY_KEY, {"key": submission.key}
                ).one()
                return queries.entry_of(known), False
            entry = fresh_entry(
                submission, number=row.number, created_at=row.created_at
            )
            _count(connection, entry, spendable, budget, sweep)
            write_parents(connection, submission.draw_key, parents)
            is_reused = row.revision > 0
            write_origin(connection, submission.key, origin, is_reused=is_reused)
        return entry, True

    def count_against(self, key: str, budget: BudgetLimit) -> Entry:
        """Count an unanswered submit against another budget, if it fits there.

        One transaction decides, as in `claim`. What was answered meanwhile stays in
        the budget that it was sent under.

        Raises:
            NotFoundError: No entry has this key.
            BudgetError: The budget cannot carry it; nothing was changed.
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
        """Write another budget; False where somebody else has changed the entry."""
        its = {"its_number": before.number, "its_revision": revision}
        values = {"budget": budget.name, **its}
        name = totals.of_budget(budget.name)
        # Of what holds nothing, too, the total is compared.
        added = {name: NOTHING_USED, **totals.changes(before, after)}
        with self._database.transaction() as connection:
            statement = queries.change(("budget",))
            if not connection.execute(statement, values).rowcount:
                return False
            use = totals.add(connection, added)[name]
            check_budget(after, budget, use, sent=MAY_BE_MADE)
        return True


def _count(
    connection: Connected,
    entry: Entry,
    spendable: Spendable | None,
    budget: BudgetLimit | None,
    sweep: BudgetLimit | None,
) -> None:
    """Add an entry to its totals, and refuse what does not fit.

    Whoever adds to a total holds it until all is committed: what was compared with it
    stays true.
    """
    uses = totals.add(connection, totals.of_entry(entry))
    if spendable is not None:
        account = totals.of_account(entry.service, entry.account)
        check_balance(entry, spendable, uses[account])
    if budget is not None:
        check_budget(entry, budget, uses[totals.of_budget(budget.name)])
    if sweep is not None:
        use = uses[totals.of_sweep(sweep.name)]
        check_budget(entry, sweep, use, name=THE_SWEEPS)
