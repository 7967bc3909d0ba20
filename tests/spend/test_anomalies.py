"""Unusual days: found by the weekday's habit, explained, and rarely found in vain."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mediakit import InputError
from mediakit.spend.forecasting.anomalies import (
    HISTORY_DAYS,
    anomalies_frame,
    by_columns,
)
from tests.spend.made_up_spend import Whole, daily_of, made_up_days
from tests.support.soak import trials

START = date(2026, 10, 5)  # a Monday
BEGIN = START - timedelta(days=HISTORY_DAYS)
DAYS = 28
DTYPES = {
    "day": "datetime64[us, UTC]",
    "charge_micro_usd": "int64",
    "usual_micro_usd": "int64",
    "factor": "float64",
    "direction": "category",
}


def found(totals: Whole | list[int], days_n: int = DAYS) -> pd.DataFrame:
    """Judge the last days of a series that ends on the last of them."""
    end = START + timedelta(days=days_n - 1)
    first = end - timedelta(days=len(totals) - 1)
    return anomalies_frame(daily_of(totals, first), START, end)


def weeks(count: int, week: list[int], *more: int) -> list[int]:
    return [amount * 1_000_000 for amount in [*week * count, *more]]


# -- how good it is ---------------------------------------------------------------


def test_most_bursts_are_found_and_few_other_days() -> None:
    true = wrong = missed = 0
    months = trials(40, soak=100)
    for number in range(months):
        random = np.random.default_rng([7, number])
        totals = made_up_days(random, HISTORY_DAYS + DAYS)
        usual = [place for place in range(HISTORY_DAYS, len(totals)) if totals[place]]
        bursts = random.choice(usual, 2, replace=False)
        totals[bursts] = np.rint(totals[bursts] * random.uniform(4, 8, 2))
        days = found(totals)["day"]
        places = {(day.date() - BEGIN).days for day in days}
        true += len(places & set(bursts.tolist()))
        wrong += len(places - set(bursts.tolist()))
        missed += len(set(bursts.tolist()) - places)
    precision, recall = true / (true + wrong), true / (true + missed)
    assert precision >= 0.9
    assert recall >= 0.85
    assert wrong / months <= 0.2


def test_a_day_ten_times_as_dear_is_always_found() -> None:
    for number in range(trials(20, soak=50)):
        random = np.random.default_rng([8, number])
        totals = made_up_days(random, HISTORY_DAYS + DAYS, noise=0.2)
        place = HISTORY_DAYS + 3  # a Thursday
        totals[place] *= 10
        assert START + timedelta(days=3) in {d.date() for d in found(totals)["day"]}


def test_an_even_habit_has_no_unusual_day() -> None:
    frame = found(weeks(17, [10, 12, 11, 10, 13, 0, 0]))
    assert frame.empty
    assert frame.attrs["notes"] == []


# -- what it says -----------------------------------------------------------------


def test_a_dear_tuesday_is_explained_by_tuesdays() -> None:
    totals = weeks(17, [10, 30, 10, 10, 10, 1, 1])
    totals[HISTORY_DAYS + 1] = 120_000_000
    row = found(totals).iloc[0]
    assert row["day"] == pd.Timestamp("2026-10-06", tz="UTC")
    assert (row["charge_micro_usd"], row["usual_micro_usd"]) == (
        120_000_000,
        30_000_000,
    )
    assert (row["factor"], row["direction"]) == (4.0, "high")
    assert row["text"] == (
        "Tuesday, 6 October 2026: $120.00 is 4 times what a Tuesday usually costs, "
        "$30.00 (the median of the 8 Tuesdays before)."
    )


def test_a_large_factor_is_a_whole_number() -> None:
    totals = weeks(17, [10, 30, 10, 10, 10, 1, 1])
    totals[HISTORY_DAYS + 1] = 30 * 1_234_567_000
    assert "is 1,235 times what a Tuesday" in found(totals).iloc[0]["text"]


def test_what_is_usual_on_a_monday_is_not_on_a_sunday() -> None:
    totals = weeks(17, [10, 10, 10, 10, 10, 0, 0])
    totals[HISTORY_DAYS + 6] = 10_000_000
    row = found(totals).iloc[0]
    assert (row["factor"], row["direction"]) == (float("inf"), "high")
    assert row["text"] == (
        "Sunday, 11 October 2026: $10.00; a Sunday usually costs nothing (the median "
        "of the 8 Sundays before)."
    )


def test_a_day_without_spend_is_low_where_the_weekday_has_some() -> None:
    totals = weeks(17, [10, 10, 10, 10, 10, 0, 0])
    totals[HISTORY_DAYS + 2] = 0
    row = found(totals).iloc[0]
    assert (row["factor"], row["direction"]) == (0.0, "low")
    assert row["text"] == (
        "Wednesday, 7 October 2026: nothing was charged; a Wednesday usually costs "
        "$10.00 (the median of the 8 Wednesdays before)."
    )


def test_a_few_cents_on_a_free_day_are_nothing_unusual() -> None:
    totals = weeks(17, [10, 10, 10, 10, 10, 0, 0])
    totals[HISTORY_DAYS + 6] = 40_000
    assert found(totals).empty


def test_a_burst_does_not_hide_the_next_one() -> None:
    totals = weeks(17, [10] * 7)
    for place in (HISTORY_DAYS - 7, HISTORY_DAYS, HISTORY_DAYS + 7):
        totals[place] = 80_000_000
    assert len(found(totals)) == 2


def test_a_frame_without_a_row_has_the_same_dtypes() -> None:
    for frame in (found([]), found(weeks(17, [1, 2, 3, 4, 5, 6, 70]))):
        dtypes = {name: str(frame[name].dtype) for name in DTYPES}
        assert dtypes == DTYPES
        assert [*frame.columns] == [*DTYPES, "text"]


# -- little history ---------------------------------------------------------------


@pytest.mark.parametrize(("days_n", "unjudged"), [(1, 1), (10, 10), (21, 21), (28, 21)])
def test_days_without_three_weeks_before_are_not_judged_and_counted(
    days_n: int, unjudged: int
) -> None:
    totals = [1_000_000] * days_n
    totals[-1] = 1_000_000
    frame = found(totals)
    assert frame.empty
    (note,) = frame.attrs["notes"]
    assert note.startswith("1 day has" if unjudged == 1 else f"{unjudged} days have")


def test_nothing_at_all_is_nothing_unusual() -> None:
    frame = found([0] * 40)
    assert frame.empty
    assert frame.attrs["notes"] == []


# -- by key, function, model or project -------------------------------------------


def test_each_key_is_judged_by_its_own_habit() -> None:
    end = START + timedelta(days=DAYS - 1)
    one = weeks(17, [10] * 7)
    other = weeks(17, [1] * 7)
    other[HISTORY_DAYS] = 8_000_000
    daily = pd.concat(
        [
            daily_of(one, BEGIN, api_key_id="key_1"),
            daily_of(other, BEGIN, api_key_id="key_2"),
        ]
    )
    assert anomalies_frame(daily, START, end).empty
    frame = anomalies_frame(daily, START, end, ["api_key_id"])
    assert frame["api_key_id"].tolist() == ["key_2"]
    assert str(frame["api_key_id"].dtype) == "category"
    assert frame["charge_micro_usd"].tolist() == [8_000_000]


@pytest.mark.parametrize(
    ("by", "columns"),
    [
        (None, []),
        ("key", ["api_key_id"]),
        (["function", "project"], ["function", "project"]),
    ],
)
def test_by_names_columns(by: Any, columns: list[str]) -> None:
    assert by_columns(by) == columns


def test_a_column_that_there_is_not_is_an_input_error() -> None:
    with pytest.raises(InputError, match="function, key, model or project"):
        by_columns("prompt")


def test_a_column_that_the_report_lacks_is_an_input_error() -> None:
    daily = daily_of([1_000_000], START, model="m")
    with pytest.raises(InputError, match="tells: model"):
        anomalies_frame(daily, START, START, ["project"])
