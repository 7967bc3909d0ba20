"""Time as a dependency, so that tests need not wait."""

import time
from datetime import UTC, datetime
from typing import Protocol

import anyio


class Clock(Protocol):
    """The interface that every part that needs time depends on."""

    def now(self) -> datetime:
        """Return the current time, timezone-aware and in UTC."""

    def monotonic_s(self) -> float:
        """Return seconds that never go backwards."""

    async def sleep(self, seconds: float) -> None:
        """Return after the given number of seconds on this clock."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the system's time in UTC."""
        return datetime.now(UTC)  # noqa: TID251 - the only place that reads it

    def monotonic_s(self) -> float:
        """Return the system's monotonic seconds."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Sleep in real time, on whichever event loop is running."""
        await anyio.sleep(max(0.0, seconds))
