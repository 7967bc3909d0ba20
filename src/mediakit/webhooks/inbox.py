"""The inbox: every event that was taken, on disk, and whether it was handled."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Any

from tenacity import retry, retry_if_exception_message, stop_after_delay, wait_random

from mediakit.errors import InputError

IN_MEMORY = ":memory:"
BUSY_TIMEOUT_S = 30.0
LEASE_S = 15.0

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_TABLE = """
CREATE TABLE IF NOT EXISTS mediakit_inbox (
    number INTEGER PRIMARY KEY,
    receiver TEXT NOT NULL,
    event TEXT NOT NULL,
    body BLOB,
    state TEXT NOT NULL,
    tries INTEGER NOT NULL,
    due_us INTEGER NOT NULL,
    UNIQUE (receiver, event)
) STRICT
"""
_INDEX = """
CREATE INDEX IF NOT EXISTS ix_mediakit_inbox_due
ON mediakit_inbox (receiver, due_us) WHERE state = 'waiting'
"""
# An event that was given up is taken up again when somebody has it replayed.
_NOTE = """
INSERT INTO mediakit_inbox (receiver, event, body, state, tries, due_us)
VALUES (:receiver, :event, :body, 'waiting', 0, :now)
ON CONFLICT (receiver, event) DO UPDATE
SET body = :body, state = 'waiting', tries = 0, due_us = :now
WHERE state = 'given up'
"""
_TAKE = """
UPDATE mediakit_inbox SET due_us = :until, tries = tries + 1
WHERE number = (
    SELECT number FROM mediakit_inbox
    WHERE receiver = :receiver AND state = 'waiting' AND due_us <= :now
    ORDER BY number LIMIT 1
)
RETURNING event, body, tries
"""
_POSTPONE = """
UPDATE mediakit_inbox SET due_us = :until, tries = :tries
WHERE receiver = :receiver AND event = :event AND state = 'waiting'
"""
_END = """
UPDATE mediakit_inbox SET state = :state, body = NULL
WHERE receiver = :receiver AND event = :event AND state = 'waiting'
"""
_NEXT = """
SELECT MIN(due_us) FROM mediakit_inbox WHERE receiver = :receiver AND state = 'waiting'
"""


@dataclass(frozen=True)
class Noted:
    """An event whose handling has begun.

    Args:
        id: Its `webhook-id`.
        body: The bytes that were verified.
        tries: How often its handling has begun, this time included.
    """

    id: str
    body: bytes
    tries: int


class Inbox:
    """What one receiver was told, in an SQLite file that outlives it.

    Of an event that was handled only the id is kept, so that it is known again.
    Threads and processes may share the file.

    Args:
        place: The file; ":memory:" forgets with the process.
        name: Which receiver it is, where several share a file.
        lease_s: For how long an event belongs to the process that took it, unless
            that says so again, as it does while it handles the event.

    Raises:
        InputError: The file cannot be opened and written.
    """

    def __init__(
        self, place: str | Path, *, name: str = "default", lease_s: float = LEASE_S
    ) -> None:
        self.place = str(place) if str(place) == IN_MEMORY else str(Path(place))
        self.name = name
        self.lease_s = lease_s
        self._lock = Lock()
        # Opened when it is first needed: a server may fork before it serves.
        self._connection: sqlite3.Connection | None = None
        try:
            self._opened().close()
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                "seen",
                got=self.place,
                accepted=f"a file that can be opened and written ({error})",
                sent="No webhook is received.",
            ) from error

    def note(self, event_id: str, body: bytes, now: datetime) -> bool:
        """Write an event down, to be handled; on disk when this returns.

        Args:
            event_id: Its `webhook-id`.
            body: Its bytes.
            now: When it is due: now.

        Returns:
            Whether it is to be handled: False when it is known already.
        """
        return bool(
            self._changed(_NOTE, event=event_id, body=body, now=_microseconds(now))
        )

    def take(self, now: datetime) -> Noted | None:
        """Begin the oldest event that is due, so that no other process does.

        Args:
            now: The time, from which the lease counts.

        Returns:
            The event; None when nothing is due.
        """
        until = now + timedelta(seconds=self.lease_s)
        row = self._row(_TAKE, now=_microseconds(now), until=_microseconds(until))
        return None if row is None else Noted(*row)

    def postpone(self, noted: Noted, due_at: datetime) -> None:
        """Say when an event is due again: later, or its handling goes on until then."""
        until = _microseconds(due_at)
        self._changed(_POSTPONE, event=noted.id, tries=noted.tries, until=until)

    def end(self, event_id: str, *, handled: bool) -> None:
        """Write down that an event was handled, or that it was given up."""
        state = "handled" if handled else "given up"
        self._changed(_END, event=event_id, state=state)

    def next_due(self) -> datetime | None:
        """Return when an event is due next; None when none waits."""
        row = self._row(_NEXT)
        if row is None or row[0] is None:
            return None
        return _EPOCH + int(row[0]) * _MICROSECOND

    def count(self, state: str) -> int:
        """Return how many events are "waiting", "handled" or "given up"."""
        sql = (
            "SELECT COUNT(*) FROM mediakit_inbox "
            "WHERE receiver = :receiver AND state = :state"
        )
        row = self._row(sql, state=state)
        return 0 if row is None else int(row[0])

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    # -- SQLite -------------------------------------------------------------------

    def _changed(self, sql: str, **values: object) -> int:
        with self._lock:
            return self._own().execute(sql, self._named(values)).rowcount

    def _row(self, sql: str, **values: object) -> tuple[Any, ...] | None:
        with self._lock:
            found = self._own().execute(sql, self._named(values)).fetchall()
        return tuple(found[0]) if found else None

    def _named(self, values: dict[str, object]) -> dict[str, object]:
        return {"receiver": self.name, **values}

    def _own(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._opened()
        return self._connection

    def _opened(self) -> sqlite3.Connection:
        if self.place != IN_MEMORY:
            _make_private(Path(self.place))
        # Every statement is a transaction of its own.
        connection = sqlite3.connect(
            self.place,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
        )
        _prepare(connection)
        return connection


def _make_private(file: Path) -> None:
    # URLs of outputs are in it. SQLite gives the files beside it the same rights.
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


@retry(
    retry=retry_if_exception_message(match="database is locked"),
    stop=stop_after_delay(BUSY_TIMEOUT_S),
    wait=wait_random(0.005, 0.05),
    reraise=True,
)
def _prepare(connection: sqlite3.Connection) -> None:
    # The switch to WAL does not wait for a lock by itself.
    connection.execute("PRAGMA journal_mode=WAL")
    # An answer of 2xx is a promise: what was noted survives a power cut.
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(_TABLE)
    connection.execute(_INDEX)


def _microseconds(instant: datetime) -> int:
    return (instant - _EPOCH) // _MICROSECOND
