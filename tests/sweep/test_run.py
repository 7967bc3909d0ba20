"""Runs of sweeps: what is sent, what is not, and what a failure does to the rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from mediakit import Client, InputError
from tests.support.soak import trials
from tests.sweep.runs import (
    PATIENCE_S,
    VIDEO_3_S,
    VIDEO_5_S,
    begin,
    plan_of,
    problems,
    run,
    statuses,
    until,
)
from tests.sweep.service import Outcome, Service

MOST_RESUMES = 5
RANDOM_RUNS = trials(10, soak=150)


@contextmanager
def serving(service: Service, home: Path, **more: Any) -> Iterator[Client]:
    with service.client(home, **more) as client:
        yield client


# -- what is sent -----------------------------------------------------------------


def test_every_valid_cell_is_paid_once_and_invalid_ones_are_not_sent(
    tmp_path: Path,
) -> None:
    service = Service(lambda *_: Outcome(reads=1, settles=1))
    with serving(service, tmp_path) as client:
        results = run(client, plan_of(client, 8, duration=[3, 99]))
        assert statuses(results) == {"completed": 8, "invalid": 8}
        assert service.charged_micro_usd == 8 * VIDEO_3_S
        assert all("duration" in text for text in problems(results, "invalid"))
        assert client.reserved_micro_usd() == 0


def test_what_the_service_says_does_not_decide_whether_a_cell_was_sent(
    tmp_path: Path,
) -> None:
    refusal = Outcome(rejects=500, code="provider_error", message="Nothing was sent.")
    with serving(Service(lambda *_: refusal), tmp_path) as client:
        results = run(client, plan_of(client, 2))
        assert statuses(results) == {"failed": 2}


def test_a_plan_that_is_run_again_costs_nothing(tmp_path: Path) -> None:
    service = Service(lambda *_: Outcome(reads=1))
    with serving(service, tmp_path) as client:
        run(client, plan_of(client, 6))
        sold = len(service.jobs)
        again = run(client, plan_of(client, 6), budget="$0.21")
        assert (again.progress.owned, again.progress.sent) == (6, 0)
        assert len(service.jobs) == sold == 6
        assert statuses(again) == {"completed": 6}
    with serving(service, tmp_path) as other:
        later = run(other, plan_of(other, 6), budget="$0.21")
        assert (later.progress.owned, later.progress.sent) == (6, 0)
        assert len(service.jobs) == 6


def test_owned_cells_are_known_without_asking_the_service(tmp_path: Path) -> None:
    service = Service()
    with serving(service, tmp_path) as client:
        run(client, plan_of(client, 6))
        reads = {job.id: job.reads for job in service.jobs.values()}
        first = run(client, plan_of(client, 6)).frame()
        assert {job.id: job.reads for job in service.jobs.values()} == reads
        assert set(first["job_id"]) == set(service.jobs)
        assert set(first["charge_micro_usd"]) == {VIDEO_3_S}
        assert first["runtime_s"].notna().all()


def test_plans_that_overlap_share_their_cells(tmp_path: Path) -> None:
    service = Service()
    with serving(service, tmp_path) as client:
        run(client, plan_of(client, 10))
        wider = run(client, plan_of(client, 12, duration=[3, 5]))
        assert wider.progress.owned == 10
        assert len(service.jobs) == 24


def test_takes_are_submitted_as_draws_of_their_own(tmp_path: Path) -> None:
    service = Service()
    with serving(service, tmp_path) as client:
        results = run(client, plan_of(client, 5, takes=3))
        assert statuses(results) == {"completed": 15}
        assert len(service.jobs) == 15
        assert set(service.posts.values()) == {3}
        job = client.submit("text-to-video", prompt="prompt 4", duration=3, take=3)
        assert job.id == results.frame()["job_id"].iloc[-1]


def test_no_more_cells_are_in_flight_than_asked_for(tmp_path: Path) -> None:
    service = Service()
    service.gate = threading.Event()
    with serving(service, tmp_path) as client:
        results = begin(client, plan_of(client, 12), in_flight=5)
        until(lambda: len(service.jobs) == 5)
        time.sleep(0.2)
        assert (len(service.jobs), results.progress.running) == (5, 5)
        service.gate.set()
        results.wait(PATIENCE_S)
        assert len(service.jobs) == 12


def test_a_slot_is_free_at_a_jobs_end_and_not_at_its_charge(tmp_path: Path) -> None:
    service = Service(lambda *_: Outcome(settles=10**9))
    with serving(service, tmp_path) as client:
        results = begin(client, plan_of(client, 12), in_flight=2)
        until(lambda: len(service.jobs) == 12)
        until(lambda: results.progress.completed == 12)
        assert not results.progress.is_done
        assert results.progress.held_micro_usd == 12 * VIDEO_3_S


# -- failures ---------------------------------------------------------------------


def failing_every(n: int, **outcome: Any) -> Callable[[dict[str, Any], int], Outcome]:
    def decide(body: dict[str, Any], _: int) -> Outcome:
        number = int(body["prompt"].split()[-1])
        return Outcome(**outcome) if number % n == 0 else Outcome(reads=1)

    return decide


def test_a_job_that_fails_is_a_failed_cell_and_the_rest_continues(
    tmp_path: Path,
) -> None:
    decide = failing_every(4, reads=1, fails="content_moderation")
    with serving(Service(decide), tmp_path) as client:
        results = run(client, plan_of(client, 8))
        assert statuses(results) == {"completed": 6, "failed": 2}
        (problem,) = problems(results, "failed")
        assert "content_moderation" in problem
        assert "It was told to" in problem
        again = run(client, plan_of(client, 8))
        assert statuses(again) == {"completed": 6, "failed": 2}
        assert problems(again, "failed") == {problem}


@pytest.mark.parametrize(
    "status", [422, *(pytest.param(s, marks=pytest.mark.soak) for s in (400, 404, 409))]
)
def test_a_refused_request_is_a_failed_cell_and_the_rest_continues(
    tmp_path: Path, status: int
) -> None:
    service = Service()
    serve = service.handle

    def handle(request: httpx.Request) -> httpx.Response:
        if request.method == "POST" and b"prompt 3" in request.content:
            return httpx.Response(status, json={"message": "No, thank you."})
        return serve(request)

    service.handle = handle  # type: ignore[method-assign]
    with serving(service, tmp_path) as client:
        results = run(client, plan_of(client, 8))
        assert statuses(results) == {"completed": 7, "failed": 1}
        assert "No, thank you" in problems(results, "failed").pop()


def test_an_error_of_our_own_is_a_failed_cell_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    service = Service()
    with serving(service, tmp_path) as client:
        plan = plan_of(client, 6)
        nothing: Any = None
        cells = list(plan.cells)
        cells[2] = replace(cells[2], fields=nothing)
        plan.cells = cells
        results = begin(client, plan).wait(PATIENCE_S)
        assert results.progress.completed == 5
        assert results.progress.failed == 1
    assert "a cell of a sweep failed" in caplog.text


def test_a_lost_answer_is_requested_again_and_paid_once(tmp_path: Path) -> None:
    decide = failing_every(3, loses_answer=True)
    service = Service(decide)
    with serving(service, tmp_path) as client:
        results = run(client, plan_of(client, 6))
        assert statuses(results) == {"completed": 6}
        assert len(service.jobs) == 6


def test_a_service_that_does_not_answer_is_not_asked_for_every_cell(
    tmp_path: Path,
) -> None:
    service = Service()
    asked: set[str] = set()

    def handle(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json={"balance_micro_usd": 10**9})
        asked.add(request.headers["Idempotency-Key"])
        raise httpx.ConnectError("refused", request=request)

    service.handle = handle  # type: ignore[method-assign]
    with serving(service, tmp_path) as client:
        results = run(client, plan_of(client, 100), in_flight=4)
        assert statuses(results) == {"unsent": 100}
        assert all(
            "does not answer" in t or "cannot be reached" in t
            for t in problems(results, "unsent")
        )
        assert 1 <= len(asked) < 30


# -- what stops the rest ----------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (402, "insufficient_balance", "insufficient_balance"),
        (403, "admission_suspended", "admission_suspended"),
        (403, "rate_limited", "rate_limited"),
    ],
)
def test_a_rejection_that_concerns_all_cells_stops_the_rest(
    tmp_path: Path, status: int, code: str, said: str
) -> None:
    def decide(body: dict[str, Any], _: int) -> Outcome:
        number = int(body["prompt"].split()[-1])
        return Outcome(rejects=status, code=code) if number >= 10 else Outcome()

    service = Service(decide)
    with serving(service, tmp_path) as client:
        results = run(client, plan_of(client, 30), in_flight=4)
        found = statuses(results)
        assert found == {"completed": 10, "unsent": 20}
        assert all(said in text for text in problems(results, "unsent"))
        assert sum(service.posts.values()) < 20


def test_a_wrong_key_stops_the_rest(tmp_path: Path) -> None:
    service = Service()
    posts = 0

    def handle(request: httpx.Request) -> httpx.Response:
        nonlocal posts
        posts += request.method == "POST"
        if request.method == "POST":
            return httpx.Response(401, json={"message": "Unknown key."})
        return httpx.Response(200, json={"balance_micro_usd": 10**9})

    service.handle = handle  # type: ignore[method-assign]
    with serving(service, tmp_path) as client:
        results = run(client, plan_of(client, 30), in_flight=4)
        assert statuses(results) == {"unsent": 30}
        assert all("API key" in text for text in problems(results, "unsent"))
        assert posts <= 8


def test_a_balance_that_is_used_up_stops_the_rest(tmp_path: Path) -> None:
    service = Service(lambda *_: Outcome(reads=1, settles=1))
    service.balance_micro_usd = 7 * VIDEO_3_S + 1
    with serving(service, tmp_path) as client:
        results = run(client, plan_of(client, 12), in_flight=4)
        assert statuses(results) == {"completed": 7, "unsent": 5}
        assert all("balance" in text for text in problems(results, "unsent"))
        assert len(service.jobs) == 7


def test_what_a_balance_did_not_reach_is_sent_again_after_a_top_up(
    tmp_path: Path,
) -> None:
    service = Service(lambda *_: Outcome(reads=1, settles=1))
    service.balance_micro_usd = 3 * VIDEO_3_S + 1
    with serving(service, tmp_path) as client:
        results = run(client, plan_of(client, 12), in_flight=4)
        assert statuses(results) == {"completed": 3, "unsent": 9}
        service.balance_micro_usd = 100 * VIDEO_3_S
        results.retry().wait(PATIENCE_S)
        assert statuses(results) == {"completed": 12}
        assert len(service.jobs) == 12


def test_requests_that_were_never_answered_are_new_and_count_against_the_budget(
    tmp_path: Path,
) -> None:
    service = Service()
    with serving(service, tmp_path) as client:
        plan = plan_of(client, 2)
        for cell in range(2):
            fields: Any = plan.cells[cell].fields
            request = client.io.call(
                client.components.prepared, "text-to-video", fields
            )
            client.components.store.claim(client.components.submissions.of(request))
        assert plan.refresh().new.tolist() == [True, True]
        results = run(client, plan, "$0.30")
        assert statuses(results) == {"completed": 1, "unsent": 1}
        assert len(service.jobs) == 1


def test_what_a_failed_job_held_of_the_balance_is_used_for_others(
    tmp_path: Path,
) -> None:
    decide = failing_every(2, reads=2, fails="provider_error")
    service = Service(decide)
    service.balance_micro_usd = 7 * VIDEO_3_S
    with serving(service, tmp_path) as client:
        results = run(client, plan_of(client, 12), in_flight=8)
        assert statuses(results) == {"completed": 6, "failed": 6}


def test_the_clients_own_budget_stops_the_rest(tmp_path: Path) -> None:
    service = Service()
    with serving(service, tmp_path, budget="$1") as client:
        results = run(client, plan_of(client, 12), budget="$3", in_flight=3)
        assert statuses(results) == {"completed": 4, "unsent": 8}
        assert all("budget" in text for text in problems(results, "unsent"))


# -- rate limits ------------------------------------------------------------------


def test_a_cell_that_met_a_full_service_is_sent_when_it_asked_for(
    tmp_path: Path,
) -> None:
    def decide(body: dict[str, Any], before: int) -> Outcome:
        is_early = body["prompt"].endswith(("1", "2")) and not before
        return Outcome(rejects=429, retry_after_s=600) if is_early else Outcome()

    service = Service(decide)
    with serving(service, tmp_path) as client:
        clock = client.components.clock
        began_s = clock.monotonic_s()
        results = run(client, plan_of(client, 8), in_flight=4)
        assert statuses(results) == {"completed": 8}
        assert clock.monotonic_s() - began_s >= 600


def test_a_run_that_waits_for_the_service_says_so(tmp_path: Path) -> None:
    service = Service(lambda *_: Outcome(rejects=429, retry_after_s=86_400))
    with serving(service, tmp_path) as client:
        results = begin(client, plan_of(client, 8), in_flight=2)
        until(lambda: results.progress.trouble is not None)
        assert "Try again in 86,400 s" in str(results.progress.trouble)
        results.stop().wait(PATIENCE_S)
        assert statuses(results) == {"unsent": 8}


# -- the budget -------------------------------------------------------------------


def test_cells_that_the_budget_does_not_reach_are_unsent_and_say_so(
    tmp_path: Path,
) -> None:
    service = Service(lambda *_: Outcome(reads=1, settles=1))
    with serving(service, tmp_path) as client:
        results = run(client, plan_of(client, 8), budget="$1")
        assert statuses(results) == {"completed": 4, "unsent": 4}
        (problem,) = problems(results, "unsent")
        assert "$0.816 of the budget of $1.00 is spent" in problem
        assert results.progress.spent_micro_usd == 4 * VIDEO_3_S


def test_cheaper_cells_behind_one_that_does_not_fit_are_sent(tmp_path: Path) -> None:
    service = Service()
    with serving(service, tmp_path) as client:
        plan = plan_of(client, 3, duration=[5, 3])
        results = run(client, plan, budget="$0.80", in_flight=1)
        frame = results.frame()
        bought = frame[frame["status"] == "completed"]
        assert list(bought["duration"]) == [5, 3, 3]
        assert service.charged_micro_usd == VIDEO_5_S + 2 * VIDEO_3_S


def test_a_budget_covers_all_runs_of_a_sweep(tmp_path: Path) -> None:
    service = Service()
    with serving(service, tmp_path) as client:
        run(client, plan_of(client, 10), budget="$1")
    with serving(service, tmp_path) as client:
        results = run(client, plan_of(client, 10), budget="$1.50")
        assert statuses(results) == {"completed": 7, "unsent": 3}
        assert service.charged_micro_usd == 7 * VIDEO_3_S


def test_a_budget_below_the_cheapest_new_cell_is_refused_and_nothing_is_sent(
    tmp_path: Path,
) -> None:
    service = Service()
    with serving(service, tmp_path) as client:
        plan = plan_of(client, 3, duration=[5, 3])
        with pytest.raises(InputError, match=r"at least \$0\.204.*\$0\.20") as caught:
            begin(client, plan, budget="$0.20")
        assert caught.value.field == "budget"
        assert "Nothing was sent" in str(caught.value)
        assert not service.jobs


@pytest.mark.parametrize("amount", ["five", -1, 0.5, True])
def test_what_is_no_amount_is_refused_as_a_budget(tmp_path: Path, amount: Any) -> None:
    with serving(Service(), tmp_path) as client:
        with pytest.raises(InputError, match="budget") as caught:
            plan_of(client, 1).run(budget=amount)
        assert caught.value.field == "budget"


def test_a_sweep_that_has_used_its_budget_up_can_be_run_again(tmp_path: Path) -> None:
    service = Service()
    with serving(service, tmp_path) as client:
        plan = plan_of(client, 2, duration=[3, 5])
        run(client, plan, budget="$0.41", in_flight=1)
        again = run(client, plan_of(client, 2, duration=[3, 5]), budget="$0.30")
        assert statuses(again) == {"completed": 2, "unsent": 2}


def test_a_price_that_nobody_knows_is_not_sent_under_a_budget(tmp_path: Path) -> None:
    service = Service()
    with serving(service, tmp_path) as client:
        plan = client.sweep("text-to-image", prompt=["a", "b"])
        results = run(client, plan, budget="$5")
        assert statuses(results) == {"unsent": 2}
        assert "price is unknown" in problems(results, "unsent").pop()
        assert statuses(run(client, plan)) == {"completed": 2}


def test_one_cell_alone_may_use_the_whole_budget(tmp_path: Path) -> None:
    with serving(Service(), tmp_path) as client:
        results = run(client, plan_of(client, 5), budget="$0.204")
        assert statuses(results) == {"completed": 1, "unsent": 4}


def test_what_a_failed_job_held_is_used_for_others(tmp_path: Path) -> None:
    decide = failing_every(2, reads=1, fails="provider_error")
    with serving(Service(decide), tmp_path) as client:
        results = run(client, plan_of(client, 12), budget="$1.428")
        assert statuses(results) == {"completed": 6, "failed": 6}


def test_a_rate_that_has_drifted_is_held_from_the_first_charge_on(
    tmp_path: Path,
) -> None:
    service = Service(lambda *_: Outcome(factor=1.2, reads=1, settles=1))
    with serving(service, tmp_path) as client:
        results = run(client, plan_of(client, 30), budget="$5")
        assert service.charged_micro_usd <= 5_000_000
        assert service.charged_micro_usd > 5_000_000 - 1.2 * VIDEO_3_S
        assert "1.20 times" in problems(results, "unsent").pop()


def test_two_clients_share_a_sweeps_budget(tmp_path: Path) -> None:
    service = Service(lambda *_: Outcome(reads=1, settles=1))
    with serving(service, tmp_path) as one, serving(service, tmp_path) as other:
        both = [
            begin(client, plan_of(client, 20), budget="$3", in_flight=8)
            for client in (one, other)
        ]
        for results in both:
            results.wait(PATIENCE_S)
        assert service.charged_micro_usd == 14 * VIDEO_3_S


class Weather:
    """Chances of a random run: what goes wrong in it, and by how much."""

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


@pytest.mark.parametrize("seed", range(RANDOM_RUNS))
def test_a_run_never_spends_more_than_its_budget(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    weather = Weather(random)
    service = Service(weather.decide)
    # A cell alone may use the whole budget before anybody knows that rates drifted.
    least_usd = 1.25 * 0.68 if weather.factor > 1 else 0.1
    budget = f"{random.uniform(least_usd, 8):.2f}"
    durations = random.sample([3, 5, 10], random.choice([1, 2, 3]))
    with serving(service, tmp_path) as client:
        plan = plan_of(client, random.randrange(1, 16), duration=durations)
        try:
            results = begin(client, plan, budget, random.choice([1, 4, 16]))
        except InputError:
            assert min(plan.frame().high_micro_usd) > float(budget) * 1e6
            assert not service.jobs
            return
        results.wait(PATIENCE_S)
        if random.random() < 0.5:
            results.retry().wait(PATIENCE_S)
        # On a busy machine, the minute of a clock this fast may be over before a lost
        # answer has been asked for again, also while it is resumed.
        for _ in range(MOST_RESUMES):
            for job in client.resume():
                job.settle(PATIENCE_S)
            if results.progress.held_micro_usd == 0:
                break
        assert service.charged_micro_usd <= float(budget) * 1e6
        progress = results.progress
        assert progress.spent_micro_usd == service.charged_micro_usd
        assert progress.held_micro_usd == 0
        ended = progress.completed + progress.failed + progress.unsent
        assert ended == len(plan)
        charges = results.frame()["charge_micro_usd"]
        assert charges.sum() <= service.charged_micro_usd


# -- scale ------------------------------------------------------------------------


@pytest.mark.soak
def test_a_finished_cell_takes_less_than_two_kilobytes(tmp_path: Path) -> None:
    import gc
    import tracemalloc

    service = Service()
    with serving(service, tmp_path) as client:
        plan = plan_of(client, 200)
        run(client, plan_of(client, 20))
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        jobs = dict(service.jobs)
        results = begin(client, plan).wait(PATIENCE_S)
        made = service.jobs
        service.jobs, service.keys = jobs, {}
        service.posts.clear()
        made.clear()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        assert results.progress.completed == 200
        assert grown / 180 < 2_000
