"""Spend per day and name, summed exactly and with no day left out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from mediakit.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

DAY = "day"
CHARGE = "charge_micro_usd"
UNNAMED = "not named"
OTHER = "other"
EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class DailyStack:
    """Spend per day and name, ready to draw.

    Args:
        first: The first day.
        names: What is stacked, the largest first and the rest last.
        micro_usd: One row per name and one column per day, int64 micro-USD.
        left_out: How many rows have no day or no charge, and so no place here.
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


def daily_stack(frame: pd.DataFrame, by: str, *, most_names: int) -> DailyStack:
    """Sum a daily frame exactly per name and day, with no day left out.

    Args:
        frame: As `client.spend.daily(...)` gives it.
        by: The column whose values become the names.
        most_names: So many names of their own; the rest is gathered as "other".

    Returns:
        The days that were asked for, where the frame is a whole answer that says
        so; else those from its first to its last.

    Raises:
        InputError: The frame has no such columns, or its days or charges are not
            typed as `daily_frame` types them.
    """
    import numpy as np
    import pandas as pd

    _check(frame, by)
    drawn = frame[frame[DAY].notna() & frame[CHARGE].notna()]
    # The wall clock of the column as it is: a day is never moved to another zone.
    days = drawn[DAY].dt.tz_localize(None).to_numpy("datetime64[D]").astype("int64")
    first, last = _extent(frame, days)
    texts = drawn[by].astype("object").where(drawn[by].notna(), UNNAMED)
    codes, names = pd.factorize(texts.astype("str"))
    micro_usd = np.zeros((len(names), last - first + 1), dtype="int64")
    np.add.at(micro_usd, (codes, days - first), drawn[CHARGE].to_numpy("int64"))
    kept, sums = _largest(names.tolist(), micro_usd, most_names)
    return DailyStack(_date(first), kept, sums, len(frame) - len(drawn))


def _check(frame: pd.DataFrame, by: str) -> None:
    from pandas.api.types import is_datetime64_any_dtype, is_integer_dtype

    present = all(name in frame for name in (DAY, CHARGE, by))
    if (
        present
        and is_datetime64_any_dtype(frame[DAY])
        and is_integer_dtype(frame[CHARGE])
    ):
        return
    raise InputError(
        "frame",
        got={str(name): str(kind) for name, kind in frame.dtypes.items()},
        accepted=f"a daily spend frame: {DAY} as datetimes, {CHARGE} as whole "
        f"numbers, and {by}",
    )


def _extent(frame: pd.DataFrame, days: npt.NDArray[np.int64]) -> tuple[int, int]:
    """Return the first and the last day, as days since 1970."""
    numbers = days.tolist()
    # A selection keeps the attrs of the answer, and days it left out are not free.
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


def _date(number: int) -> date:
    return EPOCH + timedelta(days=number)


def _largest(
    names: list[str], micro_usd: npt.NDArray[np.int64], most_names: int
) -> tuple[tuple[str, ...], npt.NDArray[np.int64]]:
    """Order by sum, and gather the smallest at the end."""
    import numpy as np

    order = sorted(
        range(len(names)), key=lambda row: (-int(micro_usd[row].sum()), names[row])
    )
    own, rest = order[:most_names], order[most_names:]
    kept = tuple(names[row] for row in own)
    if not rest:
        return kept, micro_usd[own]
    gathered = micro_usd[rest].sum(axis=0, keepdims=True)
    return (*kept, f"{OTHER} ({len(rest)})"), np.vstack([micro_usd[own], gathered])
