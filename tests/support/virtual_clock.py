"""A clock that moves only when it is advanced, so that hours take no time."""

import asyncio
import heapq
from datetime import UTC, datetime, timedelta
from itertools import count


class VirtualClock:
    """A clock that moves only when it is advanced, and only forwards."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._elapsed_s = 0.0
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        """Return the start time plus everything advanced so far."""
        return self._start + timedelta(seconds=self._elapsed_s)

    def monotonic_s(self) -> float:
        """Return the seconds advanced so far."""
        return self._elapsed_s

    async def sleep(self, seconds: float) -> None:
        """Return after the clock has been advanced by the given number of seconds."""
        woken = asyncio.get_running_loop().create_future()
        due_s = self._elapsed_s + max(0.0, seconds)
        heapq.heappush(self._sleepers, (due_s, next(self._order), woken))
        await woken

    async def advance(self, seconds: float) -> None:
        """Move forwards and wake every sleeper that is due, in order.

        Raises:
            ValueError: `seconds` is negative.
        """
        if seconds < 0:
            raise ValueError("a clock can only move forwards")
        target_s = self._elapsed_s + seconds
        await self._let_others_run()
        while self._sleepers and self._sleepers[0][0] <= target_s:
            due_s, _, woken = heapq.heappop(self._sleepers)
            self._elapsed_s = max(self._elapsed_s, due_s)
            if not woken.done():
                woken.set_result(None)
            await self._let_others_run()
        self._elapsed_s = target_s

    @staticmethod
    async def _let_others_run() -> None:
        # A woken coroutine may pass through several awaits before it sleeps again.
        for _ in range(10):
            await asyncio.sleep(0)
