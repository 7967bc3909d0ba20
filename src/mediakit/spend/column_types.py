"""Column types: exact whole numbers, days without time zones, and dollars.

Money never passes through a float. An unreadable value is missing, never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype

from mediakit.history.frames import TEXT, text_array
from mediakit.money import MICRO_PER_USD
from mediakit.plain_numbers import without_grouping

CHARGE, DOLLARS = "charge_micro_usd", "charge_usd"
AS_SENT = "_as_sent"
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
_LONGEST_DIGITS = 20
# The types of columns whose values have one kind, as inferred by pandas.
KINDS: Mapping[str, Any] = {
    "integer": "Int64",
    "string": TEXT,
    "boolean": "boolean",
    "floating": "float64",
    "mixed-integer-float": "float64",
}


def texts_of(values: pd.Series[Any]) -> pd.Series[Any]:
    """Convert values to strings; None is missing."""
    if isinstance(values.dtype, pd.StringDtype):
        return values
    objects = values.astype("object").where(values.notna(), None)
    texts = [None if value is None else str(value) for value in objects]
    return pd.Series(text_array(texts), values.index)


def as_whole(values: pd.Series[Any], *, nullable: bool = False) -> Any:
    """Convert whole numbers to int64, or to Int64 if any is missing or unreadable."""
    if infer_dtype(values) == "integer":
        with suppress(OverflowError):
            return values.astype("Int64" if nullable or values.hasnans else "int64")
    numbers = pd.array([*map(whole_number, values)], dtype="Int64")
    return numbers if nullable or numbers.isna().any() else numbers.astype("int64")


def as_days(values: pd.Series[Any]) -> pd.Series[Any]:
    """Convert days to midnights, exactly as written.

    A time or an offset after the day is ignored: converting it to UTC could move the
    charge to another day.
    """
    codes, distinct = pd.factorize(texts_of(values), use_na_sentinel=False)
    written = pd.Series(distinct, dtype=TEXT).str.strip().str[:10]
    days = pd.to_datetime(written, format="%Y-%m-%d", errors="coerce")
    return days.astype("datetime64[us]").take(codes).set_axis(values.index)


def as_sent(values: pd.Series[Any]) -> Any:
    """Keep an unknown column; it gets a type if all its values have that type."""
    kind = KINDS.get(infer_dtype(values))
    with suppress(OverflowError):
        if kind is not None:
            return values.astype(kind)
    return values.astype("object").where(values.notna(), None)


def whole_number(value: object) -> int | None:
    """Parse a 64-bit whole number, such as 3, "3", "1,234" or 3.0; else None."""
    number = None
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    elif isinstance(value, str) and value.isascii():
        digits = without_grouping(value)
        with suppress(ValueError):
            number = int(digits) if len(digits) <= _LONGEST_DIGITS else None
    if number is None or not _INT64_MIN <= number <= _INT64_MAX:
        return None
    return number


def plain_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as dicts of Python values; a missing one is None."""
    plain = frame.astype("object")
    rows = plain.where(plain.notna(), None).to_dict("records")
    return [{str(name): row[name] for name in row} for row in rows]


def numbered(rows: pd.DataFrame) -> tuple[Any, pd.DataFrame]:
    """Number the distinct rows; return the number of each row, and the distinct ones.

    A million rows of a report have a few names.
    """
    numbers = np.zeros(len(rows), "int64")
    for name in rows:
        codes, values = pd.factorize(rows[name])
        numbers = pd.factorize(numbers * (len(values) + 1) + codes)[0]
    is_first = ~pd.Series(numbers, rows.index, "int64").duplicated()
    return numbers, rows[is_first]


def with_column(frame: pd.DataFrame, name: str, values: Any) -> None:
    """Add a column; rename a column of the service with the same name."""
    if name in frame:
        frame.columns = [f"{n}{AS_SENT}" if n == name else n for n in frame.columns]
    frame[name] = values


def add_dollars(frame: pd.DataFrame) -> None:
    """Add the charge in US dollars, as floats, beside the exact micro-USD."""
    with_column(frame, DOLLARS, dollars(frame[CHARGE]))
    frame.insert(list(frame).index(CHARGE) + 1, DOLLARS, frame.pop(DOLLARS))


def dollars(micro_usd: pd.Series[Any]) -> pd.Series[float]:
    """Convert to US dollars, exact to the micro-USD below 9 billion."""
    return micro_usd.astype("float64") / MICRO_PER_USD
