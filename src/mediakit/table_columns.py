"""Lists of values in any form, including the columns of a table.

A table of numbers with an empty cell has floats, so its whole floats are read as
integers, and NaN as missing.
"""

from array import array
from collections import deque
from collections.abc import KeysView, Mapping, Sequence, ValuesView
from typing import Any

_PLAIN = (list, tuple, range, set, frozenset, deque, KeysView, ValuesView, array)
_TO_LIST = ("to_pylist", "to_list", "tolist")
_TO_RECORDS = ("to_dicts", "to_pylist", "to_dict")


def is_listing(value: object) -> bool:
    """Return whether a value is a list, a set, an array or a table's column."""
    if isinstance(value, _PLAIN):
        return True
    if isinstance(value, str | bytes | bytearray | memoryview | Mapping):
        return False
    has_many = hasattr(value, "__len__") and getattr(value, "ndim", 1) >= 1
    is_read = any(hasattr(value, name) for name in (*_TO_LIST, "dtype"))
    return has_many and is_read and not is_table(value)


def as_list(value: Any) -> list[object]:
    """Return the values of a list; those of a set sorted by their text."""
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    for name in _TO_LIST:
        if hasattr(value, name):
            return list(getattr(value, name)())
    return [*value]


def is_column(value: object) -> bool:
    """Return whether a value is a table's column, whose library may use floats."""
    is_array = isinstance(value, _PLAIN) or type(value).__module__ == "numpy"
    return is_listing(value) and not is_array


def is_table(value: object) -> bool:
    """Return whether a value is a frame or another table."""
    return hasattr(value, "columns") and any(hasattr(value, n) for n in _TO_RECORDS)


def records_of(table: Any) -> list[dict[str, object]]:
    """Return the rows of a table as dicts."""
    if hasattr(table, "to_dicts"):
        return list(table.to_dicts())
    if hasattr(table, "to_pylist"):
        return list(table.to_pylist())
    return list(table.to_dict("records"))


def present(value: object) -> object:
    """Return None for a missing value of a table, and any other value unchanged.

    NaN is a float that differs from itself.
    """
    is_nan = isinstance(value, float) and value != value
    is_missing = is_nan or type(value).__name__ in ("NAType", "NaTType")
    return None if is_missing else value


def whole_as_integer(value: object) -> object:
    """Convert a whole float to an integer; any other value is unchanged."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def with_whole_numbers(values: Sequence[object]) -> list[object]:
    """Convert whole floats to integers if all numbers of a column are whole."""
    floats = [each for each in values if isinstance(each, float) and each == each]
    if all(each.is_integer() for each in floats):
        return [whole_as_integer(each) for each in values]
    return list(values)
