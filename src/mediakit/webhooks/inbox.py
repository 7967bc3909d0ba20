"""The inbox: every accepted event, on disk, and whether it was handled."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any
from uuid import uuid4

from tenacity import retry, retry_if_exception_message, stop_after_delay, wait_random

from mediakit.errors import InputError
from mediakit.private_folders import make_private_folder

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
# The receivers without a name of their own.
_RECEIVERS = """
CREATE TABLE IF NOT EXISTS mediakit_inbox_receivers (
    handler TEXT NOT NULL,
    secret_sha256 TEXT NOT NULL,
    receiver TEXT NOT NULL,
    PRIMARY KEY (handler, secret_sha256)
) STRICT
"""
_FIND_RECEIVER = """
SELECT receiver FROM mediakit_inbox_receivers
WHERE handler = ? AND secret_sha256 IN (SELECT value FROM json_each(?))
ORDER BY rowid LIMIT 1
"""
_ADD_RECEIVER = "INSERT OR IGNORE INTO mediakit_inbox_receivers VALUES (?, ?, ?)"
# A failed event is handled again when it is replayed.
_ADD = """
INSERT INTO mediakit_inbox (receiver, event, body, state, tries, due_us)
VALUES (:receiver, :event, :body, 'waiting', 0, :now)
ON CONFLICT (receiver, event) DO UPDATE
SET body = :body, state = 'waiting', tries = 0, due_us = :now
WHERE state = 'failed'
"""
_CLAIM = """
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
# A replay meanwhile has begun to count tries again: it is not over.
_FINISH = """
UPDATE mediakit_inbox SET state = :state, body = NULL
WHERE receiver = :receiver AND event = :event AND state = 'waiting'
AND tries >= :tries
"""
_NEXT = """
SELECT MIN(due_us) FROM mediakit_inbox WHERE receiver = :receiver AND state = 'waiting'
"""


@dataclass(frozen=True)
class ClaimedEvent:
    """An event that is being handled; `tries` counts how often that was started."""

    id: str
    body: bytes
    tries: int


class Inbox:
    """The events of one receiver, in an SQLite file.

    After an event is handled, only its id is kept, to recognise it if it is sent
    again. Threads and processes can share the file.

    Args:
        place: The file; ":memory:" lasts only as long as the process.
        name: The receiver's name, when several share a file.
        handler: What handles the events, in place of a name; it and the keys of
            `know_keys` then identify the receiver.
        lease_s: How long an event belongs to the process that claimed it, unless
            that process extends the lease, as it does while it handles the event.

    Raises:
        InputError: The file cannot be opened and written.
    """

    def __init__(
        self,
        place: str | Path,
        *,
        name: str = "default",
        handler: str | None = None,
        lease_s: float = LEASE_S,
    ) -> None:
        self.place = str(place) if str(place) == IN_MEMORY else str(Path(place))
        self.name = name
        self._handler = handler
        self._known_keys: set[bytes] = set()
        self.lease_s = lease_s
        self._lock = Lock()
        # Opened on first use, because a server may fork before it serves.
        self._connection: sqlite3.Connection | None = None
        try:
            self._opened().close()
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                "inbox",
                got=self.place,
                accepted=f"a file that can be opened and written ({error})",
                then="No webhook is received.",
            ) from error

    def know_keys(self, keys: Iterable[bytes]) -> None:
        """Note the keys that are valid now, if handler and key identify the receiver.

        A receiver with the same handler and any of the keys is the same one after a
        restart. So it finds its events also after its secret was rotated, if it saw the
        old and the new one together, or one after the other in one process.
        """
        new = [key for key in keys if key not in self._known_keys]
        if self._handler is None or not new:
            return
        digests = [sha256(key).hexdigest() for key in new]
        with self._lock, closing(self._opened()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            if not self._known_keys:
                wanted = (self._handler, json.dumps(digests))
                row = connection.execute(_FIND_RECEIVER, wanted).fetchone()
                self.name = row[0] if row else f"{self._handler} {uuid4()}"
            rows = [(self._handler, digest, self.name) for digest in digests]
            connection.executemany(_ADD_RECEIVER, rows)
            connection.execute("COMMIT")
        self._known_keys.update(new)

    def add(self, event_id: str, body: bytes, now: datetime) -> bool:
        """Store an event, due now, on disk; False if it is known already."""
        return bool(
            self._changed(_ADD, event=event_id, body=body, now=_microseconds(now))
        )

    def claim(self, now: datetime) -> ClaimedEvent | None:
        """Claim the oldest event that is due, so that no other process handles it."""
        until = now + timedelta(seconds=self.lease_s)
        row = self._row(_CLAIM, now=_microseconds(now), until=_microseconds(until))
        return None if row is None else ClaimedEvent(*row)

    def postpone(self, event: ClaimedEvent, due_at: datetime) -> None:
        """Set the time when an event is due again, or extend its lease until then."""
        until = _microseconds(due_at)
        self._changed(_POSTPONE, event=event.id, tries=event.tries, until=until)

    def finish(self, event: ClaimedEvent, *, handled: bool) -> None:
        """Mark an event as handled or failed."""
        state = "handled" if handled else "failed"
        self._changed(_FINISH, event=event.id, tries=event.tries, state=state)

    def next_due(self) -> datetime | None:
        """Return when the next event is due; None if none is waiting."""
        row = self._row(_NEXT)
        if row is None or row[0] is None:
            return None
        return _EPOCH + int(row[0]) * _MICROSECOND

    def count(self, state: str) -> int:
        """Return how many events are "waiting", "handled" or "failed"."""
        sql = (
            "SELECT COUNT(*) FROM mediakit_inbox "
            "WHERE receiver = :receiver AND state = :state"
        )
        row = self._row(sql, state=state)
        return 0 if row is None else int(row[0])

    def close(self) -> None:
        """Close the file; it is reopened when needed."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    # -- SQLite -------------------------------------------------------------------

    def _changed(self, sql: str, **values: object) -> int:
        with self._lock:
            return self._open_connection().execute(sql, self._named(values)).rowcount

    def _row(self, sql: str, **values: object) -> tuple[Any, ...] | None:
        with self._lock:
            found = self._open_connection().execute(sql, self._named(values)).fetchall()
        return tuple(found[0]) if found else None

    def _named(self, values: dict[str, object]) -> dict[str, object]:
        return {"receiver": self.name, **values}

    def _open_connection(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._opened()
        return self._connection

    def _opened(self) -> sqlite3.Connection:
        if self.place != IN_MEMORY:
            _make_private(Path(self.place))
        # Each statement is its own transaction.
        connection = sqlite3.connect(
            self.place,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
        )
        _prepare(connection)
        return connection


def _make_private(file: Path) -> None:
    # It contains output URLs. SQLite gives its other files the same permissions.
    make_private_folder(file.parent)
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


@retry(
    retry=retry_if_exception_message(match="database is locked"),
    stop=stop_after_delay(BUSY_TIMEOUT_S),
    wait=wait_random(0.005, 0.05),
    reraise=True,
)
def _prepare(connection: sqlite3.Connection) -> None:
    # Switching to WAL does not wait for a lock.
    connection.execute("PRAGMA journal_mode=WAL")
    # A 2xx response is a promise: an accepted event survives a power cut.
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(_TABLE)
    connection.execute(_INDEX)
    connection.execute(_RECEIVERS)


def _microseconds(instant: datetime) -> int:
    return (instant - _EPOCH) // _MICROSECOND
