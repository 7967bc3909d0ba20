"""Concurrent calls for the same work share one run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Runs work once for all concurrent callers; cancels it when none waits."""

    def __init__(self) -> None:
        self._tasks: dict[Hashable, asyncio.Task[T]] = {}
        self._waiting: dict[asyncio.Task[T], int] = {}

    async def once(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of the work; concurrent callers share it.

        Args:
            key: Identifies the work.
            work: Does the work.
        """
        # A forked child does not have the tasks of its parent.
        key = (asyncio.get_running_loop(), key)
        task = self._tasks.get(key) or asyncio.ensure_future(_run(work))
        if key not in self._tasks:
            self._tasks[key] = task
            task.add_done_callback(lambda _: self._forget(key, task))
        self._waiting[task] = self._waiting.get(task, 0) + 1
        try:
            return await asyncio.shield(task)
        finally:
            self._waiting[task] -= 1
            if not self._waiting[task]:
                del self._waiting[task]
                self._forget(key, task)
                task.cancel()

    def _forget(self, key: Hashable, task: asyncio.Task[T]) -> None:
        if self._tasks.get(key) is task:
            del self._tasks[key]


async def _run(work: Callable[[], Awaitable[T]]) -> T:
    return await work()
