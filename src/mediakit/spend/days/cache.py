"""A cache of days that no longer change."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from mediakit.spend.days.numbers import between
from mediakit.spend.days.pieces import ONE_DAY, Range

if TYPE_CHECKING:
    import pandas as pd

MOST_MONTHS_KEPT = 240
# A day is cached two days after it ends: charges may settle late (spec 2.2).
SETTLED_AFTER = timedelta(days=3)

Asked = tuple[str | None, str | None]


@dataclass(frozen=True)
class Kept:
    """Consecutive days of one month.

    Args:
        first: The first day.
        last: The last day, included.
        frame: Their rows; callers must copy it.
    """

    first: date
    last: date
    frame: pd.DataFrame

    def part(self, first: date, last: date) -> pd.DataFrame:
        """Return a copy of the rows of some of the days."""
        frame = self.frame[between(self.frame["day"], first, last)].copy()
        total = self.frame.attrs["total_micro_usd"]
        summed = None if total is None else int(frame["charge_micro_usd"].sum())
        frame.attrs = {"total_micro_usd": summed, "notes": [], "report": {}}
        return frame


class DayCache:
    """Complete days by month and filter; the least recently used month goes first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, Asked], Kept] = OrderedDict()

    def find(self, asked: Asked, piece: Range) -> Kept | None:
        """Return the cached days from the first day of a piece, or None."""
        place = (piece[0].isoformat()[:7], asked)
        kept = self._kept.get(place)
        if kept is None or not kept.first <= piece[0] <= kept.last:
            return None
        self._kept.move_to_end(place)
        return kept

    def keep(
        self, asked: Asked, piece: Range, frame: pd.DataFrame, today: date
    ) -> None:
        """Cache the complete days of a piece, unless its rows are inconsistent.

        Args:
            asked: The requested key and model.
            piece: Days of one month.
            frame: All their rows.
            today: Today at the service.
        """
        last = min(piece[1], date.fromordinal(_settled(today)))
        if last < piece[0] or not _is_sound(frame, piece):
            return
        rows = frame[between(frame["day"], piece[0], last)].copy()
        # A total that was not sent cannot be computed from cached days.
        rows.attrs = {"total_micro_usd": frame.attrs["total_micro_usd"]}
        place = (piece[0].isoformat()[:7], asked)
        known = self._kept.get(place)
        if known is not None and known.first <= piece[0] and last <= known.last:
            return
        self._kept[place] = Kept(piece[0], last, rows)
        self._kept.move_to_end(place)
        while len(self._kept) > MOST_MONTHS_KEPT:
            self._kept.popitem(last=False)

    def forget(self) -> None:
        """Forget all days, so that they are read again."""
        self._kept.clear()


def missing(kept: Kept | None, piece: Range) -> Range | None:
    """Return the days of a piece that are not kept; None when all are."""
    if kept is None:
        return piece
    return None if piece[1] <= kept.last else (kept.last + ONE_DAY, piece[1])


def _settled(today: date) -> int:
    return max((today.toordinal() - SETTLED_AFTER.days), 1)


def _is_sound(frame: pd.DataFrame, piece: Range) -> bool:
    if frame.attrs["notes"] or frame["charge_micro_usd"].isna().any():
        return False
    return bool(between(frame["day"], *piece).all())
