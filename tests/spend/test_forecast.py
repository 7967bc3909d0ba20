"""The forecast: what a month comes to, how sure that is, and what it says."""

from __future__ import annotations

from calendar import monthrange
from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit import Budget, InputError
from mediakit.spend.forecasting.forecast import (
    HISTORY_DAYS,
    Forecast,
    first_day_needed,
    forecast_month,
)
from mediakit.spend.forecasting.weekday_medians import daily_totals, weekday_medians
from tests.spend.made_up_spend import daily_of, made_up_days
from tests.support.soak import trials

NOVEMBER = "2026-11"
FIRST = date(2026, 11, 1)
MONTHS = trials(100, soak=200)
SHAPES: dict[str, dict[str, float]] = {
    "habits": {},
    "bursts": {"bursts": 0.03},
    "many bursts": {"bursts": 0.06},
    "a trend": {"trend": 0.03},
    "a trend and bursts": {"trend": 0.02, "bursts": 0.03},
}
EASIER_SHAPES = [shape for shape in SHAPES if shape != "a trend and bursts"]


def asked(totals: Any, day_n: int, **more: Any) -> Forecast:
    """Ask on a day of November with these charges up to and with that day."""
    needed = np.zeros(HISTORY_DAYS + day_n, "int64")
    given_n = min(len(totals), len(needed))
    needed[len(needed) - given_n :] = totals[-given_n:]
    today = FIRST + timedelta(days=day_n - 1)
    return forecast_month(NOVEMBER, needed, today, **more)


def tried(seed: int, **shape: float) -> tuple[list[bool], list[float], list[float]]:
    """Forecast many simulated months, each on some day.

    Returns:
        Whether the range held the truth, and how far off the forecast and the plain
        run rate were, as shares of the truth.
    """
    held, errors, run_rate_errors = [], [], []
    for number in range(MONTHS):
        random = np.random.default_rng([seed, number])
        spend = made_up_days(random, HISTORY_DAYS + 30, **shape)
        day_n = int(random.integers(2, 31))  # today, of which nothing is known yet
        known = spend[: HISTORY_DAYS + day_n].copy()
        known[-1] = 0
        said, truth = asked(known, day_n), int(spend[HISTORY_DAYS:].sum())
        held.append(said.low_micro_usd <= truth <= said.high_micro_usd)
        errors.append(abs(said.expected_micro_usd - truth) / truth)
        run_rate = said.so_far_micro_usd * 30 / (day_n - 1)
        run_rate_errors.append(abs(run_rate - truth) / truth)
    return held, errors, run_rate_errors


# -- how good it is ---------------------------------------------------------------


@pytest.mark.parametrize(
    "shape",
    [
        "a trend and bursts",
        *(pytest.param(shape, marks=pytest.mark.soak) for shape in EASIER_SHAPES),
    ],
)
def test_the_range_holds_eight_of_ten_months_and_beats_the_run_rate(shape: str) -> None:
    held, errors, run_rate_errors = tried(1, **SHAPES[shape])
    assert 0.75 <= np.mean(held) <= 0.85
    assert np.median(errors) < np.median(run_rate_errors)
    assert np.mean(errors) < 0.8 * np.mean(run_rate_errors)


def test_the_range_narrows_in_the_course_of_the_month() -> None:
    spend = made_up_days(np.random.default_rng(5), HISTORY_DAYS + 30)
    widths = []
    for day_n in (2, 15, 30):
        said = asked(spend[: HISTORY_DAYS + day_n], day_n)
        widths.append(said.high_micro_usd - said.low_micro_usd)
    assert widths[0] > widths[1] > widths[2] > 0


def test_a_burst_does_not_make_the_next_weeks_dear() -> None:
    calm = np.full(HISTORY_DAYS + 10, 1_000_000)
    burst = calm.copy()
    burst[-20] = 100_000_000
    calm_says, burst_says = asked(calm, 10), asked(burst, 10)
    assert calm_says.expected_micro_usd == 30_000_000
    excess = burst_says.expected_micro_usd - calm_says.expected_micro_usd
    assert 0 <= excess < 5_000_000


