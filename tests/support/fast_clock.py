"""A clock that goes some fifty times as fast as the machine's, for long waits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from mediakit.clock import SystemClock


class FastClock(SystemClock):
    """The machine's time, sped up; every sleep is noted, and may be a cue.

    Args:
        speed: How many seconds of it pass in a real one.
    """

    def __init__(self, speed: float = 50.0) -> None:
        self._speed = speed
        self._started_s = super().monotonic_s()
        self._started = super().now()
        self.slept_s: list[float] = []
        self.at_sleep: Callable[[], None] | None = None

    def monotonic_s(self) -> float:
        return (super().monotonic_s() - self._started_s) * self._speed

    def now(self) -> datetime:
        return self._started + timedelta(seconds=self.monotonic_s())

    def skip(self, seconds: float) -> None:
        """Let so many seconds pass at once."""
        self._started_s -= seconds / self._speed

    async def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        if self.at_sleep is not None:
            self.at_sleep()
        await super().sleep(seconds / self._speed)

    def unhurried_s(self, took_s: float) -> float:
        """Return how long it would have taken with every sleep at full length."""
        slept_s = sum(self.slept_s)
        return took_s + slept_s - slept_s / self._speed
