"""The charges of the last days by function; pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

DAYS = 30
MOST_NAMES = 6
OTHER = "Other functions"

Charged = tuple[date, str, int]
"""A UTC day, a function's name and a charge in micro-USD."""


@dataclass(frozen=True)
class Part:
    """One function's share of the days.

    Args:
        name: The function's name for people.
        jobs: How many jobs were charged.
        days_micro_usd: What they cost on each day.
    """

    name: str
    jobs: int
    days_micro_usd: tuple[int, ...]

    @property
    def total_micro_usd(self) -> int:
        """Return what they cost together."""
        return sum(self.days_micro_usd)


@dataclass(frozen=True)
class SpendDays:
    """The last days, a part a function.

    Args:
        first: The first day, in UTC.
        parts: The functions, the highest charge first; the last may be `OTHER`.
        days: How many days there are.
    """

    first: date
    parts: tuple[Part, ...] = ()
    days: int = DAYS

    @property
    def total_micro_usd(self) -> int:
        """Return the sum of all charges."""
        return sum(part.total_micro_usd for part in self.parts)

    @property
    def jobs(self) -> int:
        """Return how many jobs were charged."""
        return sum(part.jobs for part in self.parts)

    @property
    def by_day_micro_usd(self) -> tuple[int, ...]:
        """Return the sum of each day."""
        columns = zip(*(part.days_micro_usd for part in self.parts), strict=True)
        return tuple(map(sum, columns)) or (0,) * self.days

    def day(self, place: int) -> date:
        """Return the day at a place, from 0."""
        return self.first + timedelta(days=place)


def first_day(today: date, days: int = DAYS) -> date:
    """Return the first of the days that end today."""
    return today - timedelta(days=days - 1)


def spend_days(charges: Iterable[Charged], today: date, days: int = DAYS) -> SpendDays:
    """Add up charges by day and function; those of other days are left out.

    Args:
        charges: The charges.
        today: The last day, in UTC.
        days: How many days.
    """
    first = first_day(today, days)
    sums: dict[str, list[int]] = defaultdict(lambda: [0] * days)
    jobs: dict[str, int] = defaultdict(int)
    for day, name, charge_micro_usd in charges:
        place = (day - first).days
        if 0 <= place < days:
            sums[name][place] += charge_micro_usd
            jobs[name] += 1
    parts = [Part(name, jobs[name], tuple(each)) for name, each in sums.items()]
    parts.sort(key=lambda part: (-part.total_micro_usd, part.name))
    return SpendDays(first, _few(parts), days)


def _few(parts: list[Part]) -> tuple[Part, ...]:
    if len(parts) <= MOST_NAMES:
        return tuple(parts)
    rest = parts[MOST_NAMES - 1 :]
    columns = zip(*(part.days_micro_usd for part in rest), strict=True)
    other = Part(OTHER, sum(part.jobs for part in rest), tuple(map(sum, columns)))
    return (*parts[: MOST_NAMES - 1], other)
