"""Runs the work of widgets on the I/O thread."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from mediakit.client.loop import IOThread
from mediakit.widgets.toolkit.callbacks import ErrorSink, guarded_async

Task = Callable[[], Awaitable[object]]


class TaskRunner:
    """Starts coroutine functions on the I/O thread, from any thread."""

    # Handlers run on the kernel's main thread, on a subshell's, or on the I/O thread
    # itself (where `IOThread.post` would wait for itself); none of them may block.

    def __init__(self, io: IOThread, error_sink: ErrorSink) -> None:
        self._loop = io.loop
        self._guard = guarded_async(error_sink)
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, task: Task) -> None:
        """Start a coroutine function, and return at once."""
        self._loop.call_soon_threadsafe(self._start, task)

    def _start(self, task: Task) -> None:
        running: asyncio.Task[None] = asyncio.ensure_future(self._guard(task)())
        self._tasks.add(running)
        running.add_done_callback(self._tasks.discard)


class NamedTasks:
    """Named tasks on the I/O thread, started and cancelled from any thread."""

    def __init__(self, io: IOThread, error_sink: ErrorSink) -> None:
        self._loop = io.loop
        self._guard = guarded_async(error_sink)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._closed = False

    def start(self, name: str, task: Task) -> None:
        """Start a coroutine function, unless the one of that name still runs."""
        self._loop.call_soon_threadsafe(self._start, name, task)

    def _start(self, name: str, task: Task) -> None:
        if not self._closed and name not in self._tasks:
            running: asyncio.Task[None] = asyncio.ensure_future(self._guard(task)())
            self._tasks[name] = running
            running.add_done_callback(lambda _: self._tasks.pop(name, None))

    def close(self) -> None:
        """Cancel what runs and start nothing more."""
        self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        self._closed = True
        for task in tuple(self._tasks.values()):
            task.cancel()
