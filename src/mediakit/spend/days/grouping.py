"""Sums of daily spend per day and name; every row counts once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Literal, get_args

from mediakit.errors import InputError
from mediakit.spend.days.day_numbers import (
    DAYS_IN_WEEK,
    day_numbers,
    days_of,
    is_over,
    mondays,
)
from mediakit.spend.responses.rows import MONEY

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

CHARGE = "charge_micro_usd"
Every = Literal["day", "week"]
COLUMNS = {
    "function": ("function", "kind"),
    "key": ("api_key_id",),
    "model": ("model",),
    "project": ("project",),
}

By = str | Sequence[str] | None


def read_by(by: By) -> tuple[str, ...] | None:
    """Read what to group by: one name or several; None for no grouping.

    Raises:
        InputError: There is no such name.
    """
    if by is None:
        return None
    names: object = (by,) if isinstance(by, str) else by
    if isinstance(names, list | tuple) and all(name in list(COLUMNS) for name in names):
        return tuple(dict.fromkeys(names))
    accepted = f"any of {', '.join(COLUMNS)}, alone or in a list; or None"
    raise InputError("by", got=by, accepted=accepted)


def check_every(every: object) -> None:
    """Reject an unknown period.

    Raises:
        InputError: It is neither a day nor a week.
    """
    if every not in get_args(Every):
        raise InputError("every", got=every, accepted='"day" or "week"')


def grouped(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Sum jobs and charges per day and the columns of some names.

    Args:
        frame: Daily rows with all these columns.
        names: Keys of `COLUMNS`.
    """
    columns = [column for name in names for column in COLUMNS[name]]
    return summed(frame, columns, ["jobs", CHARGE])


def of_all_keys(frame: pd.DataFrame) -> pd.DataFrame:
    """Sum jobs and charges over the keys that charged the same on a day."""
    columns = [name for name in categories_of(frame) if name != "api_key_id"]
    return summed(frame, columns, ["jobs", CHARGE])


def summed(
    frame: pd.DataFrame, columns: Sequence[str], sums: Sequence[str]
) -> pd.DataFrame:
    """Sum whole-number columns per day and category columns, in their order.

    An unknown amount is left out of a sum; a sum of unknown ones only is unknown.

    Args:
        frame: Rows with a day.
        columns: Categories.
        sums: int64 or Int64 columns.

    Returns:
        day, the categories, the sums, sorted by day; rows whose day or name is
        missing are kept as <NA>. `attrs` are those of the frame.
    """
    import pandas as pd

    keys: dict[str, Any] = {"day": day_numbers(frame["day"])}
    keys |= {name: frame[name].cat.codes.to_numpy() for name in columns}
    whole = pd.DataFrame(keys | {name: frame[name].array for name in sums})
    groups = whole.groupby(list(keys), sort=True)
    # A minimum count is for Int64 alone: with it, pandas may turn int64 to floats.
    added = {
        name: groups[name].sum(min_count=1)
        if str(frame[name].dtype) == "Int64"
        else groups[name].sum()
        for name in sums
    }
    found = pd.DataFrame(added).reset_index()
    typed: dict[str, Any] = {"day": days_of(found["day"].to_numpy("int64"))}
    for name in columns:
        typed[name] = coded(found[name].to_numpy("int64"), frame[name])
    result = pd.DataFrame(typed | {name: found[name].array for name in sums})
    result.attrs = dict(frame.attrs)
    return result


def coded(codes: npt.NDArray[np.int64], column: pd.Series) -> pd.Categorical:
    """Return the values of codes in a category column, -1 for a missing one."""
    import pandas as pd

    return pd.Categorical.from_codes(codes, categories=column.cat.categories)


def weekly(frame: pd.DataFrame) -> pd.DataFrame:
    """Sum the days of each week, which begins on Monday.

    Args:
        frame: As `client.spend.daily(...)` returns it.

    Returns:
        day is the Monday; the categories stay, jobs and micro-USD are summed, and
        complete is whether the whole week is over and complete. Other columns are
        dropped; a note lists them.

    Raises:
        InputError: The frame is not daily spend with integer micro-USD.
    """
    check_daily(frame)
    return _weekly(frame, None)


def weekly_until(frame: pd.DataFrame, today: date) -> pd.DataFrame:
    """Sum the days of each week; weeks that ended before today are complete."""
    return _weekly(frame, today)


def _weekly(frame: pd.DataFrame, today: date | None) -> pd.DataFrame:
    names = categories_of(frame)
    sums = [str(n) for n in frame.columns if n == "jobs" or str(n).endswith(MONEY)]
    other = {str(n) for n in frame.columns} - {*names, *sums, "day", "complete"}
    days = frame.assign(day=days_of(mondays(day_numbers(frame["day"]))))
    result = summed(days, names, sums)
    notes = list(frame.attrs.get("notes", []))
    if other:
        notes.append(f"Not summed by week: {', '.join(sorted(other))}.")
    result.attrs = dict(frame.attrs) | {"notes": notes}
    result["complete"] = (
        _whole_weeks(frame, result)
        if today is None
        else is_over(result["day"], today, DAYS_IN_WEEK)
    )
    return result


def _whole_weeks(frame: pd.DataFrame, weeks: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Tell which weeks have ended, as far as the days of a frame show."""
    import numpy as np

    from mediakit.spend.days.covered_days import extent

    numbers = day_numbers(frame["day"])
    ends = day_numbers(weeks["day"]) + (DAYS_IN_WEEK - 1)
    open_weeks = np.array([], dtype="int64")
    if "complete" in frame:
        open_weeks = mondays(numbers[~frame["complete"].to_numpy("bool")])
    _, last = extent(frame)
    is_open = np.isin(day_numbers(weeks["day"]), open_weeks)
    return np.asarray(~is_open & (ends <= last))


def categories_of(frame: pd.DataFrame) -> list[str]:
    """Return the names of the category columns."""
    import pandas as pd

    return [
        str(name)
        for name, kind in frame.dtypes.items()
        if isinstance(kind, pd.CategoricalDtype)
    ]


def check_daily(frame: pd.DataFrame) -> None:
    """Reject a frame that is not daily spend.

    Raises:
        InputError: Its days are not datetimes, or its charges not whole numbers.
    """
    from pandas.api.types import is_datetime64_any_dtype, is_integer_dtype

    kinds = {str(name): str(kind) for name, kind in frame.dtypes.items()}
    is_daily = {"day", CHARGE} <= set(kinds)
    if not is_daily or not (
        is_datetime64_any_dtype(frame["day"]) and is_integer_dtype(frame[CHARGE])
    ):
        accepted = (
            f"a daily spend frame: day as datetimes and {CHARGE} as whole numbers"
        )
        raise InputError("frame", got=kinds, accepted=accepted)
