"""Work that a form leaves to the I/O thread."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from mediakit.client.runtime.io_thread import IOThread
from mediakit.widgets.guard import ErrorSink, guarded_async


class Errands:
    """Starts coroutine functions on the I/O thread, asked for from any thread.

    Handlers run on the kernel's main thread, on a subshell's, or on the I/O thread
    itself (where `IOThread.post` would wait for itself); none of them may block.

    Args:
        io: The I/O thread.
        error_sink: Takes the sentence of an error that nobody else would see.
    """

    def __init__(self, io: IOThread, error_sink: ErrorSink) -> None:
        self._loop = io.loop
        self._guard = guarded_async(error_sink)
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, errand: Callable[[], Awaitable[object]]) -> None:
        """Start a coroutine function, and return at once."""
        self._loop.call_soon_threadsafe(self._start, errand)

    def _start(self, errand: Callable[[], Awaitable[object]]) -> None:
        task: asyncio.Task[None] = asyncio.ensure_future(self._guard(errand)())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
