"""Work that blocks, in a thread that can be told to stop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from threading import Event
from typing import TypeVar

import anyio
from anyio import CapacityLimiter, to_thread

T = TypeVar("T")

# A thread that is connecting cannot be woken; it stops as soon as it is connected.
STOPS_WITHIN_S = 1.0


class GivenUpError(Exception):
    """Nobody waits for it any more."""


class Abort:
    """Tells a thread that nobody waits for it any more."""

    def __init__(self) -> None:
        self._asked = Event()
        self._socket: socket.socket | None = None

    def ask(self) -> None:
        """Ask the thread to stop, and wake it where it waits for its socket."""
        self._asked.set()
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def watch(self, connected: socket.socket) -> None:
        """Name the socket that the thread waits for.

        Raises:
            GivenUpError: It was asked to stop.
        """
        self._socket = connected
        self.check()

    def check(self) -> None:
        """Go on unless asked to stop.

        Raises:
            GivenUpError: It was asked to stop.
        """
        if self._asked.is_set():
            raise GivenUpError


async def in_thread(work: Callable[[Abort], T]) -> T:
    """Run blocking work in a thread of its own; cancelling ends it.

    Unlike abandoned threads, it has stopped when this ends: what it works on may then
    be closed.
    """
    abort = Abort()
    # A limiter of its own: long transfers must not use up the threads of others.
    running = asyncio.ensure_future(
        to_thread.run_sync(work, abort, limiter=CapacityLimiter(1))
    )
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        abort.ask()
        running.add_done_callback(_take_note)
        with anyio.CancelScope(shield=True):
            await asyncio.wait([running], timeout=STOPS_WITHIN_S)
        raise


def _take_note(task: asyncio.Future[T]) -> None:
    # An exception that nobody looks at would be reported when it is collected.
    if not task.cancelled():
        task.exception()
