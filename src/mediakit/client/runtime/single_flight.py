"""What runs at the moment, so that the same thing runs once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Work that several ask for at once is done once, and ends when none waits."""

    def __init__(self) -> None:
        self._tasks: dict[Hashable, asyncio.Task[T]] = {}
        self._waiting: dict[asyncio.Task[T], int] = {}

    async def once(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        """Return what the work gives; whoever asks meanwhile gets the same.

        Args:
            key: What the work is.
            work: Does it.
        """
        # A fork's child does not have the tasks of its parent.
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
