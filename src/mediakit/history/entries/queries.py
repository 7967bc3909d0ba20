"""The SQL statements of the history, each built once.

To build a statement with this many columns takes longer than to run it.
"""

from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Executable,
    Row,
    Select,
    Update,
    bindparam,
    delete,
    exists,
    func,
    or_,
    select,
    update,
)
from sqlalchemy.sql.dml import ReturningInsert

from mediakit.history.entries.entry import (
    ATTEMPT,
    ENTRY_FIELDS,
    PAST,
    SUBMISSION_FIELDS,
    Entry,
    EntryState,
    Submission,
    plain_values,
)
from mediakit.history.entries.fast_replace import made
from mediakit.history.entries.search_text import searchable
from mediakit.history.storage.tables import entries, insert_into, limits, totals
from mediakit.records import BillingState, JobStatus

USUAL_OF = 20
HOLDING = (EntryState.UNANSWERED, EntryState.SUBMITTED, EntryState.TERMINAL)
AT_WORK = (EntryState.SUBMITTED, EntryState.TERMINAL)
_CLAIMED = (*SUBMISSION_FIELDS, "state", "search")


def entry_of(row: Row[Any]) -> Entry:
    """Return the entry of a row of `whole_entries`."""
    values = dict(zip(ENTRY_FIELDS, row, strict=False))
    values["state"] = EntryState(values["state"])
    values["status"] = values["status"] and JobStatus(values["status"])
    billing_state = values["billing_state"]
    values["billing_state"] = billing_state and BillingState(billing_state)
    return made(Entry, values)


def whole_entries() -> Select[Any]:
    """Select all columns of an entry."""
    return select(*(entries.c[name] for name in ENTRY_FIELDS))


def newest_first() -> Select[Any]:
    """Select whole entries, newest first."""
    return whole_entries().order_by(entries.c.number.desc())


def _given(name: str) -> BindParameter[Any]:
    return bindparam(name, type_=entries.c[name].type)


def _is(*names: str) -> tuple[ColumnElement[bool], ...]:
    return tuple(entries.c[name] == _given(name) for name in names)


def _in(states: tuple[EntryState, ...]) -> ColumnElement[bool]:
    # Not `in_`: it expands its list each time the statement runs.
    return or_(*(entries.c.state == state for state in states))


_OWN = _is("service", "account")
# The index is on this column, not on the state.
_IS_OPEN = entries.c.settled_at.is_(None)
# Without the service, which both keys contain: so their indexes are used.
_SAME = or_(*_is("asked_key", "draw_key"))

WITH_REVISION = whole_entries().add_columns(entries.c.revision).where(*_is("key"))
BY_KEY = whole_entries().where(*_is("key"))
BY_ATTEMPT = whole_entries().where(*_is(*ATTEMPT))
BY_JOB = newest_first().add_columns(entries.c.revision).where(*_is("job_id")).limit(1)
LATEST_ATTEMPT = (
    whole_entries()
    .where(_SAME, *_is("take"))
    .order_by(entries.c.attempt.desc(), entries.c.number.desc())
    .limit(1)
)
LAST_TAKE = select(func.max(entries.c.take)).where(_SAME)
UNANSWERED = (
    whole_entries()
    .where(*_OWN, _IS_OPEN, entries.c.state == EntryState.UNANSWERED)
    .order_by(entries.c.number)
)
UNSETTLED = (
    whole_entries()
    .where(*_is("service"), _IS_OPEN, _in(AT_WORK))
    .order_by(entries.c.number)
)
# Start and end of the newest completed jobs of a function, without sample entries:
# these say nothing about how long renders take.
RUNTIMES = (
    select(entries.c.submitted_at, entries.c.finished_at)
    .where(
        *_is("service", "kind", "function"),
        entries.c.status == JobStatus.COMPLETED,
        entries.c.finished_at.is_not(None),
        ~entries.c.key.startswith(PAST),
    )
    .order_by(entries.c.number.desc())
    .limit(USUAL_OF)
)
TOTAL = select(totals.c.spent_micro_usd, totals.c.reserved_micro_usd).where(
    totals.c.name == bindparam("name", type_=totals.c.name.type)
)

_SETTLED_AT = func.coalesce(
    entries.c.settled_at, entries.c.finished_at, entries.c.created_at
)
CHARGES_OF_BUDGET = (
    select(_SETTLED_AT, entries.c.charge_micro_usd)
    .where(*_is("budget"), entries.c.charge_micro_usd.is_not(None))
    .order_by(_SETTLED_AT)
)


