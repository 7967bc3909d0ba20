"""Submissions of unknown outcome: their holds, their resubmission and their cost."""

from __future__ import annotations

import asyncio
import io
import json
import socket
import sqlite3
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

import mediakit as mk
from mediakit.history import Entry, History
from tests.client.conftest import Open
from tests.support.advancing_clock import AdvancingClock
from tests.support.servers.serving import free_port
from tests.support.service_in_memory import (
    API,
    CHARGE_MICRO_USD,
    KEY,
    Answer,
    ServiceInMemory,
    says,
    tells,
)
from tests.support.waiting import until

DAY_S = 86_400.0
CLIP: dict[str, Any] = {"duration": 5}
NOT_FOUND = httpx.Response(404, json={"message": "no Route matched those values"})
PAGE = httpx.Response(404, html="<html>404 Not Found</html>")


def is_away(service: ServiceInMemory) -> Answer:
    return service.fails(httpx.ConnectError("no route to host"))


def loses_its_answer(service: ServiceInMemory) -> Answer:
    return service.fails(httpx.ReadError("lost"), makes_jobs=True)


def with_message(status: int) -> Answer:
    return says(httpx.Response(status, json={"message": "Forbidden by the gateway"}))


async def is_full(_: str, before: int) -> httpx.Response:
    error = {"code": "rate_limited", "message": "The queue is full."}
    job = {"id": f"media_full_{before}", "status": "failed", "error": error}
    return httpx.Response(429, json=job)


def connected(service: ServiceInMemory, home: Path) -> mk.Client:
    return mk.connect(
        API,
        KEY,
        home=home,
        catalog=mk.Catalog.default(),
        transport=httpx.MockTransport(service.handle),
    )


def failed_submit(client: mk.Client, prompt: str = "a kite", **how: Any) -> str:
    with pytest.raises(mk.MediakitError) as caught:
        client.submit("text-to-video", prompt=prompt, **CLIP, **how)
    return str(caught.value)


def held_micro_usd(client: mk.Client) -> int:
    """Return the amount held in the client's own budget."""
    state = client.budget()
    assert state is not None
    return state.reserved_micro_usd


# -- what was surely not sent --------------------------------------------------------


def test_an_unsent_request_holds_nothing_and_only_the_same_call_sends_it(
    service: ServiceInMemory, opened: Open, tmp_path: Path
) -> None:
    service.on_submit = is_away(service)
    offline = opened()
    assert "Nothing was sent and nothing is charged" in failed_submit(offline)
    assert offline.reserved_micro_usd() == 0
    offline.close()

    service.on_submit = service.accepts
    service.posts.clear()
    with connected(service, tmp_path) as client:
        assert client.resume() == []
        assert service.posts == []
        client.submit("text-to-video", prompt="a kite", **CLIP)
        assert len(service.posts) == len(service.jobs) == 1


def test_an_unsent_sweep_is_not_sent_on_the_next_connect(
    service: ServiceInMemory, opened: Open, tmp_path: Path
) -> None:
    service.on_submit = is_away(service)
    offline = opened()
    plan = offline.sweep("text-to-video", prompt=["a", "b", "c"], **CLIP)
    results = plan.run(budget="$5")
    results.wait()
    assert offline.reserved_micro_usd() == 0
    offline.close()

    service.on_submit = service.accepts
    with connected(service, tmp_path) as client:
        client.resume()
    assert service.jobs == {}


def test_an_unsent_request_of_a_closed_client_is_not_sent_on_the_next_connect(
    service: ServiceInMemory, opened: Open, clock: AdvancingClock
) -> None:
    service.on_submit, waits = is_away(service), threading.Event()
    clock.at_sleep = waits.set
    client = opened(clock=clock)
    with ThreadPoolExecutor(1) as threads:
        said = threads.submit(failed_submit, client)
        assert waits.wait()
        client.close()
        assert "Nothing was sent" in said.result()

    service.on_submit = service.accepts
    again = opened()
    assert again.reserved_micro_usd() == 0
    assert again.resume() == []
    assert service.jobs == {}


