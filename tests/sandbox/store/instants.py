"""Instants of the sandbox's clock, shared by the tests of the store."""

from datetime import UTC, datetime

from mediakit.clock import to_us

MINUTE_US = 60_000_000
DAY_US = 86_400_000_000


def at(year: int, month: int, day: int, hour: int = 0) -> int:
    """Return an hour of a day in UTC, microseconds since 1970."""
    return to_us(datetime(year, month, day, hour, tzinfo=UTC))


NOON = at(2026, 3, 14, 12)
