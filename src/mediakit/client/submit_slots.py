"""Limits concurrent submissions, and pauses them after a 429."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import CapacityLimiter

from mediakit.clock import Clock

SUBMITS_AT_ONCE = 16


class SubmitSlots:
    """Limits concurrent submissions: fewer after a 429, more after each 200.

    A 429 applies to the whole organization (spec 4.3), so all submissions of a client
    share the limit, and all wait as long as the service requests.
    """

    def __init__(self, clock: Clock, at_once_n: int = SUBMITS_AT_ONCE) -> None:
        self._clock = clock
        self._most_n = at_once_n
        self._limiter = CapacityLimiter(at_once_n)
        self._closed_until_s = clock.monotonic_s()

    @property
    def at_once_n(self) -> int:
        """Return the current limit of submissions in flight."""
        return int(self._limiter.total_tokens)

    @property
    def closed_for_s(self) -> float:
        """Return the seconds until submissions may start again."""
        return max(0.0, self._closed_until_s - self._clock.monotonic_s())

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a free slot and occupy it."""
        await self._open()
        async with self._limiter:
            await self._open()
            yield

    def accepted(self) -> None:
        """Record an accepted submission."""
        self._limiter.total_tokens = min(self._most_n, self.at_once_n + 1)

    def rejected(self, pause_s: float) -> None:
        """Record a 429; only the first one within a pause halves the limit."""
        if self.closed_for_s == 0:
            self._limiter.total_tokens = max(1, self.at_once_n // 2)
        until_s = self._clock.monotonic_s() + pause_s
        self._closed_until_s = max(self._closed_until_s, until_s)

    async def _open(self) -> None:
        while (left_s := self.closed_for_s) > 0:
            await self._clock.sleep(left_s)
