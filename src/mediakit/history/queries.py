"""What the history asks its database, as statements."""

from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, func, or_, select, true
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql.dml import ReturningInsert

from mediakit.history.entries import (
    INTENT_FIELDS,
    Entry,
    EntryState,
    Intent,
)
from mediakit.history.tables import entries
from mediakit.records import BillingState, JobStatus

USUAL_OF = 20
_HELD = (EntryState.INTENT, EntryState.SUBMITTED, EntryState.TERMINAL)
_UNSETTLED = (EntryState.SUBMITTED, EntryState.TERMINAL)


def entry_of(row: Row[Any]) -> Entry:
    """Make an entry of a whole row."""
    values = dict(row._mapping)
    values["state"] = EntryState(values["state"])
    values["status"] = values["status"] and JobStatus(values["status"])
    billing_state = values["billing_state"]
    values["billing_state"] = billing_state and BillingState(billing_state)
    return Entry(**values)


def owned_by(service: str | None, account: str | None) -> ColumnElement[bool]:
    """Select a service and an account; None selects all."""
    wanted = ((entries.c.service, service), (entries.c.account, account))
    return and_(
        true(), *(column == text for column, text in wanted if text is not None)
    )


def newest_first() -> Select[Any]:
    """Select whole entries, the newest first."""
    return select(entries).order_by(entries.c.number.desc())


def claim(intent: Intent, created_at: object) -> ReturningInsert[Any]:
    """Insert an intent, or take over a refused one; no row when it is another's."""
    values = {name: getattr(intent, name) for name in INTENT_FIELDS}
    values |= {"state": EntryState.INTENT, "error_code": None, "error_message": None}
    statement = sqlite.insert(entries).values(**values, created_at=created_at)
    return statement.on_conflict_do_update(
        index_elements=[entries.c.key],
        set_=values,
        where=entries.c.state == EntryState.REFUSED,
    ).returning(entries)


def attempts(service: str, account: str, draw_key: str, take: int) -> Select[Any]:
    """Select the attempts at one take, the latest first."""
    return (
        select(entries)
        .where(owned_by(service, account), entries.c.draw_key == draw_key)
        .where(entries.c.take == take)
        .order_by(entries.c.attempt.desc())
    )


def last_take(service: str, account: str, draw_key: str) -> Select[Any]:
    """Select the highest take of a content."""
    same = and_(owned_by(service, account), entries.c.draw_key == draw_key)
    return select(func.max(entries.c.take)).where(same)


def open_intents(service: str, account: str) -> Select[Any]:
    """Select what was not answered, the oldest first."""
    is_open = entries.c.state == EntryState.INTENT
    query = select(entries).where(owned_by(service, account), is_open)
    return query.order_by(entries.c.number)


def unsettled(service: str, account: str) -> Select[Any]:
    """Select jobs without a charge that the service knows, the oldest first."""
    query = select(entries).where(
        owned_by(service, account),
        entries.c.state.in_(_UNSETTLED),
        entries.c.gone_at.is_(None),
    )
    return query.order_by(entries.c.number)


def reserved_micro_usd(service: str, account: str) -> Select[Any]:
    """Select the sum of what is held."""
    not_failed = or_(entries.c.status.is_(None), entries.c.status != JobStatus.FAILED)
    return select(func.sum(entries.c.reserved_micro_usd)).where(
        owned_by(service, account),
        entries.c.state.in_(_HELD),
        entries.c.gone_at.is_(None),
        not_failed,
    )


def settled_micro_usd(service: str | None, account: str | None) -> Select[Any]:
    """Select the sum of the settled charges."""
    query = select(func.sum(entries.c.charge_micro_usd))
    return query.where(owned_by(service, account))


def runtimes(service: str, function: str) -> Select[Any]:
    """Select start and end of the newest completed jobs of a function."""
    return (
        select(entries.c.submitted_at, entries.c.finished_at)
        .where(entries.c.service == service, entries.c.function == function)
        .where(entries.c.status == JobStatus.COMPLETED)
        .order_by(entries.c.number.desc())
        .limit(USUAL_OF)
    )
