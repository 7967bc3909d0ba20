"""Writes to a history file on a thread, and waits while another program holds it."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable, Hashable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread

from mediakit.errors import MediakitError

T = TypeVar("T")
_Write = tuple[Callable[[], Any], asyncio.Future[Any]]
_Made = tuple[asyncio.Future[Any], Any, BaseException | None]

log = logging.getLogger("mediakit.client")

BLOCKED_AFTER_S = 1.0
WARN_AFTER_S = 3.0
RETRY_AFTER_S = 10.0
IDLE_FOR_S = 1.0
NOTIFY_WITHIN_S = 0.01
FLUSH_FOR_S = 3.0


class FileWriter:
    """Writes to a file on a thread: one write at a time, in the order of the calls.

    It belongs to the running event loop, and a forked process needs another one. The
    thread stays for a while after each write, since starting one takes longer.

    Args:
        blocked_text: Says that another program holds the file.
    """

    def __init__(self, blocked_text: Callable[[], str]) -> None:
        self._blocked_text = blocked_text
        self._loop = asyncio.get_running_loop()
        self._pid = os.getpid()
        self._waiting: deque[_Write] = deque()
        self._signal: SimpleQueue[None] = SimpleQueue()
        self._is_busy = self._has_thread = False
        self._warning: asyncio.TimerHandle | None = None
        self._began_s: float | None = None
        self._warned_of_s: float | None = None
        self._deferred: dict[Hashable, Callable[[], object]] = {}
        self._catching_up: asyncio.Task[None] | None = None

    @property
    def is_usable(self) -> bool:
        """Return whether it belongs to the running event loop of this process."""
        is_ours = self._pid == os.getpid()
        return is_ours and self._loop is asyncio.get_running_loop()

    @property
    def is_blocked(self) -> bool:
        """Return whether a write has been waiting for the file; from any thread."""
        began_s = self._began_s
        if began_s is None or self._pid != os.getpid():
            return False
        return self._loop.time() - began_s >= BLOCKED_AFTER_S

    async def write(self, call: Callable[[], T]) -> T:
        """Make a call when all earlier ones have ended."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._waiting.append((call, future))
        self._wake()
        return await future

    def _wake(self) -> None:
        if self._is_busy or not self._waiting:
            return
        self._is_busy = True
        self._warning = self._loop.call_later(WARN_AFTER_S, self._warn)
        self._signal.put(None)
        if not self._has_thread:
            self._start()

    def _start(self) -> None:
        self._has_thread = True
        # A limiter of its own: transfers must not use up its thread.
        work = to_thread.run_sync(self._run, limiter=CapacityLimiter(1))
        self._loop.create_task(work).add_done_callback(self._thread_ended)

    def _thread_ended(self, task: asyncio.Task[None]) -> None:
        self._has_thread = False
        # A signal may have arrived after the thread's last check.
        if not (self._signal.empty() or task.cancelled()):
            self._start()

    def _run(self) -> None:
        with suppress(Empty):
            while True:
                self._signal.get(timeout=IDLE_FOR_S)
                self._write_waiting()

    def _write_waiting(self) -> None:
        """Make the waiting calls; waking the event loop takes longer than most."""
        made: list[_Made] = []
        notified_s = self._loop.time()
        while self._waiting:
            call, future = self._waiting.popleft()
            if not future.cancelled():
                made.append((future, *self._outcome(call)))
            if self._loop.time() - notified_s > NOTIFY_WITHIN_S:
                self._loop.call_soon_threadsafe(_notify, made)
                made, notified_s = [], self._loop.time()
        self._loop.call_soon_threadsafe(self._ended, made)

    def _outcome(self, call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
        self._began_s = self._loop.time()
        try:
            return call(), None
        except BaseException as error:  # noqa: BLE001 - its caller raises it
            return None, error
        finally:
            self._began_s = None

    def _ended(self, made: list[_Made]) -> None:
        _notify(made)
        self._is_busy = False
        if self._warning is not None:
            self._warning.cancel()
        self._wake()

    def _warn(self) -> None:
        began_s = self._began_s
        if self.is_blocked and began_s != self._warned_of_s:
            self._warned_of_s = began_s
            log.warning(self._blocked_text())

    async def write_or_defer(self, key: Hashable, call: Callable[[], object]) -> None:
        """Make a call, or defer it if the file is blocked.

        Args:
            key: Identifies the call: a newer call replaces one that still waits.
            call: The call; it may be made twice.
        """
        if key not in self._deferred and not self.is_blocked:
            with suppress(TimeoutError):
                async with asyncio.timeout(BLOCKED_AFTER_S):
                    await self.write(call)
                return
        self._deferred[key] = call
        if self._catching_up is None or self._catching_up.done():
            self._catching_up = self._loop.create_task(self._catch_up())

    async def _catch_up(self) -> None:
        """Make the deferred calls in turn; retry the ones that fail."""
        while self._deferred:
            key = next(iter(self._deferred))
            call = self._deferred.pop(key)
            try:
                await self.write(call)
            except Exception as error:
                # Other errors are permanent; a locked file may be free next time.
                if type(error) is not MediakitError:
                    log.exception("a change of the history was not written")
                    continue
                log.warning("%s Trying again in %.0f s.", error, RETRY_AFTER_S)
                self._deferred.setdefault(key, call)
                await asyncio.sleep(RETRY_AFTER_S)

    async def flush(self) -> None:
        """Wait for the deferred calls, for at most a few seconds."""
        if self._catching_up is not None:
            await asyncio.wait([self._catching_up], timeout=FLUSH_FOR_S)


def _notify(made: list[_Made]) -> None:
    """Pass the outcomes of calls to their callers."""
    for future, result, error in made:
        if future.done():
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
