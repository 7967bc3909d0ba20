"""Named budgets: one limit for clients, sweeps and processes, month by month."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import mediakit as mk
from mediakit import Budget, BudgetError, InputError
from mediakit.client.budgets import budget_of
from mediakit.history import BudgetUse, History
from mediakit.spend.budget_status import budget_status
from tests.spend.budget_desk import CLIP_MICRO_USD, DECEMBER, NOVEMBER, Desk
from tests.support.submissions import completed, costing, start
from tests.sweep.runs import plan_of
from tests.sweep.service import Outcome, Service

CELL_MICRO_USD = 204_000  # 3 seconds
CLIP: dict[str, Any] = {"duration": 5}


def monthly(limit: str = "$1", **more: Any) -> Budget:
    return Budget("team", limit, period="month", **more)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History(tmp_path / "history.db") as opened:
        yield opened


# -- what a budget is -------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "micro_usd"),
    [("$500", 500_000_000), (Decimal("0.068"), 68_000), (5, 5_000_000)],
)
def test_a_limit_is_read_as_every_amount(limit: Any, micro_usd: int) -> None:
    assert mk.Budget("team", limit).limit_micro_usd == micro_usd


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("name", {"name": ""}),
        ("name", {"name": " team"}),
        ("name", {"name": None}),
        ("name", {"name": "team 2026-11"}),
        ("limit", {"limit": 0.5}),
        ("limit", {"limit": "-1"}),
        ("period", {"period": "week"}),
        ("warn", {"warn": (0.5,)}),
        ("warn", {"warn": (0,)}),
        ("warn", {"warn": (101,)}),
        ("warn", {"warn": (True,)}),
        ("warn", {"warn": "80"}),
    ],
)
def test_an_invalid_argument_of_a_budget_is_rejected_and_named(
    field: str, given: dict[str, Any]
) -> None:
    with pytest.raises(InputError) as caught:
        Budget(**{"name": "team", "limit": "$5", **given})
    assert caught.value.field == field


def test_a_month_in_the_label_is_the_month_in_utc() -> None:
    late = datetime(2026, 11, 30, 23, 30, tzinfo=timezone(timedelta(hours=-8)))
    assert monthly().label(late) == "team 2026-12"
    assert Budget("team", "$1").label(late) == "team"


@pytest.mark.parametrize(
    ("used", "level"), [(0, None), (499_999, None), (500_000, 50), (960_000, 95)]
)
def test_the_level_is_the_highest_that_is_reached(used: int, level: int | None) -> None:
    assert monthly().level(used) == level


def test_a_plain_amount_never_warns_and_may_have_any_project() -> None:
    amount = budget_of("project kites 2026-10", "$5")
    assert amount is not None
    assert amount.level(5_000_000) is None
    assert amount.label(NOVEMBER) == "project kites 2026-10"


# -- as a client's limit ----------------------------------------------------------


def test_a_new_month_starts_at_zero(desk: Desk) -> None:
    with desk.client(budget=monthly("$0.50")) as client:
        client.submit("text-to-video", prompt="a", **CLIP)
        with pytest.raises(
            BudgetError, match=r"the budget 'team 2026-11' of \$0\.50"
        ) as caught:
            client.submit("text-to-video", prompt="b", **CLIP)
        assert "Nothing was sent" in str(caught.value)

        desk.calendar.today = DECEMBER
        client.submit("text-to-video", prompt="b", **CLIP)

        assert sorted(client.history.frame()["budget"]) == [
            "team 2026-11",
            "team 2026-12",
        ]
        assert len(desk.service.jobs) == 2


def test_a_budget_is_shared_by_its_name_whatever_the_project(desk: Desk) -> None:
    with desk.client(budget=monthly("$0.50"), project="kites") as first:
        first.submit("text-to-video", prompt="a", **CLIP)
        frame = first.history.frame()
        assert frame["project"].tolist() == ["kites"]
    with (
        desk.client(budget=monthly("$0.50"), project="boats") as second,
        pytest.raises(BudgetError, match="team 2026-11"),
    ):
        second.submit("text-to-video", prompt="b", **CLIP)


@pytest.mark.parametrize("limit", ["$0.34", "$0.68"])
def test_a_retry_without_a_budget_counts_against_that_of_the_job_and_its_limit(
    tmp_path: Path, limit: str
) -> None:
    def decide(body: dict[str, Any], before: int) -> Outcome:
        return _fails_first(before) if body["prompt"] == "a" else Outcome()

    desk = Desk(tmp_path, Service(decide))
    budget = monthly(limit)
    with desk.client(budget=budget) as client:
        with pytest.raises(mk.JobFailedError) as caught:
            client.run("text-to-video", prompt="a", **CLIP)
        failed = caught.value.job.id
        client.submit("text-to-video", prompt="b", **CLIP)
    with desk.client() as other:
        with suppress(BudgetError):
            other.job(failed).retry().settle()
        with suppress(BudgetError):
            other.job(failed).retry().next_take().settle()
        status = other.spend.budget(budget)
        assert status.spent_micro_usd == budget.limit_micro_usd
        assert desk.service.charged_micro_usd == budget.limit_micro_usd


def test_a_retry_from_elsewhere_stays_within_the_limit_of_a_project(
    tmp_path: Path,
) -> None:
    def decide(body: dict[str, Any], before: int) -> Outcome:
        return _fails_first(before) if body["prompt"] == "a" else Outcome()

    desk = Desk(tmp_path, Service(decide))
    with desk.client(project="kites", budget="$0.70") as client:
        with pytest.raises(mk.JobFailedError) as caught:
            client.run("text-to-video", prompt="a", **CLIP)
        for prompt in "bc":
            client.submit("text-to-video", prompt=prompt, **CLIP)
    with desk.client() as free, pytest.raises(BudgetError, match="project kites"):
        free.job(caught.value.job.id).retry()
    assert desk.service.charged_micro_usd == 2 * CLIP_MICRO_USD


def test_a_retry_in_a_later_start_stays_within_the_limit_of_its_sweep(
    tmp_path: Path,
) -> None:
    def decide(body: dict[str, Any], before: int) -> Outcome:
        fails = body["prompt"].endswith("0") and before == 0
        return Outcome(fails="provider_error" if fails else None)

    desk = Desk(tmp_path, Service(decide))
    with desk.client() as client:
        results = plan_of(client, 3, duration=3).run("$0.41")
        frame = results.wait().frame()
    [failed] = frame.loc[frame["status"] == "failed", "job_id"]
    with desk.client() as other, pytest.raises(BudgetError, match="sweep's budget"):
        other.job(failed).retry()
    assert desk.service.charged_micro_usd == 2 * CELL_MICRO_USD


def _fails_first(before: int) -> Outcome:
    return Outcome(fails="provider_error") if before == 0 else Outcome()


def test_a_retry_in_a_new_month_counts_there(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Service(lambda _, before: _fails_first(before)))
    with desk.client(budget=monthly()) as client:
        with pytest.raises(mk.JobFailedError) as caught:
            client.run("text-to-video", prompt="a", **CLIP)
        desk.calendar.today = DECEMBER
        client.job(caught.value.job.id).retry().wait()
        assert client.spend.budget(monthly()).spent_micro_usd == CLIP_MICRO_USD
        assert client.spend.budget(monthly(), "2026-11").spent_micro_usd == 0


# -- warnings ---------------------------------------------------------------------


def test_each_warning_level_is_logged_once(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    def said() -> list[str]:
        return [r.getMessage() for r in caplog.records if "has reached" in r.message]

    caplog.set_level(logging.WARNING, "mediakit")
    with desk.client(budget=monthly("$2")) as client:
        for number in range(2):
            client.submit("text-to-video", prompt=f"{number}", **CLIP)
        assert said() == []
        for number in range(2, 5):
            client.submit("text-to-video", prompt=f"{number}", **CLIP)
        levels = [line.split("%")[0] for line in said()]
        assert levels == [
            "Budget 'team 2026-11' has reached 50",
            "Budget 'team 2026-11' has reached 80",
        ]
        assert "of $2.00 is spent" in said()[-1]

        desk.calendar.today = DECEMBER
        for number in range(5, 8):
            client.submit("text-to-video", prompt=f"{number}", **CLIP)
        assert said()[2].startswith("Budget 'team 2026-12' has reached 50%: ")
        assert len(said()) == 3


def test_levels_that_are_passed_at_once_are_one_line(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    with desk.client(budget=monthly("$0.34")) as client:
        client.submit("text-to-video", prompt="a", **CLIP)
    lines = [r.getMessage() for r in caplog.records if "has reached" in r.message]
    assert len(lines) == 1
    assert "has reached 95%" in lines[0]


def test_a_history_that_cannot_be_read_for_a_warning_does_not_stop_the_submit(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(self: History, name: str) -> BudgetUse:
        raise mk.MediakitError("The history cannot be read.")

    with desk.client(budget=monthly()) as client:
        monkeypatch.setattr(History, "budget_use", broken)
        client.submit("text-to-video", prompt="a", **CLIP)
        assert len(desk.service.jobs) == 1
        assert "cannot be read" in caplog.text


IN_ANOTHER_PROCESS = """
import sys
from itertools import count
from pathlib import Path
from mediakit import Budget, BudgetError
from tests.spend.budget_desk import CLIP_MICRO_USD, Desk

