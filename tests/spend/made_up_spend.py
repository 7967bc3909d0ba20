"""Made-up daily spend with the habits that bills have; the same seed is the same."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd

Whole = np.ndarray[Any, np.dtype[np.int64]]


def made_up_days(
    random: np.random.Generator,
    count: int,
    *,
    noise: float = 0.35,
    bursts: float = 0.0,
    trend: float = 0.0,
) -> Whole:
    """Return the spend of some days, micro-USD, the first a Monday.

    Args:
        random: Draws all of it.
        count: How many days.
        noise: How far days are off their weekday, as a logarithm.
        bursts: How often a burst of one to three days begins, three to eight times
            as dear as usual.
        trend: How much a week is dearer or cheaper than the one before, as the
            standard deviation of a logarithm.
    """
    base = np.exp(random.normal(np.log(20e6), 0.8))
    weekdays = np.exp(random.normal(0, 0.25, 7))
    weekdays[5:] *= 0.0 if random.random() < 0.25 else random.uniform(0.1, 0.6)
    places = np.arange(count)
    spend = base * weekdays[places % 7] * np.exp(random.normal(0, noise, count))
    spend *= np.exp(random.normal(0, 1) * trend * places / 7)
    for place in np.flatnonzero(random.random(count) < bursts):
        spend[place : place + random.integers(1, 4)] *= random.uniform(3, 8)
    whole: Whole = np.rint(spend).astype("int64")
    return whole


def two_days_of_seven(random: np.random.Generator, count: int) -> Whole:
    """Return the spend of one person who works on two of seven days."""
    spend = _days_of_work(random, count)
    works = random.random(count) < 2 / 7
    whole: Whole = np.rint(spend * works).astype("int64")
    return whole


def on_and_off(random: np.random.Generator, count: int) -> Whole:
    """Return the spend of projects of two weeks, with pauses of three."""
    works = (np.arange(count) + random.integers(35)) % 35 < 14
    spend = _days_of_work(random, count)
    works &= random.random(count) < 0.8
    whole: Whole = np.rint(spend * works).astype("int64")
    return whole


def _days_of_work(random: np.random.Generator, count: int) -> Any:
    return 20e6 * np.exp(random.normal(0, 0.5, count))


def daily_of(
    totals: Sequence[int] | Whole, first: date, **columns: str
) -> pd.DataFrame:
    """Return days as rows of a daily spend; days without spend have no row."""
    days = [first + timedelta(days=n) for n in range(len(totals))]
    frame = pd.DataFrame(
        {
            "day": pd.to_datetime([day.isoformat() for day in days]),
            "charge_micro_usd": np.array(totals, "int64"),
        }
    )
    for name, value in columns.items():
        frame[name] = [value] * len(frame)
    return frame[frame["charge_micro_usd"] != 0].reset_index(drop=True)
