"""Matches each charge in the history to the day on which it was settled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from mediakit.spend.reconciliation.service_and_history import Charge, Spent
from mediakit.spend.reconciliation.subset_sum import TooManyError, adding_up

ONE_DAY = timedelta(days=1)


@dataclass
class Placed:
    """A charge in the history, and the day on which the service reports it.

    Args:
        charge: The charge.
        first: The first day on which the service can have settled it.
        last: The last such day.
        day: The day on which the service reports it, if known; None for a day
            before all days that were read.
    """

    charge: Charge
    first: date
    last: date
    day: date | None

    @property
    def is_moved(self) -> bool:
        """Tell whether the service reports it on another day."""
        return self.day != self.charge.day

    def can_be(self, day: date) -> bool:
        """Tell whether the service can report it on a day."""
        return self.first <= day <= self.last and not self.is_moved


def placed(charges: Iterable[Charge], ahead: timedelta) -> list[Placed]:
    """Place charges on the day they were read, with the range of possible days.

    A charge can have settled at any time from its job's submission to a day after it
    was read; a service clock that is ahead or behind widens this range.

    Args:
        charges: The charges.
        ahead: How far the service's clock is ahead of this machine's.
    """
    later = ONE_DAY + max(ahead, timedelta())
    earlier = ONE_DAY + max(-ahead, timedelta())
    found = []
    for charge in charges:
        first = date.min
        if charge.sure_from is not None:
            first = min(charge.day - earlier, charge.sure_from)
        found.append(Placed(charge, first, charge.day + later, charge.day))
    return found


class Days:
    """One function's daily differences: the service minus the history.

    Args:
        cells: What the service reports for our keys, by day.
        charges: The charges in the history, updated as their days are found.
        first: The first day that was read.
        last: The last one.
    """

    def __init__(
        self,
        cells: dict[date, Spent],
        charges: Sequence[Placed],
        first: date,
        last: date,
    ) -> None:
        self.charges = charges
        self._first = first
        count = (last - first).days + 1
        self.days = [first + timedelta(days=number) for number in range(count)]
        self.micro_usd = {day: cells.get(day, Spent()).micro_usd for day in self.days}
        self._jobs = {day: cells.get(day, Spent()).jobs for day in self.days}
        self._unsure: set[tuple[date, date]] = set()
        for place in charges:
            self._take(place, place.day, -1)

    @property
    def apart(self) -> int:
        """Return the sum of all daily differences, micro-USD."""
        return sum(map(abs, self.micro_usd.values()))

    @property
    def moved(self) -> int:
        """Return how many charges were moved to a different day."""
        return sum(place.is_moved for place in self.charges)

    def jobs(self, day: date) -> int | None:
        """Return how many more jobs the service counts; None if it does not say."""
        return self._jobs[day]

    def on(self, day: date) -> list[Placed]:
        """Return the charges placed on a day."""
        return [place for place in self.charges if place.day == day]

    def settle(self) -> None:
        """Move charges to the days on which the service reports them.

        Charges are moved only if the amounts fit exactly, so that at least one of the
        two days agrees and the other already had a difference.
        """
        while any(self._move_to(target) for target in self.days):
            pass
        for source, target in sorted(self._unsure):
            self._even_out(source, target)
        for source in self.days:
            self._spread(source)
            self._move_before_all(source)

    def move(self, places: Iterable[Placed], day: date | None) -> None:
        """Place charges on another day."""
        for place in places:
            self._take(place, place.day, 1)
            place.day = day
            self._take(place, day, -1)

    def _take(self, place: Placed, day: date | None, sign: int) -> None:
        if day is None or day not in self.micro_usd:
            return
        self.micro_usd[day] += sign * place.charge.micro_usd
        jobs = self._jobs[day]
        if jobs is not None and place.charge.is_counted:
            self._jobs[day] = jobs + sign

    def _move_to(self, target: date) -> bool:
        """Move charges to a day from one other day; return whether any moved."""
        if self.micro_usd[target] == 0:
            return False
        near = sorted(self._sources(), key=lambda day: (abs(day - target), day))
        for source in near:
            places = self._fitting(source, target) if source != target else None
            if places:
                self.move(places, target)
                return True
        return False

    def _sources(self) -> Iterable[date]:
        """Return the days that charges may be moved from, later ones included."""
        later = {
            place.charge.day
            for place in self.charges
            if not place.is_moved and place.charge.day > self.days[-1]
        }
        differing = (day for day in self.days if self.micro_usd[day])
        return (*differing, *later)

    def _fitting(self, source: date, target: date) -> list[Placed] | None:
        if source not in self.micro_usd:
            # Read long after its job, after the last of these days.
            total = self.micro_usd[target]
            return self._summing(source, target, total, None) if total > 0 else None
        here, there = -self.micro_usd[source], self.micro_usd[target]
        if here == 0 or there == 0:
            return None
        wanted: list[tuple[int, int | None]] = []
        if there > 0 and (here > 0 or self._is_odd(source)):
            wanted.append((there, None if here > 0 else self._jobs[target]))
        if here > 0 and (there > 0 or self._is_odd(target)):
            jobs = self._jobs[source]
            count = None if there > 0 or jobs is None else -jobs
            wanted.append((here, count))
        found = (self._summing(source, target, *sum_of) for sum_of in wanted)
        return next((places for places in found if places), None)

    def _is_odd(self, day: date) -> bool:
        """Tell whether a day's amount and its count of jobs differ in other ways.

        More money without more jobs means that the difference has another cause, too.
        """
        jobs = self._jobs[day]
        return jobs is not None and jobs * self.micro_usd[day] <= 0

    def _summing(
        self, source: date, target: date | None, total: int, count: int | None
    ) -> list[Placed] | None:
        able = self._able(source, target)
        if target is not None:
            able.sort(key=lambda place: _likely_day(place, target))
            likely = [place for place in able if place.charge.sure_from == target]
            if sum(p.charge.micro_usd for p in likely) == total and count is None:
                return likely
        try:
            places = adding_up([p.charge.micro_usd for p in able], total, count=count)
        except TooManyError:
            if target is not None:
                self._unsure.add((source, target))
            return None
        return None if places is None else [able[place] for place in places]

    def _able(self, source: date, target: date | None) -> list[Placed]:
        """List a day's charges that may move; None is the time before all days."""
        return [
            place
            for place in self.on(source)
            if place.charge.micro_usd > 0
            and (
                place.can_be(target)
                if target is not None
                else place.first < self._first and not place.is_moved
            )
        ]

    def _even_out(self, source: date, target: date) -> None:
        """Balance two days that have too many charges to tell which moved."""
        able = sum(place.charge.micro_usd for place in self._able(source, target))
        if source not in self.micro_usd:
            return
        moved = min(-self.micro_usd[source], self.micro_usd[target], able)
        if moved > 0:
            self.micro_usd[source] += moved
            self.micro_usd[target] -= moved

    def _spread(self, source: date) -> None:
        """Balance a day's surplus against several days that together lack it.

        This happens after a history is rebuilt: all charges are read on one day.
        """
        targets = [day for day in self.days if self.micro_usd[day] > 0]
        targets = [day for day in targets if self._able(source, day)]
        lacking = sum(self.micro_usd[day] for day in targets)
        if lacking and lacking == -self.micro_usd[source]:
            for target in targets:
                self._even_out(source, target)

    def _move_before_all(self, source: date) -> None:
        """Assign charges read long after their jobs to days before the range."""
        if self.micro_usd[source] < 0:
            places = self._summing(source, None, -self.micro_usd[source], None)
            self.move(places or (), None)


def _likely_day(place: Placed, target: date) -> tuple[timedelta, str]:
    likely = place.charge.sure_from or place.charge.day
    return abs(likely - target), place.charge.job_id
