"""Limits concurrent submissions: fewer as soon as the service is full."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import CapacityLimiter

from mediakit.clock import Clock

START_N = 16
MOST_N = 64


class SubmitConcurrency:
    """Limits concurrent submissions: halves after 429, and grows slowly after 200.

    A service answers 429 for a whole organization (spec 4.3), so all submissions of a
    client share one limit, and all wait for the time that the service requests.

    Args:
        clock: Gives time.
        start_n: The first limit.
    """

    def __init__(self, clock: Clock, *, start_n: int = START_N) -> None:
        self._clock = clock
        self._limit_n = float(start_n)
        self._limiter = CapacityLimiter(start_n)
        self._round = 0
        self._closed_until_s = 0.0

    @property
    def at_once_n(self) -> int:
        """Return how many submissions may be in flight now."""
        return int(self._limit_n)

    @property
    def closed_for_s(self) -> float:
        """Return for how many more seconds no submission starts."""
        return max(0.0, self._closed_until_s - self._clock.monotonic_s())

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[int]:
        """Wait for a free slot and hold it; yields the round that it belongs to."""
        await self._open()
        async with self._limiter:
            await self._open()
            yield self._round

    def accepted(self) -> None:
        """Note that a submission was accepted: a full round raises the limit by one."""
        self._set(min(float(MOST_N), self._limit_n + 1 / self._limit_n))

    def full(self, its_round: int, *, closed_for_s: float) -> None:
        """Note that the service was full for a submission.

        Args:
            its_round: What its slot yielded. Only the first of a round halves the
                limit, because all of a round met the same full service.
            closed_for_s: For how long no submission starts.
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
