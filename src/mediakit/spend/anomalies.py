"""Days that cost far more or far less than their weekday usually does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from mediakit.history.frames import text_array
from mediakit.spend.column_types import CHARGE
from mediakit.spend.forecasting import HISTORY, WEEK, Whole, daily_totals

MEDIAN_WEEKS = 8
FEWEST_WEEKS = 3
MAD_TO_DEVIATION = 1.4826
LEAST_SPREAD, UNKNOWN_SPREAD = 0.15, 0.75
MOST_Z, LEAST_FACTOR = 3.5, 2.0
SMALL_SHARE = 20
"""Amounts below a twentieth of a usual day count as zero."""


def anomalies_frame(
    daily: pd.DataFrame, start: date, end: date, by: Sequence[str] = ()
) -> pd.DataFrame:
    """Find unusual days in rows that begin thirteen weeks before the start.

    See `AsyncSpend.anomalies`.
    """
    groups: list[tuple[Any, pd.DataFrame]] = [((), daily)]
    if by:
        groups = list(daily.groupby(list(by), dropna=False)) or groups
    frames = []
    for names, rows in groups:
        judged = _judged(daily_totals(rows, start - HISTORY, end), start, end)
        unusual = judged[judged["is_unusual"]].drop(columns="is_unusual")
        for place, name in enumerate(by):
            text = names[place] if names and pd.notna(names[place]) else None
            unusual.insert(1 + place, name, text_array([text] * len(unusual)))
        frames.append(unusual)
    frame = pd.concat(frames).sort_values("day", kind="stable", ignore_index=True)
    # Refunds are listed even before there is a usual day.
    usual = frame["usual_micro_usd"].fillna(0).round().astype("int64")
    frame["usual_micro_usd"] = usual
    frame["factor"] = frame[CHARGE] / usual
    directions = ["high" if z > 0 else "low" for z in frame["z_score"]]
    frame["direction"] = text_array(directions)
    return frame


def _judged(totals: Whole, start: date, end: date) -> pd.DataFrame:
    """Return the robust z-score of each day, starting with the first charge.

    Each day is compared only with earlier days, on a logarithmic scale: twice and half
    as much are equally unusual. A day with more refunds than charges is always unusual.
    """
    days = pd.date_range(start - HISTORY, end, unit="us")
    charges = pd.Series(totals, days)
    paid = charges.clip(lower=0)
    spent = paid.where(paid.cumsum() > 0)
    small = spent.where(spent > 0).expanding().median().shift() / SMALL_SHARE
    usual = spent.groupby(days.day_of_week).transform(
        lambda own: own.shift().rolling(MEDIAN_WEEKS, min_periods=FEWEST_WEEKS).median()
    )
    off = np.log((spent + small) / (usual + small))
    spread = off.abs().rolling(HISTORY.days, min_periods=WEEK).median().shift()
    spread = (MAD_TO_DEVIATION * spread).fillna(UNKNOWN_SPREAD).clip(LEAST_SPREAD)
    z_score = off / spread
    is_far = (z_score.abs() > MOST_Z) & (off.abs() > np.log(LEAST_FACTOR))
    is_unusual = is_far | (charges < 0)
    columns = {
        CHARGE: charges,
        "usual_micro_usd": usual,
        "z_score": z_score,
        "is_unusual": is_unusual,
    }
    judged = pd.DataFrame(columns).rename_axis("day").reset_index()
    is_judged = spent.notna() | (charges < 0)
    return judged[is_judged.to_numpy() & (days >= pd.Timestamp(start))]
