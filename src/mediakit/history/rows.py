"""Reads and writes rows of entries: look-ups, changes and pages.

The statements of each submission are built once: SQLAlchemy takes longer to build one
than SQLite to execute it.
"""

import json
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any, Literal, TypedDict, Unpack, get_args

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Insert,
    Row,
    Select,
    and_,
    bindparam,
    delete,
    exists,
    func,
    or_,
    select,
    tuple_,
    update,
)

from mediakit.api_models import JobStatus
from mediakit.errors import InputError
from mediakit.history.entry import (
    ENTRY_FIELDS,
    Entry,
    EntryState,
    Submission,
    fresh_entry,
    rebuilt_key,
)
from mediakit.history.merging import Changes, changes_from_rebuilt
from mediakit.history.search import (
    SEARCHED,
    TITLED_BY,
    search_text,
    searched_title,
    words_of,
)
from mediakit.history.spending_limits import change_totals
from mediakit.history.tables import entries, judgements, parents, upserting

Order = Literal["newest", "oldest", "dearest"]

ORDERS: tuple[Order, ...] = get_args(Order)
LONGEST_SEARCH = 1_000
HIGHEST_LIMIT = 2**31 - 1
NO_CHARGE = -1  # below 0, which is a real charge


def whole_entries() -> Select[Any]:
    """Select all columns of an entry."""
    return select(*(entries.c[name] for name in ENTRY_FIELDS))


def entry_of(row: Row[Any]) -> Entry:
    """Convert a row of `whole_entries`, which may have more columns, to an entry."""
    return Entry(**dict(zip(ENTRY_FIELDS, row, strict=False)))


# -- queries --------------------------------------------------------------------------


@cache
def _entry_by(column: Column[Any]) -> Select[Any]:
    return whole_entries().where(column == bindparam("value"))


_BY_KEY_OR_JOB = whole_entries().where(
    or_(entries.c.key == bindparam("key"), entries.c.job_id == bindparam("job_id"))
)
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


def first_entry(db: Connection, column: Column[Any], value: str) -> Entry | None:
    """Return the entry with this key or job id, or None if there is none."""
    row = db.execute(_entry_by(column), {"value": value}).first()
    return None if row is None else entry_of(row)


def entries_of(
    db: Connection, *, key: str, job_id: str
) -> tuple[Entry | None, Entry | None]:
    """Return the entry with this key, and another one with this job id."""
    rows = db.execute(_BY_KEY_OR_JOB, {"key": key, "job_id": job_id})
    both = [entry_of(row) for row in rows]
    # Compare only keys: unstorable characters are replaced in job IDs.
    by_key = next((each for each in both if each.key == key), None)
    return by_key, next((each for each in both if each.key != key), None)


def same_attempt(db: Connection, submission: Submission) -> Entry | None:
    """Return the entry of the same attempt under any key, or of the same key."""
    names = ("asked_key", "take", "attempt", "key")
    values = {name: getattr(submission, name) for name in names}
    entries = [entry_of(row) for row in db.execute(_SAME_ATTEMPT, values)]
    # The attempt takes precedence over the key.
    return min(
        entries,
        key=lambda entry: entry.asked_key != submission.asked_key,
        default=None,
    )


# -- changes --------------------------------------------------------------------------

_UPDATE = update(entries).where(entries.c.number == bindparam("of_number"))


def row_of(entry: Entry, search: str) -> dict[str, Any]:
    """Return the columns of an entry, without its number."""
    values = vars(entry) | {"search": search}
    del values["number"]
    return values


@cache
def _insert(dialect: str) -> Insert:
    return upserting(dialect, entries).returning(entries.c.number)


def write_request(
    db: Connection, submission: Submission, created_at: datetime
) -> tuple[Entry, Entry | None]:
    """Write a request, unless this attempt is known; return both entries."""
    entry = fresh_entry(submission, number=0, created_at=created_at)
    row = row_of(entry, _searched(db, entry))
    values = {name: each for name, each in row.items() if each is not None}
    # Nearly every request is new, so insert without looking it up first.
    number = db.execute(_insert(db.dialect.name), values).scalar()
    if number is not None:
        return replace(entry, number=number), None
    existing = same_attempt(db, submission)
    assert existing is not None  # an entry with this key or attempt
    if existing.state is not EntryState.REFUSED:
        return existing, existing
    db.execute(_UPDATE, row | {"of_number": existing.number})
    return replace(entry, number=existing.number), existing


def change_entry(db: Connection, entry: Entry, changes: Changes) -> Entry:
    """Write changes of an entry, and of the totals that depend on it."""
    if not changes:
        return entry
    after = replace(entry, **changes)
    if not changes.keys().isdisjoint(SEARCHED):
        changes = changes | {"search": _searched(db, after)}
    db.execute(_UPDATE, {**changes, "of_number": entry.number})
    change_totals(db, entry, after)
    if not changes.keys().isdisjoint(TITLED_BY):
        _retitle_children(db, after)
    return after


