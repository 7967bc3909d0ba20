"""The drafts of forms in notebooks, and which form submitted a request."""

from datetime import timedelta
from functools import cache
from typing import Any

from sqlalchemy import Insert, bindparam, delete, select

from mediakit.clock import Clock
from mediakit.history.entries.entry import Entry
from mediakit.history.entries.queries import entry_of, newest_first
from mediakit.history.storage.database import Database
from mediakit.history.storage.file_connection import Connected
from mediakit.history.storage.tables import drafts, entries, insert_into, origins

DRAFTS_KEPT_FOR = timedelta(days=365)

_ORIGIN = bindparam("its_origin", type_=origins.c.origin.type)
_KEY = bindparam("its_key", type_=origins.c.key.type)
_ASKED_FROM = (
    newest_first()
    .join(origins, origins.c.key == entries.c.key)
    .where(
        origins.c.origin == _ORIGIN,
        entries.c.number > bindparam("after", type_=entries.c.number.type),
    )
    .limit(bindparam("most"))
)
_FORGET_ORIGINS = delete(origins).where(origins.c.key == _KEY)
_DRAFT = select(drafts.c.content).where(drafts.c.origin == _ORIGIN)
_FORGET_OLD = delete(drafts).where(
    drafts.c.saved_at < bindparam("its_limit", type_=drafts.c.saved_at.type)
)


@cache
def _note(dialect: str) -> Insert:
    statement = insert_into(origins, dialect).values(origin=_ORIGIN, key=_KEY)
    return statement.on_conflict_do_nothing()


@cache
def _save(dialect: str) -> Insert:
    values = {
        "origin": _ORIGIN,
        "content": bindparam("its_content", type_=drafts.c.content.type),
        "saved_at": bindparam("its_saved_at", type_=drafts.c.saved_at.type),
    }
    statement = insert_into(drafts, dialect).values(values)
    newer: dict[Any, Any] = {
        name: statement.excluded[name] for name in ("content", "saved_at")
    }
    return statement.on_conflict_do_update(index_elements=[drafts.c.origin], set_=newer)


class FormDrafts:
    """The part of the history that restores forms after a kernel restarts.

    An origin is an opaque text that identifies a form in one notebook.
    """

    _database: Database
    _clock: Clock

    def asked_from(self, origin: str, *, limit: int, after: int = 0) -> list[Entry]:
        """Return the entries that a form requested, newest first.

        Args:
            origin: The form.
            limit: The maximum number of entries.
            after: Only entries of a higher number.
        """
        values = {"its_origin": origin, "most": limit, "after": after}
        return [entry_of(row) for row in self._database.rows(_ASKED_FROM, values)]

    def note_origin(self, key: str, origin: str) -> None:
        """Record that a form, too, requests an existing entry."""
        statement = _note(self._database.dialect)
        self._database.write(statement, {"its_origin": origin, "its_key": key})

    def draft(self, origin: str) -> str | None:
        """Return the last draft of a form; None without one."""
        row = self._database.first(_DRAFT, {"its_origin": origin})
        return None if row is None else str(row.content)

    def save_draft(self, origin: str, content: str) -> None:
        """Save the draft of a form, and delete drafts that are a year old.

        Args:
            origin: The form.
            content: A JSON object, without secrets.
        """
        now = self._clock.now()
        values = {"its_origin": origin, "its_content": content, "its_saved_at": now}
        with self._database.transaction() as connection:
            connection.execute(_save(self._database.dialect), values)
            connection.execute(_FORGET_OLD, {"its_limit": now - DRAFTS_KEPT_FOR})


def write_origin(
    connection: Connected, key: str, origin: str | None, *, is_reused: bool
) -> None:
    """Record which form requests an entry.

    Args:
        connection: The transaction that claims the request.
        key: Its idempotency key.
        origin: The form; None for none.
        is_reused: The key was refused before, possibly for another form.
    """
    if is_reused:
        connection.execute(_FORGET_ORIGINS, {"its_key": key})
    if origin is not None:
        values = {"its_origin": origin, "its_key": key}
        connection.execute(_note(connection.dialect.name), values)
