"""Reads and writes the rows of entries; their totals change with them.

Statements of each submission are made once: SQLAlchemy takes longer to make one than
SQLite to execute it.
"""

from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    delete,
    insert,
    or_,
    select,
)
from sqlalchemy import update as update_rows

from mediakit.history.entry import (
    ENTRY_FIELDS,
    SEARCHED,
    Changes,
    Entry,
    Submission,
    changes_from_rebuilt,
    fresh_entry,
    rebuilt_key,
    search_text,
)
from mediakit.history.limits import change_totals
from mediakit.history.tables import entries


def entry_of(row: Row[Any]) -> Entry:
    """Return the entry of a row of `whole_entries`, which may have more columns."""
    return Entry(**dict(zip(ENTRY_FIELDS, row, strict=False)))


def whole_entries() -> Select[Any]:
    """Select all columns of an entry."""
    return select(*(entries.c[name] for name in ENTRY_FIELDS))


@cache
def _entry_by(column: Column[Any]) -> Select[Any]:
    return whole_entries().where(column == bindparam("value"))


def first_entry(db: Connection, column: Column[Any], value: str) -> Entry | None:
    """Return the entry with this key or job id; None without one."""
    row = db.execute(_entry_by(column), {"value": value}).first()
    return None if row is None else entry_of(row)


_BY_KEY_OR_JOB = whole_entries().where(
    or_(entries.c.key == bindparam("key"), entries.c.job_id == bindparam("job_id"))
)


def entries_of(
    db: Connection, *, key: str, job_id: str
) -> tuple[Entry | None, Entry | None]:
    """Return the entry with this key, and another one with this job id."""
    found = db.execute(_BY_KEY_OR_JOB, {"key": key, "job_id": job_id})
    both = [entry_of(row) for row in found]
    # Compared by the key alone: a stored job id has other characters replaced.
    by_key = next((each for each in both if each.key == key), None)
    return by_key, next((each for each in both if each.key != key), None)


_SAME_ATTEMPT = whole_entries().where(
    or_(
        and_(
            entries.c.asked_key == bindparam("asked_key"),
            entries.c.take == bindparam("take"),
            entries.c.attempt == bindparam("attempt"),
        ),
        entries.c.key == bindparam("key"),
    )
)


def same_attempt(db: Connection, submission: Submission) -> Entry | None:
    """Return the entry of the same attempt at a request, or of the same key.

    Another URL of the same medium gives the same attempt another key.
    """
    names = ("asked_key", "take", "attempt", "key")
    values = {name: getattr(submission, name) for name in names}
    found = [entry_of(row) for row in db.execute(_SAME_ATTEMPT, values)]
    # The attempt counts, if both are found.
    found.sort(key=lambda entry: entry.asked_key != submission.asked_key)
    return found[0] if found else None


def owned_by(
    service: str | None, account: str | None
) -> tuple[ColumnElement[bool], ...]:
    """Select a service and an account; None selects all."""
    wanted = ((entries.c.service, service), (entries.c.account, account))
    return tuple(column == text for column, text in wanted if text is not None)


def row_of(entry: Entry) -> dict[str, Any]:
    """Return the columns of an entry, without its number."""
    values = {name: getattr(entry, name) for name in ENTRY_FIELDS if name != "number"}
    return values | {"search": search_text(entry)}


_INSERT = insert(entries).returning(entries.c.number)
_UPDATE = update_rows(entries).where(entries.c.number == bindparam("of_number"))


def write_request(
    db: Connection, submission: Submission, created_at: datetime, refused: Entry | None
) -> Entry:
    """Write the entry of a request, without its totals; a refused one is reused."""
    number = refused.number if refused else 0
    entry = fresh_entry(submission, number=number, created_at=created_at)
    if refused is None:
        return replace(entry, number=db.execute(_INSERT, row_of(entry)).scalar_one())
    db.execute(_UPDATE, row_of(entry) | {"of_number": number})
    return entry


def change_entry(db: Connection, entry: Entry, changes: Changes) -> Entry:
    """Write changes of an entry, and the totals that they change."""
    if not changes:
        return entry
    after = replace(entry, **changes)
    if not changes.keys().isdisjoint(SEARCHED):
        changes = changes | {"search": search_text(after)}
    db.execute(_UPDATE, {**changes, "of_number": entry.number})
    change_totals(db, entry, after)
    return after


def joined(db: Connection, asked: Entry, rebuilt: Entry) -> Entry | None:
    """Merge the entry of a request with the rebuilt entry of its job.

    Otherwise the history would count the charge twice. None, and nothing changes, if
    the job's entry was not rebuilt, or if the request already has a job.
    """
    is_rebuilt = rebuilt.key == rebuilt_key(rebuilt.job_id or "")
    if not is_rebuilt or asked.job_id is not None:
        return None
    db.execute(delete(entries).where(entries.c.number == rebuilt.number))
    change_totals(db, rebuilt, None)
    return change_entry(db, asked, changes_from_rebuilt(asked, rebuilt))
