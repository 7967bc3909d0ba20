"""A clock for long waits: it moves to the next sleeper when nothing else happens."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import anyio

# Real time in which responses of a local server arrive before a sleeper wakes.
PAUSE_S = 0.005


class AdvancingClock:
    """Wakes its sleepers in order, each after a short real pause, on any loop.

    Every sleep is recorded in `slept_s`, and calls `at_sleep`. It starts at
    the machine's time, like the tests' servers.
    """

    def __init__(self, pause_s: float = PAUSE_S) -> None:
        self.slept_s: list[float] = []
        self.at_sleep: Callable[[], None] | None = None
        self._pause_s = pause_s
        self._started_s = time.monotonic()
        self._started = datetime.now(UTC)
        self._skipped_s = 0.0
        self._due_s: list[float] = []
        self._lock = threading.Lock()

    def monotonic_s(self) -> float:
        return time.monotonic() - self._started_s + self._skipped_s

    def now(self) -> datetime:
        return self._started + timedelta(seconds=self.monotonic_s())

    def skip(self, seconds: float) -> None:
        """Advance by a number of seconds at once; sleepers that are due wake next."""
        with self._lock:
            self._skipped_s += seconds

    async def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        if self.at_sleep is not None:
            self.at_sleep()
        with self._lock:
            due_s = self.monotonic_s() + max(0.0, seconds)
            self._due_s.append(due_s)
        try:
            await anyio.sleep(min(self._pause_s, seconds))
            while not self._is_next(due_s):  # noqa: ASYNC110 - an event has one loop
                await anyio.sleep(self._pause_s)
        finally:
            with self._lock:
                self._due_s.remove(due_s)

    def _is_next(self, due_s: float) -> bool:
        """Move to a time, unless a sleeper is due before."""
        with self._lock:
            if min(self._due_s) == due_s:
                self._skipped_s += max(0.0, due_s - self.monotonic_s())
            return self.monotonic_s() >= due_s
