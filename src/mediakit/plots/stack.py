"""Exact sums of spend per day and name, including days without spend."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from mediakit.plots.names import (
    CHARGE,
    DATETIMES,
    DAY,
    WHOLE,
    check,
    coded,
    column_of,
    largest_first,
    others,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class DailyStack:
    """Spend per day and name, ready to draw.

    Args:
        first: The first day.
        names: The stacked names, the largest first and the rest last.
        micro_usd: One row per name and one column per day, int64 micro-USD.
        left_out: The number of rows without a day or a charge, which are omitted.
    """

    first: date
    names: tuple[str, ...]
    micro_usd: npt.NDArray[np.int64]
    left_out: int

    @property
    def days(self) -> list[date]:
        """Return every day, those without spend included."""
        count = self.micro_usd.shape[1]
        return [self.first + timedelta(days=number) for number in range(count)]

    @property
    def total_micro_usd(self) -> int:
        """Return the sum of everything."""
        return int(self.micro_usd.sum())


def daily_stack(frame: pd.DataFrame, by: str | None, *, most_names: int) -> DailyStack:
    """Sum a daily frame exactly per name and day, including days without spend.

    Args:
        frame: As `client.spend.daily(...)` returns it.
        by: The column whose values become the names; None for all in one.
        most_names: The most names to keep; the rest are summed as "other".

    Returns:
        The requested days if the frame is a whole response that states them;
        otherwise the days from its first to its last.

    Raises:
        InputError: The frame has no such columns, or its days or charges are not
            typed as `daily_frame` types them.
    """
    import numpy as np

    column = None if by is None else column_of(frame, by)
    needed = {DAY: DATETIMES, CHARGE: WHOLE} | ({column: None} if column else {})
    check(frame, needed, "a daily spend frame")
    drawn = frame[frame[DAY].notna() & frame[CHARGE].notna()]
    days = day_numbers(drawn[DAY])
    first, last = _extent(frame, days)
    names, codes = [""], np.zeros(len(drawn), dtype="intp")
    if column is not None:
        codes, names = coded(drawn, column)
    micro_usd = np.zeros((len(names), last - first + 1), dtype="int64")
    np.add.at(micro_usd, (codes, days - first), drawn[CHARGE].to_numpy("int64"))
    kept, sums = _largest(names, micro_usd, most_names)
    return DailyStack(date_of(first), kept, sums, len(frame) - len(drawn))


def day_numbers(days: pd.Series) -> npt.NDArray[np.int64]:
    """Return days since 1970, by the wall clock of the column.

    Days are never converted to another zone.
    """
    import numpy as np

    wall_clock = days.dt.tz_localize(None).to_numpy("datetime64[D]")
    return np.asarray(wall_clock.astype("int64"), dtype="int64")


def date_of(number: int) -> date:
    """Return the date for a number of days since 1970."""
    return EPOCH + timedelta(days=number)


def instants(first: date, count: int) -> pd.DatetimeIndex:
    """Return days since 1970 as UTC midnights, as in the spend frames."""
    import numpy as np
    import pandas as pd

    start = np.datetime64(first, "D")
    days = (start + np.arange(count)).astype("datetime64[us]")
    return pd.DatetimeIndex(days).tz_localize("UTC")


def _extent(frame: pd.DataFrame, days: npt.NDArray[np.int64]) -> tuple[int, int]:
    """Return the first and the last day, as days since 1970."""
    numbers = days.tolist()
    # A selection keeps the attrs of the response, but omitted days did have spend.
    if frame.attrs.get("total_micro_usd") == int(frame[CHARGE].sum()):
        report = frame.attrs.get("report", {})
        asked = (_asked(report.get(name)) for name in ("start_date", "end_date"))
        numbers += [number for number in asked if number is not None]
    return (min(numbers), max(numbers)) if numbers else (0, -1)


def _asked(text: object) -> int | None:
    try:
        return (date.fromisoformat(str(text)) - EPOCH).days
    except ValueError:
        return None


def _largest(
    names: list[str], micro_usd: npt.NDArray[np.int64], most_names: int
) -> tuple[tuple[str, ...], npt.NDArray[np.int64]]:
    """Order by sum, and group the smallest at the end."""
    import numpy as np

    order = largest_first(names, [int(row.sum()) for row in micro_usd])
    own, rest = order[:most_names], order[most_names:]
    kept = tuple(names[row] for row in own)
    if not rest:
        return kept, micro_usd[own]
    gathered = micro_usd[rest].sum(axis=0, keepdims=True)
    return (*kept, others(len(rest))), np.vstack([micro_usd[own], gathered])
