"""Explains the differences of one function's month, each with a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import combinations, groupby, islice

from mediakit.money import format_usd
from mediakit.spend.reconciliation.service_and_history import Charge, OpenJob, Spent
from mediakit.spend.reconciliation.settlement_days import Days, Placed, placed
from mediakit.spend.reconciliation.subset_sum import MAX_SETS, within_bounds
from mediakit.spend.reconciliation.verdicts import Part, Reason

_MOST_RESTATED = 3


@dataclass(frozen=True)
class Span:
    """Days, both ends included."""

    first: date
    last: date

    def __contains__(self, day: date | None) -> bool:
        """Tell whether a day is within the span."""
        return day is not None and self.first <= day <= self.last


@dataclass(frozen=True)
class FunctionSides:
    """Both sides of one function.

    Args:
        path: The function, `vendor/model/function`.
        cells: What the service reports for our keys, by day.
        charges: The settled charges in the history.
        open_jobs: The jobs whose charge is not read yet.
        month: The days to explain.
        read: The days requested: the month and a margin on each side.
        ahead: How far the service's clock is ahead of this machine's.
    """

    path: str
    cells: dict[date, Spent]
    charges: tuple[Charge, ...]
    open_jobs: tuple[OpenJob, ...]
    month: Span
    read: Span
    ahead: timedelta


def settled_days(sides: FunctionSides) -> Days:
    """Find the service's day for each charge; return the remaining differences."""
    charges = placed(sides.charges, sides.ahead)
    days = Days(sides.cells, charges, sides.read.first, sides.read.last)
    days.settle()
    return days


def explained(sides: FunctionSides) -> Iterator[Part]:
    """Split a function's month into parts by day.

    A day's difference is explained in this order: charges that settled on another
    day, charges that the service restated, jobs whose charge is not read yet, and
    then charges that one side lacks.
    """
    days = settled_days(sides)
    waiting = list(sides.open_jobs)
    for day in days.days:
        if day in sides.month:
            yield from _day_parts(sides, days, day, waiting)
    for place in days.charges:
        if place.charge.day in sides.month and place.day not in sides.month:
            ids = (place.charge.job_id,)
            local = (place.charge.day,)
            yield Part(Reason.WENT_OUT, sides.path, days=local, job_ids=ids)
    for job in waiting:
        if job.has_ended and job.day in sides.month:
            yield _pending(sides.path, job.day, 0, (job,))


def _day_parts(
    sides: FunctionSides, days: Days, day: date, waiting: list[OpenJob]
) -> Iterator[Part]:
    apart = days.micro_usd[day]
    here = days.on(day)
    restated = _restated(here, apart)
    apart -= sum(_restatement(place) for place in restated)
    absent: list[Placed] = []
    unnamed = 0
    if apart < 0:
        equal = _equal(here, -apart, days.jobs(day))
        absent, unnamed = (equal, 0) if len(equal) == 1 else ([], -apart)
        ids = tuple(place.charge.job_id for place in absent)
        part = _part(Reason.NOT_THERE, sides.path, day, history=-apart, job_ids=ids)
        if len(equal) > 1:
            price = format_usd(-apart)
            detail = f"one of {len(equal)} jobs of {price} on {day.isoformat()}"
            part = replace(part, detail=detail)
        yield part
    elif apart > 0:
        yield from _missing_here(sides.path, day, apart, days.jobs(day), waiting)
    held = [place for place in here if place not in absent]
    yield from _held_parts(sides, day, held, restated, unnamed)


def _held_parts(
    sides: FunctionSides,
    day: date,
    held: list[Placed],
    restated: Sequence[Placed],
    unnamed_micro_usd: int,
) -> Iterator[Part]:
    """Yield the parts for charges that both sides have on a day."""
    held.sort(key=lambda place: _reason(place, sides.month))
    for reason, group in groupby(held, lambda place: _reason(place, sides.month)):
        places = list(group)
        ids = tuple(place.charge.job_id for place in places)
        history = sum(place.charge.micro_usd for place in places)
        more = sum(_restatement(place) for place in places if place in restated)
        if reason is Reason.SAME:
            history, unnamed_micro_usd = history - unnamed_micro_usd, 0
            if history:
                yield _part(reason, sides.path, day, history=history, daily=history)
            continue
        changed = sum(place.charge.changed_micro_usd for place in places)
        yield Part(
            reason,
            sides.path,
            days=(day,),
            history=history,
            daily=history + more,
            difference=changed,
            job_ids=ids,
        )
    if unnamed_micro_usd:
        less = -unnamed_micro_usd
        yield _part(Reason.SAME, sides.path, day, history=less, daily=less)
    yield from _also_moved(sides, day, held)