def test_connecting_lists_the_resent_requests_and_their_price(
    service: ServiceInMemory,
    opened: Open,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service.on_submit = loses_its_answer(service)
    lost = opened()
    for prompt in ("a kite", "a boat"):
        failed_submit(lost, prompt)
    lost.close()

    printed, said = io.StringIO(), []

    async def accepts(key: str, _: int) -> httpx.Response:
        said.append(printed.getvalue())
        return await service.accepts(key)

    service.on_submit = accepts
    monkeypatch.setattr(sys, "stdout", printed)
    with connected(service, tmp_path) as client:
        client.resume()

    assert len(said) >= 2
    assert "2 requests" in said[0]
    assert "up to $0.68" in said[0]
    assert len(service.jobs) == 2


# -- the budget of an unanswered submission -------------------------------------------


@pytest.mark.parametrize("take", [1, "next"])
def test_the_same_call_moves_an_unanswered_submit_to_its_budget_or_sends_nothing(
    take: Any, service: ServiceInMemory, opened: Open
) -> None:
    service.on_submit, service.on_read = loses_its_answer(service), service.runs
    failed_submit(opened(budget="$5"), take=take)
    posts_n = len(service.posts)

    kite: dict[str, Any] = {"prompt": "a kite", "take": take, **CLIP}
    may_be_made = "an earlier attempt got no answer and may have created a job"
    service.on_submit = service.accepts
    with pytest.raises(mk.BudgetError, match=may_be_made) as caught:
        opened(budget="$0.30").submit("text-to-video", **kite)
    assert "this client's budget of $0.30" in str(caught.value)
    assert caught.value.sent is None
    assert len(service.posts) == posts_n

    client = opened(budget="$0.40")
    client.submit("text-to-video", **kite)
    assert held_micro_usd(client) == client.reserved_micro_usd() == CHARGE_MICRO_USD
    assert list(service.jobs.values()) == ["media_1"]


def test_another_unanswered_take_or_attempt_is_moved_too(
    service: ServiceInMemory, opened: Open
) -> None:
    timed_out = tells(status="failed", error={"code": "timed_out", "message": ""})
    runs = service.runs
    service.on_read = service.by_job(media_1=timed_out, media_2=runs, media_3=runs)
    first = opened(budget="$5")
    job = first.submit("text-to-video", prompt="a kite", **CLIP)
    with pytest.raises(mk.JobFailedError):
        job.wait()
    service.on_submit = loses_its_answer(service)
    for ask in (job.next_take, job.retry):
        with pytest.raises(mk.ServiceError):
            ask()

    service.on_submit = service.accepts
    later = opened(budget="$1")
    for ask in (later.job(job.id).next_take, later.job(job.id).retry):
        ask()
    assert held_micro_usd(later) == 2 * CHARGE_MICRO_USD
    assert held_micro_usd(first) == 0
    assert len(service.jobs) == 3


def test_a_resumed_request_stays_in_the_budget_of_its_first_attempt(
    service: ServiceInMemory, opened: Open
) -> None:
    service.on_submit = service.fails(httpx.ReadError("lost"))
    service.on_read = service.runs
    first = opened(budget="$5", project="kites")
    failed_submit(first)

    service.on_submit = service.in_turn(is_full, service.accepts)
    service.posts.clear()
    later = opened(budget="$0.30")
    assert len(later.resume()) == 1
    assert (held_micro_usd(later), held_micro_usd(first)) == (0, CHARGE_MICRO_USD)


# -- verdicts after doubt ------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_after_a_lost_response_no_refusal_releases_the_hold_or_the_key(
    status: int, service: ServiceInMemory, opened: Open
) -> None:
    service.on_submit = service.in_turn(
        loses_its_answer(service), with_message(status), service.accepts
    )
    client = opened()
    said = failed_submit(client, take="next")

    assert "may have created the job" in said
    assert not any(words in said for words in ("no job was", "Nothing was charged"))
    assert client.reserved_micro_usd() == CHARGE_MICRO_USD
    job = client.submit("text-to-video", prompt="a kite", **CLIP, take="next")
    assert list(service.jobs.values()) == [job.id]
    assert len(set(service.posts)) == 1


