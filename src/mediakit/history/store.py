"""The history: jobs and money, each change in one transaction.

The modules `ratings`, `lineage`, `forms` and `uploads` add to it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple, Self, Unpack

from sqlalchemy import Column, Select, bindparam, delete, func, or_, select

from mediakit.api_models import JobRecord, JobStatus
from mediakit.clock import Clock, SystemClock
from mediakit.errors import MediakitError, NotFoundError, ServiceError
from mediakit.history.database import BUSY_TIMEOUT_S, Database
from mediakit.history.entry import AT_WORK, PAST, Entry, EntryState, Submission
from mediakit.history.merging import (
    Changes,
    changes_from_job,
    changes_from_refusal,
    changes_from_request,
    changes_from_stop,
)
from mediakit.history.open_file import REPLACED
from mediakit.history.rows import (
    Chosen,
    Order,
    change_entry,
    check_limit,
    entries_of,
    entry_of,
    first_entry,
    merge_rebuilt_entry,
    page_of,
    where,
    whole_entries,
    write_request,
)
from mediakit.history.spending_limits import (
    BudgetLimit,
    BudgetUse,
    Spendable,
    account_total,
    budget_total,
    refuse_beyond_budget,
    reserve,
    sweep_total,
    total,
)
from mediakit.history.tables import entries, origins, totals, upsert
from mediakit.history.tables import parents as parent_jobs

if TYPE_CHECKING:
    import pandas as pd

GONE_FOR_SURE = timedelta(days=1)
JOB_OF_ANOTHER = "job_of_another_request"
USUAL_OF = 20
# The index is on this column, not on the state.
_IS_OPEN = entries.c.settled_at.is_(None)
# No condition on the service, which both keys contain, so that their indexes are used.
_SAME_REQUEST = or_(
    entries.c.asked_key == bindparam("asked_key"),
    entries.c.draw_key == bindparam("draw_key"),
)
_NEWEST = (
    whole_entries()
    .where(_SAME_REQUEST, entries.c.take == bindparam("take"))
    .order_by(entries.c.attempt.desc(), entries.c.number.desc())
    .limit(1)
)


class Parent(NamedTuple):
    """A job whose output is an input of another."""

    field: str
    """The field of the request, such as "video_url" or "images[0]"."""
    job_id: str
    url: str
    """The URL of the output in the request."""


class History:
    """All submissions of a user, each committed before it is sent.

    A call waits up to `busy_timeout_s` for another program's lock.
    """

    def __init__(
        self,
        url: str | Path,
        *,
        clock: Clock | None = None,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
    ) -> None:
        self.database = Database(url, busy_timeout_s)
        self.clock = clock or SystemClock()
        self.is_local = self.database.is_local
        self.place = self.database.place
        """The same for every path to a database."""

    def __repr__(self) -> str:
        return f"History({self.database.name!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database's connections; closing again has no effect."""
        self.database.close()

    # -- claims -------------------------------------------------------------------

    def claim(
        self,
        submission: Submission,
        *,
        spendable: Spendable | None = None,
        budget: BudgetLimit | None = None,
        sweep: BudgetLimit | None = None,
        parents: Sequence[Parent] = (),
        origin: str | None = None,
    ) -> tuple[Entry, bool]:
        """Write a submission before it is sent, if all given limits cover it.

        Returns the entry, and whether it is new: False if this attempt already has one.
        """
        if budget is not None:
            submission = replace(submission, budget=budget.name)
        if sweep is not None:
            submission = replace(submission, sweep=sweep.name)
        self.refuse_replaced()
        with self.database.writing() as db:
            # All takes and attempts of a request share the parents and the title.
            request = {"draw_key": submission.draw_key}
            inputs = [
                request | {"field": each.field, "job_id": each.job_id}
                for each in parents
            ]
            upsert(db, parent_jobs, inputs)
            entry, earlier = write_request(db, submission, self.clock.now())
            if entry is earlier:
                return entry, False
            reserve(db, entry, spendable, budget, sweep)
            if earlier is not None:
                db.execute(delete(origins).where(origins.c.key == earlier.key))
            if origin is not None:
                upsert(db, origins, [{"origin": origin, "key": submission.key}])
        return entry, True

    def refuse_replaced(self) -> None:
        """Raise if the file of the history was replaced after it was opened."""
        if self.database.file.is_replaced:
            raise MediakitError(
                f"The history {self.database.name} cannot record it. {REPLACED} "
                "Nothing was sent."
            )

    def count_against(
        self,
        key: str,
        budget: BudgetLimit | None,
        sweep: str | None = None,
        sweep_limit: BudgetLimit | None = None,
    ) -> Entry:
        """Move an unanswered submission to another budget and sweep that cover it."""
        with self.database.writing() as db:
            entry = first_entry(db, entries.c.key, key)
            if entry is None:
                raise _not_claimed(key)
            changes: Changes = {}
            if budget is not None and entry.budget != budget.name:
                changes["budget"] = budget.name
            if sweep is not None and entry.sweep != sweep:
                changes["sweep"] = sweep
            if entry.state is not EntryState.UNANSWERED or not changes:
                return entry
            after = change_entry(db, entry, changes)
            if budget is not None and "budget" in changes:
                use = total(db, budget_total(budget.name))
                refuse_beyond_budget(after, budget, use, in_doubt=True)
            if sweep_limit is not None and "sweep" in changes:
                use = total(db, sweep_total(sweep_limit.name))
                refuse_beyond_budget(
                    after, sweep_limit, use, is_sweep=True, in_doubt=True
                )
            return after

    # -- outcomes -----------------------------------------------------------------

    def record(self, job: JobRecord) -> Entry | None:
        """Record a job's state; return None if the job is not in this history."""
        now = self.clock.now()

        def changes_of(entry: Entry) -> Changes:
            return changes_from_job(entry, job, now=now)

        if job.settled_charge_micro_usd is None:
            # Most of these records change nothing, so no write lock is taken.
            current = self.find(job.id)
            if current is None or not changes_of(current):
                return current
        return self._change(entries.c.job_id, job.id, changes_of)

    def record_job(self, key: str, job: JobRecord) -> Entry:
        """Record the state of the job with this key, whatever the record's age."""
        now = self.clock.now()
        # Nearly every answer is new, so it is not looked up before the lock is taken.
        with self.database.writing() as db:
            entry, owner = entries_of(db, key=key, job_id=job.id)
            if entry is None:
                raise _not_claimed(key)
            if owner is not None:
                entry = merge_rebuilt_entry(db, entry, owner) or entry
            # A charge is recorded once for each job (spec 2.2).
            is_own = owner is None or entry.job_id is not None
            changes = (
                changes_from_job(entry, job, now=now)
                if is_own
                else changes_from_refusal(
                    entry,
                    code=JOB_OF_ANOTHER,
                    message=f"The service answered this request with {job.id}.",
                )
            )
            entry = change_entry(db, entry, changes)
        if not is_own:
            raise ServiceError(
                f"The service answered this request with {job.id}, which is the job of "
                "another request in this history. The request was sent, and the "
                "history keeps the job and its charge for the first request only. Ask "
                "the service which request the job belongs to.",
                job_id=job.id,
            )
        return entry

    def record_refusal(self, key: str, *, code: str, message: str) -> Entry:
        """Record a response without a job, which releases the hold (spec 7.1)."""
        entry = self._change(
            entries.c.key,
            key,
            lambda current: changes_from_refusal(current, code=code, message=message),
        )
        if entry is None:
            raise _not_claimed(key)
        return entry

    def record_stop(self, key: str, *, message: str) -> None:
        """Record that an unanswered submission is resent only on request."""
        self._change(
            entries.c.key, key, lambda entry: changes_from_stop(entry, message=message)
        )

    def clear_stop(self, key: str) -> None:
        """Record that a submission which was stopped is requested again."""
        self._change(entries.c.key, key, changes_from_request)

    def mark_gone(self, job_id: str, *, account: str | None = None) -> None:
        """Record that the service does not know a job; its hold ends a day later."""
        now = self.clock.now()
        self._change(
            entries.c.job_id,
            job_id,
            lambda entry: _gone(entry, now) if account in (None, entry.account) else {},
        )

    def _change(
        self, column: Column[Any], value: str, changes_of: Callable[[Entry], Changes]
    ) -> Entry | None:
        """Change the entry with this key or job id; None if there is none."""
        with self.database.writing() as db:
            entry = first_entry(db, column, value)
            return entry and change_entry(db, entry, changes_of(entry))

    # -- queries ------------------------------------------------------------------

    def find(self, job_id: str) -> Entry | None:
        """Return the entry of a job; None if it is not in this history."""
        return self._first(entries.c.job_id, job_id)

    def find_key(self, key: str) -> Entry | None:
        """Return the entry of an idempotency key; None if it was never claimed."""
        return self._first(entries.c.key, key)

    def newest(self, *, asked_key: str, draw_key: str, take: int) -> Entry | None:
        """Return the latest attempt at one take of a request, or None."""
        request = {"asked_key": asked_key, "draw_key": draw_key, "take": take}
        attempts = self._entries(_NEWEST, **request)
        return attempts[0] if attempts else None

    def last_take(self, *, asked_key: str, draw_key: str) -> int:
        """Return the highest take of a request; 0 if it was never submitted."""
        query = select(func.max(entries.c.take)).where(_SAME_REQUEST)
        return self._whole(query, asked_key=asked_key, draw_key=draw_key)

    def unanswered_entries(self, *, service: str, account: str) -> list[Entry]:
        """Return the entries without a response, oldest first."""
        return self._entries(
            whole_entries()
            .where(*where(service=service, account=account), _IS_OPEN)
            .where(entries.c.state == EntryState.UNANSWERED)
            .order_by(entries.c.number)
        )

    def unsettled(self, *, service: str) -> list[Entry]:
        """Return the unsettled jobs of all accounts, oldest first (spec 2.2)."""
        return self._entries(
            whole_entries()
            .where(entries.c.service == service, _IS_OPEN)
            .where(entries.c.state.in_(AT_WORK))
            .order_by(entries.c.number)
        )

    def outputs_at(
        self, urls: Iterable[str], *, service: str | None = None
    ) -> dict[str, Entry]:
        """Return the entries whose outputs are at these URLs, by URL."""
        query = whole_entries().where(*where(service=service))
        rows = self.database.rows_with(query, entries.c.output_url, urls)
        oldest_first = sorted(map(entry_of, rows), key=lambda entry: entry.number)
        return {str(entry.output_url): entry for entry in oldest_first}

    def usual_runtime_s(
        self, *, service: str, kind: str, function: str
    ) -> float | None:
        """Return the median seconds, queue included, of recently completed jobs."""
        query = (
            select(entries.c.submitted_at, entries.c.finished_at)
            .where(entries.c.service == service, entries.c.kind == kind)
            .where(entries.c.function == function)
            .where(entries.c.status == JobStatus.COMPLETED)
            .where(entries.c.submitted_at.is_not(None))
            .where(entries.c.finished_at.is_not(None))
            # Sample entries say nothing about how long renders take.
            .where(~entries.c.key.startswith(PAST))
            .order_by(entries.c.number.desc())
            .limit(USUAL_OF)
        )
        seconds = [
            (finished - began).total_seconds()
            for began, finished in self.database.rows(query)
        ]
        return median(seconds) if seconds else None

    def _first(self, column: Column[Any], value: str) -> Entry | None:
        with self.database.reading() as db:
            return first_entry(db, column, value)

    def _entries(self, query: Select[Any], **values: object) -> list[Entry]:
        return [entry_of(row) for row in self.database.rows(query, **values)]

    def _whole(self, query: Select[Any], **values: object) -> int:
        ((number,),) = self.database.rows(query, **values)
        return int(number or 0)

    # -- sums ---------------------------------------------------------------------

    def account_use(self, *, service: str, account: str) -> BudgetUse:
        """Return the use of an account, in micro-USD (spec 2.2)."""
        return self._use(account_total(service, account))

    def budget_use(self, name: str) -> BudgetUse:
        """Return the use of a budget by all accounts (spec 2.2)."""
        return self._use(budget_total(name))

    def sweep_use(self, name: str) -> BudgetUse:
        """Return the use of a sweep's budget, by the sweep's id (spec 2.2)."""
        return self._use(sweep_total(name))

    def budget_limit(self, name: str) -> BudgetLimit | None:
        """Return the latest limit of a budget; None if it never had one."""
        return self._limit(name, budget_total(name))

    def sweep_limit(self, name: str) -> BudgetLimit | None:
        """Return the latest limit of a sweep; None if it never had one."""
        return self._limit(name, sweep_total(name))

    def _use(self, name: str) -> BudgetUse:
        with self.database.reading() as db:
            return total(db, name)

    def _limit(self, name: str, total_name: str) -> BudgetLimit | None:
        query = select(totals.c.limit_micro_usd).where(totals.c.name == total_name)
        limits = [limit for (limit,) in self.database.rows(query) if limit is not None]
        return BudgetLimit(name, limits[0]) if limits else None

    def settled_total_micro_usd(
        self,
        since: datetime | None = None,
        /,
        *,
        service: str | None = None,
        account: str | None = None,
    ) -> int:
        """Return the sum of the charges settled since an instant, in micro-USD."""
        late = () if since is None else (entries.c.settled_at >= since,)
        query = select(func.sum(entries.c.charge_micro_usd))
        return self._whole(query.where(*where(service=service, account=account), *late))

    def budget_charges(self, name: str) -> list[tuple[datetime, int]]:
        """Return the settlement time and micro-USD of each charge of a budget."""
        at = func.coalesce(
            entries.c.settled_at, entries.c.finished_at, entries.c.created_at
        )
        query = (
            select(at, entries.c.charge_micro_usd)
            .where(entries.c.budget == name, entries.c.charge_micro_usd.is_not(None))
            .order_by(at)
        )
        return [(when, charge) for when, charge in self.database.rows(query)]

    def services(self, names: Iterable[str]) -> list[str]:
        """Return which of some services have entries, the most recent first."""
        query = (
            select(entries.c.service)
            .where(entries.c.service.in_(names))
            .group_by(entries.c.service)
            .order_by(func.max(entries.c.number).desc())
        )
        return [service for (service,) in self.database.rows(query)]

    def projects(
        self, *, service: str | None = None, account: str | None = None
    ) -> list[str]:
        """Return the distinct project labels, sorted."""
        query = (
            select(entries.c.project)
            .distinct()
            .where(entries.c.project.is_not(None))
            .where(*where(service=service, account=account))
            .order_by(entries.c.project)
        )
        return [project for (project,) in self.database.rows(query)]

    # -- pages and frames ---------------------------------------------------------

    def page(
        self,
        *,
        limit: int = 50,
        before: Entry | None = None,
        text: str | None = None,
        order: Order = "newest",
        **chosen: Unpack[Chosen],
    ) -> list[Entry]:
        """Return one page of entries; see `AsyncHistoryView.page`."""
        query = whole_entries().where(*where(text, **chosen))
        return self._entries(page_of(query, limit, before, order))

    def search(
        self, text: str, *, limit: int | None = None, **chosen: Unpack[Chosen]
    ) -> "pd.DataFrame":
        """Return the frame of the entries that contain all words of a text."""
        from mediakit.history import frames

        if limit is not None:
            check_limit(limit)
        query = frames.frame_query().where(*where(text, **chosen)).limit(limit)
        return frames.entries_frame(self.database.rows(query))

    def frame(
        self, *, params: bool = False, **chosen: Unpack[Chosen]
    ) -> "pd.DataFrame":
        """Return the whole history as a frame; see `AsyncHistoryView.frame`."""
        from mediakit.history import frames

        if params:
            return frames.params_frame(self.database, where(**chosen))
        rows = self.database.rows(frames.frame_query().where(*where(**chosen)))
        return frames.entries_frame(rows)


def _not_claimed(key: str) -> NotFoundError:
    return NotFoundError(
        f"The history has no entry with the key {key!r}. A submission must be "
        "recorded before its job can be. Nothing was changed."
    )


def _gone(entry: Entry, now: datetime) -> Changes:
    if entry.gone_at is None:
        return {"gone_at": now}
    is_sure = entry.state in AT_WORK and now - entry.gone_at >= GONE_FOR_SURE
    return {"state": EntryState.GONE} if is_sure else {}
