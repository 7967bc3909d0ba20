"""Instants, and jobs that are about to be submitted."""

from datetime import UTC, datetime

from mediakit.clock import to_us
from mediakit.sandbox.store.admission import NewJob

MINUTE_US = 60_000_000
DAY_US = 86_400_000_000


def at(year: int, month: int, day: int, hour: int = 0) -> int:
    """Return an hour of a day in UTC, microseconds since 1970."""
    return to_us(datetime(year, month, day, hour, tzinfo=UTC))


NOON = at(2026, 3, 14, 12)


def new_job(
    name: str, org: str, api_key: str, price: int | None, now_us: int = 0
) -> NewJob:
    return NewJob(
        id=f"media_{name}",
        org=org,
        api_key=api_key,
        function="v/m/f",
        body="{}",
        file=f"file-{name}",
        price_micro_usd=price,
        created_us=now_us,
        settle_due_us=now_us,
    )
