"""Runs of sweeps: what is sent, what is not, and what a failure does to the rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pandas as pd
import pytest

from mediakit import Client, InputError
from mediakit.money import format_usd
from tests.support.soak import trials
from tests.support.waiting import until
from tests.sweep.runs import (
    VIDEO_3_S,
    VIDEO_5_S,
    begin,
    plan_of,
    problems,
    run,
    statuses,
)
from tests.sweep.service import Outcome, Service

MOST_RESUMES = 5
RANDOM_RUNS = trials(10, soak=150)
Decide = Callable[[dict[str, Any], int], Outcome]


def always(**outcome: Any) -> Decide:
    return lambda *_: Outcome(**outcome)


def number_of(body: Mapping[str, Any]) -> int:
    return int(body["prompt"].split()[-1])


def every(n: int, **outcome: Any) -> Decide:
    """Apply this outcome to every n-th prompt; the others complete."""
    return lambda body, _: Outcome(
        **(outcome if number_of(body) % n == 0 else {"reads": 1})
    )


def from_tenth(**outcome: Any) -> Decide:
    """Apply this outcome from the tenth prompt on; earlier ones complete."""
    return lambda body, _: Outcome(**(outcome if number_of(body) >= 10 else {}))


# -- one plan, run once -----------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A run of clips of 3 seconds: how it ends, and what the cells that do not say."""

    ends: dict[str, int]
    decide: Decide | None = None
    cells: int = 8
    plan: Mapping[str, Any] = field(default_factory=dict)
    budget: str | None = None
    in_flight: int | None = None
    balance_micro_usd: int = 10**12
    own_budget: str | None = None
    says: Mapping[str, str] = field(default_factory=dict)
    jobs: int | None = None
    most_posts: int | None = None