def settled(
    service: str | None, account: str | None, since: datetime | None
) -> Select[Any]:
    """Select the sum of the settled charges; None selects all."""
    late = () if since is None else (entries.c.settled_at >= since,)
    total = select(func.sum(entries.c.charge_micro_usd))
    return total.where(*owned_by(service, account), *late)


def projects(service: str | None, account: str | None) -> Select[Any]:
    """Select the labels of projects, each once; None selects all."""
    query = select(entries.c.project).distinct().order_by(entries.c.project)
    return query.where(entries.c.project.is_not(None), *owned_by(service, account))


def owned_by(
    service: str | None, account: str | None
) -> tuple[ColumnElement[bool], ...]:
    """Select a service and an account; None selects all."""
    wanted = ((entries.c.service, service), (entries.c.account, account))
    return tuple(column == text for column, text in wanted if text is not None)


@cache
def claim(dialect: str) -> ReturningInsert[Any]:
    """Insert a submission, or reuse a refused entry; no row if the attempt is taken."""
    values = {name: _given(name) for name in (*_CLAIMED, "created_at")}
    statement = insert_into(entries, dialect).values(values)
    fresh: dict[Any, Any] = {name: statement.excluded[name] for name in values}
    fresh |= {"error_code": None, "error_message": None}
    fresh["revision"] = entries.c.revision + 1
    return statement.on_conflict_do_update(
        index_elements=[entries.c[name] for name in ATTEMPT],
        set_=fresh,
        where=entries.c.state == EntryState.REFUSED,
    ).returning(entries.c.number, entries.c.created_at, entries.c.revision)


def claim_values(submission: Submission, created_at: datetime) -> dict[str, Any]:
    """Return the values of a submission, for `claim`."""
    values = plain_values(submission)
    search = searchable(
        [submission.prompt, submission.kind, submission.function, submission.project]
    )
    added = {"state": EntryState.UNANSWERED, "search": search, "created_at": created_at}
    return values | added


@cache
def add_to_total(dialect: str) -> ReturningInsert[Any]:
    """Add to a total, which may be new, and return the new total."""
    values = {
        column.name: bindparam(column.name, type_=column.type) for column in totals.c
    }
    statement = insert_into(totals, dialect).values(values)
    sums = {
        column.name: column + statement.excluded[column.name]
        for column in (totals.c.spent_micro_usd, totals.c.reserved_micro_usd)
    }
    return statement.on_conflict_do_update(
        index_elements=[totals.c.name], set_=sums
    ).returning(totals.c.spent_micro_usd, totals.c.reserved_micro_usd)


LIMIT = select(limits.c.limit_micro_usd).where(
    limits.c.name == bindparam("name", type_=limits.c.name.type)
)


@cache
def keep_limit(dialect: str) -> Executable:
    """Keep the limit of a total; the last one replaces the earlier ones."""
    values = {
        column.name: bindparam(column.name, type_=column.type) for column in limits.c
    }
    statement = insert_into(limits, dialect).values(values)
    kept = {"limit_micro_usd": statement.excluded["limit_micro_usd"]}
    return statement.on_conflict_do_update(
        index_elements=[limits.c.name],
        set_=kept,
        where=limits.c.limit_micro_usd != statement.excluded["limit_micro_usd"],
    )


REMOVE = delete(entries).where(entries.c.number == bindparam("its_number"))

# Typed as a job id: it contains one, which is text from the service.
_REBUILT_KEY = bindparam("rebuilt_key", type_=entries.c.job_id.type)
REBUILT = whole_entries().where(entries.c.key == _REBUILT_KEY)
_others = entries.alias()
# Also an entry that was rebuilt, which has the job as its own.
_IS_OF_ANOTHER = exists().where(
    _others.c.job_id == bindparam("its_job_id", type_=entries.c.job_id.type),
    _others.c.number != bindparam("its_number"),
)


@cache
def begin(names: tuple[str, ...]) -> Update:
    """Set the job and other fields of an entry, unless another entry has that job.

    Takes `its_job_id` and the parameters of `change`. A separate query would cost each
    submission one more statement.
    """
    return change(names).where(~_IS_OF_ANOTHER)


@cache
def change(names: tuple[str, ...]) -> Update:
    """Set some fields of an entry that has not changed since it was read.

    Takes `its_number`, `its_revision` and the fields.
    """
    is_as_read = (
        entries.c.number == bindparam("its_number"),
        entries.c.revision == bindparam("its_revision"),
    )
    values: dict[str, Any] = {name: _given(name) for name in names}
    values["revision"] = entries.c.revision + 1
    return update(entries).where(*is_as_read).values(values)
