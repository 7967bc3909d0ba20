"""Splits a range of days by calendar month."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from datetime import date, timedelta

from mediakit.errors import InputError

DEFAULT_DAYS = 30
MOST_MONTHS = 120
ONE_DAY = timedelta(days=1)

Range = tuple[date, date]


def by_month(first: date, last: date) -> list[Range]:
    """Split a range into the days of each calendar month, both ends included.

    Raises:
        InputError: The range has more months than one call reads.
    """
    check_length("start", first, last)
    return list(_pieces(first, last))


def months_between(first: str, last: str) -> list[str]:
    """Return each month of a range, both ends included.

    Args:
        first: The first month, "YYYY-MM".
        last: The last month, not before the first.

    Raises:
        InputError: The range has more months than one call reads.
    """
    begin, end = (date.fromisoformat(f"{month}-01") for month in (first, last))
    check_length("month", begin, end)
    return [piece[0].isoformat()[:7] for piece in _pieces(begin, end)]


def check_length(field: str, first: date, last: date) -> None:
    """Reject a range whose months would need too many requests.

    Raises:
        InputError: It is too long.
    """
    months = (last.year - first.year) * 12 + last.month - first.month + 1
    if months > MOST_MONTHS:
        raise InputError(
            field,
            got=f"{first.isoformat()} to {last.isoformat()}",
            accepted=f"a range of at most {MOST_MONTHS} calendar months",
        )


def month_end(day: date) -> date:
    """Return the last day of a day's month."""
    return day.replace(day=monthrange(day.year, day.month)[1])


def days_before(last: date, days: int) -> date:
    """Return the day a number of days earlier, or the first day of the calendar."""
    return date.fromordinal(max(last.toordinal() - days, 1))


def _pieces(first: date, last: date) -> Iterator[Range]:
    while True:
        end = month_end(first)
        if end >= last:
            yield first, last
            return
        yield first, end
        first = end + ONE_DAY