def test_a_refusal_is_final_once_the_outcome_was_unknown_for_a_day(
    service: ServiceInMemory, opened: Open, clock: AdvancingClock
) -> None:
    service.on_submit = service.in_turn(loses_its_answer(service), with_message(422))
    client = opened()
    failed_submit(client)
    failed_submit(client)
    assert client.reserved_micro_usd() == CHARGE_MICRO_USD

    clock.skip(DAY_S)
    failed_submit(client)
    assert client.reserved_micro_usd() == 0


def test_the_next_take_after_a_refusal_tries_the_same_key_first(
    service: ServiceInMemory, opened: Open
) -> None:
    async def made_behind_a_gateway(key: str, _: int) -> httpx.Response:
        await service.accepts(key)
        return httpx.Response(500, json={"message": "Internal server error"})

    service.on_submit = service.in_turn(made_behind_a_gateway, service.accepts)
    client = opened()
    failed_submit(client, take="next")
    first = client.submit("text-to-video", prompt="a kite", **CLIP, take="next")
    assert list(service.jobs.values()) == [first.id]
    another = client.submit("text-to-video", prompt="a kite", **CLIP, take="next")
    assert list(service.jobs.values()) == [first.id, another.id]


def test_another_take_of_a_job_tries_the_key_of_a_refused_take_first(
    service: ServiceInMemory, opened: Open
) -> None:
    client = opened()
    first = client.submit("text-to-video", prompt="a kite", **CLIP)
    service.on_submit = with_message(500)
    with pytest.raises(mk.ServiceError):
        first.next_take()
    service.on_submit = service.accepts
    first.next_take()
    assert len(set(service.posts)) == len(service.jobs) == 2


def test_the_next_take_after_a_key_bound_to_another_request_gets_a_new_key(
    service: ServiceInMemory, opened: Open
) -> None:
    service.on_submit = service.in_turn(with_message(409), service.accepts)
    client = opened()
    assert 'take="next"' in failed_submit(client)
    client.submit("text-to-video", prompt="a kite", **CLIP, take="next")
    assert len(set(service.posts)) == 2


@pytest.mark.parametrize("rejections", [0, 1])
def test_concurrent_takes_of_two_clients_with_one_history_are_two_jobs(
    rejections: int, service: ServiceInMemory, opened: Open
) -> None:
    first_waits, second_came = threading.Event(), asyncio.Event()

    async def answer(key: str, before: int) -> httpx.Response:
        if before < rejections:
            return await is_full(key, before)
        if before > rejections:
            second_came.set()
        first_waits.set()
        await second_came.wait()
        return await service.accepts(key)

    def take(client: mk.Client) -> str:
        kite: dict[str, Any] = {"prompt": "a kite", **CLIP}
        return client.submit("text-to-video", take="next", **kite).id

    service.on_submit, service.on_read = answer, service.runs
    one, other = opened(budget="$0.40"), opened(budget="$0.40")
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(take, one)
        assert first_waits.wait()
        assert take(other) != first.result()
    assert len(set(service.posts)) == 2 + rejections
    assert held_micro_usd(one) == held_micro_usd(other) == CHARGE_MICRO_USD


def test_a_take_is_one_row_of_the_frame_however_often_it_was_rejected(
    service: ServiceInMemory, opened: Open
) -> None:
    service.on_submit = service.in_turn(is_full, is_full, service.accepts)
    client = opened()
    job = client.submit("text-to-video", prompt="a kite", **CLIP)
    frame = client.history.frame()
    assert list(frame["job_id"]) == [job.id]
    assert list(frame["attempt"]) == [3]
    assert len(client.history.page()) == len(set(service.posts)) == 3

    service.on_submit = is_full
    failed_submit(client, "another")
    assert next(iter(client.history.frame()["status"])) == "failed"


# -- a 404 for a job that was accepted -----------------------------------------------


