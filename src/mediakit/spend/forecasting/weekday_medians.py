"""The usual cost of each weekday: the median of its last weeks."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

WEEK = 7
MEDIAN_WEEKS = 8
"""The number of recent days in a weekday's median: enough to ignore a burst, few enough
to follow a change of level."""
A_DAY = timedelta(days=1)

Whole = np.ndarray[Any, np.dtype[np.int64]]
Real = np.ndarray[Any, np.dtype[np.float64]]


def daily_totals(frame: pd.DataFrame, first: date, last: date) -> Whole:
    """Add up charges by day; days without rows cost nothing.

    Args:
        frame: Rows with `day` (midnights in UTC) and `charge_micro_usd`. A row without
            a charge adds nothing.
        first: The first day.
        last: The last day, included.

    Returns:
        One amount per day, micro-USD.
    """
    totals = np.zeros((last - first).days + 1, "int64")
    charges = frame["charge_micro_usd"].astype("Int64")
    known = (charges.notna() & frame["day"].notna()).to_numpy()
    # A day is its UTC midnight: drop the zone without converting.
    days = frame["day"].dt.tz_localize(None).to_numpy()[known]
    places = (days.astype("datetime64[D]") - np.datetime64(first, "D")).astype("int64")
    within = (places >= 0) & (places < len(totals))
    amounts = charges[known].to_numpy("int64")
    np.add.at(totals, places[within], amounts[within])
    return totals


def unread_text(frame: pd.DataFrame) -> str:
    """Describe how many rows have no charge; empty if all have one."""
    count = int(frame["charge_micro_usd"].isna().sum())
    if not count:
        return ""
    rows, has, are = ("row", "has", "is") if count == 1 else ("rows", "have", "are")
    return (
        f"{count} {rows} of the report {has} no charge and {are} not included in any "
        "sum."
    )


def since_first_spend(totals: Whole) -> Whole:
    """Drop the days before the first spend."""
    spent = np.flatnonzero(totals)
    return totals[spent[0] :] if len(spent) else totals[:0]


def weekday_medians(totals: Whole) -> Real:
    """Return the usual cost of each weekday, as known on each day.

    Args:
        totals: One number per day, without gaps.

    Returns:
        One more row than days: row n uses only the first n days. Column k is the
        median of the last eight days whose place is k modulo 7, NaN before the first.
    """
    known = np.full((len(totals) + 1, WEEK), np.nan)
    for weekday in range(WEEK):
        its = totals[weekday::WEEK].astype("float64")
        for count in range(1, len(its) + 1):
            last = weekday + (count - 1) * WEEK
            # It holds until the next day of this weekday has been seen.
            usual = np.median(its[max(0, count - MEDIAN_WEEKS) : count])
            known[last + 1 : last + 1 + WEEK, weekday] = usual
    return known
