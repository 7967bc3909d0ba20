"""Typed columns: exact whole numbers, categories, and days that stay days.

Money never passes through a float. A value that cannot be read is missing, never zero.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pandas as pd

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
_LONGEST_DIGITS = 20
AT_A_TIME = 2_048
_NONE = type(None)
_T = TypeVar("_T")


def as_text(values: Sequence[Any]) -> Any:
    """Make texts; None is missing."""
    from mediakit.history.frames import text_array

    return text_array([v if v is None or type(v) is str else str(v) for v in values])


def as_whole(values: Sequence[Any], *, nullable: bool = False) -> Any:
    """Make int64 of whole numbers, or Int64 where any is missing or unreadable.

    Args:
        values: The numbers, also as texts.
        nullable: Make Int64 in any case.
    """
    import numpy as np
    import pandas as pd

    numbers = _plain_whole(values)
    if numbers is not None:
        return pd.array(numbers, dtype="Int64") if nullable else numbers
    numbers = [whole_number(value) for value in values]
    if nullable or None in numbers:
        return pd.array(numbers, dtype="Int64")
    return np.array(numbers, dtype="int64")


def _plain_whole(values: Sequence[Any]) -> Any:
    """Make int64 if all values are integers; otherwise return None."""
    import numpy as np

    numbers = np.empty(len(values), dtype="int64")
    # In chunks, which are still in the processor's cache when they are copied.
    for start in range(0, len(values), AT_A_TIME):
        some = values[start : start + AT_A_TIME]
        if set(map(type, some)) != {int}:
            return None
        try:
            numbers[start : start + AT_A_TIME] = some
        except OverflowError:
            return None
    return numbers


def as_days(values: Sequence[Any]) -> "pd.DatetimeIndex":
    """Make UTC midnights from days, exactly as written.

    A time or an offset after the day is ignored: converting it to UTC could move the
    charge to another day.
    """
    import numpy as np
    import pandas as pd

    codes, days = _coded(values, calendar_day)
    instants = np.array([*days, None], dtype="datetime64[D]").astype("datetime64[us]")
    return pd.DatetimeIndex(instants[codes]).tz_localize("UTC")  # -1 is the last


def as_sent(values: Sequence[Any]) -> Any:
    """Keep an unknown column, typed if all its values have one type."""
    import numpy as np
    import pandas as pd

    from mediakit.history.frames import text_array

    kinds = set(map(type, values)) - {_NONE}
    if kinds == {int}:
        whole = as_whole(values, nullable=True)
        if int(pd.isna(whole).sum()) == values.count(None):
            return whole
    if kinds == {str}:
        return text_array(values)
    if kinds == {bool}:
        return pd.array(list(values), dtype="boolean")
    if float in kinds and kinds <= {int, float}:
        return np.array(values, dtype="float64")
    return pd.Series(list(values), dtype="object").array


def whole_number(value: object) -> int | None:
    """Read a whole number of 64 bits, also one written "3" or 3.0; else None."""
    number = None
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    elif isinstance(value, str) and len(value) <= _LONGEST_DIGITS and value.isascii():
        with suppress(ValueError):
            number = int(value)
    if number is None or not _INT64_MIN <= number <= _INT64_MAX:
        return None
    return number


def calendar_day(value: object) -> date | None:
    """Read the day that a text begins with; else None."""
    try:
        return date.fromisoformat(str(value).strip()[:10])
    except ValueError:
        return None


def _coded(values: Sequence[Any], read: Callable[[object], _T]) -> tuple[Any, list[_T]]:
    """Read each distinct value once; give its place for every value, -1 for None."""
    import numpy as np

    # A value that is new gets the next place, so that each is hashed only once.
    places: defaultdict[Any, int] = defaultdict(count().__next__, {None: -1})
    try:
        codes = np.fromiter(map(places.__getitem__, values), "int64", len(values))
    except TypeError:  # lists and objects are read as their text
        return _coded([v if v is None else str(v) for v in values], read)
    del places[None]
    return codes, [read(value) for value in places]