def test_the_same_charges_are_the_same_forecast() -> None:
    spend = made_up_days(np.random.default_rng(5), HISTORY_DAYS + 9, bursts=0.05)
    assert asked(spend, 9) == asked(spend, 9)


# -- what always holds ------------------------------------------------------------


@given(
    st.lists(st.one_of(st.just(0), st.integers(0, 10**10)), min_size=1, max_size=121),
    st.integers(1, 30),
)
def test_a_forecast_is_never_below_what_is_spent_and_its_days_never_fall(
    totals: list[int], day_n: int
) -> None:
    said = asked(totals, day_n)
    spent = sum(totals[-day_n:])

    assert said.so_far_micro_usd == spent
    ordered = (
        spent,
        said.low_micro_usd,
        said.expected_micro_usd,
        said.high_micro_usd,
    )
    assert list(ordered) == sorted(ordered)
    frame = said.frame()
    assert len(frame) == 30
    assert frame["spent_micro_usd"].dropna().iloc[-1] == spent
    assert frame["spent_micro_usd"].isna().sum() == 30 - day_n
    for name in ("expected", "low", "high"):
        column = frame[f"{name}_micro_usd"]
        assert column.isna().sum() == day_n - 1
        assert column.dropna().is_monotonic_increasing
        assert column.iloc[-1] == getattr(said, f"{name}_micro_usd")


def test_a_frame_has_whole_numbers_and_days_in_utc() -> None:
    frame = asked([5_000_000] * 100, 3).frame()
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == {
        "day": "datetime64[us, UTC]",
        "spent_micro_usd": "Int64",
        "expected_micro_usd": "Int64",
        "low_micro_usd": "Int64",
        "high_micro_usd": "Int64",
    }


@pytest.mark.parametrize("month", ["2026-02", "2028-02", "2026-12"])
def test_every_month_has_its_days(month: str) -> None:
    first = date.fromisoformat(f"{month}-01")
    totals = np.full(HISTORY_DAYS + 1, 7)
    frame = forecast_month(month, totals, first).frame()
    assert len(frame) == monthrange(first.year, first.month)[1]


def test_what_today_costs_more_than_usual_is_added() -> None:
    usual = [1_000_000] * (HISTORY_DAYS + 10)
    dear = [*usual[:-1], 50_000_000]
    assert asked(usual, 10).expected_micro_usd == 30_000_000
    assert asked(dear, 10).expected_micro_usd == 79_000_000


# -- what it says -----------------------------------------------------------------


def test_it_says_what_is_charged_and_what_is_expected() -> None:
    said = asked([1_234_567] * (HISTORY_DAYS + 10), 10)
    assert str(said) == said.text
    assert said.text == (
        "$12.34567 has been charged so far in November 2026; about $37.04 is expected "
        "by the end of the month (80 % interval: $37.04 to $37.04)."
    )
    assert "median of each weekday" in said.method


def test_without_a_complete_day_nothing_is_made_up() -> None:
    said = asked([0] * HISTORY_DAYS + [900_000], 1)
    assert said.expected_micro_usd == said.high_micro_usd == 900_000
    assert "no complete day" in said.text
    assert "nothing is added" in said.method


def test_one_day_is_a_rough_guess_and_says_so() -> None:
    said = asked([1_000_000, 0], 2)
    assert said.low_micro_usd == 1_000_000
    assert said.expected_micro_usd == 30_000_000
    assert said.high_micro_usd == 88_000_000
    assert said.text.endswith(
        "Only 1 day of spend is available, so this is a rough estimate."
    )


