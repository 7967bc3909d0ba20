"""Unusual days are found by the usual cost of their weekday, with few false alarms."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest

from mediakit.spend.anomalies import anomalies_frame
from mediakit.spend.forecasting import HISTORY
from tests.spend.made_up_spend import Whole, daily_of, made_up_days
from tests.support.frames import types
from tests.support.soak import trials

START = date(2026, 10, 5)  # a Monday
BEGIN = START - HISTORY
DAYS_BEFORE = HISTORY.days
DAYS = 28
TYPES = {
    "day": "datetime64[us]",
    "charge_micro_usd": "int64",
    "usual_micro_usd": "int64",
    "z_score": "float64",
    "factor": "float64",
    "direction": "str",
}


def found(totals: Whole | list[int], days_n: int = DAYS) -> pd.DataFrame:
    """Judge the last days of a series that ends on the last of them."""
    end = START + timedelta(days=days_n - 1)
    first = end - timedelta(days=len(totals) - 1)
    return anomalies_frame(daily_of(totals, first), START, end)


def weeks(count: int, week: list[int]) -> list[int]:
    return [amount * 1_000_000 for amount in week * count]


def test_most_bursts_are_found_and_few_other_days() -> None:
    true = wrong = missed = 0
    months = trials(20, soak=100)
    for number in range(months):
        random = np.random.default_rng([7, number])
        totals = made_up_days(random, DAYS_BEFORE + DAYS)
        usual = [place for place in range(DAYS_BEFORE, len(totals)) if totals[place]]
        bursts = random.choice(usual, 2, replace=False)
        totals[bursts] = np.rint(totals[bursts] * random.uniform(4, 8, 2))
        places = {(day.date() - BEGIN).days for day in found(totals)["day"]}
        true += len(places & set(bursts.tolist()))
        wrong += len(places - set(bursts.tolist()))
        missed += len(set(bursts.tolist()) - places)
    assert true / (true + wrong) >= 0.9
    assert true / (true + missed) >= 0.85
    assert wrong / months <= 0.2


@pytest.mark.parametrize(
    ("place", "micro_usd", "usual", "factor", "direction"),
    [
        (1, 120_000_000, 30_000_000, 4.0, "high"),
        (2, 0, 10_000_000, 0.0, "low"),
        (3, 2_000_000, 10_000_000, 0.2, "low"),
        (6, 10_000_000, 0, float("inf"), "high"),
    ],
    ids=["dear", "without spend", "suddenly cheap", "usually free"],
)
def test_a_day_is_compared_with_its_weekday(
    place: int, micro_usd: int, usual: int, factor: float, direction: str
) -> None:
    totals = weeks(17, [10, 30, 10, 10, 10, 1, 0])
    totals[DAYS_BEFORE + place] = micro_usd
    (row,) = found(totals).to_dict("records")
    assert row["day"] == pd.Timestamp(START + timedelta(days=place))
    assert (row["charge_micro_usd"], row["usual_micro_usd"]) == (micro_usd, usual)
    assert (row["factor"], row["direction"]) == (factor, direction)
    assert abs(row["z_score"]) > 3.5


@pytest.mark.parametrize("place", [0, 3, DAYS - 1])
def test_a_day_with_more_refunds_than_charges_is_unusual(place: int) -> None:
    totals = weeks(17, [10, 30, 10, 10, 10, 1, 0])
    totals[DAYS_BEFORE + place] = -25_000_000
    (row,) = found(totals).to_dict("records")
    assert row["day"] == pd.Timestamp(START + timedelta(days=place))
    assert (row["charge_micro_usd"], row["direction"]) == (-25_000_000, "low")


def test_a_refund_is_listed_where_nothing_else_is_known_yet() -> None:
    frame = found([-5_000_000, 0, *weeks(1, [10] * 3)])
    assert frame["charge_micro_usd"].tolist() == [-5_000_000]
    assert {name: str(frame[name].dtype) for name in TYPES} == TYPES


def test_days_as_usual_and_a_few_cents_on_a_free_day_are_not_unusual() -> None:
    totals = weeks(17, [10, 12, 11, 10, 13, 0, 0])
    totals[DAYS_BEFORE + 6] = 40_000
    frame = found(totals)
    assert frame.empty


def test_a_burst_does_not_hide_the_next_one() -> None:
    totals = weeks(17, [10] * 7)
    for place in (DAYS_BEFORE - 7, DAYS_BEFORE, DAYS_BEFORE + 7):
        totals[place] = 80_000_000
    assert len(found(totals)) == 2


def test_later_days_do_not_change_the_verdict_on_a_day() -> None:
    totals = weeks(17, [10] * 7)
    totals[DAYS_BEFORE + 3] = 80_000_000
    unusual = found(totals)
    assert len(unusual) == 1
    followed = found([*totals[:-14], *weeks(2, [900] * 7)])
    pd.testing.assert_frame_equal(followed.head(1), unusual)


def test_a_frame_without_a_row_has_the_same_dtypes() -> None:
    unusual = weeks(17, [1, 2, 3, 4, 5, 6, 70])
    unusual[-1] = 700_000_000
    for frame in (found([]), found([0] * 40), found(unusual)):
        assert types(frame) == TYPES


@pytest.mark.parametrize("days_n", [1, 10, 28])
def test_days_without_three_weeks_before_are_not_judged(days_n: int) -> None:
    assert found([1_000_000] * days_n).empty


def test_each_key_is_judged_by_itself() -> None:
    end = START + timedelta(days=DAYS - 1)
    other = weeks(17, [1] * 7)
    other[DAYS_BEFORE] = 8_000_000
    daily = pd.concat(
        [
            daily_of(weeks(17, [10] * 7), BEGIN, api_key_id="key_1"),
            daily_of(other, BEGIN, api_key_id="key_2"),
        ]
    )
    assert anomalies_frame(daily, START, end).empty
    frame = anomalies_frame(daily, START, end, ["api_key_id"])
    assert list(frame)[:2] == ["day", "api_key_id"]
    assert frame["api_key_id"].tolist() == ["key_2"]
    assert frame["charge_micro_usd"].tolist() == [8_000_000]
