"""Infers which API keys in the daily report belong to this history."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from itertools import combinations
from typing import TYPE_CHECKING

from mediakit.spend.reconciliation.service_and_history import Charge, Daily, Ours
from mediakit.spend.reconciliation.settlement_days import ONE_DAY

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Cells = npt.NDArray[np.int64]

MOST_ENUMERATED = 12
Choice = tuple[int, ...]


def own_keys(daily: Daily, ours: Ours) -> tuple[str, ...]:
    """Choose the keys whose spend differs least from the history's.

    The difference is summed over days and functions. A surplus on one day that the
    next day lacks exactly does not count. A charge that was read days after its job
    counts on the job's day. A charge whose job has no known day, and a job whose
    charge is not read yet, can match any day. Ties go to the choice whose days agree
    better, then to the one with fewer unmatched charges, then to the one with fewer
    keys. With up to twelve keys, every combination is tried; with more, keys are added
    one at a time while that reduces the difference.

    Args:
        daily: What the service reports.
        ours: What the history holds.

    Returns:
        The key IDs in order; empty if the history has less than half of their spend,
        because then any of the keys may be its own.
    """
    keys = sorted({key for _, key, _ in daily})
    if not keys:
        return ()
    scale = _Scale(daily, ours, keys)
    if len(keys) <= MOST_ENUMERATED:
        chosen = scale.best(list(_choices(len(keys))))
    else:
        chosen = _greedy(scale, len(keys))
    found = tuple(keys[place] for place in chosen)
    spent = sum(cell.micro_usd for (_, key, _), cell in daily.items() if key in found)
    return found if 2 * _held(daily, ours) >= spent else ()


def _held(daily: Daily, ours: Ours) -> int:
    """Sum what the history has, or surely will have, on the days of the report."""
    first, last = min(day for day, _, _ in daily), max(day for day, _, _ in daily)
    settled = (
        charge.micro_usd
        for charge in ours.charges
        if charge.sure_from is None
        or first - ONE_DAY <= _likely_day(charge) <= last + ONE_DAY
    )
    waiting = (job.low_micro_usd for job in ours.open_jobs if job.has_ended)
    return sum(settled) + sum(waiting)


def _choices(count: int) -> Iterator[Choice]:
    for size in range(count + 1):
        yield from combinations(range(count), size)


def _greedy(scale: _Scale, count: int) -> Choice:
    chosen: Choice = ()
    while True:
        more = [(*chosen, place) for place in range(count) if place not in chosen]
        best = scale.best([chosen, *more])
        if best == chosen:
            return tuple(sorted(chosen))
        chosen = best


class _Scale:
    """Scores combinations of keys against the history.

    Args:
        daily: What the service reports; not empty.
        ours: What the history holds.
        keys: The keys that the service names.
    """

    def __init__(self, daily: Daily, ours: Ours, keys: list[str]) -> None:
        import numpy as np

        first, last = min(day for day, _, _ in daily), max(day for day, _, _ in daily)
        first, last = first - ONE_DAY, last + ONE_DAY
        dated = [
            (_likely_day(charge), charge)
            for charge in ours.charges
            if charge.sure_from is not None
        ]
        dated = [(day, charge) for day, charge in dated if first <= day <= last]
        paths = sorted(
            {path for _, _, path in daily} | {charge.path for _, charge in dated}
        )
        row = {path: place for place, path in enumerate(paths)}
        number = {key: place for place, key in enumerate(keys)}
        shape = (len(paths), (last - first).days + 1)
        self._theirs = np.zeros((len(keys), *shape), dtype="int64")
        self._ours = np.zeros(shape, dtype="int64")
        for (day, key, path), spent in daily.items():
            place = (number[key], row[path], (day - first).days)
            self._theirs[place] += spent.micro_usd
        for day, charge in dated:
            self._ours[row[charge.path], (day - first).days] += charge.micro_usd
        undated, waiting = _undated(ours), _waiting(ours)
        self._certain = np.array([undated[path] for path in paths], dtype="int64")
        self._waiting = np.array([waiting[path] for path in paths], dtype="int64")
        self._undated = self._certain + self._waiting

    def best(self, choices: list[Choice]) -> Choice:
        """Return the choice that differs least; the first if several tie."""
        import numpy as np

        chosen = np.zeros((len(choices), len(self._theirs)), dtype="int64")
        for row, choice in enumerate(choices):
            chosen[row, list(choice)] = 1
        flat = self._theirs.reshape(len(self._theirs), -1)
        apart = (chosen @ flat).reshape(-1, *self._ours.shape) - self._ours
        more = apart.clip(min=0).sum(axis=2)
        left_over = (self._certain - more).clip(min=0).sum(axis=1)
        open_over = (self._undated - more).clip(min=0).sum(axis=1)
        # Our jobs without a charge imply that at least one key is ours.
        has_waiting = bool(self._waiting.any())
        costs = zip(
            self._unmet(_evened_out(apart)).tolist(),
            self._unmet(apart).tolist(),
            left_over.tolist(),
            (has_waiting and not choice for choice in choices),
            map(len, choices),
            open_over.tolist(),
            range(len(choices)),
            strict=True,
        )
        best: int = min(costs)[-1]
        return choices[best]

    def _unmet(self, apart: Cells) -> Cells:
        """Sum for each choice the differences that undated charges cannot explain."""
        more = apart.clip(min=0).sum(axis=2)
        less = (-apart).clip(min=0).sum(axis=2)
        unmet: Cells = ((more - self._undated).clip(min=0) + less).sum(axis=1)
        return unmet


def _evened_out(apart: Cells) -> Cells:
    """Cancel a surplus on one day against an equal shortfall on the next.

    Args:
        apart: The differences, by choice, function and day.
    """
    import numpy as np

    apart = apart.copy()
    for day in range(apart.shape[2] - 1):
        one, after = apart[..., day], apart[..., day + 1]
        moved = np.where(one == -after, one, 0)
        apart[..., day] -= moved
        apart[..., day + 1] += moved
    return apart


def _likely_day(charge: Charge) -> date:
    is_late = charge.is_read_late
    return charge.sure_from or charge.day if is_late else charge.day


def _undated(ours: Ours) -> dict[str, int]:
    """Sum by function the charges whose jobs have no known day."""
    sums: dict[str, int] = defaultdict(int)
    for charge in ours.charges:
        if charge.sure_from is None:
            sums[charge.path] += charge.micro_usd
    return sums


def _waiting(ours: Ours) -> dict[str, int]:
    """Sum by function the possible cost of jobs whose charge is not read yet."""
    sums: dict[str, int] = defaultdict(int)
    for job in ours.open_jobs:
        sums[job.path] += job.high_micro_usd or job.low_micro_usd
    return sums