@pytest.mark.parametrize("answer", [NOT_FOUND, PAGE], ids=["a message", "a page"])
@pytest.mark.parametrize("known_first", [0, 1], ids=["at the first read", "later"])
def test_a_404_for_an_accepted_job_is_read_again_and_its_hold_stays(
    known_first: int, answer: httpx.Response, service: ServiceInMemory, opened: Open
) -> None:
    unknown = [says(answer)] * 3
    service.on_read = service.in_turn(
        *[service.runs] * known_first, *unknown, service.completes
    )
    client = opened(budget=mk.Budget("kites", "$0.50"))
    job = client.submit("text-to-video", prompt="a kite", **CLIP)
    with pytest.raises(mk.BudgetError):
        client.submit("text-to-video", prompt="another", **CLIP)
    job.wait().settle()
    with pytest.raises(mk.BudgetError):
        client.run("text-to-video", prompt="another", **CLIP)

    assert job.charge_micro_usd == CHARGE_MICRO_USD
    used = client.budget()
    assert used is not None
    assert (used.spent_micro_usd, used.reserved_micro_usd) == (CHARGE_MICRO_USD, 0)
    assert len(service.jobs) == 1


def test_a_job_that_is_unknown_for_minutes_keeps_its_hold_and_recovers(
    service: ServiceInMemory, opened: Open, clock: AdvancingClock
) -> None:
    service.on_read = says(NOT_FOUND)
    client = opened()
    job = client.submit("text-to-video", prompt="a kite", **CLIP)
    with pytest.raises(mk.NotFoundError, match=job.id):
        job.wait()
    assert clock.monotonic_s() > 100
    assert client.reserved_micro_usd() == CHARGE_MICRO_USD
    with pytest.raises(mk.GoneError):
        client.submit("text-to-video", prompt="a kite", **CLIP)

    service.on_read = service.completes
    assert job.wait() is job
    job.settle()
    assert job.charge_micro_usd == client.history.settled_total_micro_usd()
    assert client.reserved_micro_usd() == 0


def test_a_job_that_is_unknown_for_a_day_holds_nothing(
    service: ServiceInMemory, opened: Open, clock: AdvancingClock
) -> None:
    service.on_read = says(NOT_FOUND)
    client = opened()
    job = client.submit("text-to-video", prompt="a kite", **CLIP)
    with pytest.raises(mk.NotFoundError):
        job.wait()
    client.close()

    clock.skip(DAY_S)
    client = opened()
    assert client.reserved_micro_usd() == CHARGE_MICRO_USD
    (job,) = client.resume()
    with pytest.raises(mk.GoneError):
        job.wait()
    assert client.reserved_micro_usd() == 0
    assert opened().resume() == []


def test_the_same_call_returns_an_accepted_job_that_a_read_does_not_find_yet(
    service: ServiceInMemory, opened: Open
) -> None:
    service.on_read = says(NOT_FOUND)
    first = opened()
    job_id = first.submit("text-to-video", prompt="a kite", **CLIP).id
    first.close()

    client = opened()
    job = client.submit("text-to-video", prompt="a kite", **CLIP)
    assert (job.id, job.reused) == (job_id, True)
    service.on_read = service.completes
    job.wait()
    assert len(service.posts) == 1


def interrupted(client: mk.Client, paused: threading.Event, *prompts: str) -> None:
    """Submit as a cell that is interrupted as soon as a call pauses."""

    async def cell() -> None:
        tasks = []
        for prompt in prompts:
            submit = client.core.submit("text-to-video", prompt=prompt, **CLIP)
            tasks.append(asyncio.create_task(submit))
            assert await asyncio.to_thread(paused.wait)
            paused.clear()
        for task in tasks:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(cell())


async def says_later(_: str, __: int) -> httpx.Response:
    headers = {"Retry-After": "60"}
    return httpx.Response(429, json={"message": "Slow down."}, headers=headers)


@pytest.mark.parametrize("waits_for", ["network", "limit", "slot"])
def test_an_unsent_request_of_a_cancelled_call_is_not_sent_on_the_next_connect(
    service: ServiceInMemory, opened: Open, tmp_path: Path, waits_for: str
) -> None:
    paused = threading.Event()

    class Stopping(AdvancingClock):
        async def sleep(self, seconds: float) -> None:
            paused.set()
            await asyncio.Event().wait()

    service.on_submit = is_away(service) if waits_for == "network" else says_later
    client = opened(clock=Stopping())
    # While a service is full, the other calls send nothing.
    others = ["a boat"] if waits_for == "slot" else []
    interrupted(client, paused, *others, "a kite")
    assert len(service.posts) == 1
    assert client.reserved_micro_usd() == 0
    client.close()

    service.on_submit = service.accepts
    with connected(service, tmp_path) as again:
        assert again.resume() == []
        assert service.jobs == {}
        again.submit("text-to-video", prompt="a kite", **CLIP)
    assert len(service.jobs) == 1


