"""Runs the work of widgets on the I/O thread."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from mediakit.client.io_thread import IOThread
from mediakit.widgets.toolkit.callbacks import ErrorSink, guarded_async

Task = Callable[[], Awaitable[object]]


class TaskRunner:
    """Starts and cancels coroutine functions on the I/O thread, from any thread."""

    # Handlers run on the kernel's main thread, on a subshell's, or on the I/O thread
    # itself (where `IOThread.post` would wait for itself); none of them may block.

    def __init__(self, io: IOThread, error_sink: ErrorSink) -> None:
        self._loop = io.loop
        self._guard = guarded_async(error_sink)
        self._tasks: dict[object, asyncio.Task[None]] = {}
        self._closed = False

    def run(self, task: Task, name: str | None = None) -> None:
        """Start a coroutine function, unless one with this name is running."""
        self._loop.call_soon_threadsafe(self._start, task, name or object())

    def _start(self, task: Task, name: object) -> None:
        if not self._closed and name not in self._tasks:
            self._tasks[name] = asyncio.ensure_future(self._run(task, name))

    async def _run(self, task: Task, name: object) -> None:
        try:
            await self._guard(task)()
        finally:
            del self._tasks[name]

    def close(self) -> None:
        """Cancel all tasks and start no more."""
        self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        self._closed = True
        for task in tuple(self._tasks.values()):
            task.cancel()
