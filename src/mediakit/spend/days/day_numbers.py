"""The days of a frame as whole numbers, independent of time zones."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

EPOCH = date(1970, 1, 1).toordinal()
DAYS_IN_WEEK = 7
# The first of January 1970 was a Thursday.
_FROM_MONDAY = 3


def day_numbers(days: pd.Series) -> npt.NDArray[np.int64]:
    """Return days since 1970; the smallest int64 for a missing day.

    The column's wall-clock time is used as is, never converted to another zone.
    """
    import numpy as np

    midnights = days.dt.tz_localize(None).to_numpy("datetime64[D]")
    return np.asarray(midnights, dtype="datetime64[D]").view(np.int64)


def days_of(numbers: npt.NDArray[np.int64]) -> pd.DatetimeIndex:
    """Return UTC midnights of days since 1970, datetime64[us, UTC]."""
    import pandas as pd

    instants = numbers.view("datetime64[D]").astype("datetime64[us]")
    return pd.DatetimeIndex(instants).tz_localize("UTC")


def mondays(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the Monday of each day; a missing day stays missing."""
    import numpy as np

    is_missing = numbers == np.iinfo("int64").min
    shifted = np.where(is_missing, 0, numbers)
    monday = shifted - (shifted + _FROM_MONDAY) % DAYS_IN_WEEK
    return np.where(is_missing, numbers, monday)


def number_of(day: date) -> int:
    """Return the days from 1970 to a day."""
    return day.toordinal() - EPOCH


def between(days: pd.Series, first: date, last: date) -> npt.NDArray[np.bool_]:
    """Tell for each day whether it is in a range; a missing one is not."""
    numbers = day_numbers(days)
    return (numbers >= number_of(first)) & (numbers <= number_of(last))


def is_over(days: pd.Series, today: date, length: int = 1) -> npt.NDArray[np.bool_]:
    """Tell for each period whether it ended before today; a missing one did not.

    Args:
        days: The first days of the periods.
        today: Today at the service.
        length: Days in a period.
    """
    import numpy as np

    numbers = day_numbers(days)
    is_missing = numbers == np.iinfo("int64").min
    return np.asarray(~is_missing & (numbers < number_of(today) - (length - 1)))
