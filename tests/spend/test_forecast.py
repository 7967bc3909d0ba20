"""The forecast of a month: its total, its interval and its text."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit import Budget
from mediakit.spend.forecasting import HISTORY, Forecast, forecast_month
from tests.spend.made_up_spend import (
    Whole,
    made_up_days,
    on_and_off,
    two_days_of_seven,
)
from tests.support.frames import types
from tests.support.soak import trials

NOVEMBER = "2026-11"
FIRST = date(2026, 11, 1)
DAYS_BEFORE = HISTORY.days
MONTHS = trials(60, soak=200)
LEVEL_CHANGED_DAYS = 35


def asked(totals: Any, day_n: int, **more: Any) -> Forecast:
    """Ask on a day of November with these charges up to and with that day."""
    needed = np.zeros(DAYS_BEFORE + day_n, "int64")
    given_n = min(len(totals), len(needed))
    needed[len(needed) - given_n :] = totals[-given_n:]
    today = FIRST + timedelta(days=day_n - 1)
    return forecast_month(NOVEMBER, needed, today, **more)


# -- how good it is ---------------------------------------------------------------

Process = Callable[[np.random.Generator, int], Whole]


def bursts(random: np.random.Generator, count: int) -> Whole:
    return made_up_days(random, count, bursts=0.03)


def many_bursts(random: np.random.Generator, count: int) -> Whole:
    return made_up_days(random, count, bursts=0.06)


def trend(random: np.random.Generator, count: int) -> Whole:
    return made_up_days(random, count, trend=0.03)


def doubled(random: np.random.Generator, count: int) -> Whole:
    """Return habits; `tried` halves what is older than five weeks."""
    return made_up_days(random, count)


def refunds(random: np.random.Generator, count: int) -> Whole:
    """Return habits with a refund of half a day to five days a month."""
    spend = made_up_days(random, count)
    usual = np.median(spend[spend > 0])
    for place in np.flatnonzero(random.random(count) < 1 / 30):
        spend[place] -= int(usual * random.uniform(0.5, 5))
    return spend


# Process, and the least and the most months of 100 that the interval holds.
PROCESSES: list[tuple[Process, float, float]] = [
    (made_up_days, 0.75, 0.87),
    (bursts, 0.75, 0.85),
    (many_bursts, 0.75, 0.85),
    (trend, 0.75, 0.87),
    (two_days_of_seven, 0.75, 0.87),
    (doubled, 0.75, 0.90),
    (on_and_off, 0.75, 0.97),  # pauses begin and end in every month that it saw
    (refunds, 0.75, 0.90),
]


def tried(process: Process) -> tuple[float, float, float]:
    """Forecast many simulated months, each on some day.

    Returns:
        The share of totals in the interval, and the median errors of the forecast and
        of the plain mean of 28 days, as shares of the total.
    """
    held, errors, plain_errors = [], [], []
    for number in range(MONTHS):
        random = np.random.default_rng([1, number])
        spend = process(random, DAYS_BEFORE + 30)
        day_n = int(random.integers(2, 31))  # today, of which nothing is known yet
        today = DAYS_BEFORE + day_n - 1
        if process is doubled:
            spend[: today - LEVEL_CHANGED_DAYS] //= 2
        known = spend[: today + 1].copy()
        known[-1] = 0
        said, truth = asked(known, day_n), max(1, int(spend[DAYS_BEFORE:].sum()))
        held.append(said.low_micro_usd <= truth <= said.high_micro_usd)
        errors.append(abs(said.expected_micro_usd - truth) / truth)
        plain = said.so_far_micro_usd + spend[today - 28 : today].mean() * (31 - day_n)
        plain_errors.append(abs(plain - truth) / truth)
    median = float(np.median(errors)), float(np.median(plain_errors))
    return float(np.mean(held)), *median


@pytest.mark.soak
@pytest.mark.parametrize(("process", "least", "most"), PROCESSES)
def test_the_interval_holds_about_eight_of_ten_months(
    process: Process, least: float, most: float
) -> None:
    held, error, plain_error = tried(process)
    row = f"{process.__name__:18} {held:6.1%} {error:6.1%} {plain_error:6.1%}"
    print(row)  # noqa: T201 - the table of docs/spend.md, with -s
    assert least <= held <= most
    assert error <= plain_error + 0.001


def begin(random: np.random.Generator, spend: Whole) -> int:
    """Let a project begin up to two weeks before the month, or in its first half.

    Returns the day of the month on which it is asked, after a week of spend.
    """
    begin_n = int(random.integers(-14, 15))
    spend[: DAYS_BEFORE + begin_n] = 0
    return int(random.integers(max(2, begin_n + 9), 31))


def end(random: np.random.Generator, spend: Whole) -> int:
    """Let a project end in the week before the month or in it; ask on a later day."""
    end_n = int(random.integers(-7, 24))
    spend[DAYS_BEFORE + end_n :] = 0
    return int(random.integers(max(2, end_n + 2), 31))


@pytest.mark.parametrize("cut", [begin, end])
def test_the_interval_holds_for_projects_that_begin_or_end(
    cut: Callable[[np.random.Generator, Whole], int],
) -> None:
    processes: list[Process] = [made_up_days, bursts, two_days_of_seven]
    held, too_dear = [], []
    for number in range(MONTHS):
        random = np.random.default_rng([1, number])
        spend = processes[number % len(processes)](random, DAYS_BEFORE + 30)
        day_n = cut(random, spend)
        known = spend[: DAYS_BEFORE + day_n].copy()
        known[-1] = 0
        said, truth = asked(known, day_n), int(spend[DAYS_BEFORE:].sum())
        held.append(said.low_micro_usd <= truth <= said.high_micro_usd)
        too_dear.append((said.expected_micro_usd - truth) / max(1, truth))
    row = f"projects that {cut.__name__} {np.mean(held):.1%}"
    print(row)  # noqa: T201 - the table of docs/spend.md, with -s
    assert 0.75 <= np.mean(held) <= 0.90
    assert abs(np.median(too_dear)) < 0.15


def test_an_interval_has_width_on_both_sides() -> None:
    for seed, count in product(range(10), (8, 20, 30, 45, 60, 80)):
        rising = made_up_days(np.random.default_rng(seed), count, trend=0.03)
        for past in (rising, rising[::-1]):
            said = asked(np.append(past, 0), 1)
            low, high = said.low_micro_usd, said.high_micro_usd
            assert low < said.expected_micro_usd < high, (seed, count)


def test_a_project_that_ended_is_soon_expected_to_cost_nothing_more() -> None:
    spend = made_up_days(np.random.default_rng(5), DAYS_BEFORE + 8)
    ended_on_8 = np.concatenate([spend, np.zeros(22, "int64")])
    for day_n, most in ((15, 1.6), (24, 1.1)):
        said = asked(ended_on_8[: DAYS_BEFORE + day_n], day_n)
        assert said.low_micro_usd == said.so_far_micro_usd
        assert said.expected_micro_usd < most * said.so_far_micro_usd
        assert "may have ended" in said.text
    resumed = ended_on_8[: DAYS_BEFORE + 15].copy()
    resumed[-1] = spend[-1]
    assert "may have ended" not in asked(resumed, 15).text


def test_the_interval_holds_for_spend_with_refunds() -> None:
    held, error, plain_error = tried(refunds)
    assert 0.75 <= held <= 0.90
    assert error <= plain_error


def test_bursts_do_not_mislead_it_as_they_do_the_plain_mean() -> None:
    held, error, plain_error = tried(bursts)
    assert 0.7 <= held <= 0.9
    assert error < plain_error


def test_a_pause_does_not_end_the_spend_for_sure() -> None:
    spend = [20_000_000] * 14 + [0] * 21
    said = asked((spend * 4)[:-1], 10)
    assert said.high_micro_usd > said.expected_micro_usd > said.so_far_micro_usd


# -- what always holds ------------------------------------------------------------


@given(
    st.lists(st.one_of(st.just(0), st.integers(0, 10**10)), min_size=1, max_size=121),
    st.integers(1, 30),
)
def test_a_forecast_is_never_below_what_is_spent_and_its_days_never_fall(
    totals: list[int], day_n: int
) -> None:
    said = asked(totals, day_n)
    assert said == asked(totals, day_n)
    spent = sum(totals[-day_n:])
    assert said.so_far_micro_usd == spent
    ends = (said.low_micro_usd, said.expected_micro_usd, said.high_micro_usd)
    assert [spent, *ends] == sorted([spent, *ends])
    frame = said.frame()
    assert types(frame) == {
        "day": "datetime64[us]",
        **dict.fromkeys(frame.columns[1:], "Int64"),
    }
    assert len(frame) == 30
    assert frame["spent_micro_usd"].dropna().iloc[-1] == spent
    assert frame["spent_micro_usd"].isna().sum() == 30 - day_n
    for name in ("expected", "low", "high"):
        column = frame[f"{name}_micro_usd"]
        assert column.isna().sum() == day_n - 1
        assert column.dropna().is_monotonic_increasing
        assert column.iloc[-1] == getattr(said, f"{name}_micro_usd")


@pytest.mark.parametrize("month", ["2026-02", "2028-02", "2026-12"])
def test_every_month_has_its_days(month: str) -> None:
    first = date.fromisoformat(f"{month}-01")
    totals = np.full(DAYS_BEFORE + 1, 7)
    frame = forecast_month(month, totals, first).frame()
    assert len(frame) == monthrange(first.year, first.month)[1]


def test_spend_above_the_usual_amount_today_is_added() -> None:
    usual = [1_000_000] * (DAYS_BEFORE + 10)
    assert asked(usual, 10).expected_micro_usd == 30_000_000
    dear = asked([*usual[:-1], 50_000_000], 10)
    assert dear.expected_micro_usd == 79_000_000


@pytest.mark.parametrize("refund", [25_000_000, 60_000_000, 500_000_000])
@pytest.mark.parametrize("day_n", [11, 15, 22])
def test_a_refund_counts_once_and_says_nothing_of_the_days_to_come(
    refund: int, day_n: int
) -> None:
    week = [3_000_000 + 100_000 * weekday for weekday in range(7)]
    usual = np.array((week * 20)[: DAYS_BEFORE + 30])
    refunded = usual.copy()
    refunded[DAYS_BEFORE + 8] -= refund
    said = asked(refunded[: DAYS_BEFORE + day_n], day_n)
    truth = int(refunded[DAYS_BEFORE:].sum())
    assert said.low_micro_usd <= said.expected_micro_usd <= said.high_micro_usd
    assert abs(said.expected_micro_usd - truth) < 4_000_000
    today = refunded[: DAYS_BEFORE + 9]
    assert abs(asked(today, 9).expected_micro_usd - truth) < 8_000_000


@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=121),
    st.integers(1, 30),
)
def test_refunds_never_turn_a_forecast_upside_down(
    totals: list[int], day_n: int
) -> None:
    said = asked(totals, day_n, budget=Budget("team", "$50"))
    ends = [said.low_micro_usd, said.expected_micro_usd, said.high_micro_usd]
    assert ends == sorted(ends)
    assert said.low_micro_usd >= said.so_far_micro_usd
    days = said.frame().dropna(subset=["low_micro_usd"])
    assert (days["low_micro_usd"] <= days["expected_micro_usd"]).all()
    assert (days["expected_micro_usd"] <= days["high_micro_usd"]).all()


# -- what it says -----------------------------------------------------------------


def test_it_says_what_is_charged_and_what_is_expected() -> None:
    said = asked([1_234_567] * (DAYS_BEFORE + 10), 10)
    assert str(said) == said.text
    assert said.text == (
        "$12.34567 has been charged so far in November 2026; about $37.04 is expected "
        "by the end of the month (80% interval: $37.04 to $37.04)."
    )
    assert "mean of the last 28 days" in said.method


@pytest.mark.parametrize(
    ("totals", "day_n", "ends", "text", "method"),
    [
        ([0, 900], 1, (900, 900, 900), "no complete day", "nothing is added"),
        ([10, 0], 2, (10, 300, 880), "based on 1 day of", "less than a week"),
        ([10, 0], 1, (0, 300, 900), "based on 1 day of", "(1 known)"),
        ([10] * 8 + [0], 9, (300, 300, 300), "based on 8 days of", "(8 known)"),
    ],
)
def test_a_forecast_from_little_history_is_called_a_rough_estimate(
    totals: list[int], day_n: int, ends: tuple[int, ...], text: str, method: str
) -> None:
    said = asked([100_000 * amount for amount in totals], day_n)
    low, expected, high = (100_000 * amount for amount in ends)
    assert said.low_micro_usd == low
    assert said.expected_micro_usd == expected
    assert said.high_micro_usd == high
    assert text in said.text
    assert method in said.method


def test_less_than_a_week_of_spend_has_no_interval_in_words_either() -> None:
    said = asked([1_000_000] * 7, 7, budget=Budget("team", "$50"))
    assert said.text == (
        "$7.00 has been charged so far in November 2026; about $30.00 is expected by "
        "the end of the month. This is rough: it is based on 6 days of spend. The "
        "estimate is within the budget of $50.00."
    )
    assert "there is no interval" in said.method
    assert "80% interval" in asked([1_000_000] * 8, 8).text


def test_a_month_that_is_over_is_exact() -> None:
    totals = np.full(DAYS_BEFORE + 31, 1_000_001)
    said = forecast_month("2026-10", totals, date(2026, 11, 22))
    assert said.low_micro_usd == said.high_micro_usd == 31_000_031
    assert said.expected_micro_usd == said.so_far_micro_usd
    assert said.text == "$31.000031 was charged in October 2026; the month is over."
    frame = said.frame()
    assert frame["spent_micro_usd"].iloc[-1] == 31_000_031
    assert frame["expected_micro_usd"].isna().all()


def test_it_says_how_that_compares_with_a_budget() -> None:
    spend = made_up_days(np.random.default_rng(5), DAYS_BEFORE + 10)
    said = asked(spend, 10)
    low, high = said.low_micro_usd, said.high_micro_usd
    for limit, says in (
        (high, "The whole interval is within the budget of $"),
        ((said.expected_micro_usd + high) // 2, "but the upper end is over it."),
        ((said.expected_micro_usd + low) // 2, " over the budget of $"),
        (low - 1, "The whole interval is over the budget of $"),
    ):
        budget = Budget("team", f"{limit / 1e6:.6f}")
        compared = asked(spend, 10, budget=budget)
        assert says in compared.text
        assert compared.budget == budget
