"""Calendar months in UTC for the dashboard; pure."""

from __future__ import annotations

from datetime import date, timedelta

from mediakit.errors import InputError
from mediakit.spend.dates import MONTHS, end_of_month, month_of, month_text

MOST_OFFERED = 24


def first_day(month: str) -> date:
    """Return the first day of a month."""
    return date.fromisoformat(f"{month}-01")


def month_before(month: str) -> str:
    """Return the month before a month."""
    return month_of(first_day(month) - timedelta(days=1))


def offered(today: date, chosen: str) -> tuple[str, ...]:
    """Return the months to choose from, the newest first.

    Args:
        today: The day in UTC.
        chosen: The displayed month; always included, however old it is.
    """
    months = [month_of(today)]
    while len(months) < MOST_OFFERED or months[-1] > chosen:
        months.append(month_before(months[-1]))
    return tuple(months)


def readable_month(month: str | None, today: date) -> str:
    """Return the month to show; the current one when None.

    Raises:
        InputError: It is not a month, or it has not begun.
    """
    current = month_of(today)
    asked = current if month is None else month_text(month)
    if asked > current:
        accepted = f'a month that has begun, at most "{current}"'
        raise InputError("month", got=month, accepted=accepted, spec="4.19")
    return asked


def compared_days(month: str, today: date) -> tuple[date, date, str]:
    """Return the days of the previous month to compare a month with.

    The current month is compared with the same number of days.

    Args:
        month: The month.
        today: The day in UTC.

    Returns:
        The first and the last day, and their name: "September", "September 1-22".
    """
    before = month_before(month)
    first, last = first_day(before), end_of_month(before)
    name = MONTHS[first.month - 1]
    if month == month_of(today) and today.day < last.day:
        last = first.replace(day=today.day)
        name = f"{name} 1" if last == first else f"{name} 1–{last.day}"  # noqa: RUF001
    return first, last, name
