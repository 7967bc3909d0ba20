"""Deliveries between two instants; pure."""

from __future__ import annotations

from datetime import UTC, date, datetime

from mediakit.errors import InputError
from mediakit.records import Delivery


def instant_of(field: str, when: str | date | datetime | None) -> datetime | None:
    """Parse an instant with its offset, or the midnight at which a UTC day begins.

    Args:
        field: Its name in errors.
        when: The instant or the day, also as text in ISO 8601.

    Raises:
        InputError: It is neither; a time without an offset is ambiguous.
    """
    if when is None:
        return None
    try:
        found = _read(when)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise InputError(
            field,
            got=when,
            accepted="a day in UTC such as 2026-10-01, or an instant with its offset "
            "such as 2026-10-01T12:00:00Z",
        )
    return found


def _read(when: object) -> datetime | None:
    if isinstance(when, str):
        text = when.strip()
        if len(text) > len("2026-10-01"):
            return datetime.fromisoformat(text)
        when = date.fromisoformat(text)
    if isinstance(when, datetime):
        return when
    if isinstance(when, date):
        return datetime(when.year, when.month, when.day, tzinfo=UTC)
    return None


def in_range(
    delivery: Delivery, since: datetime | None, until: datetime | None
) -> bool:
    """Return whether a delivery was created in a range; without one, all were.

    A delivery without a creation time is in no range.
    """
    if since is None and until is None:
        return True
    at = delivery.created_at
    if at is None:
        return False
    return (since is None or at >= since) and (until is None or at < until)
