"""Converts numbers of other types, such as numpy's, to Python's own."""

from __future__ import annotations

import re
from contextlib import suppress
from numbers import Real
from operator import index

_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")


def whole(value: object) -> int | None:
    """Convert to int; None for booleans, floats and anything else."""
    if isinstance(value, bool):
        return None
    with suppress(TypeError):
        return index(value)  # type: ignore[arg-type]
    return None


def real(value: object) -> float | None:
    """Convert to float; None for booleans, other types and NaN."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return None if number != number else number


def without_grouping(text: str) -> str:
    """Remove the thousands separators of a number; other strings are unchanged."""
    return text.replace(",", "") if _GROUPED.fullmatch(text) else text
