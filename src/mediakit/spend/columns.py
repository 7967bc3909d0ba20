"""Typed columns: exact whole numbers, days that stay days, and dollars.

Money never passes through a float. A value that cannot be read is missing, never zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from mediakit.history.frames import text_array
from mediakit.money import MICRO_PER_USD

CHARGE, DOLLARS = "charge_micro_usd", "charge_usd"
AS_SENT = "_as_sent"
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
_LONGEST_DIGITS = 20


def as_text(values: Sequence[Any]) -> Any:
    """Make texts; None is missing."""
    if set(map(type, values)) <= {str, type(None)}:
        return text_array(values)
    return text_array([None if value is None else str(value) for value in values])


def as_whole(values: Sequence[Any], *, nullable: bool = False) -> Any:
    """Make int64 of whole numbers, or Int64 where any is missing or unreadable."""
    numbers: Any = None
    if set(map(type, values)) == {int}:
        with suppress(OverflowError):
            numbers = np.array(values, dtype="int64")
    if numbers is None:
        numbers = [whole_number(value) for value in values]
        nullable = nullable or None in numbers
    if nullable:
        return pd.array(numbers, dtype="Int64")
    return np.asarray(numbers, dtype="int64")


def as_days(values: Sequence[Any]) -> pd.DatetimeIndex:
    """Make UTC midnights from days, exactly as written.

    A time or an offset after the day is ignored: converting it to UTC could move the
    charge to another day.
    """
    texts = np.array([v if v is None else str(v) for v in values], dtype="object")
    codes, distinct = pd.factorize(texts)
    days = [*map(calendar_day, distinct), None]  # the last is that of the code -1
    instants = np.array(days, dtype="datetime64[D]").astype("datetime64[us]")
    return pd.DatetimeIndex(instants[codes]).tz_localize("UTC")


def as_sent(values: Sequence[Any]) -> Any:
    """Keep an unknown column, typed if all its values have one type."""
    kinds = set(map(type, values)) - {type(None)}
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


def plain_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows of plain values; what is missing is None."""
    plain = frame.astype("object")
    rows = plain.where(plain.notna(), None).to_dict("records")
    return [{str(name): row[name] for name in row} for row in rows]


def path_of(row: Mapping[str, Any]) -> str | None:
    """Return the function path that a service row names, as far as it does."""
    model, function = row.get("model"), row.get("function")
    path = row.get("model_id") or (function if function and "/" in function else None)
    return path or "/".join(filter(None, (model, function))) or None


def with_column(frame: pd.DataFrame, name: str, values: Any) -> None:
    """Add a column; a service column with the same name is renamed."""
    if name in frame:
        frame.columns = [f"{n}{AS_SENT}" if n == name else n for n in frame.columns]
    frame[name] = values


def add_dollars(frame: pd.DataFrame) -> None:
    """Add the charge in US dollars, as floats, beside the exact micro-USD."""
    with_column(frame, DOLLARS, dollars(frame[CHARGE]))
    frame.insert(list(frame).index(CHARGE) + 1, DOLLARS, frame.pop(DOLLARS))


def dollars(micro_usd: pd.Series[Any]) -> pd.Series[float]:
    """Return US dollars, exact to the micro-USD below 9 billion."""
    return micro_usd.astype("float64") / MICRO_PER_USD