desk, number, sent = Desk(Path(sys.argv[1])), int(sys.argv[2]), 0
desk.service._numbers = count(1_000 * number)
with desk.client(budget=Budget("team", "$2", period="month")) as client:
    for n in range(5):
        try:
            client.submit("text-to-video", prompt=f"{number} {n}", duration=5)
            sent += 1
        except BudgetError:
            pass
print(sent)
"""


@pytest.mark.xdist_group("forks")  # where another test has started the zygote
def test_processes_share_what_is_left(desk: Desk) -> None:
    processes = [start(IN_ANOTHER_PROCESS, desk.home, str(n)) for n in (1, 2)]
    sent = [int(process.finish()[0]) for process in processes]
    assert sum(sent) == 5  # $2 carries five of $0.34
    with desk.client() as client:
        status = client.spend.budget(monthly("$2"))
        used = status.spent_micro_usd + status.held_micro_usd
        assert used == 5 * CLIP_MICRO_USD


# -- as a sweep's limit -----------------------------------------------------------


def test_a_sweep_and_a_client_share_what_is_left(desk: Desk) -> None:
    budget = monthly("$1")
    with desk.client(budget=budget) as client, desk.client() as other:
        client.run("text-to-video", prompt="a", **CLIP).settle()
        results = plan_of(other, 5).run(budget).wait()

        progress = results.progress
        assert (progress.completed, progress.unsent) == (3, 2)
        status = other.spend.budget(budget)
        assert status.spent_micro_usd == CLIP_MICRO_USD + 3 * CELL_MICRO_USD
        assert status.spent_micro_usd == desk.service.charged_micro_usd
        problems = results.frame()["problem"].dropna()
        assert all("the $1.00 budget 'team'" in text for text in problems)
        with pytest.raises(BudgetError, match="team 2026-11"):
            client.submit("text-to-video", prompt="b", **CLIP)


def test_two_sweeps_at_once_keep_one_budget(desk: Desk) -> None:
    budget = monthly("$2")
    with desk.client() as first, desk.client() as second:
        runs = [
            plan_of(first, 8).run(budget),
            plan_of(second, 8, duration=5).run(budget),
        ]
        for results in runs:
            results.wait()
        status = first.spend.budget(budget)
        assert status.spent_micro_usd == desk.service.charged_micro_usd
        assert status.spent_micro_usd + status.held_micro_usd <= 2_000_000
        assert status.left_micro_usd < CLIP_MICRO_USD
        labels = first.history.frame()["budget"]
        assert set(labels) == {"team 2026-11"}


def test_a_sweep_that_is_retried_stays_within_its_budget(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Service(lambda _, before: _fails_first(before)))
    budget = monthly("$0.50")
    with desk.client() as client:
        results = plan_of(client, 4).run(budget).wait()
        assert results.progress.failed == 4
        results.retry().wait()
        assert results.progress.completed == 2
        status = client.spend.budget(budget)
        assert status.spent_micro_usd == 2 * CELL_MICRO_USD


def test_a_sweep_of_last_month_continues_with_the_budget_of_this_one(
    desk: Desk,
) -> None:
    budget = monthly("$0.50")
    with desk.client() as client:
        assert plan_of(client, 4).run(budget).wait().progress.completed == 2
        desk.calendar.today = DECEMBER
        results = plan_of(client, 4).run(budget).wait()
        assert results.progress.completed == 4
        assert client.spend.budget(budget).spent_micro_usd == 2 * CELL_MICRO_USD


def test_a_sweep_with_an_amount_counts_against_the_client_s_budget_as_before(
    desk: Desk,
) -> None:
    with desk.client(budget=monthly("$5")) as client:
        results = plan_of(client, 4).run("$0.50").wait()
        assert results.progress.completed == 2
        assert results.progress.budget_micro_usd == 500_000
        assert client.spend.budget(monthly("$5")).spent_micro_usd == 2 * CELL_MICRO_USD


def test_a_client_with_another_limit_does_not_run_a_sweep_past_it(desk: Desk) -> None:
    with desk.client(budget="$1") as client:
        plan = plan_of(client, 2)
        with pytest.raises(InputError, match="against only one") as caught:
            plan.run(monthly())
        assert caught.value.field == "budget"
        assert not desk.service.jobs


def test_of_two_limits_of_one_budget_the_smaller_holds(desk: Desk) -> None:
    with desk.client(budget=monthly("$0.50")) as client:
        results = plan_of(client, 4).run(monthly("$5")).wait()
        assert results.progress.completed == 2
        assert client.spend.budget(monthly("$0.50")).left_micro_usd == 92_000


def test_a_budget_that_no_cell_fits_is_refused_before_anything_is_sent(
    desk: Desk,
) -> None:
    with desk.client() as client, pytest.raises(InputError, match="cheapest"):
        plan_of(client, 2).run(monthly("$0.10"))


def test_an_unanswered_request_is_moved_to_the_sweep_s_budget(tmp_path: Path) -> None:
    lost = Service(lambda _, before: Outcome(loses_answer=before < 1))
    desk = Desk(tmp_path, lost)
    with desk.client() as client:
        results = plan_of(client, 2).run(monthly("$0.50")).wait()
        results.retry().wait()
        for job in client.resume():
            job.settle()
        status = client.spend.budget(monthly("$0.50"))
        assert status.spent_micro_usd == desk.service.charged_micro_usd
        assert status.spent_micro_usd <= 500_000


def leave_unanswered(client: Any, prompt: str) -> None:
    """Leave a cell of a plan as a killed process does: written down, not answered."""
    fields = {"prompt": prompt, "duration": 3}
    request = client.io.call(client.components.prepared, "text-to-video", **fields)
    client.components.store.claim(client.components.submissions.of(request))


def test_unanswered_requests_of_others_count_once_a_sweep_submits_them(
    desk: Desk,
) -> None:
    with desk.client() as client:
        leave_unanswered(client, "prompt 0")
        results = plan_of(client, 2).run(monthly("$0.30")).wait()
        progress = results.progress
        assert (progress.completed, progress.unsent) == (1, 1)
        status = client.spend.budget(monthly("$0.30"))
        assert status.spent_micro_usd == CELL_MICRO_USD
        assert desk.service.charged_micro_usd == CELL_MICRO_USD


def test_unanswered_requests_of_others_are_not_sent_by_a_used_up_budget(
    desk: Desk,
) -> None:
    budget = monthly("$0.30")
    with desk.client() as client, desk.client(budget=budget) as other:
        leave_unanswered(client, "prompt 0")
        other.run("text-to-video", prompt="a", duration=3).settle()
        results = plan_of(client, 2).run(budget).wait()
        assert results.progress.unsent == 2
        assert desk.service.charged_micro_usd == CELL_MICRO_USD


# -- how far it is used -----------------------------------------------------------


def test_the_status_says_what_is_spent_held_and_left(history: History) -> None:
    budget = Budget("team", "$500", period="month")
    limit = budget.limit_at(NOVEMBER)
    history.claim(costing("k1", 412_200_000, draw_key="k1"), budget=limit)
    history.record_job("k1", completed(412_200_000, job_id="media_1"))
    history.claim(costing("k2", 6_100_000, draw_key="k2"), budget=limit)

    status = budget_status(history, budget, NOVEMBER)

    assert status.text == str(status) == repr(status)
    assert status.text == (
        "$412.20 of $500.00 is spent and $6.10 is held (83%); $81.70 is left."
    )
    assert (status.level, status.month) == (80, "2026-11")
    assert status.left_micro_usd == 81_700_000


def test_an_unused_budget_is_completely_available(history: History) -> None:
    status = budget_status(history, monthly("$500"), NOVEMBER)
    assert status.text == "$0.00 of $500.00 is spent (0%); $500.00 is left."
    assert status.level is None
    frame = status.frame()
    assert len(frame) == 22
    assert frame["spent_micro_usd"].tolist() == [0] * 22
    assert set(frame["left_micro_usd"]) == {500_000_000}


def test_a_burn_down_has_a_row_a_day_and_ends_at_what_is_spent(desk: Desk) -> None:
    budget = monthly("$1")
    with desk.client(budget=budget) as client:
        desk.calendar.today = datetime(2026, 11, 3, 23, 59, tzinfo=UTC)
        client.run("text-to-video", prompt="a", **CLIP).settle()
        desk.calendar.today = datetime(2026, 11, 5, 0, 1, tzinfo=UTC)
        client.run("text-to-video", prompt="b", **CLIP).settle()
        status = client.spend.budget(budget)

    frame = status.frame()
    assert [f"{day:%m-%d}" for day in frame["day"]] == [
        f"11-0{day}" for day in range(1, 6)
    ]
    assert frame["spent_micro_usd"].tolist() == [0, 0, 340_000, 340_000, 680_000]
    assert frame["left_micro_usd"].tolist() == [
        1_000_000,
        1_000_000,
        660_000,
        660_000,
        320_000,
    ]
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == {
        "day": "datetime64[us]",
        "charge_micro_usd": "int64",
        "spent_micro_usd": "int64",
        "left_micro_usd": "int64",
    }


def test_a_budget_without_a_period_burns_from_its_first_charge(
    history: History,
) -> None:
    budget = Budget("team", "$1")
    history.claim(costing("k1", 1), budget=budget.limit_at(NOVEMBER))
    history.record_job("k1", completed(1))
    settled = history.budget_charges("team")[0][0]

    status = budget_status(history, budget, settled + timedelta(days=2))

    assert status.frame()["spent_micro_usd"].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("budget", "month", "field"),
    [
        ("$5", None, "budget"),
        (monthly(), "2026-12", "month"),
        (monthly(), "November", "month"),
        (Budget("team", "$1"), "2026-11", "month"),
    ],
)
def test_a_value_without_a_budget_status_is_an_input_error(
    history: History, budget: Any, month: str | None, field: str
) -> None:
    with pytest.raises(InputError) as caught:
        budget_status(history, budget, NOVEMBER, month)
    assert caught.value.field == field


def test_a_charge_above_its_estimate_leaves_nothing_and_not_less(
    history: History,
) -> None:
    history.claim(costing("k1", 900_000), budget=monthly().limit_at(NOVEMBER))
    history.record_job("k1", completed(1_200_000))
    status = budget_status(history, monthly(), NOVEMBER)
    assert status.left_micro_usd == 0
    assert "(120%)" in status.text
    assert replace(status, days=status.days).frame()["left_micro_usd"].iloc[-1] == 0
