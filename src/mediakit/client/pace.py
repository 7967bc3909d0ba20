"""How many submits are under way at once: fewer as soon as the service is full."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Lock

from mediakit.client.loops import call_on
from mediakit.clock import Clock

START_N = 16
MOST_N = 64


class Pace:
    """Lets so many submits pass at once: half as many after 429, slowly more after 200.

    One service answers 429 for a whole organization (spec 4.3), so all submits of a
    client share one pace, and wait together for as long as the service asked.

    Args:
        clock: Gives the time that a wait takes.
        start_n: How many at first.
    """

    def __init__(self, clock: Clock, *, start_n: int = START_N) -> None:
        self._clock = clock
        self._lock = Lock()
        self._limit_n = float(start_n)
        self._under_way: Counter[asyncio.AbstractEventLoop] = Counter()
        self._round = 0
        self._closed_until_s = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

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
        loop = asyncio.get_running_loop()
        await self._open()
        while (woken := self._enter(loop)) is not None:
            await self._told(woken)
        try:
            yield self._round
        finally:
            self._leave(loop)

    def accepted(self) -> None:
        """Note that a submit was taken: a round of them makes room for one more."""
        with self._lock:
            self._limit_n = min(float(MOST_N), self._limit_n + 1 / self._limit_n)
        self._wake()

    def full(self, its_round: int, *, closed_for_s: float) -> None:
        """Note that a submit met a full service.

        Args:
            its_round: What its turn gave. Many under way at once are one piece of
                news: only the first of a round halves.
            closed_for_s: For how long nobody begins a turn.
        """
        until_s = self._clock.monotonic_s() + closed_for_s
        with self._lock:
            self._closed_until_s = max(self._closed_until_s, until_s)
            if its_round == self._round:
                self._limit_n = max(1.0, self._limit_n / 2)
                self._round += 1

    async def _open(self) -> None:
        while (left_s := self.closed_for_s) > 0:
            await self._clock.sleep(left_s)

    def _enter(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[None] | None:
        """Begin a turn; None when that was possible, else what to wait for."""
        with self._lock:
            for other in [each for each in self._under_way if each.is_closed()]:
                del self._under_way[other]  # it ended in the middle of a turn
            if self._under_way.total() < self.at_once_n:
                self._under_way[loop] += 1
                return None
            woken = loop.create_future()
            self._waiting.append(woken)
            return woken

    def _leave(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            if self._under_way[loop] > 1:
                self._under_way[loop] -= 1
            else:
                del self._under_way[loop]
        self._wake()

    async def _told(self, woken: asyncio.Future[None]) -> None:
        try:
            await woken
            await self._open()
        except asyncio.CancelledError:
            if woken.done() and not woken.cancelled():
                self._wake()  # who gives up passes the word on
            raise

    def _wake(self) -> None:
        """Wake the longest waiting; it looks for itself whether there is room."""
        while self._waiting:
            woken = self._waiting.popleft()
            if woken.done():
                continue
            try:
                call_on(woken.get_loop(), _set, woken)
            except RuntimeError:  # its loop was closed while it waited
                continue
            return


def _set(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)
