"""Checks days and months for the billing endpoints before anything is sent.

Billing uses UTC days (spec 4.19), so an instant is rejected: its day depends on the
time zone, and guessing could move charges between days.
"""

import re
from calendar import monthrange
from datetime import date, datetime

from mediakit.errors import InputError

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_MONTH = re.compile(r"\d{4}-\d{2}", re.ASCII)

# The names do not depend on the machine's locale.
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_WEEKDAYS = (
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
)


def weekday_name(day: date) -> str:
    """Write the weekday of a day."""
    return _WEEKDAYS[day.weekday()]


def month_name(month: str) -> str:
    """Write a month, such as "October 2026"."""
    year, number = month.split("-")
    return f"{_MONTHS[int(number) - 1]} {year}"


def day_range(start: str | date, end: str | date) -> tuple[str, str]:
    """Read the first and the last day of a range, both inclusive (spec 4.19).

    Args:
        start: The first day, "YYYY-MM-DD" or a `datetime.date`.
        end: The last day, likewise.

    Returns:
        Both as "YYYY-MM-DD".

    Raises:
        InputError: One is not a day, or the end is before the start.
    """
    first, last = read_day("start", start), read_day("end", end)
    if last < first:
        raise InputError(
            "end",
            got=last.isoformat(),
            accepted=f"a day not before the start, {first.isoformat()}",
            spec="4.19",
        )
    return first.isoformat(), last.isoformat()


def month_text(month: str) -> str:
    """Read a calendar month in UTC (spec 4.19).

    Args:
        month: "YYYY-MM".

    Raises:
        InputError: It is not a month.
    """
    if _MONTH.fullmatch(str(month)):
        try:
            return date.fromisoformat(f"{month}-01").isoformat()[:7]
        except ValueError:
            pass
    accepted = 'a month in UTC as "YYYY-MM", such as "2026-10"'
    raise InputError("month", got=month, accepted=accepted, spec="4.19")


def month_of(day: date) -> str:
    """Return the month of a day, "YYYY-MM"."""
    return day.isoformat()[:7]


def end_of_month(month: str) -> date:
    """Return the last day of a month, "YYYY-MM"."""
    first = date.fromisoformat(f"{month}-01")
    return first.replace(day=monthrange(first.year, first.month)[1])


def read_day(field: str, day: str | date) -> date:
    """Read a day in UTC (spec 4.19).

    Args:
        field: What the day is for.
        day: "YYYY-MM-DD" or a `datetime.date`.

    Raises:
        InputError: It is not a day.
    """
    if isinstance(day, date) and not isinstance(day, datetime):
        return day
    if isinstance(day, str) and _DAY.fullmatch(day):
        try:
            return date.fromisoformat(day)
        except ValueError:
            pass
    accepted = 'a day in UTC as "YYYY-MM-DD", such as "2026-10-01", without a time'
    raise InputError(field, got=day, accepted=accepted, spec="4.19")
