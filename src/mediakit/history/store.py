"""The history: written before anything is sent, read whenever anything is asked."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any, Self

from sqlalchemy import Select

from mediakit.clock import Clock, SystemClock
from mediakit.errors import NotFoundError
from mediakit.frozen import changed
from mediakit.history.admission import totals
from mediakit.history.admission.adopting import (
    Adopting,
    claim_values,
    rebuilt_key,
    search_text,
)
from mediakit.history.admission.limits import (
    MAY_BE_MADE,
    NOTHING_USED,
    THE_SWEEPS,
    BudgetLimit,
    BudgetUse,
    Spendable,
    check_balance,
    check_budget,
)
from mediakit.history.charges import Charges
from mediakit.history.comparing.draws import Draws
from mediakit.history.comparing.lineage import Lineage, Parent, write_parents
from mediakit.history.comparing.ratings import Ratings
from mediakit.history.comparing.scores import Scores
from mediakit.history.entries import queries
from mediakit.history.entries.entries import (
    Entry,
    EntryState,
    Submission,
    fresh_entry,
)
from mediakit.history.entries.listing import Listing
from mediakit.history.entries.merging import News, news_of_job, news_of_refusal
from mediakit.history.forms import Forms, write_origin
from mediakit.history.importing import Importing
from mediakit.history.storage.database import Database, Values
from mediakit.history.storage.file_connection import Connected
from mediakit.history.storage.search_text import SEARCHED
from mediakit.history.uploads import Uploads
from mediakit.records import Job


class History(
    Adopting,
    Charges,
    Draws,
    Forms,
    Importing,
    Lineage,
    Listing,
    Ratings,
    Scores,
    Uploads,
):
    """Every submit of this user, committed before it is sent.

    Threads and processes may use one database at the same time, and a process may
    fork. Secrets have no place in it: an account is named by whatever opaque text the
    caller chooses.

    Args:
        url: A file's path, which means SQLite, or a database URL: `sqlite:///...` or
            `postgresql://...`. A file's folders are made where they are missing; what
            is made is readable by the user alone.
        clock: What tells the time of each change; the system's by default.

    Raises:
        InputError: The database cannot be opened, or is a history of another version.
    """

    def __init__(self, url: str | Path, *, clock: Clock | None = None) -> None:
        super().__init__(Database(url), clock or SystemClock())

    def __repr__(self) -> str:
        return f"History({self._database.name!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database's connections; closing twice does nothing more."""
        self._database.close()

    @property
    def is_local(self) -> bool:
        """Tell a file of this machine from a database behind a network."""
        return self._database.is_local

    @property
    def place(self) -> str:
        """Return what names the database itself, by whatever path it was opened."""
        return self._database.place

    # -- writing ------------------------------------------------------------------

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
        values = claim_values(submission, created_at or self._clock.now())
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
            entry, revision = self._with_revision(key)
            if entry.state is not EntryState.INTENT or entry.budget == budget.name:
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

    def record(self, job: Job) -> Entry | None:
        """Note what a record says of its job; None when it is not in this history.

        See `record_job`.
        """
        row = self._database.first(queries.BY_JOB, {"job_id": job.id})
        if row is None:
            return None
        now, read = self._clock.now(), (queries.entry_of(row), int(row.revision))
        return self._change(
            read[0].key, lambda entry: news_of_job(entry, job, now=now), read
        )

    def record_job(self, key: str, job: Job) -> Entry:
        """Note what a record says of the job on this key, whenever it was read.

        An entry never goes backwards: records may come late, twice or in any order.
        The first settled charge is kept for good (spec 2.2); a later, different
        amount is kept beside it as `restated_charge_micro_usd`. Prompt and body stay
        when the media is erased.

        Raises:
            NotFoundError: No entry has this key.
            ServiceError: The entry already has another job.
        """
        now = self._clock.now()
        return self._change(key, lambda entry: news_of_job(entry, job, now=now))

    def record_refusal(self, key: str, *, code: str, message: str) -> Entry:
        """Note that the submit was answered without a job; its hold ends (spec 7.1).

        An entry that already has a job stays as it is.

        Args:
            key: The idempotency key.
            code: A short name of the reason, such as the HTTP status.
            message: The service's words.

        Raises:
            NotFoundError: No entry has this key.
        """
        return self._change(
            key, lambda entry: news_of_refusal(entry, code=code, message=message)
        )

    def mark_gone(self, job_id: str) -> None:
        """Note that the service does not know this job any more; its hold ends."""
        entry, now = self.find(job_id), self._clock.now()
        if entry is not None:
            self._change(entry.key, lambda e: {} if e.gone_at else {"gone_at": now})

    def forget(self, job_id: str) -> None:
        """Forget the prompt, the body and the error's words of a job.

        Its row stays, with its charge. Further takes of the same request keep theirs.
        """
        entry = self.find(job_id)
        if entry is not None:
            self._change(entry.key, lambda known: _forgotten(known))

    def _change(
        self,
        key: str,
        news_of: Callable[[Entry], News],
        read: tuple[Entry, int] | None = None,
    ) -> Entry:
        """Write what is new of an entry; `read` is the entry where it was just read."""
        while True:
            entry, revision = read or self._with_revision(key)
            read = None
            news = news_of(entry)
            if not news:
                # Most reads of a job say nothing new: then no write lock is taken.
                return entry
            after = changed(entry, news)
            if self._write(entry, after, news, revision):
                return after
            # Others have changed the entry since it was read.
            if "job_id" in news:
                self.join_rebuilt(key, news["job_id"])

    def _with_revision(self, key: str) -> tuple[Entry, int]:
        row = self._database.first(queries.WITH_REVISION, {"key": key})
        if row is None:
            raise NotFoundError(
                f"The history has no entry with the key {key!r}: a submission is "
                "claimed before its job is recorded. Nothing was changed."
            )
        return queries.entry_of(row), int(row.revision)

    def _write(self, before: Entry, after: Entry, news: News, revision: int) -> bool:
        """Write a change; False where somebody else has changed the entry.

        And where its job is told for the first time, but was rebuilt before.
        """
        if not news.keys().isdisjoint(SEARCHED):
            news = news | {"search": search_text(after)}
        values = news | {"its_number": after.number, "its_revision": revision}
        change = queries.change
        if "job_id" in news:
            change = queries.begin
            values["rebuilt_key"] = rebuilt_key(news["job_id"])
        statement = change(tuple(sorted(news)))
        added = totals.changes(before, after)
        if not added:
            return self._database.write(statement, values) > 0
        with self._database.transaction() as connection:
            written: int = connection.execute(statement, values).rowcount
            if written:
                totals.add(connection, added)
        return written > 0

    # -- reading ------------------------------------------------------------------

    def find(self, job_id: str) -> Entry | None:
        """Return the entry of a job; None when it is not in this history."""
        return self._first(queries.BY_JOB, {"job_id": job_id})

    def find_key(self, key: str) -> Entry | None:
        """Return the entry of an idempotency key; None when it was never claimed."""
        return self._first(queries.BY_KEY, {"key": key})

    def newest(
        self, *, service: str, account: str, draw_key: str, take: int
    ) -> Entry | None:
        """Return the latest attempt at one take of a content; None without any."""
        draw = {"service": service, "account": account, "draw_key": draw_key}
        return self._first(queries.LATEST_ATTEMPT, {**draw, "take": take})

    def last_take(self, *, service: str, account: str, draw_key: str) -> int:
        """Return the highest take of a content; 0 when it was never asked for."""
        draw = {"service": service, "account": account, "draw_key": draw_key}
        return self._database.whole(queries.LAST_TAKE, draw)

    def open_intents(self, *, service: str, account: str) -> list[Entry]:
        """Return what was written down and not answered, oldest first."""
        owner = {"service": service, "account": account}
        return self._all(queries.OPEN_INTENTS, owner)

    def unsettled(
        self, *, service: str, account: str, gone_since: datetime | None = None
    ) -> list[Entry]:
        """Return the jobs whose charge is not recorded, oldest first (spec 2.2).

        Failed jobs are among them until their 0 is settled; jobs that the service
        does not know any more are not.

        Args:
            service: Of this service.
            account: Of this account.
            gone_since: With jobs that it did not know at this instant or later.
        """
        owner = {"service": service, "account": account}
        return self._all(queries.UNSETTLED, {**owner, "gone_since": gone_since})

    def reserved_micro_usd(self, *, service: str, account: str) -> int:
        """Return what is held for submits that may still be charged, in micro-USD.

        Settled, refused, failed and vanished ones hold nothing (spec 7.3).
        """
        use = self.account_use(service=service, account=account)
        return use.reserved_micro_usd

    def account_use(self, *, service: str, account: str) -> BudgetUse:
        """Return what an account has spent and holds, micro-USD (spec 2.2)."""
        return self._total(totals.of_account(service, account))

    def settled_total_micro_usd(
        self,
        since: datetime | None = None,
        /,
        *,
        service: str | None = None,
        account: str | None = None,
    ) -> int:
        """Return the sum of all settled charges, in micro-USD (spec 2.2).

        Args:
            since: Only those that were first seen settled at this instant or later.
            service: Only of this service.
            account: Only of this account.
        """
        return self._database.whole(queries.settled(service, account, since))

    def budget_use(self, name: str) -> BudgetUse:
        """Return what is gone of a budget, of all accounts together (spec 2.2)."""
        return self._total(totals.of_budget(name))

    def sweep_use(self, name: str) -> BudgetUse:
        """Return what is gone of a sweep's budget, by the sweep's id (spec 2.2)."""
        return self._total(totals.of_sweep(name))

    def _total(self, name: str) -> BudgetUse:
        row = self._database.first(queries.TOTAL, {"name": name})
        return NOTHING_USED if row is None else BudgetUse(*row)

    def usual_runtime_s(
        self, *, service: str, kind: str, function: str
    ) -> float | None:
        """Return the median seconds of a function's latest completed jobs.

        None before the first. Queueing counts, since it is what one waits for.
        """
        values = {"service": service, "kind": kind, "function": function}
        seconds = [
            (row.finished_at - row.submitted_at).total_seconds()
            for row in self._database.rows(queries.RUNTIMES, values)
            if row.finished_at and row.submitted_at
        ]
        return median(seconds) if seconds else None

    def _first(self, query: Select[Any], values: Values) -> Entry | None:
        row = self._database.first(query, values)
        return None if row is None else queries.entry_of(row)

    def _all(self, query: Select[Any], values: Values) -> list[Entry]:
        return [queries.entry_of(row) for row in self._database.rows(query, values)]


def _forgotten(entry: Entry) -> News:
    blank: News = {"prompt": None, "body": b"{}", "error_message": None}
    return {name: to for name, to in blank.items() if getattr(entry, name) != to}


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
