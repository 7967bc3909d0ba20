"""The inbox: every accepted event, on disk, until it has been handled."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import os
import sqlite3
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from anyio import to_thread

from mediakit.clock import Clock, to_instant, to_us
from mediakit.errors import InputError
from mediakit.private_folders import make_private_folder
from mediakit.webhooks.events import Event, read_event

IN_MEMORY = ":memory:"
BUSY_TIMEOUT_S = 30.0
LEASE_S = 15.0

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
# A failed event is handled again when it is replayed.
_ADD = """
INSERT INTO mediakit_inbox (receiver, event, body, state, tries, due_us)
VALUES (?1, ?2, ?3, 'waiting', 0, ?4)
ON CONFLICT (receiver, event) DO UPDATE
SET body = ?3, state = 'waiting', tries = 0, due_us = ?4
WHERE state = 'failed'
"""
_CLAIM = """
UPDATE mediakit_inbox SET due_us = ?, tries = tries + 1
WHERE number = (
    SELECT number FROM mediakit_inbox
    WHERE receiver = ? AND state = 'waiting' AND due_us <= ?
    ORDER BY number LIMIT 1
)
RETURNING number, event, body, tries
"""
_POSTPONE = """
UPDATE mediakit_inbox SET due_us = ?, tries = ? WHERE number = ? AND state = 'waiting'
"""
# A replay has reset the count of tries in the meantime.
_FINISH = """
UPDATE mediakit_inbox SET state = ?, body = NULL
WHERE number = ? AND state = 'waiting' AND tries >= ?
"""
_NEXT = """
SELECT MIN(due_us) FROM mediakit_inbox WHERE receiver = ? AND state = 'waiting'
"""
_COUNT = "SELECT COUNT(*) FROM mediakit_inbox WHERE receiver = ? AND state = ?"
_RENAME = """
UPDATE OR IGNORE mediakit_inbox SET receiver = ?
WHERE receiver IN (SELECT value FROM json_each(?))
"""


@dataclass(frozen=True)
class ClaimedEvent:
    """An event being handled; `tries` counts the starts."""

    number: int
    id: str
    body: bytes
    tries: int


class Inbox:
    """The events of one receiver, in an SQLite file.

    After an event is handled, only its id is kept, to recognise a repeated delivery.
    Threads and processes can share the file.

    Args:
        place: The file; ":memory:" lasts only as long as the process.
        name: The receiver's name, when several share a file.
        lease_s: How long an event belongs to the process that claimed it, unless
            that process extends the lease, as it does while it handles the event.

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

    def name_by_keys(self, handler: str, keys: Sequence[bytes]) -> None:
        """Name the receiver after its handler and one of the valid keys.

        It takes over the events under its other keys, which a rotation may end.
        """
        names = sorted(f"{handler} {sha256(key).hexdigest()[:16]}" for key in keys)
        self._run(_RENAME, names[0], json.dumps([*names, self.name]))
        self.name = names[0]

    def add(self, event_id: str, body: bytes, now: datetime) -> bool:
        """Store an event, due now, on disk; return False if it is known already."""
        values = (self.name, event_id, body, to_us(now))
        return bool(self._run(_ADD, *values).rowcount)

    def claim(self, now: datetime) -> ClaimedEvent | None:
        """Claim the oldest due event, so that no other process handles it."""
        until = now + timedelta(seconds=self.lease_s)
        values = (to_us(until), self.name, to_us(now))
        rows = self._rows(_CLAIM, *values)
        return ClaimedEvent(*rows[0]) if rows else None

    def postpone(self, event: ClaimedEvent, due_at: datetime) -> None:
        """Set when an event is due again, or extend its lease until then."""
        self._run(_POSTPONE, to_us(due_at), event.tries, event.number)

    def finish(self, event: ClaimedEvent, *, handled: bool) -> None:
        """Mark an event as handled or failed."""
        state = "handled" if handled else "failed"
        self._run(_FINISH, state, event.number, event.tries)

    def next_due(self) -> datetime | None:
        """Return when the next event is due; None if none is waiting."""
        ((due_us,),) = self._rows(_NEXT, self.name)
        return None if due_us is None else to_instant(due_us)

    def count(self, state: str) -> int:
        """Return how many events are "waiting", "handled" or "failed"."""
        ((n,),) = self._rows(_COUNT, self.name, state)
        return int(n)

    def close(self) -> None:
        """Close the file; it is reopened when needed."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _run(self, sql: str, *values: str | bytes | int) -> sqlite3.Cursor:
        with self._lock:
            return self._open_connection().execute(sql, values)

    def _rows(self, sql: str, *values: str | int) -> list[Any]:
        with self._lock:
            return self._open_connection().execute(sql, values).fetchall()

    def _open_connection(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._opened()
        return self._connection

    def _opened(self) -> sqlite3.Connection:
        if self.place != IN_MEMORY:
            # The file contains output URLs. SQLite creates its WAL files with the same
            # permissions.
            make_private_folder(Path(self.place).parent)
            with suppress(FileExistsError):
                flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
                os.close(os.open(self.place, flags, 0o600))
        # Each statement is a transaction of its own. A 2xx response is a promise: by
        # default, a committed event survives a power cut.
        connection = sqlite3.connect(
            self.place,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute(_TABLE)
        return connection


# -- Dispatching -------------------------------------------------------------------


logger = logging.getLogger(__name__)

OnEvent = Callable[[Event], Awaitable[object]] | Callable[[Event], object]

EVENTS_AT_ONCE = 4
STOP_S = 10.0
# The pauses after each failed try; after the last one the event is marked as failed.
PAUSES_S = (1.0, 10.0, 60.0, 600.0, 3_600.0)
MAX_TRIES = len(PAUSES_S) + 1


class Dispatcher:
    """Passes events from an inbox to a function, on the event loop that starts it."""

    def __init__(self, inbox: Inbox, on_event: OnEvent, clock: Clock) -> None:
        self.inbox = inbox
        self._on_event = on_event
        self._clock = clock
        self._wakeup = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._running: dict[str, asyncio.Task[None]] = {}

    async def start(self) -> None:
        """Start to handle events that an earlier process left in the inbox.

        A server calls this if the receiver is its application. If you mount the
        receiver, call it in your lifespan; otherwise the first delivery starts it.
        """
        if not self._is_running():
            self._wakeup = asyncio.Event()
            self._running = {}
            self._task = asyncio.create_task(self._dispatch(), name="webhooks")
            self._task.add_done_callback(_report)
        self._wakeup.set()

    async def stop(self) -> None:
        """Start no more events, and wait up to ten seconds for running handlers.

        Events that are not finished by then are handled again after the next start.
        """
        if self._task is None or not self._is_running():
            return
        self._task.cancel()
        tasks = set(self._running.values())
        if tasks:
            await asyncio.wait(tasks, timeout=STOP_S)
        for task in tasks:
            task.cancel()
        await asyncio.gather(self._task, *tasks, return_exceptions=True)
        self._task = None

    def _is_running(self) -> bool:
        task = self._task
        loop = asyncio.get_running_loop()
        return task is not None and not task.done() and task.get_loop() is loop

    async def _dispatch(self) -> None:
        while True:
            self._wakeup.clear()
            while len(self._running) < EVENTS_AT_ONCE and (
                event := await to_thread.run_sync(self.inbox.claim, self._clock.now())
            ):
                if event.id in self._running:  # its lease expired: the clock jumped
                    same = replace(event, tries=event.tries - 1)
                    await self._postpone(same, self.inbox.lease_s)
                else:
                    task = asyncio.create_task(self._handle(event), name=event.id)
                    self._running[event.id] = task
                    task.add_done_callback(self._end)
            await self._sleep_until_due()

    async def _sleep_until_due(self) -> None:
        due_at = await to_thread.run_sync(self.inbox.next_due)
        timer = None
        if due_at is not None and len(self._running) < EVENTS_AT_ONCE:
            timer = asyncio.create_task(self._wake_at(due_at))
        try:
            await self._wakeup.wait()
        finally:
            if timer is not None:
                timer.cancel()

    async def _wake_at(self, due_at: datetime) -> None:
        await self._clock.sleep((due_at - self._clock.now()).total_seconds())
        self._wakeup.set()

    def _end(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task.get_name(), None)
        self._wakeup.set()
        _report(task)

    # -- One event ----------------------------------------------------------------

    async def _handle(self, event: ClaimedEvent) -> None:
        if event.tries > MAX_TRIES:  # each try killed the process
            await self._mark_failed(event)
            return
        call = asyncio.create_task(self._call(event), name=event.id)
        lease_s = self.inbox.lease_s
        try:
            while not (await asyncio.wait([call], timeout=lease_s / 3))[0]:
                await self._postpone(event, lease_s)
        finally:
            call.cancel()
        problem = CancelledError() if call.cancelled() else call.exception()
        if problem is None:
            await to_thread.run_sync(lambda: self.inbox.finish(event, handled=True))
        else:
            await self._retry(event, problem)

    async def _call(self, event: ClaimedEvent) -> None:
        parsed = read_event(event.id, event.body)
        call = getattr(self._on_event, "__call__", None)  # noqa: B004
        if any(map(inspect.iscoroutinefunction, (self._on_event, call))):
            result = self._on_event(parsed)
        else:
            result = await to_thread.run_sync(self._on_event, parsed)
        if inspect.isawaitable(result):
            await result

    async def _retry(self, event: ClaimedEvent, problem: BaseException) -> None:
        if event.tries >= MAX_TRIES:
            await self._mark_failed(event, problem)
            return
        pause_s = PAUSES_S[event.tries - 1]
        await self._postpone(event, pause_s)
        words = "%s was not handled (try %d); the next try is in %d s"
        logger.warning(words, event.id, event.tries, pause_s, exc_info=problem)

    async def _postpone(self, event: ClaimedEvent, seconds: float) -> None:
        due_at = self._clock.now() + timedelta(seconds=seconds)
        await to_thread.run_sync(self.inbox.postpone, event, due_at)

    async def _mark_failed(
        self, event: ClaimedEvent, problem: BaseException | None = None
    ) -> None:
        await to_thread.run_sync(lambda: self.inbox.finish(event, handled=False))
        words = "%s failed after %d tries; replay it to handle it again"
        logger.error(words, event.id, event.tries, exc_info=problem)


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (problem := task.exception()) is not None:
        logger.error("the webhook handler %s failed", task.get_name(), exc_info=problem)
