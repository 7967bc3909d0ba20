"""The days that a daily frame covers, including days without spend."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from mediakit.spend.days.day_numbers import day_numbers, number_of

if TYPE_CHECKING:
    import pandas as pd

CHARGE = "charge_micro_usd"


def extent(frame: pd.DataFrame) -> tuple[int, int]:
    """Return the first and the last day, as days since 1970; (0, -1) without any.

    The requested days count only if the frame is a whole response: a selection keeps
    the attrs of the response, but the days that it leaves out did have spend.
    """
    numbers = day_numbers(frame["day"][frame["day"].notna()]).tolist()
    if frame.attrs.get("total_micro_usd") == int(frame[CHARGE].sum()):
        report = frame.attrs.get("report", {})
        asked = (_number(report.get(name)) for name in ("start_date", "end_date"))
        numbers += [number for number in asked if number is not None]
    return (min(numbers), max(numbers)) if numbers else (0, -1)


def _number(text: object) -> int | None:
    try:
        return number_of(date.fromisoformat(str(text)))
    except ValueError:
        return None
