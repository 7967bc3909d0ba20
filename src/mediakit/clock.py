"""Time as a dependency, so that tests need not wait, and instants as integers."""

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

import anyio

US_PER_S = 1_000_000
MS_PER_S = 1_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_us(instant: datetime) -> int:
    """Convert a timezone-aware instant to microseconds since 1970."""
    return (instant - _EPOCH) // _MICROSECOND


def to_instant(us: int) -> datetime:
    """Convert microseconds since 1970 to an instant in UTC."""
    return _EPOCH + us * _MICROSECOND


class Clock(Protocol):
    """The interface for everything that needs time."""

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
