"""How many submits are under way at once: fewer as soon as the service is full."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import CapacityLimiter

from mediakit.clock import Clock

START_N = 16
MOST_N = 64


class SubmitConcurrency:
    """Lets so many submits pass at once: half as many after 429, slowly more after 200.

    One service answers 429 for a whole organization (spec 4.3), so all submits of a
    client share one pace, and wait together for as long as the service asked.

    Args:
        clock: Gives the time that a wait takes.
        start_n: How many at first.
    """

    def __init__(self, clock: Clock, *, start_n: int = START_N) -> None:
        self._clock = clock
        self._limit_n = float(start_n)
        self._limiter = CapacityLimiter(start_n)
        self._round = 0
        self._closed_until_s = 0.0

    @property
    def at_once_n(self) -> int:
        """Return how many submits may be under way now."""
        return int(self._limit_n)

    @property
    def closed_for_s(self) -> float:
        """Return for how many more seconds nobody begins a turn."""
        return max(0.0, self._closed_until_s - self._clock.monotonic_s())

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[int]:
        """Wait for a turn and hold it; gives the round that it belongs to."""
        await self._open()
        async with self._limiter:
            await self._open()
            yield self._round

    def accepted(self) -> None:
        """Note that a submit was taken: a round of them makes room for one more."""
        self._set(min(float(MOST_N), self._limit_n + 1 / self._limit_n))

    def full(self, its_round: int, *, closed_for_s: float) -> None:
        """Note that a submit met a full service.

        Args:
            its_round: What its turn gave. Many under way at once are one piece of
                news: only the first of a round halves.
            closed_for_s: For how long nobody begins a turn.
        """
        until_s = self._clock.monotonic_s() + closed_for_s
        self._closed_until_s = max(self._closed_until_s, until_s)
        if its_round == self._round:
            self._set(max(1.0, self._limit_n / 2))
            self._round += 1

    def _set(self, limit_n: float) -> None:
        self._limit_n = limit_n
        self._limiter.total_tokens = int(limit_n)

    async def _open(self) -> None:
        while (left_s := self.closed_for_s) > 0:
            await self._clock.sleep(left_s)
