"""Converts numbers of any type, such as numpy's, to Python's own."""

from __future__ import annotations

import re
from contextlib import suppress
from numbers import Real
from operator import index

_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")


def whole(value: object) -> int | None:
    """Return a whole number; None for a boolean, a float or anything else."""
    if isinstance(value, bool):
        return None
    with suppress(TypeError):
        return index(value)  # type: ignore[arg-type]
    return None


def real(value: object) -> float | None:
    """Return a number; None for a boolean, for what is not a number, or NaN."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return None if number != number else number


def without_grouping(text: str) -> str:
    """Return a number without the commas between thousands; any other text as it is."""
    return text.replace(",", "") if _GROUPED.fullmatch(text) else text