FAILS = {"fails": "provider_error"}
OUT_OF_MONEY = {"status": 402, "code": "insufficient_balance"}
CASES = {
    "every valid cell is paid once and invalid ones are not sent": Case(
        {"completed": 8, "invalid": 8},
        always(reads=1, settles=1),
        plan={"duration": [3, 99]},
        says={"invalid": "duration"},
        jobs=8,
    ),
    "what the service says does not decide whether a cell was sent": Case(
        {"failed": 8},
        always(rejects=500, code="provider_error", message="Nothing was sent."),
    ),
    "a failed job is a failed cell and the rest continues": Case(
        {"completed": 6, "failed": 2},
        every(4, reads=1, fails="content_moderation"),
        says={"failed": "content_moderation): It was told to"},
    ),
    "a lost answer is asked for again and paid once": Case(
        {"completed": 8}, every(3, loses_answer=True), jobs=8
    ),
    **{
        f"a rejection with {status} {code} stops the rest": Case(
            {"completed": 10, "unsent": 20},
            from_tenth(rejects=status, code=code),
            cells=30,
            in_flight=4,
            says={"unsent": code},
            most_posts=20,
        )
        for status, code in (
            (402, "insufficient_balance"),
            (403, "admission_suspended"),
            (403, "rate_limited"),
        )
    },
    "a balance that is used up stops the rest": Case(
        {"completed": 7, "unsent": 5},
        always(reads=1, settles=1),
        cells=12,
        in_flight=4,
        balance_micro_usd=7 * VIDEO_3_S + 1,
        says={"unsent": "balance"},
        jobs=7,
    ),
    "what a failed job held of the balance is used for others": Case(
        {"completed": 6, "failed": 6},
        every(2, reads=2, **FAILS),
        cells=12,
        in_flight=8,
        balance_micro_usd=7 * VIDEO_3_S,
    ),
    "the client's own budget stops the rest": Case(
        {"completed": 4, "unsent": 8},
        cells=12,
        budget="$3",
        in_flight=3,
        own_budget="$1",
        says={"unsent": "budget"},
    ),
    "cells that the budget does not reach say so": Case(
        {"completed": 4, "unsent": 4},
        always(reads=1, settles=1),
        budget="$1",
        says={"unsent": "the $1.00 budget ($0.816 spent"},
        jobs=4,
    ),
    "one cell alone may use the whole budget": Case(
        {"completed": 1, "unsent": 7}, budget="$0.204"
    ),
    "what a failed job held is used for others": Case(
        {"completed": 6, "failed": 6}, every(2, reads=1, **FAILS), 12, budget="$1.428"
    ),
    "takes are draws of their own": Case(
        {"completed": 15}, cells=5, plan={"takes": 3}, jobs=15
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_run_ends_with_the_expected_cells_and_charges(
    tmp_path: Path, name: str
) -> None:
    case = CASES[name]
    decide = case.decide or always(reads=1)
    service = Service(decide, balance_micro_usd=case.balance_micro_usd)
    with service.client(tmp_path, budget=case.own_budget) as client:
        plan = plan_of(client, case.cells, **case.plan)
        results = run(client, plan, case.budget, case.in_flight)
        assert statuses(results) == case.ends
        for status, words in case.says.items():
            assert all(words in text for text in problems(results, status))
        if case.jobs is not None:
            assert len(service.jobs) == case.jobs
        if case.most_posts is not None:
            assert sum(service.posts.values()) < case.most_posts
        paid = case.ends.get("completed", 0) * VIDEO_3_S
        assert results.progress.spent_micro_usd == service.charged_micro_usd == paid
        assert client.reserved_micro_usd() == 0


# -- what is owned ----------------------------------------------------------------


def test_a_plan_that_is_run_again_costs_nothing_and_asks_nothing(
    tmp_path: Path,
) -> None:
    service = Service(always(reads=1))
    for life in range(2):  # also after a restart
        with service.client(tmp_path) as client:
            first = run(client, plan_of(client, 6))
            reads = {job.id: job.reads for job in service.jobs.values()}
            again = run(client, plan_of(client, 6), budget="$0.21")
            assert (again.progress.owned, again.progress.sent) == (6, 0)
            assert (first.progress.sent, len(service.jobs)) == (0 if life else 6, 6)
            frame = again.frame()
            assert set(frame["job_id"]) == set(service.jobs)
            assert set(frame["charge_micro_usd"]) == {VIDEO_3_S}
            assert frame["runtime_s"].notna().all()
            assert {job.id: job.reads for job in service.jobs.values()} == reads


def test_plans_that_overlap_share_their_cells_and_takes_are_those_of_submit(
    tmp_path: Path,
) -> None:
    service = Service()
    with service.client(tmp_path) as client:
        run(client, plan_of(client, 10))
        wider = run(client, plan_of(client, 12, duration=[3, 5]))
        assert wider.progress.owned == 10
        assert len(service.jobs) == 24
        takes = run(client, plan_of(client, 1, takes=3)).frame()["job_id"]
        job = client.submit("text-to-video", prompt="prompt 0", duration=3, take=3)
        assert job.id == takes.iloc[-1]


def test_a_failed_cell_says_the_same_when_it_is_owned(tmp_path: Path) -> None:
    service = Service(every(4, reads=1, fails="content_moderation"))
    with service.client(tmp_path) as client:
        first, again = (run(client, plan_of(client, 8)) for _ in range(2))
        assert statuses(first) == statuses(again) == {"completed": 6, "failed": 2}
        assert problems(first, "failed") == problems(again, "failed")


# -- how many at once -------------------------------------------------------------


def refuse(body: dict[str, Any], before: int) -> Outcome:
    raise httpx.ConnectError("refused")


@pytest.mark.parametrize(
    ("budget", "balance_micro_usd", "is_away"),
    [
        ("$0.30", 10**12, False),
        (None, 2 * VIDEO_3_S - 1, False),
        (None, 10**12, True),
    ],
    ids=["budget", "balance", "away"],
)
def test_a_charged_failure_that_is_not_sent_again_keeps_its_job_and_charge(
    tmp_path: Path, budget: str | None, balance_micro_usd: int, *, is_away: bool
) -> None:
    service = Service(always(fails="provider_error", is_charged=True))
    service.balance_micro_usd = balance_micro_usd
    with service.client(tmp_path) as client:
        results = run(client, plan_of(client, 1), budget)
        before = results.frame()
        assert before["charge_micro_usd"].tolist() == [VIDEO_3_S]
        if is_away:
            service.decide = refuse
        for _ in range(2):
            results.retry().wait()
            frame = results.frame()
            kept = ["status", "job_id", "charge_micro_usd"]
            pd.testing.assert_frame_equal(frame[kept], before[kept])
            [problem] = problems(results, "failed")
            assert problem.count("It was charged $0.204") == 1
        assert results.progress.failed == 1
        assert len(service.jobs) == 1


def test_no_more_cells_are_in_flight_than_asked_for(tmp_path: Path) -> None:
    service = Service()
    service.gate = threading.Event()
    with service.client(tmp_path) as client:
        results = begin(client, plan_of(client, 12), in_flight=5)
        until(lambda: results.progress.running == 5)
        time.sleep(0.2)  # for a sixth one to come, if it did
        assert (len(service.jobs), results.progress.running) == (5, 5)
        service.gate.set()
        results.wait()
        assert len(service.jobs) == 12


def test_a_slot_is_free_at_a_jobs_end_and_not_at_its_charge(tmp_path: Path) -> None:
    service = Service(always(settles=10**9))
    with service.client(tmp_path) as client:
        results = begin(client, plan_of(client, 12), in_flight=2)
        until(lambda: results.progress.completed == 12)
        assert not results.progress.is_done
        assert results.progress.held_micro_usd == 12 * VIDEO_3_S


# -- what goes wrong --------------------------------------------------------------


def answering(service: Service, answer: Callable[[httpx.Request], Any]) -> set[str]:
    """Answer submissions in another way; return the keys of those that come."""
    asked, serve = set[str](), service.handle

    def handle(request: httpx.Request) -> httpx.Response:
        if request.method != "POST":
            return serve(request)
        asked.add(request.headers["Idempotency-Key"])
        said: httpx.Response | None = answer(request)
        return serve(request) if said is None else said

    service.handle = handle  # type: ignore[method-assign]
    return asked


@pytest.mark.parametrize(
    "status", [422, *(pytest.param(s, marks=pytest.mark.soak) for s in (400, 404, 409))]
)
def test_a_refused_request_is_a_failed_cell_and_the_rest_continues(
    tmp_path: Path, status: int
) -> None:
    def answer(request: httpx.Request) -> httpx.Response | None:
        no = httpx.Response(status, json={"message": "No, thank you."})
        return no if b"prompt 3" in request.content else None

    service = Service()
    answering(service, answer)
    with service.client(tmp_path) as client:
        results = run(client, plan_of(client, 8))
        assert statuses(results) == {"completed": 7, "failed": 1}
        assert "No, thank you" in problems(results, "failed").pop()


def test_an_error_of_our_own_is_a_failed_cell_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Service().client(tmp_path) as client:
        plan = plan_of(client, 6)
        nothing: Any = None
        cells = list(plan.cells)
        cells[2] = replace(cells[2], fields=nothing)
        plan.cells = cells
        progress = begin(client, plan).wait().progress
        assert (progress.completed, progress.failed) == (5, 1)
    assert "a cell of a sweep failed" in caplog.text


def test_an_unresponsive_service_does_not_get_a_request_for_every_cell(
    tmp_path: Path,
) -> None:
    def refuse(request: httpx.Request) -> None:
        raise httpx.ConnectError("refused", request=request)

    service = Service()
    asked = answering(service, refuse)
    with service.client(tmp_path) as client:
        results = run(client, plan_of(client, 100), in_flight=4)
        assert statuses(results) == {"unsent": 100}
        assert all(
            "did not respond" in t or "cannot be reached" in t
            for t in problems(results, "unsent")
        )
        assert 1 <= len(asked) < 30


def test_a_wrong_key_stops_the_rest(tmp_path: Path) -> None:
    service = Service()
    unknown = httpx.Response(401, json={"message": "Unknown key."})
    asked = answering(service, lambda _: unknown)
    with service.client(tmp_path) as client:
        results = run(client, plan_of(client, 30), in_flight=4)
        assert statuses(results) == {"unsent": 30}
        assert all("API key" in text for text in problems(results, "unsent"))
        assert len(asked) <= 8


def test_cells_beyond_the_balance_are_sent_after_a_top_up(
    tmp_path: Path,
) -> None:
    service = Service(always(reads=1, settles=1))
    service.balance_micro_usd = 3 * VIDEO_3_S + 1
    with service.client(tmp_path) as client:
        results = run(client, plan_of(client, 12), in_flight=4)
        assert statuses(results) == {"completed": 3, "unsent": 9}
        service.balance_micro_usd = 100 * VIDEO_3_S
        results.retry().wait()
        assert statuses(results) == {"completed": 12}
        assert len(service.jobs) == 12


def test_a_cell_that_met_a_full_service_is_sent_when_it_asked_for(
    tmp_path: Path,
) -> None:
    def decide(body: dict[str, Any], before: int) -> Outcome:
        is_early = number_of(body) in (1, 2) and not before
        return Outcome(rejects=429, retry_after_s=600) if is_early else Outcome()

    with Service(decide).client(tmp_path) as client:
        clock = client.components.clock
        began_s = clock.monotonic_s()
        results = run(client, plan_of(client, 8), in_flight=4)
        assert statuses(results) == {"completed": 8}
        assert clock.monotonic_s() - began_s >= 600


def test_a_run_that_waits_for_the_service_says_so(tmp_path: Path) -> None:
    service = Service(always(rejects=429, retry_after_s=86_400))
    with service.client(tmp_path) as client:
        results = begin(client, plan_of(client, 8), in_flight=2)
        until(lambda: results.progress.trouble is not None)
        assert "Try again in 86,400 s" in str(results.progress.trouble)
        results.stop().wait()
        assert statuses(results) == {"unsent": 8}


# -- the budget -------------------------------------------------------------------


def test_requests_that_were_never_answered_are_new_and_count_against_the_budget(
    tmp_path: Path,
) -> None:
    service = Service()
    with service.client(tmp_path) as client:
        plan = plan_of(client, 2)
        for cell in plan.cells:
            fields: Any = cell.fields
            request = client.io.call(
                client.components.prepared, "text-to-video", **fields
            )
            client.components.store.claim(client.components.submissions.of(request))
        assert plan.refresh().new.tolist() == [True, True]
        results = run(client, plan, "$0.30")
        assert statuses(results) == {"completed": 1, "unsent": 1}
        assert len(service.jobs) == 1


def test_cheaper_cells_behind_one_that_does_not_fit_are_sent(tmp_path: Path) -> None:
    service = Service()
    with service.client(tmp_path) as client:
        plan = plan_of(client, 3, duration=[5, 3])
        frame = run(client, plan, budget="$0.80", in_flight=1).frame()
        bought = frame[frame["status"] == "completed"]
        assert list(bought["duration"]) == [5, 3, 3]
        assert service.charged_micro_usd == VIDEO_5_S + 2 * VIDEO_3_S


@pytest.mark.parametrize("in_flight", [1, 8])
@pytest.mark.parametrize("durations", [[3], [5, 3], [3, 4, 5]])
@pytest.mark.parametrize("budget", [500_000, 1_000_000])
def test_no_run_costs_more_than_what_a_plan_says_of_its_budget(
    tmp_path: Path, budget: int, durations: list[int], in_flight: int
) -> None:
    service = Service()
    with service.client(tmp_path) as client:
        plan = plan_of(client, 4, duration=durations)
        part = plan._within(budget)
        results = run(client, plan, format_usd(budget), in_flight)
        sent = statuses(results)["completed"]
    assert service.charged_micro_usd <= (part.most_micro_usd or 0) <= budget
    if part.is_sure:
        assert sent == part.count
        assert service.charged_micro_usd == part.price.high
    else:
        assert len(durations) > 1


def test_a_budget_covers_all_runs_of_a_sweep_also_one_that_is_used_up(
    tmp_path: Path,
) -> None:
    service = Service()
    for budget, completed in (("$1", 4), ("$1.50", 7), ("$0.50", 7)):
        with service.client(tmp_path) as client:
            results = run(client, plan_of(client, 10), budget=budget)
            assert statuses(results) == {
                "completed": completed,
                "unsent": 10 - completed,
            }
        assert service.charged_micro_usd == completed * VIDEO_3_S


def test_an_earlier_run_says_what_all_runs_spent_of_the_largest_budget(
    tmp_path: Path,
) -> None:
    with Service().client(tmp_path) as client:
        first = run(client, plan_of(client, 10), budget="$1")
        run(client, plan_of(client, 10), budget="$1.50")
        assert "$1.428 spent of $1.50" in first.progress.text


def test_a_budget_below_the_cheapest_new_cell_is_refused_and_nothing_is_sent(
    tmp_path: Path,
) -> None:
    service = Service()
    with service.client(tmp_path) as client:
        plan = plan_of(client, 3, duration=[5, 3])
        with pytest.raises(InputError, match=r"at least \$0\.204.*\$0\.20") as caught:
            begin(client, plan, budget="$0.20")
        assert caught.value.field == "budget"
        assert "Nothing was sent" in str(caught.value)
        assert not service.jobs


@pytest.mark.parametrize("amount", ["five", -1, 0.5, True])
def test_an_invalid_amount_is_rejected_as_a_budget(tmp_path: Path, amount: Any) -> None:
    with Service().client(tmp_path) as client:
        with pytest.raises(InputError, match="budget") as caught:
            plan_of(client, 1).run(budget=amount)
        assert caught.value.field == "budget"


def test_a_cell_of_unknown_price_is_not_sent_under_a_budget(tmp_path: Path) -> None:
    with Service().client(tmp_path) as client:
        plan = client.sweep("text-to-image", prompt=["a", "b"])
        results = run(client, plan, budget="$5")
        assert statuses(results) == {"unsent": 2}
        assert "price of this request is unknown" in problems(results, "unsent").pop()
        assert statuses(run(client, plan)) == {"completed": 2}


def test_a_rate_that_has_drifted_is_held_from_the_first_charge_on(
    tmp_path: Path,
) -> None:
    service = Service(always(factor=1.2, reads=1, settles=1))
    with service.client(tmp_path) as client:
        results = run(client, plan_of(client, 30), budget="$5")
        assert service.charged_micro_usd <= 5_000_000
        assert service.charged_micro_usd > 5_000_000 - 1.2 * VIDEO_3_S
        assert "1.20 times" in problems(results, "unsent").pop()


def test_two_clients_share_a_sweeps_budget(tmp_path: Path) -> None:
    service = Service(always(reads=1, settles=1))
    with service.client(tmp_path) as one, service.client(tmp_path) as other:
        both = [
            begin(client, plan_of(client, 20), budget="$3", in_flight=8)
            for client in (one, other)
        ]
        for results in both:
            results.wait()
        assert service.charged_micro_usd == 14 * VIDEO_3_S


class Weather:
    """Probabilities of the faults in a random run, and their sizes."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._fails = random.choice([0.0, 0.1, 0.5])
        self._rejects = random.choice([0.0, 0.1])
        self._loses = random.choice([0.0, 0.1])
        self.factor = random.choice([0.5, 1.0, 1.0, 1.0, 1.1, 1.25])
        self._lock = threading.Lock()

    def decide(self, _: dict[str, Any], before: int) -> Outcome:
        with self._lock:
            random = self._random
            outcome = Outcome(
                factor=self.factor,
                reads=random.choice([0, 1, 3]),
                settles=random.choice([0, 0, 1, 2]),
                loses_answer=random.random() < self._loses,
            )
            if random.random() < self._fails:
                outcome.fails = "provider_error"
            elif not before and random.random() < self._rejects:
                outcome.rejects, outcome.retry_after_s = 429, 1.0
            return outcome


def settled(client: Client, is_over: Callable[[], bool]) -> None:
    """Resume unanswered submissions until none is left.

    On a busy machine, the minute of a clock this fast may be over before a lost answer
    has been asked for again, also while it is resumed.
    """
    for _ in range(MOST_RESUMES):
        for job in client.resume():
            job.settle()
        if is_over():
            return


@pytest.mark.parametrize("seed", range(RANDOM_RUNS))
def test_a_run_never_spends_more_than_its_budget(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    weather = Weather(random)
    service = Service(weather.decide)
    # A cell alone may use the whole budget before anybody knows that rates drifted.
    least_usd = 1.25 * 0.68 if weather.factor > 1 else 0.1
    budget = f"{random.uniform(least_usd, 8):.2f}"
    durations = random.sample([3, 5, 10], random.choice([1, 2, 3]))
    with service.client(tmp_path) as client:
        plan = plan_of(client, random.randrange(1, 16), duration=durations)
        try:
            results = begin(client, plan, budget, random.choice([1, 4, 16]))
        except InputError:
            assert min(plan.frame().high_micro_usd) > float(budget) * 1e6
            assert not service.jobs
            return
        results.wait()
        if random.random() < 0.5:
            results.retry().wait()
        settled(client, lambda: results.progress.held_micro_usd == 0)
        assert service.charged_micro_usd <= float(budget) * 1e6
        progress = results.progress
        assert progress.spent_micro_usd == service.charged_micro_usd
        assert progress.held_micro_usd == 0
        ended = progress.completed + progress.failed + progress.unsent
        assert ended == len(plan)
        charges = results.frame()["charge_micro_usd"]
        assert charges.sum() <= service.charged_micro_usd
