"""What runs at the moment: so many at once, and the same thing once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class Slots:
    """Lets so many at a time through on each event loop.

    Args:
        count: How many.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._by_loop: WeakKeyDictionary[
            asyncio.AbstractEventLoop, asyncio.Semaphore
        ] = WeakKeyDictionary()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Wait for a slot, and hold it while the block lasts."""
        loop = asyncio.get_running_loop()
        async with self._by_loop.setdefault(loop, asyncio.Semaphore(self._count)):
            yield


class InFlight(Generic[T]):
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