def test_a_week_is_a_mean_and_says_so() -> None:
    said = asked([1_000_000, 3_000_000] * 4 + [0], 9)
    assert said.expected_micro_usd == 16_000_000 - 8_000_000 + 8_000_000 + 44_000_000
    assert said.low_micro_usd < said.expected_micro_usd < said.high_micro_usd
    assert "Less than three weeks" in said.text
    assert "mean of 8 days" in said.method


def test_four_weeks_are_enough_for_habits() -> None:
    said = asked([1_000_000] * 28, 10)
    assert said.expected_micro_usd == 30_000_000
    assert "median of each weekday" in said.method


def test_rare_spend_is_not_forecast_as_none_for_sure() -> None:
    said = asked(([0] * 9 + [5_000_000]) * 12, 10)
    assert said.high_micro_usd > said.so_far_micro_usd


def test_a_month_that_is_over_is_exact() -> None:
    totals = np.full(HISTORY_DAYS + 31, 1_000_001)
    said = forecast_month("2026-10", totals, date(2026, 11, 22))
    assert said.low_micro_usd == said.high_micro_usd == 31_000_031
    assert said.expected_micro_usd == said.so_far_micro_usd
    assert said.text == "$31.000031 was charged in October 2026; the month is over."
    frame = said.frame()
    assert frame["spent_micro_usd"].iloc[-1] == 31_000_031
    assert frame["expected_micro_usd"].isna().all()


def test_a_month_that_has_not_begun_is_an_input_error() -> None:
    with pytest.raises(InputError, match="up to 2026-11") as caught:
        forecast_month("2026-12", np.zeros(1, "int64"), date(2026, 11, 22))
    assert caught.value.field == "month"


@pytest.mark.parametrize(
    ("limit", "says"),
    [
        ("$100", "The whole interval is within the budget of $100.00."),
        ("$11", "The whole interval is over the budget of $11.00."),
    ],
)
def test_it_says_how_that_compares_with_a_budget(limit: str, says: str) -> None:
    budget = Budget("team", limit)
    said = asked([1_000_000] * (HISTORY_DAYS + 10), 10, budget=budget)
    assert said.budget == budget
    assert said.text.endswith(says)


def test_it_says_that_only_the_range_or_also_the_middle_is_over() -> None:
    spend = made_up_days(np.random.default_rng(5), HISTORY_DAYS + 10)
    said = asked(spend, 10)
    between = (said.expected_micro_usd + said.high_micro_usd) // 2
    below = (said.expected_micro_usd + said.low_micro_usd) // 2
    for limit, says in ((between, "the upper end is over it"), (below, " over the ")):
        text = asked(spend, 10, budget=Budget("team", f"{limit / 1e6:.6f}")).text
        assert says in text


# -- habits -----------------------------------------------------------------------


def test_days_without_rows_cost_nothing_and_rows_of_a_day_are_added() -> None:
    frame = daily_of([5, 0, 7, 9], FIRST)
    twice = frame.loc[[0, 0, 1, 2]]
    totals = daily_totals(twice, FIRST, FIRST + timedelta(days=2))
    assert totals.tolist() == [10, 0, 7]
    assert daily_totals(frame[:0], FIRST, FIRST).tolist() == [0]


def test_amounts_that_no_float_can_hold_are_added_exactly() -> None:
    frame = daily_of([2**53 + 1, 2**53 + 3], FIRST)
    totals = daily_totals(frame, FIRST, FIRST + timedelta(days=1))
    assert totals.tolist() == [2**53 + 1, 2**53 + 3]


def test_a_habit_is_the_median_of_the_days_before_and_knows_no_later_one() -> None:
    totals = np.array([*range(1, 8)] * 3 + [100] * 7)
    known = weekday_medians(totals)
    assert known[21].tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert known[22].tolist()[:2] == [1, 2]
    assert np.isnan(known[3][3:]).all()


def test_the_days_needed_begin_thirteen_weeks_before_the_month() -> None:
    assert first_day_needed(NOVEMBER) == date(2026, 8, 2)