def test_a_request_cancelled_while_the_file_is_locked_is_not_sent_later(
    service: ServiceInMemory,
    opened: Open,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = opened()
    claims, waits, claim = count(1), threading.Event(), History.claim

    def counted(*args: Any, **kwargs: Any) -> tuple[Entry, bool]:
        if next(claims) > 1:  # the first does not wait
            waits.set()
        return claim(*args, **kwargs)

    monkeypatch.setattr(History, "claim", counted)

    async def cell() -> None:
        call = client.core.submit("text-to-video", prompt="a kite", **CLIP)
        task = asyncio.create_task(call)
        assert await asyncio.to_thread(waits.wait)
        task.cancel()
        other.rollback()
        with pytest.raises(asyncio.CancelledError):
            await task

    file = tmp_path / "history.sqlite3"
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        asyncio.run(cell())
    assert client.reserved_micro_usd() == 0
    client.close()
    with connected(service, tmp_path) as again:
        assert again.resume() == []
        assert service.posts == []
        again.submit("text-to-video", prompt="a kite", **CLIP)
    assert len(service.jobs) == 1


def test_a_request_cancelled_while_connecting_is_not_sent_later(
    tmp_path: Path,
) -> None:
    # It accepts connections, but never responds to the TLS handshake.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}"
        settings: Any = {"home": tmp_path, "catalog": mk.Catalog.default()}
        client = mk.Client(url, "key", **settings)
        # Where no upper price is known, no balance is read first.
        clip = f"http://127.0.0.1:{free_port()}/clip.mp4"

        def states() -> list[str]:
            return list(client.history.frame()["state"])

        async def cell() -> None:
            call = client.core.submit("video-upscale", video_url=clip)
            task = asyncio.create_task(call)
            await asyncio.to_thread(until, lambda: states() == ["unanswered"])
            connection, _ = await asyncio.to_thread(silent.accept)
            task.cancel()
            with connection, pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(cell())
        assert states() == ["refused"]
        client.close()
        with mk.Client(url, "key", **settings) as again:
            assert again.resume() == []


# -- resume --------------------------------------------------------------------------


def test_resume_polls_existing_jobs_first_and_sends_the_others_concurrently(
    service: ServiceInMemory, opened: Open
) -> None:
    prompts = [f"kite {number}" for number in range(5)]
    service.on_read = service.runs
    earlier = opened()
    earlier.submit("text-to-video", prompt="accepted", **CLIP)
    service.on_submit = loses_its_answer(service)
    for prompt in prompts:
        failed_submit(earlier, prompt)
    earlier.close()

    was_read, under_way = asyncio.Event(), []

    async def completes(job_id: str, _: int) -> httpx.Response:
        was_read.set()
        return await service.completes(job_id)

    all_sent = asyncio.Event()

    async def accepts(key: str, _: int) -> httpx.Response:
        under_way.append(key)
        if len(under_way) == len(prompts):
            all_sent.set()
        await was_read.wait()
        await all_sent.wait()
        return await service.accepts(key)

    service.on_read, service.on_submit = completes, accepts
    client = opened(clock=AdvancingClock())
    jobs = client.resume()
    assert [job.id for job in jobs] == [f"media_{n}" for n in range(1, 7)]
    assert len(under_way) == len(set(under_way)) == len(prompts)


# -- jobs that ran, and jobs of two requests -----------------------------------------


UNAVAILABLE = {"code": "provider_unavailable", "message": "The provider went away."}
FAILED = {"status": "failed", "error": UNAVAILABLE, "runtime_s": 12.5}


def test_a_job_that_ran_and_failed_as_unavailable_is_returned_by_the_same_call(
    service: ServiceInMemory, opened: Open
) -> None:
    service.on_read = service.in_turn(service.runs, tells(**FAILED))
    client = opened()
    job = client.submit("text-to-video", prompt="a kite", **CLIP)
    with pytest.raises(mk.JobFailedError):
        job.wait()
    for _ in range(2):
        with pytest.raises(mk.JobFailedError, match="The same call returns this job"):
            client.submit("text-to-video", prompt="a kite", **CLIP)
    assert len(service.posts) == 1
    plan = client.sweep("text-to-video", prompt=["a kite", "a boat"], **CLIP)
    assert "1 failed before" in repr(plan)


def test_a_job_that_ran_before_its_response_arrived_is_returned_by_the_same_call(
    service: ServiceInMemory, opened: Open
) -> None:
    has_failed = says(httpx.Response(200, json={"id": "media_1", **FAILED}))
    service.on_submit = service.in_turn(loses_its_answer(service), has_failed)
    service.on_read = tells(**FAILED)
    client = opened()
    for _ in range(3):
        with pytest.raises(mk.JobFailedError, match="media_1"):
            client.submit("text-to-video", prompt="a kite", **CLIP)
    assert len(set(service.posts)) == 1


def test_requests_with_the_same_job_count_its_charge_once(
    service: ServiceInMemory, opened: Open
) -> None:
    client = opened(budget=mk.Budget("kites", "$5"))
    service.on_submit = says(
        httpx.Response(200, json={"id": "media_1", "status": "queued"})
    )
    client.submit("text-to-video", prompt="a kite", **CLIP).settle()
    for prompt in ("a boat", "a tree"):
        assert "media_1" in failed_submit(client, prompt)

    used = client.budget()
    assert used is not None
    assert (used.spent_micro_usd, used.reserved_micro_usd) == (CHARGE_MICRO_USD, 0)
    assert client.spend.charges().charge_micro_usd.sum() == CHARGE_MICRO_USD


# -- words ---------------------------------------------------------------------------


def test_a_bare_429_does_not_say_that_no_job_was_created(
    service: ServiceInMemory, opened: Open
) -> None:
    async def busy(key: str, _: int) -> httpx.Response:
        await service.accepts(key)
        return httpx.Response(429, headers={"Retry-After": "3600"}, text="slow down")

    service.on_submit = service.in_turn(busy, service.accepts)
    client = opened()
    said = failed_submit(client)
    assert "may have created the job" in said
    assert "no job was created" not in said
    assert client.reserved_micro_usd() == CHARGE_MICRO_USD
    client.submit("text-to-video", prompt="a kite", **CLIP)
    assert len(service.jobs) == 1


def test_a_disk_that_fills_after_the_request_was_sent_says_that_a_job_may_exist(
    service: ServiceInMemory, opened: Open, tmp_path: Path
) -> None:
    def change(statement: str) -> None:
        with closing(sqlite3.connect(tmp_path / "history.sqlite3")) as history:
            history.execute(statement)
            history.commit()

    async def accepts_and_fills(key: str, _: int) -> httpx.Response:
        change(
            "CREATE TRIGGER is_full BEFORE UPDATE ON mediakit_entries "
            "BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END"
        )
        return await service.accepts(key)

    service.on_submit = accepts_and_fills
    client = opened()
    said = failed_submit(client)
    assert "disk is full" in said
    assert "The request was sent, and the service answered with the job media_1" in said

    change("DROP TRIGGER is_full")
    service.on_submit = service.accepts
    assert client.submit("text-to-video", prompt="a kite", **CLIP).id == "media_1"
    assert len(service.jobs) == 1


@pytest.mark.parametrize("key", ["key-0123\n", "key-01\r\n23", "schlüssel-0123", "k 1"])
def test_a_key_that_is_not_a_valid_header_is_rejected_with_a_readable_message(
    key: str, tmp_path: Path
) -> None:
    for make in (mk.Client, mk.connect, mk.AsyncClient):
        with pytest.raises(mk.InputError, match="api_key") as caught:
            make(API, key, home=tmp_path)
        assert key.strip() not in str(caught.value)
    assert json.dumps(key)[1:-1] not in str(caught.value)
