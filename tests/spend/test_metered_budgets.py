"""Charges by tokens are held with a margin, and a charge above it is logged."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import mediakit as mk
from mediakit import Budget, BudgetError
from tests.spend.budget_desk import CLIP_MICRO_USD, Desk
from tests.sweep.runs import plan_of
from tests.sweep.service import Outcome, Service

R1: dict[str, Any] = {"duration": 5, "resolution": "480p"}
R1_MICRO_USD = 561_750  # 50,000 nominal tokens at $11.235 per 1M
R1_HELD_MICRO_USD = 842_625


def charging(factor: float) -> Service:
    return Service(lambda *_: Outcome(factor=factor))


def test_a_nominal_estimate_is_held_with_its_margin(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Service(lambda *_: Outcome(settles=10**6)))
    with desk.client(budget="$2") as client:
        price = client.estimate("r1", prompt="a", **R1)
        client.submit("r1", prompt="a", **R1)
        state = client.budget()
    assert price.high == R1_MICRO_USD
    assert price.hold_micro_usd == R1_HELD_MICRO_USD
    assert any("1.5 times" in note for note in price.notes)
    assert state is not None
    assert state.reserved_micro_usd == R1_HELD_MICRO_USD


def test_a_budget_that_carries_only_the_nominal_price_sends_nothing(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path)
    with desk.client(budget="$0.60") as client, pytest.raises(BudgetError) as caught:
        client.submit("r1", prompt="a", **R1)
    assert not desk.service.posts
    assert caught.value.needed_micro_usd == R1_HELD_MICRO_USD
    assert "1.5 times the estimate of $0.56175" in str(caught.value)


@pytest.mark.parametrize("factor", [1.0, 1.23, 1.5])
def test_no_charge_within_the_margin_overshoots_a_budget(
    tmp_path: Path, factor: float
) -> None:
    desk = Desk(tmp_path, charging(factor))
    budget = Budget("team", "$2.40")  # without the margin, a third job would pass
    with desk.client(budget=budget) as client:
        for number in range(9):
            with suppress(BudgetError):
                client.submit("r1", prompt=f"{number}", **R1).settle()
        status = client.spend.budget(budget)
    assert status.spent_micro_usd == desk.service.charged_micro_usd
    assert 0 < status.spent_micro_usd <= 2_400_000


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_a_sweep_of_a_metered_function_stays_within_its_budget(
    tmp_path: Path, factor: float
) -> None:
    desk = Desk(tmp_path, charging(factor))
    with desk.client() as client:
        plan = client.sweep("r1", prompt=[f"{n}" for n in range(6)], **R1)
        results = plan.run("$3").wait()
        assert 0 < desk.service.charged_micro_usd <= 3_000_000
        assert len(results.frame()) == 6


def test_the_cheapest_cell_must_fit_with_its_margin(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    with desk.client() as client:
        plan = client.sweep("r1", prompt=["a", "b"], **R1)
        with pytest.raises(mk.InputError, match=r"at least \$0\.842625"):
            plan.run("$0.60")


def test_the_balance_must_carry_the_nominal_price_and_not_its_margin(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path, Service(balance_micro_usd=600_000))
    with desk.client() as client:
        client.submit("r1", prompt="a", **R1).settle()
    assert desk.service.charged_micro_usd == R1_MICRO_USD


@pytest.mark.parametrize("settles", [0, 1], ids=["with the answer", "with a read"])
def test_a_charge_above_what_was_held_is_named_at_once(
    settles: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(tmp_path, Service(lambda *_: Outcome(factor=2.0, settles=settles)))
    with (
        caplog.at_level(logging.WARNING, "mediakit"),
        desk.client(budget="$5") as client,
    ):
        job = client.submit("r1", prompt="a", **R1)
        job.settle()
    [line] = caplog.messages
    assert job.id in line
    assert "$1.1235" in line
    assert "$0.842625" in line


def test_a_charge_above_an_exact_estimate_is_named_and_closes_the_budget(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(tmp_path, charging(10.0))
    budget = Budget("team", "$1")
    with (
        caplog.at_level(logging.WARNING, "mediakit"),
        desk.client(budget=budget) as client,
    ):
        job = client.submit("text-to-video", prompt="a", duration=5)
        job.settle()
        above, passed = caplog.messages
        assert job.id in above
        assert "$3.40" in above
        assert "$0.34" in above
        assert "'team'" in passed
        assert "340%" in passed
        with pytest.raises(BudgetError):
            client.submit("text-to-video", prompt="b", duration=3)
        assert client.spend.budget(budget).left_micro_usd == 0
    assert desk.service.sold_n == 1


def test_a_plain_amount_that_is_passed_is_named_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(tmp_path, charging(10.0))
    with (
        caplog.at_level(logging.WARNING, "mediakit"),
        desk.client(budget="$1") as client,
    ):
        client.submit("text-to-video", prompt="a", duration=5).settle()
    assert len(caplog.messages) == 2
    assert "$3.40 of $1.00 is spent" in caplog.messages[1]


def test_a_level_that_a_charge_reaches_is_named_when_it_settles(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(tmp_path, charging(2.0))
    with (
        caplog.at_level(logging.WARNING, "mediakit"),
        desk.client(budget=Budget("team", "$1", warn=(60,))) as client,
    ):
        client.submit("text-to-video", prompt="a", duration=5).settle()
    above, level = caplog.messages
    assert "$0.68" in above
    assert "has reached 60%" in level


def test_a_named_budget_of_a_sweep_is_named_when_a_charge_passes_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(tmp_path, charging(10.0))
    with caplog.at_level(logging.WARNING, "mediakit"), desk.client() as client:
        plan_of(client, 1, duration=5).run(Budget("team", "$1")).wait()
    assert any("'team'" in each and "340%" in each for each in caplog.messages)


def test_a_charge_that_was_expected_is_not_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(tmp_path, charging(1.0))
    with (
        caplog.at_level(logging.WARNING, "mediakit"),
        desk.client(budget="$9") as client,
    ):
        client.submit("text-to-video", prompt="a", duration=5).settle()
        client.submit("r1", prompt="a", **R1).settle()
    assert not caplog.messages
    assert desk.service.charged_micro_usd == CLIP_MICRO_USD + R1_MICRO_USD