def _also_moved(
    sides: FunctionSides, day: date, held: Iterable[Placed]
) -> Iterator[Part]:
    """Yield charges moved in from another month that also have another verdict."""
    for place in held:
        is_in = place.charge.day not in sides.month
        if is_in and place.charge.changed_micro_usd:
            ids = (place.charge.job_id,)
            yield Part(Reason.CAME_IN, sides.path, days=(day,), job_ids=ids)


def _reason(place: Placed, month: Span) -> Reason:
    charge = place.charge
    reason = Reason.SAME
    if charge.changed_micro_usd:
        is_restated = charge.restated_micro_usd is not None
        reason = Reason.RESTATED if is_restated else Reason.RATE
    elif place.is_moved:
        reason = Reason.NEAR if charge.day in month else Reason.CAME_IN
    return reason


def _part(
    reason: Reason,
    path: str,
    day: date,
    *,
    history: int = 0,
    daily: int = 0,
    job_ids: tuple[str, ...] = (),
) -> Part:
    return Part(
        reason,
        path,
        days=(day,),
        history=history,
        daily=daily,
        difference=daily - history,
        job_ids=job_ids,
    )


# -- what the service restated ---------------------------------------------------------


def _restatement(place: Placed) -> int:
    charge = place.charge
    if charge.restated_micro_usd is None:
        return 0
    return charge.restated_micro_usd - charge.micro_usd


def _restated(here: Sequence[Placed], apart: int) -> tuple[Placed, ...]:
    """Find restated charges that account for a difference exactly."""
    able = [place for place in here if _restatement(place)]
    sizes = range(1, min(len(able), _MOST_RESTATED) + 1)
    groups = (group for size in sizes for group in combinations(able, size))
    fitting = (
        group
        for group in islice(groups, MAX_SETS)
        if sum(map(_restatement, group)) == apart
    )
    return next(fitting, ()) if apart else ()


# -- what one side lacks ---------------------------------------------------------------


def _equal(here: Sequence[Placed], total: int, jobs: int | None) -> list[Placed]:
    """List the charges of which the service may lack one.

    Jobs that only add up to the difference are not taken: others may do so, too.
    """
    if jobs is not None and jobs < -1:
        return []
    return [place for place in here if place.charge.micro_usd == total]


def _missing_here(
    path: str, day: date, total: int, jobs: int | None, waiting: list[OpenJob]
) -> Iterator[Part]:
    able = [job for job in waiting if job.first <= day <= job.last]
    able.sort(key=lambda job: (not job.has_ended, abs(job.day - day), job.name))
    count = jobs if jobs and jobs > 0 else None
    group = within_bounds(able, total, count=count)
    of_them = total
    if group is None:
        group, of_them = _some_of(able, total, count)
    for job in group:
        waiting.remove(job)
    if group:
        yield _pending(path, day, of_them, group)
    if total > of_them:
        yield _part(Reason.NO_LOCAL_JOB, path, day, daily=total - of_them)


def _some_of(
    able: Sequence[OpenJob], total: int, count: int | None
) -> tuple[tuple[OpenJob, ...], int]:
    """Find completed jobs of a known price that explain part of what is missing.

    Applies only if the service counts more jobs than these; the rest is missing here.
    """
    sure = [j for j in able if j.has_ended and j.low_micro_usd == j.high_micro_usd]
    for size in range(min(len(sure), (count or 1) - 1), 0, -1):
        for group in islice(combinations(sure, size), MAX_SETS):
            cost = sum(job.low_micro_usd for job in group)
            if 0 < cost < total:
                return group, cost
    return (), 0


def _pending(path: str, day: date, micro_usd: int, jobs: tuple[OpenJob, ...]) -> Part:
    highs = [job.high_micro_usd for job in jobs]
    bounded = [high for high in highs if high is not None]
    return Part(
        Reason.PENDING,
        path,
        days=(day,),
        daily=micro_usd,
        difference=micro_usd,
        job_ids=tuple(job.name for job in jobs),
        bound=sum(bounded) if len(bounded) == len(highs) else None,
        detail="counted" if micro_usd else "",
    )
