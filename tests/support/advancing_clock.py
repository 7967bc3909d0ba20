"""A clock for long waits: it moves to the next sleeper when nothing else happens."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable

from mediakit.clock import VirtualClock

# Real time in which answers of a server on this machine arrive before a sleeper wakes.
PAUSE_S = 0.005


class AdvancingClock(VirtualClock):
    """Wakes its sleepers in order, each after a short real pause, on one event loop.

    Every sleep is noted in `slept_s`, and may be a cue.
    """

    def __init__(self, pause_s: float = PAUSE_S) -> None:
        super().__init__()
        self.slept_s: list[float] = []
        self.at_sleep: Callable[[], None] | None = None
        self._pause_s = pause_s
        self._waking: asyncio.Task[None] | None = None

    def skip(self, seconds: float) -> None:
        """Let so many seconds pass at once; sleepers that are due wake next."""
        self._elapsed_s += seconds

    async def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        if self.at_sleep is not None:
            self.at_sleep()
        if self._waking is None or self._waking.done():
            self._waking = asyncio.get_running_loop().create_task(self._wake())
        await super().sleep(seconds)

    async def _wake(self) -> None:
        await asyncio.sleep(self._pause_s)
        while self._sleepers:
            due_s, _, woken = heapq.heappop(self._sleepers)
            if woken.done():  # its sleep was cancelled, and takes no time
                continue
            self._elapsed_s = max(self._elapsed_s, due_s)
            woken.set_result(None)
            await asyncio.sleep(self._pause_s)
