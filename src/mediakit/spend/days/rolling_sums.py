"""Rolling sums that are exact and include days without spend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mediakit.errors import InputError
from mediakit.spend.days.covered_days import extent
from mediakit.spend.days.day_numbers import day_numbers, days_of
from mediakit.spend.days.grouping import (
    CHARGE,
    categories_of,
    check_daily,
    coded,
    summed,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

MOST_DAYS = 366


def rolling(frame: pd.DataFrame, days: int = 7) -> pd.DataFrame:
    """Sum the charges of each day and the days before it.

    Args:
        frame: As `client.spend.daily(...)` returns it.
        days: How many days a sum has, its own day included: 1 to 366.

    Returns:
        One row per day and name, days without spend included: day, the categories of
        the frame, charge_micro_usd (int64, the sum), and complete (bool), which is
        False where the sum reaches back before the first day or has an incomplete day.

    Raises:
        InputError: The frame is not daily spend, or the days are not a whole number
            from 1 to 366.
    """
    import numpy as np
    import pandas as pd

    _check_days(days)
    check_daily(frame)
    dated = frame[frame["day"].notna() & frame[CHARGE].notna()]
    dated.attrs = dict(frame.attrs)
    names = categories_of(dated)
    sums = summed(dated, names, [CHARGE])
    first, last = extent(dated)
    groups, places = _groups(sums, names)
    each = np.zeros((last - first + 1, len(groups)), dtype="int64")
    each[day_numbers(sums["day"]) - first, places] = sums[CHARGE].to_numpy("int64")
    numbers = np.repeat(np.arange(first, last + 1), len(groups))
    columns: dict[str, Any] = {"day": days_of(numbers)}
    for name in names:
        codes = np.tile(groups[name].to_numpy(), last - first + 1)
        columns[name] = coded(codes, frame[name])
    columns[CHARGE] = _windows(each, days).reshape(-1)
    columns["complete"] = np.repeat(_complete(frame, first, last, days), len(groups))
    result = pd.DataFrame(columns)
    result.attrs = {"notes": _notes(len(frame) - len(dated)), "days": days}
    return result


def _check_days(days: object) -> None:
    is_whole = isinstance(days, int) and not isinstance(days, bool)
    if not is_whole or days not in range(1, MOST_DAYS + 1):
        accepted = f"a whole number from 1 to {MOST_DAYS}"
        raise InputError("days", got=days, accepted=accepted)


def _groups(
    sums: pd.DataFrame, names: list[str]
) -> tuple[pd.DataFrame, npt.NDArray[np.int64]]:
    """Return the codes of each group of names, and each row's place among them."""
    import numpy as np
    import pandas as pd

    if not names:
        count = 1 if len(sums) else 0
        return pd.DataFrame(index=range(count)), np.zeros(len(sums), dtype="int64")
    codes = pd.DataFrame({name: sums[name].cat.codes for name in names})
    places = np.asarray(codes.groupby(names, sort=True).ngroup(), dtype="int64")
    groups = codes.drop_duplicates().sort_values(names, ignore_index=True)
    return groups, places


def _windows(each: npt.NDArray[np.int64], days: int) -> npt.NDArray[np.int64]:
    sums = each.cumsum(axis=0)
    sums[days:] -= sums[:-days].copy()
    return sums


def _complete(
    frame: pd.DataFrame, first: int, last: int, days: int
) -> npt.NDArray[np.bool_]:
    import numpy as np

    is_open = np.zeros((last - first + 1, 1), dtype="int64")
    if "complete" in frame:
        rows = frame[frame["day"].notna() & ~frame["complete"].astype("bool")]
        is_open[day_numbers(rows["day"]) - first] = 1
    counted = _windows(is_open, days).reshape(-1)
    return np.asarray((counted == 0) & (np.arange(len(counted)) >= days - 1))


def _notes(left_out: int) -> list[str]:
    if not left_out:
        return []
    return [f"{left_out} rows have no day or no charge and are not in any sum."]
