"""A month's days: the days to draw, the known spend, and the forecast."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from mediakit.errors import InputError
from mediakit.plots.days import span_text
from mediakit.plots.names import DATETIMES, DAY, WHOLE, check
from mediakit.plots.stack import EPOCH, DailyStack, date_of, day_numbers

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

SPENT, EXPECTED = "spent_micro_usd", "expected_micro_usd"
LOW, HIGH = "low_micro_usd", "high_micro_usd"
AHEAD = (EXPECTED, LOW, HIGH)
_COMPLETE = "complete"


class HasFrame(Protocol):
    """A forecast, as `client.spend.forecast(...)` returns it."""

    def frame(self) -> pd.DataFrame:
        """Return one row per day of the month; amounts are cumulative."""


def forecast_days(forecast: HasFrame) -> pd.DataFrame:
    """Return the forecast's days, without duplicates and in order."""
    if not hasattr(forecast, "frame"):
        accepted = "a forecast, as client.spend.forecast(...) gives it"
        raise InputError("forecast", got=forecast, accepted=accepted)
    ahead = forecast.frame()
    needed = {DAY: DATETIMES} | dict.fromkeys((SPENT, *AHEAD), WHOLE)
    check(ahead, needed, "a forecast's frame", field="forecast")
    ahead = ahead.sort_values(DAY, ignore_index=True)
    days = day_numbers(ahead[DAY]).tolist()
    if not days or days != list(range(days[0], days[0] + len(days))):
        accepted = "a forecast with one row for each day of a month"
        raise InputError("forecast", got=f"{len(days)} rows", accepted=accepted)
    return ahead


def days_drawn(stack: DailyStack, ahead: pd.DataFrame | None) -> range:
    """Return the days to draw, as days since 1970: the whole month if possible.

    Raises:
        InputError: The forecast covers other days.
    """
    first = (stack.first - EPOCH).days
    own = range(first, first + stack.micro_usd.shape[1])
    if ahead is None:
        return _whole_month(own)
    days = day_numbers(ahead[DAY])
    span = range(int(days[0]), int(days[-1]) + 1)
    if own and not (own[0] in span and own[-1] in span):
        raise InputError(
            "forecast",
            got=month_or_days(span),
            accepted=f"a forecast of the days of the frame, {month_or_days(own)}",
        )
    return span


def _whole_month(days: range) -> range:
    if not days:
        return days
    first, last = date_of(days[0]), date_of(days[-1])
    if (first.year, first.month) != (last.year, last.month):
        return days
    begin = first.replace(day=1)
    end = (begin + timedelta(days=31)).replace(day=1)
    return range((begin - EPOCH).days, (end - EPOCH).days)


def month_or_days(days: range) -> str:
    """Format a whole month as "October 2026", and other days as a range."""
    first, last = date_of(days[0]), date_of(days[-1])
    if len(days) > 1 and days == _whole_month(days):
        return f"{first:%B %Y}"
    return span_text(first, last)


def spent_so_far(stack: DailyStack, span: range) -> npt.NDArray[np.int64]:
    """Return the cumulative sum at the end of each day of the range."""
    import numpy as np

    by_day = np.zeros(len(span), dtype="int64")
    place = (stack.first - EPOCH).days - span.start
    sums = stack.micro_usd.sum(axis=0)
    if len(sums):
        by_day[place : place + len(sums)] = sums
    return np.cumsum(by_day)


def known_days(
    frame: pd.DataFrame, stack: DailyStack, span: range, ahead: pd.DataFrame | None
) -> int:
    """Return the number of days with known spend, including today."""
    sums = stack.micro_usd.sum(axis=0)
    offset = (stack.first - EPOCH).days - span.start if len(sums) else 0
    # A day with a charge is always included, whatever the frame says about today.
    charged = offset + max(sums.nonzero()[0].tolist(), default=-1 - offset) + 1
    if ahead is not None:
        known = ahead[SPENT].notna().to_numpy().nonzero()[0].tolist()
        return max(charged, max(known, default=-1) + 1)
    if today := _first_incomplete(frame):
        return max(charged, today - span.start + 1)
    return offset + len(sums)


def _first_incomplete(frame: pd.DataFrame) -> int | None:
    """Return the day since 1970 that the frame marks as today, if it does."""
    if _COMPLETE not in frame:
        return None
    still = frame[frame[_COMPLETE].eq(False) & frame[DAY].notna()]  # noqa: FBT003
    return int(day_numbers(still[DAY]).min()) if len(still) else None
