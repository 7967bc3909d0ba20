"""How many submissions are sent at once, and how many jobs are read in a second."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache

from anyio import CapacityLimiter

from mediakit.client.loop import IOThread, io_thread
from mediakit.clock import Clock, SystemClock

AT_ONCE_N = 16
READS_PER_S = 20.0
# Leaves room in each second for reads that the network delays.
STEADY_SHARE = 0.9


class SubmitSlots:
    """Limits concurrent submissions: fewer after 429, more again after each 200.

    A service answers 429 for a whole organization (spec 4.3), so all submissions of a
    client share the limit, and all wait for the time that the service requests.
    """

    def __init__(self, clock: Clock, at_once_n: int = AT_ONCE_N) -> None:
        self._clock = clock
        self._most_n = at_once_n
        self._limiter = CapacityLimiter(at_once_n)
        self._closed_until_s = clock.monotonic_s()

    @property
    def at_once_n(self) -> int:
        """Return how many submissions may be in flight now."""
        return int(self._limiter.total_tokens)

    @property
    def closed_for_s(self) -> float:
        """Return for how many more seconds no submission starts."""
        return max(0.0, self._closed_until_s - self._clock.monotonic_s())

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a free slot and hold it."""
        await self._open()
        async with self._limiter:
            await self._open()
            yield

    def accepted(self) -> None:
        """Note an accepted submission."""
        self._limiter.total_tokens = min(self._most_n, self.at_once_n + 1)

    def rejected(self, pause_s: float) -> None:
        """Note a 429; only the first within a pause halves the limit."""
        if self.closed_for_s == 0:
            self._limiter.total_tokens = max(1, self.at_once_n // 2)
        until_s = self._clock.monotonic_s() + pause_s
        self._closed_until_s = max(self._closed_until_s, until_s)

    async def _open(self) -> None:
        while (left_s := self.closed_for_s) > 0:
            await self._clock.sleep(left_s)


class ReadLimiter:
    """Limits the reads per second, first come, first served."""

    def __init__(
        self, reads_per_s: float = READS_PER_S, *, clock: Clock | None = None
    ) -> None:
        self._clock = clock or SystemClock()
        self.gap_s = 1.0 / (STEADY_SHARE * reads_per_s)
        self._line = asyncio.Lock()  # wakes those who wait in their order
        self._free_at_s = 0.0
        self._waiting_n = 0

    @property
    def line_s(self) -> float:
        """Return how long it takes to serve everyone who waits now."""
        return self._waiting_n * self.gap_s

    async def turn(self, is_wanted: Callable[[], bool] = lambda: True) -> bool:
        """Wait for a turn; return False, without one, once it is not wanted."""
        self._waiting_n += 1
        try:
            async with self._line:
                while is_wanted():
                    now_s = self._clock.monotonic_s()
                    if now_s >= self._free_at_s:
                        self._free_at_s = now_s + self.gap_s
                        return True
                    await self._clock.sleep(self._free_at_s - now_s)
                return False
        finally:
            self._waiting_n -= 1


@cache
def _read_limiter_of(_: IOThread) -> ReadLimiter:
    return ReadLimiter()


def process_read_limiter() -> ReadLimiter:
    """Return the turns of this process, which all its clients share."""
    return _read_limiter_of(io_thread())