_SOURCE_TEXTS = (
    select(entries.c.search)
    .join(parents, parents.c.job_id == entries.c.job_id)
    .where(parents.c.draw_key == bindparam("of_draw"))
    .where(entries.c.draw_key != bindparam("of_draw"))
)
_CHILDREN = (
    whole_entries()
    .join(parents, parents.c.draw_key == entries.c.draw_key)
    .where(parents.c.job_id == bindparam("of_job"), entries.c.prompt.is_(None))
)


def _searched(db: Connection, entry: Entry) -> str:
    """Return the search text; a job without a prompt is titled by its sources."""
    sources: list[str] = []
    if not entry.prompt:
        rows = db.execute(_SOURCE_TEXTS, {"of_draw": entry.draw_key})
        sources = [searched_title(text) for (text,) in rows]
    return search_text(entry, sources)


def _retitle_children(db: Connection, source: Entry) -> None:
    """Update the search texts of jobs made from one whose title has changed."""
    for child in map(entry_of, db.execute(_CHILDREN, {"of_job": source.job_id}).all()):
        if child.draw_key != source.draw_key:
            values = {"search": _searched(db, child), "of_number": child.number}
            db.execute(_UPDATE, values)
            _retitle_children(db, child)


def merge_rebuilt_entry(db: Connection, asked: Entry, rebuilt: Entry) -> Entry | None:
    """Merge a rebuilt entry into that of its request: one job, one charge."""
    is_rebuilt = rebuilt.key == rebuilt_key(rebuilt.job_id or "")
    if not is_rebuilt or asked.job_id is not None:
        return None
    db.execute(delete(entries).where(entries.c.number == rebuilt.number))
    change_totals(db, rebuilt, None)
    entry = change_entry(db, asked, changes_from_rebuilt(asked, rebuilt))
    _retitle_children(db, entry)
    return entry


# -- pages ----------------------------------------------------------------------------


class Chosen(TypedDict, total=False):
    """Filters for entries; None matches all. `rating` is the lowest one."""

    project: str | None
    kind: str | None
    status: str | None
    sweep: str | None
    service: str | None
    account: str | None
    since: datetime | None
    until: datetime | None
    rating: int | None
    keep: bool | None
    tag: str | None


JSON_SIGNS = frozenset('[]",\\')


def where(
    text: str | None = None, **chosen: Unpack[Chosen]
) -> list[ColumnElement[bool]]:
    """Return the conditions of chosen entries that contain all words of a text.

    The words may be in the request, or in the note and the tags of its output.
    """
    given: object = text
    is_text = isinstance(given, str) and len(given) <= LONGEST_SEARCH
    if given is not None and not is_text:
        accepted = f"text of up to {LONGEST_SEARCH:,} characters"
        raise InputError("text", got=text, accepted=accepted)
    status = chosen.get("status")
    if status is not None and status not in list(JobStatus):
        accepted = ", ".join(JobStatus)
        raise InputError("status", got=status, accepted=accepted, spec="3.1")
    table = judgements.c
    conditions = []
    judgement_conditions = []
    wanted: dict[str, Any] = {k: v for k, v in chosen.items() if v is not None}
    for name, value in wanted.items():
        match name:
            case "since":
                conditions.append(entries.c.created_at >= value)
            case "until":
                conditions.append(entries.c.created_at < value)
            case "rating":
                judgement_conditions.append(table.rating >= value)
            case "keep":
                judgement_conditions.append(table.keep == value)
            case "tag":
                tag = json.dumps(value, ensure_ascii=False)
                judgement_conditions.append(table.tags.contains(tag, autoescape=True))
            case _:
                conditions.append(entries.c[name] == value)
    names = ("service", "account", "job_id")
    its = [table[name] == entries.c[name] for name in names]
    if judgement_conditions:
        conditions.append(exists().where(*its, *judgement_conditions))
    for word in words_of(text or ""):
        written = [func.lower(table.note).contains(word, autoescape=True)]
        if not JSON_SIGNS.intersection(word):
            written.append(func.lower(table.tags).contains(word, autoescape=True))
        in_request = entries.c.search.contains(word, autoescape=True)
        conditions.append(or_(in_request, exists().where(*its, or_(*written))))
    return conditions


def check_limit(limit: int) -> None:
    """Reject an invalid number of rows."""
    if not 1 <= limit <= HIGHEST_LIMIT:
        accepted = f"a whole number from 1 to {HIGHEST_LIMIT:,}"
        raise InputError("limit", got=limit, accepted=accepted)


def page_of(
    query: Select[Any], limit: int, before: Entry | None, order: Order
) -> Select[Any]:
    """Select the page after an entry."""
    check_limit(limit)
    if order not in ORDERS:
        raise InputError("order", got=order, accepted=", ".join(ORDERS))
    place: list[ColumnElement[int]] = [entries.c.number]
    if order == "dearest":
        place.insert(0, func.coalesce(entries.c.charge_micro_usd, NO_CHARGE))
    is_rising = order == "oldest"
    query = query.order_by(*(each if is_rising else each.desc() for each in place))
    if before is not None:
        charge = before.charge_micro_usd
        last = (NO_CHARGE if charge is None else charge, before.number)[-len(place) :]
        its_place = tuple_(*place)
        query = query.where(its_place > last if is_rising else its_place < last)
    return query.limit(limit)
