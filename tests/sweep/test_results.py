"""Results: live and awaited, stopped and retried, rated and kept."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import pickle
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mediakit import Client, InputError, NotFoundError
from mediakit.client import AsyncJob
from mediakit.errors import WaitInterrupted, WaitTimeoutError
from mediakit.sandbox.server.running import RunningSandbox
from mediakit.sweep import Progress
from mediakit.sweep.blocking import Results
from mediakit.sweep.results import AsyncResults
from tests.support import zygote
from tests.support.waiting import until
from tests.sweep.runs import (
    VIDEO_3_S,
    begin,
    begin_async,
    plan_of,
    problems,
    run,
    statuses,
)
from tests.sweep.service import Outcome, Service


@pytest.fixture
def gated() -> Service:
    """Return a service whose jobs run until its gate is opened."""
    service = Service()
    service.gate = threading.Event()
    return service


# -- the frame --------------------------------------------------------------------


def test_the_frame_has_a_row_a_cell_and_the_same_types_at_any_time(
    gated: Service, tmp_path: Path
) -> None:
    with gated.client(tmp_path) as client:
        results = begin(client, plan_of(client, 6, duration=[3, 99]), in_flight=2)
        early = results.frame()
        assert gated.gate is not None
        gated.gate.set()
        late = results.wait().frame()
        assert dict(early.dtypes) == dict(late.dtypes)
        assert len(early) == len(late) == 12
        assert list(late.columns[:10]) == [
            "prompt",
            "duration",
            "take",
            "status",
            "charge_micro_usd",
            "charge_usd",
            "runtime_s",
            "rating",
            "keep",
            "job_id",
        ]
        types = {name: str(late[name].dtype) for name in late.columns}
        assert types["charge_micro_usd"] == "Int64"
        assert types["charge_usd"] == types["runtime_s"] == "float64"
        assert (types["rating"], types["keep"]) == ("Int64", "boolean")
        assert types["status"] == types["media_type"] == "category"


def test_a_cell_that_is_not_settled_has_no_charge_rather_than_none(
    gated: Service, tmp_path: Path
) -> None:
    with gated.client(tmp_path) as client:
        results = begin(client, plan_of(client, 4), in_flight=2)
        until(lambda: results.progress.running == 2)
        frame = results.frame()
        assert frame[["charge_micro_usd", "charge_usd"]].isna().all(axis=None)
        assert list(frame["status"]) == ["running"] * 2 + ["planned"] * 2
        assert frame["job_id"].notna().sum() == 2


def test_a_completed_cell_has_all_facts_about_its_job(tmp_path: Path) -> None:
    with Service(lambda *_: Outcome(reads=2)).client(tmp_path) as client:
        row = run(client, plan_of(client, 1)).frame().iloc[0]
        job = client.job(row["job_id"])
        assert (row["output_url"], row["media_type"]) == (job.url, "video")
        assert (row["prompt"], row["charge_micro_usd"]) == ("prompt 0", VIDEO_3_S)
        assert row["runtime_s"] > 0


# -- waiting ----------------------------------------------------------------------


def test_a_wait_that_times_out_says_how_far_the_sweep_is(
    gated: Service, tmp_path: Path
) -> None:
    with gated.client(tmp_path) as client:
        results = begin(client, plan_of(client, 5))
        with pytest.raises(WaitTimeoutError, match="The sweep continues") as caught:
            results.wait(0.05)
        assert caught.value.job is results
        assert "of 5 cells completed" in str(caught.value)
        assert gated.gate is not None
        gated.gate.set()
        assert results.wait() is results


def test_an_interrupt_ends_the_waiting_and_not_the_sweep(
    gated: Service, tmp_path: Path
) -> None:
    with gated.client(tmp_path) as client:
        results = begin(client, plan_of(client, 10), in_flight=4)
        # A shell ignores interrupts for what it runs in the background.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        timer = threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(WaitInterrupted, match="the sweep continues"):
            results.wait()
        timer.join()
        signal.signal(signal.SIGINT, before)
        assert gated.gate is not None
        gated.gate.set()
        assert results.wait().progress.completed == 10


def test_results_can_be_awaited_on_the_callers_loop(tmp_path: Path) -> None:
    with Service(lambda *_: Outcome(reads=1)).client(tmp_path) as client:
        results = begin(client, plan_of(client, 5))

        async def main() -> Results:
            return await results

        assert asyncio.run(main()) is results
        assert statuses(results) == {"completed": 5}


def test_async_results_do_the_same_awaited(tmp_path: Path) -> None:
    with Service(lambda *_: Outcome(reads=1)).client(tmp_path) as client:

        async def main() -> pd.DataFrame:
            results = begin_async(client, plan_of(client, 5))
            with pytest.raises(WaitTimeoutError, match="continues") as caught:
                await results.wait(0)
            assert caught.value.job is results
            assert await results is results
            frame = await results.frame()
            first, second = frame["job_id"][:2]
            await results.rate(first, 5)
            await results.keep(second)
            (kept,) = await results.kept
            assert isinstance(kept, AsyncJob)
            assert (kept.id, kept.charge_micro_usd) == (second, VIDEO_3_S)
            assert (await results.job(first)).id == first
            await results.stop()
            assert await results.retry() is results
            return await results.frame()

        frame = asyncio.run(main())
        assert list(frame["rating"].dropna()) == [5]


def test_both_kinds_of_results_have_the_same_methods() -> None:
    def signatures(kind: type) -> dict[str, Any]:
        methods = inspect.getmembers(kind, inspect.isfunction)
        return {
            name: list(inspect.signature(method).parameters.values())
            for name, method in methods
            if not name.startswith("_")
        }

    assert signatures(Results) == signatures(AsyncResults)


# -- stop and retry ---------------------------------------------------------------


def test_a_stopped_sweep_sends_no_more_and_settles_what_is_in_flight(
    gated: Service, tmp_path: Path
) -> None:
    with gated.client(tmp_path) as client:
        results = begin(client, plan_of(client, 10), in_flight=3)
        until(lambda: len(gated.jobs) == 3)
        assert results.stop() is results
        assert gated.gate is not None
        gated.gate.set()
        results.wait()
        assert statuses(results) == {"completed": 3, "unsent": 7}
        assert "was stopped" in problems(results, "unsent").pop()
        assert len(gated.jobs) == 3
        results.stop()
        results.retry().wait()
        assert statuses(results) == {"completed": 10}


def failing_first(body: dict[str, Any], before: int) -> Outcome:
    """Fail odd cells at the first attempt, of two kinds."""
    number = int(body["prompt"].split()[-1])
    if before or number % 2 == 0:
        return Outcome(reads=1)
    code = "content_moderation" if number % 4 == 1 else "provider_error"
    return Outcome(reads=1, fails=code)


def test_retry_submits_failed_cells_and_no_others(tmp_path: Path) -> None:
    service = Service(failing_first)
    with service.client(tmp_path) as client:
        results = run(client, plan_of(client, 12))
        assert statuses(results) == {"completed": 6, "failed": 6}
        assert results.retry() is results
        results.wait()
        assert statuses(results) == {"completed": 12}
        assert len(service.jobs) == 18
        assert service.charged_micro_usd == 12 * VIDEO_3_S
        again = run(client, plan_of(client, 12))
        assert again.frame()["job_id"].equals(results.frame()["job_id"])
        assert len(service.jobs) == 18


def test_retry_of_one_code_leaves_other_failures(tmp_path: Path) -> None:
    service = Service(failing_first)
    with service.client(tmp_path) as client:
        results = run(client, plan_of(client, 12))
        results.retry("provider_error").wait()
        assert statuses(results) == {"completed": 9, "failed": 3}
        assert "content_moderation" in problems(results, "failed").pop()


def test_a_retry_is_within_the_budget(tmp_path: Path) -> None:
    service = Service(failing_first)
    with service.client(tmp_path) as client:
        results = run(client, plan_of(client, 12), budget="$1.90")
        assert statuses(results) == {"completed": 6, "failed": 6}
        results.retry().wait()
        assert statuses(results) == {"completed": 9, "unsent": 3}
        assert service.charged_micro_usd == 9 * VIDEO_3_S


def test_a_retry_of_what_another_call_submitted_counts_against_the_budget(
    tmp_path: Path,
) -> None:
    service = Service(failing_first)
    with service.client(tmp_path) as client:
        for number in (1, 3, 5):
            job = client.submit("text-to-video", prompt=f"prompt {number}", duration=3)
            with pytest.raises(Exception, match="failed"):
                job.wait()
        results = run(client, plan_of(client, 6), budget="$0.90")
        assert statuses(results) == {"completed": 3, "failed": 3}
        results.retry().wait()
        assert statuses(results) == {"completed": 4, "unsent": 2}
        assert results.progress.spent_micro_usd == 4 * VIDEO_3_S


# -- what one thinks of it --------------------------------------------------------


def test_two_versions_of_a_prompt_are_compared_place_by_place(tmp_path: Path) -> None:
    with Service().client(tmp_path) as client:
        places = ["a lake", "a street", "a harbor"]
        versions = []
        for stars, prompt in enumerate(("a boat on {place}", "a kite over {place}"), 3):
            plan = client.sweep("text-to-video", prompt=prompt, place=places)
            results = run(client, plan)
            for job_id in results.frame()["job_id"]:
                results.rate(job_id, stars)
            versions.append(results)
        before, after = versions
        found = before.compare(after, by="place")
        assert "Over 3 values of place" in found.text
        assert "3 are too few to tell" in found.text
        assert found.frame["difference"].iloc[0] == 1
        assert before.compare(after.core).text == found.text
        with pytest.raises(InputError, match="colour"):
            before.compare(after, by="colour")


def test_ratings_are_kept_with_the_job_for_any_other_run(tmp_path: Path) -> None:
    with Service().client(tmp_path) as client:
        results = run(client, plan_of(client, 4))
        first, second = results.frame()["job_id"][:2]
        results.rate(first, 4)
        results.rate(results.job(second), 2)
        results.keep(second)
        results.note(first, "the sky is right")
        results.tag(first, "calm", "blue")
        frame = run(client, plan_of(client, 4)).frame()
        assert list(frame["rating"][:2]) == [4, 2]
        assert frame["rating"][2:].isna().all()
        assert list(frame["keep"]) == [False, True, False, False]
        assert list(frame["tags"].dropna()) == ["calm, blue"]
        assert list(frame["note"].dropna()) == ["the sky is right"]
        assert "rater" in frame
        results.keep(frame["job_id"][3])
        assert [job.id for job in results.kept] == list(frame["job_id"][[1, 3]])
        assert all(job.url for job in results.kept)
        results.rate(first, None)
        results.keep(second, False)
        results.keep(frame["job_id"][3], False)
        assert results.frame()["rating"].isna().sum() == 3
        assert results.kept == []


def test_only_jobs_of_the_history_are_rated_from_one_to_five(tmp_path: Path) -> None:
    with Service().client(tmp_path) as client:
        results = run(client, plan_of(client, 1))
        job_id = results.frame()["job_id"][0]
        wrong: list[Any] = [0, 6, 2.5, "good", True]
        for rating in wrong:
            with pytest.raises(InputError, match="rating"):
                results.rate(job_id, rating)
        unknown: list[Any] = ["media_unknown", 7]
        for job in unknown:
            with pytest.raises(NotFoundError, match="is not in this history"):
                results.rate(job, 3)
        unsent: Any = None
        with pytest.raises(InputError, match="a cell that was not sent has none"):
            results.rate(unsent, 3)


# -- progress ---------------------------------------------------------------------


def test_progress_is_reported_a_few_times_a_second_and_at_the_end(
    tmp_path: Path,
) -> None:
    with Service(lambda *_: Outcome(reads=2)).client(tmp_path) as client:
        told: list[tuple[float, str, Progress]] = []

        def listen(progress: Progress) -> None:
            thread = threading.current_thread().name
            told.append((time.monotonic(), thread, progress))

        results = begin(client, plan_of(client, 60), in_flight=8)
        results.subscribe(listen)
        results.wait()
        until(lambda: bool(told) and told[-1][2].is_done)
        assert 3 <= len(told) <= (told[-1][0] - told[0][0]) / 0.2 + 2
        assert {thread for _, thread, _ in told} == {"mediakit-io"}
        last = told[-1][2]
        assert (last.completed, last.sent, last.running) == (60, 60, 0)
        assert last.spent_micro_usd == 60 * VIDEO_3_S
        assert (last.held_micro_usd, last.eta_s) == (0, 0.0)
        assert any(progress.eta_s for _, _, progress in told)


def test_a_listener_that_raises_or_leaves_does_not_end_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Service(lambda *_: Outcome(reads=1)).client(tmp_path) as client:
        results = begin(client, plan_of(client, 8), in_flight=1)
        calls: list[Progress] = []

        def fails(_: Progress) -> None:
            raise ValueError("nobody listens")

        results.subscribe(fails)
        results.subscribe(calls.append)()
        results.wait()
        until(lambda: "nobody listens" in caplog.text)
        assert statuses(results) == {"completed": 8}
        assert calls == []


def test_the_repr_of_results_is_one_line_with_the_progress(tmp_path: Path) -> None:
    with Service(failing_first).client(tmp_path) as client:
        results = run(client, plan_of(client, 4, duration=[3, 99]), budget="$5")
        assert "2 of 4 cells completed, 2 failed, 4 invalid" in repr(results)
        assert "$0.408 spent of $5.00" in repr(results)


# -- the lives of a process -------------------------------------------------------


def test_results_stay_in_their_process(tmp_path: Path) -> None:
    with Service().client(tmp_path) as client:
        results = run(client, plan_of(client, 1))
        with pytest.raises(TypeError, match="make the plan there"):
            pickle.dumps(results)


def test_closing_the_client_ends_waits_with_a_readable_message(
    gated: Service, tmp_path: Path
) -> None:
    client = gated.client(tmp_path)
    results = begin(client, plan_of(client, 10), in_flight=3)
    until(lambda: len(gated.jobs) == 3)
    threading.Timer(0.3, client.close).start()
    with pytest.raises(WaitTimeoutError, match="The client was closed"):
        results.wait()
    with pytest.raises(WaitTimeoutError, match="The client was closed"):
        results.wait()
    assert statuses(results) == {"running": 3, "unsent": 7}
    assert gated.gate is not None
    gated.gate.set()
    with gated.client(tmp_path) as other:
        again = run(other, plan_of(other, 10))
        assert statuses(again) == {"completed": 10}
        assert len(gated.jobs) == 10


def test_a_client_that_is_closed_while_the_service_asks_to_wait_ends_the_run(
    tmp_path: Path,
) -> None:
    service = Service(lambda *_: Outcome(rejects=429, retry_after_s=86_400))
    client = service.client(tmp_path)
    results = begin(client, plan_of(client, 4))
    until(lambda: results.progress.trouble is not None)
    client.close()
    with pytest.raises(WaitTimeoutError, match="The client was closed"):
        results.wait()


SCRIPT = """
import sys
from pathlib import Path
from mediakit import Client
from tests.support.waiting import until
from tests.sweep.runs import begin, plan_of
base_url, api_key, home = sys.argv[1:]
client = Client(base_url, api_key, home=home)
results = begin(client, plan_of(client, 40), in_flight=4)
until(lambda: results.progress.sent >= 4)
print(len(client.history.frame()))
"""


@pytest.mark.soak
@pytest.mark.xdist_group("forks")  # where another test has started the zygote
def test_a_process_may_end_while_its_sweep_continues(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    life = zygote.start(SCRIPT, sandbox.base_url, sandbox.api_key, str(tmp_path))
    said, errors = life.finish()
    assert (life.returncode, errors) == (0, "")
    begun = json.loads(said)
    with Client(sandbox.base_url, sandbox.api_key, home=tmp_path) as client:
        results = run(client, plan_of(client, 5))
        assert statuses(results) == {"completed": 5}
        assert results.progress.owned >= min(begun, 4)


# -- beside a real service --------------------------------------------------------


def test_a_sweep_in_the_sandbox_costs_what_its_plan_says(own_client: Client) -> None:
    plan = plan_of(own_client, 1, duration=[3, 4])
    before = own_client.balance().balance_micro_usd
    results = run(own_client, plan, budget="$5", in_flight=4)
    assert statuses(results) == {"completed": 2}
    spent = before - own_client.balance().balance_micro_usd
    assert (
        spent == plan.frame().high_micro_usd.sum() == results.progress.spent_micro_usd
    )
    assert results.frame()["charge_micro_usd"].sum() == spent
