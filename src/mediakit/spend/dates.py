"""UTC days and months of the billing endpoints, and the service's current day.

Billing uses UTC days (spec 4.19), so an instant is rejected: its day depends on the
time zone, and guessing could move charges between days.
"""

import re
from calendar import monthrange
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd

from mediakit.clock import Clock
from mediakit.errors import InputError
from mediakit.rules import ValueDescription

DEFAULT_DAYS = 30
MOST_MONTHS = 120
ONE_DAY = timedelta(days=1)
SAME_CLOCK = timedelta(hours=1)

Range = tuple[date, date]

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_MONTH = re.compile(r"\d{4}-\d{2}", re.ASCII)

# The names do not depend on the machine's locale.
MONTHS = (
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


def month_name(month: str) -> str:
    """Format a month, such as "October 2026"."""
    year, number = month.split("-")
    return f"{MONTHS[int(number) - 1]} {year}"


def day_name(day: date) -> str:
    """Format a day, such as "1 October 2026"."""
    return f"{day.day} {month_name(month_of(day))}"


def days_name(first: date, last: date) -> str:
    """Format a range of days, such as "1 to 31 October 2026"."""
    if first == last:
        return day_name(last)
    begin = str(first.day)
    if first.year != last.year:
        begin = day_name(first)
    elif first.month != last.month:
        begin = day_name(first).removesuffix(f" {first.year}")
    return f"{begin} to {day_name(last)}"


def day_range(start: str | date, end: str | date) -> tuple[str, str]:
    """Parse the first and last day of a range, both included (spec 4.19)."""
    first, last = read_day("start", start), read_day("end", end)
    if last < first:
        raise InputError(
            "end",
            got=last.isoformat(),
            accepted=f"a day not before the start, {first.isoformat()}",
            spec="4.19",
            then="",
        )
    return first.isoformat(), last.isoformat()


def month_text(month: object) -> str:
    """Parse a UTC month, given as "YYYY-MM" or as any of its days (spec 4.19)."""
    is_day = isinstance(month, date | np.datetime64 | pd.Period)
    if is_day and not _MONTH.fullmatch(str(month)):
        return month_of(read_day("month", month))
    if _MONTH.fullmatch(str(month)):
        try:
            return month_of(first_of_month(str(month)))
        except ValueError:
            pass
    accepted = 'a month in UTC as "YYYY-MM", such as "2026-10"'
    raise InputError("month", got=month, accepted=accepted, spec="4.19", then="")


def month_of(day: date) -> str:
    """Return the month of a day, "YYYY-MM"."""
    return day.isoformat()[:7]


def first_of_month(month: str) -> date:
    """Return the first day of a month, "YYYY-MM"."""
    return date.fromisoformat(f"{month}-01")


def end_of_month(month: str) -> date:
    """Return the last day of a month, "YYYY-MM"."""
    return month_end(first_of_month(month))


def read_day(field: str, day: object) -> date:
    """Parse a UTC day: a string, or a date of Python, pandas or numpy (spec 4.19)."""
    if isinstance(day, pd.Timestamp | np.datetime64):
        instant: Any = pd.Timestamp(day)  # it may be NaT
        if not pd.isna(instant) and instant == instant.normalize():
            day = day if instant.utcoffset() else instant.date()
    if isinstance(day, date) and not isinstance(day, datetime):
        return day
    if isinstance(day, str | pd.Period) and _DAY.fullmatch(str(day)):
        try:
            return date.fromisoformat(str(day))
        except ValueError:
            pass
    accepted = 'a day in UTC as "YYYY-MM-DD", such as "2026-10-01", without a time'
    raise InputError(field, got=day, accepted=accepted, spec="4.19", then="")


# -- ranges of months ------------------------------------------------------------------


def by_month(first: date, last: date) -> list[Range]:
    """Split a range of days by calendar month, both ends included."""
    if (last.year - first.year) * 12 + last.month - first.month >= MOST_MONTHS:
        raise InputError(
            "start",
            got=ValueDescription(f"{first.isoformat()} to {last.isoformat()}"),
            accepted=f"a range of at most {MOST_MONTHS} calendar months",
            then="",
        )
    ranges: list[Range] = []
    while (end := month_end(first)) < last:
        ranges.append((first, end))
        first = end + ONE_DAY
    return [*ranges, (first, last)]


def month_end(day: date) -> date:
    """Return the last day of a day's month."""
    return day.replace(day=monthrange(day.year, day.month)[1])


def days_before(last: date, days: int) -> date:
    """Return an earlier day, but not before the first day of the calendar."""
    return date.fromordinal(max(last.toordinal() - days, 1))


# -- the service's day -----------------------------------------------------------------


class ServiceClock:
    """The service's time, known from the `Date` of its responses.

    Charges are dated by the service's clock. Near midnight, or if this machine's clock
    is wrong, the day can differ.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead = timedelta(0)
        self.is_known = False

    def note(self, responded_at: datetime | None) -> None:
        """Record the time of a response; None is ignored."""
        if responded_at is not None:
            self._ahead = responded_at - self._clock.now()
            self.is_known = True

    def now(self) -> datetime:
        """Return the current time of the service, in UTC."""
        now = self._clock.now()
        try:
            return now + self._ahead
        except OverflowError:  # the service reports the last second of the calendar
            return now

    @property
    def ahead(self) -> timedelta:
        """How far the service's clock is ahead of this machine's; 0 below an hour."""
        return self._ahead if abs(self._ahead) > SAME_CLOCK else timedelta()

    def today(self) -> date:
        """Return the current day of the service, in UTC."""
        return self.now().date()

    def month(self) -> str:
        """Return the current month of the service, YYYY-MM in UTC."""
        return month_of(self.today())
