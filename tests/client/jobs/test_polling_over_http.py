"""Jobs watched over real HTTP, on real event loops and threads."""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any, TypedDict
from urllib.parse import unquote

import pytest

from mediakit import AsyncClient
from mediakit.client import AsyncJob, Service
from mediakit.client.job_state import JobState
from mediakit.client.loop import io_thread
from mediakit.client.polling import AT_ONCE, process_turns
from mediakit.clock import Clock, VirtualClock
from mediakit.errors import (
    AuthError,
    JobFailedError,
    MediakitError,
    RateLimitError,
    ServiceError,
    WaitTimeoutError,
)
from mediakit.history import History
from mediakit.records import Job as JobRecord
from tests.support.advancing_clock import AdvancingClock
from tests.support.clients import async_client
from tests.support.servers.job_server import JobServer, Said, completed, running
from tests.support.submissions import submission

LATE_S = 2.0
PATIENCE_S = 60.0
PENDING: dict[str, Any] = {"status": "completed", "billing": {"state": "pending"}}
PAGE = Said(b"<html>404 Not Found</html>", status=404)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History(tmp_path / "history.sqlite") as history:
        yield history


def client_of(
    server: JobServer, history: History, clock: Clock | None = None
) -> AsyncClient:
    return async_client(Service(server.base_url, "a-key"), history=history, clock=clock)


class Owner(TypedDict):
    """Whose jobs these are, as the history is asked for them."""

    service: str
    account: str


def left(
    server: JobServer, history: History, names: Sequence[str], **record: Any
) -> Owner:
    """Leave jobs in the history, as an earlier process did; return whose they are."""
    service = Service(server.base_url, "a-key")
    owner: Owner = {"service": service.identity, "account": service.account}
    for name in names:
        history.claim(submission(f"k {name}", draw_key=f"d {name}", **owner))
        its_record = JobRecord.model_validate({**record, "id": name})
        history.record_job(f"k {name}", its_record)
    return owner


def test_sixty_jobs_of_two_clients_keep_to_one_rate_limit(history: History) -> None:
    names = [f"media_{number}" for number in range(60)]

    async def watch(server: JobServer) -> None:
        async with client_of(server, history) as one, client_of(server, history) as two:
            clients = [(one, two)[number % 2] for number in range(len(names))]
            jobs = [await c.job(n) for c, n in zip(clients, names, strict=True)]
            await asyncio.gather(*(job.settle(PATIENCE_S) for job in jobs))

    with JobServer(lambda name, n: running(name) if n < 2 else completed(name)) as it:
        with asyncio.Runner() as runner:
            runner.run(watch(it))
        # The first read of each was the user's own.
        at_s = [at for number, (at, _) in enumerate(it.reads) if number >= len(names)]

    assert len(at_s) == 60 * 2
    pace = 1 / process_turns().gap_s
    for (i, begins_s), (j, ends_s) in combinations(enumerate(at_s), 2):
        # A slow machine may hear of many at once: only long runs of reads tell.
        if j - i >= len(names):
            lasted_s = ends_s - begins_s + LATE_S
            assert j - i + 1 <= pace * lasted_s + 2 + 2 * AT_ONCE


def watched(say: JobServer, history: History) -> AsyncJob:
    """Watch a job until the waiting for it ends, and return it."""

    async def wait() -> AsyncJob:
        async with client_of(say, history) as client:
            job = await client.job("media_0")
            await job.settle(PATIENCE_S)
            return job

    with asyncio.Runner() as runner:
        return runner.run(wait())


@pytest.mark.parametrize(
    "odd",
    [
        Said({"id": "media_0", "status": 7}),
        Said({"status": "running"}),
        Said({}, status=202),
        Said(b"", status=204),
        Said({}, status=302),
    ],
    ids=["status", "no id", "202", "204", "302"],
)
def test_an_answer_that_is_no_job_is_asked_for_again(
    history: History, odd: Said
) -> None:
    def say(job_id: str, reads: int) -> Said:
        return (running(job_id), odd)[reads] if reads < 2 else completed(job_id)

    with JobServer(say) as server:
        assert watched(server, history).charge_micro_usd == 340_000


def test_a_wait_that_ends_names_the_last_trouble(history: History) -> None:
    gateway = Said(b"<html>Bad gateway</html>", status=502)
    in_trouble = threading.Event()

    def look(state: JobState) -> None:
        if state.trouble:
            in_trouble.set()

    def say(job_id: str, reads: int) -> Said:
        return gateway if reads else running(job_id)

    async def wait(server: JobServer) -> None:
        async with client_of(server, history) as client:
            job = await client.job("media_0")
            job.subscribe(look)
            await asyncio.to_thread(in_trouble.wait, PATIENCE_S)
            await job.wait(0.1)

    with (
        JobServer(say) as server,
        asyncio.Runner() as runner,
        pytest.raises(WaitTimeoutError, match="502") as caught,
    ):
        runner.run(wait(server))
    assert "The job continues" in str(caught.value)


@pytest.mark.parametrize(
    "fields",
    [
        {"usage": []},
        {"runtime_s": "long"},
        {"model_id": 7},
        {"deleted_at": "yesterday"},
        {"error": "none"},
        {"usage": "much", "runtime_s": [], "error": 5},
    ],
    ids=str,
)
def test_a_charged_job_gives_its_result_and_charge_whatever_else_is_unreadable(
    history: History, fields: dict[str, Any]
) -> None:
    def say(job_id: str, _: int) -> Said:
        body = completed(job_id).body
        assert not isinstance(body, bytes)
        return Said({**body, **fields})

    with JobServer(say) as server:
        job = watched(server, history)

    assert job.charge_micro_usd == 340_000
    assert job.url == "http://media.test/kite.mp4"
    assert job.state.record.unreadable == fields


def test_an_id_is_one_segment_of_the_path(history: History) -> None:
    async def ask(server: JobServer) -> None:
        async with client_of(server, history) as client:
            await client.job("../media_0?a=b#c")

    with (
        JobServer(lambda name, _: running(unquote(name))) as server,
        asyncio.Runner() as runner,
    ):
        runner.run(ask(server))

    assert {name for _, name in server.reads} == {"..%2Fmedia_0%3Fa%3Db%23c"}


def test_a_listener_that_raises_is_logged_by_name_and_the_others_are_notified(
    history: History, caplog: pytest.LogCaptureFixture
) -> None:
    settled: list[str] = []

    def clumsy(_: object) -> None:
        raise ZeroDivisionError

    async def wait(server: JobServer) -> AsyncJob:
        async with client_of(server, history) as client:
            client.on_settled(clumsy)
            client.on_settled(lambda job: settled.append(job.id))
            job = await client.job("media_0")
            job.subscribe(lambda _: None)
            return await job.settle(PATIENCE_S)

    with (
        JobServer(lambda name, n: completed(name) if n else running(name)) as server,
        asyncio.Runner() as runner,
    ):
        job = runner.run(wait(server))

    assert settled == ["media_0"]
    assert job.state.trouble is None
    assert "a listener raised an error: " in caplog.text
    assert "clumsy" in caplog.text


def test_a_listener_never_gets_an_older_state_after_a_newer_one(
    history: History,
) -> None:
    seen: list[str] = []
    newer = threading.Event()

    def listen(state: JobState) -> None:
        if io_thread().is_here:
            newer.set()
        else:
            newer.wait(0.7)  # the poller reads the end meanwhile
        seen.append(state.record.status.value)

    async def subscribe(server: JobServer) -> None:
        async with client_of(server, history) as client:
            job = await client.job("media_0")
            await asyncio.to_thread(job.subscribe, listen)
            await job.settle(PATIENCE_S)

    with (
        JobServer(lambda name, n: completed(name) if n else running(name)) as server,
        asyncio.Runner() as runner,
    ):
        runner.run(subscribe(server))

    assert seen == ["running", "completed"]


def test_an_error_that_is_raised_again_keeps_the_length_of_its_traceback(
    history: History,
) -> None:
    async def lengths(server: JobServer) -> list[int]:
        found = []
        async with client_of(server, history) as client:
            job = await client.job("media_0")
            for _ in range(4):
                try:
                    await job.settle(PATIENCE_S)
                except AuthError as error:
                    found.append(len(traceback.extract_tb(error.__traceback__)))
        return found

    refused = Said({"message": "no such key"}, status=401)
    with (
        JobServer(lambda name, n: refused if n else running(name)) as server,
        asyncio.Runner() as runner,
    ):
        first, *later = runner.run(lengths(server))
    assert later == [first] * 3


@pytest.mark.spec("9")
def test_a_job_survives_a_status_and_a_billing_that_are_new_to_us(
    history: History,
) -> None:
    def say(job_id: str, reads: int) -> Said:
        if reads > 2:
            return completed(job_id)
        billing = {"state": "metering"} if reads == 0 else None
        return Said({"id": job_id, "status": "post_processing", "billing": billing})

    with JobServer(lambda name, n: say(name, n + 1)) as server:
        job = watched(server, history)

    assert job.state.charge_micro_usd == 340_000
    assert job.state.trouble is None


@pytest.mark.parametrize(
    "said",
    [
        Said(b'{"id": "media_0", "sta'),
        Said(b"<html>Sign in</html>"),
        PAGE,
        Said(b"{}", status=404),
        Said({"message": "broken"}, status=500),
        Said({"message": "too many"}, status=429, headers={"Retry-After": "1"}),
    ],
    ids=["cut off", "a page", "a page's 404", "no words", "broken", "too many"],
)
def test_trouble_on_the_way_is_said_and_passes(history: History, said: Said) -> None:
    def say(job_id: str, reads: int) -> Said:
        return said if reads == 1 else (completed if reads else running)(job_id)

    troubles: list[str | None] = []

    async def wait(server: JobServer) -> None:
        async with client_of(server, history) as client:
            job = await client.job("media_0")
            job.subscribe(lambda state: troubles.append(state.trouble))
            await job.settle(PATIENCE_S)

    with JobServer(say) as server, asyncio.Runner() as runner:
        runner.run(wait(server))

    said_once = [trouble for trouble in troubles if trouble]
    assert len(said_once) == 1
    assert "Retrying in 1 s" in said_once[0]
    assert "job continues." in said_once[0]
    assert troubles[-1] is None
    assert len(server.reads) == 3


def test_a_limit_of_an_hour_is_said_instead_of_slept_through(history: History) -> None:
    hour = Said({"message": "enough"}, status=429, headers={"Retry-After": "3600"})

    with (
        JobServer(lambda name, n: hour if n else running(name)) as server,
        pytest.raises(RateLimitError) as caught,
    ):
        watched(server, history)

    assert caught.value.retry_after_s == 3_600
    assert caught.value.retry_at is not None
    assert "The job continues." in str(caught.value)
    assert len(server.reads) == 2


def test_a_pause_ends_with_the_client_that_was_asked_for_it(history: History) -> None:
    hour = Said({"message": "enough"}, status=429, headers={"Retry-After": "3600"})
    is_busy = [True]

    def say(name: str, n: int) -> Said:
        if is_busy:
            return hour if n else running(name)
        return running(name) if n < 3 else completed(name)

    with JobServer(say) as server:
        with pytest.raises(RateLimitError):
            watched(server, history)
        is_busy.clear()
        watched(server, history)


@pytest.mark.spec("2.1")
def test_a_job_that_failed_without_words_fails_with_its_code(history: History) -> None:
    error = {"code": "internal", "message": None}

    def say(job_id: str, _: int) -> Said:
        return Said({"id": job_id, "status": "failed", "error": error})

    async def wait(server: JobServer) -> None:
        async with client_of(server, history) as client:
            await (await client.job("media_0")).wait(PATIENCE_S)

    with (
        JobServer(say) as server,
        asyncio.Runner() as runner,
        pytest.raises(JobFailedError, match=r"failed \(internal\)\. Failed jobs"),
    ):
        runner.run(wait(server))


@pytest.mark.spec("2.2")
def test_a_charge_that_is_restated_later_does_not_replace_the_first(
    history: History,
) -> None:
    charges = iter([340_000, 999_999, 340_000])

    def say(job_id: str, _: int) -> Said:
        billing = {"state": "settled", "charge_micro_usd": next(charges)}
        return Said({"id": job_id, "status": "completed", "billing": billing})

    async def read_thrice(server: JobServer) -> None:
        async with client_of(server, history) as client:
            job = await client.job("media_0")
            for _ in range(2):
                assert job.charge_micro_usd == 340_000
                await job.refresh()
            assert job.charge_micro_usd == 340_000

    with JobServer(say) as server, asyncio.Runner() as runner:
        runner.run(read_thrice(server))


def test_closing_a_client_ends_the_waiting_and_names_the_job(history: History) -> None:
    async def close_while_waiting(server: JobServer) -> None:
        client = client_of(server, history)
        job = await client.job("media_0")
        waiting = asyncio.ensure_future(job.wait())
        await asyncio.sleep(0)
        await client.aclose()
        with pytest.raises(WaitTimeoutError, match=r"closed.*media_0.*job continues"):
            await waiting

    with (
        JobServer(lambda name, n: running(name)) as server,
        asyncio.Runner() as runner,
    ):
        runner.run(close_while_waiting(server))


def test_what_an_earlier_process_left_is_read_at_the_next_start(
    history: History,
) -> None:
    async def resume(server: JobServer) -> list[AsyncJob]:
        async with client_of(server, history, AdvancingClock()) as client:
            jobs = await client.resume()
            at_first.extend(job.state.record.status.value for job in jobs)
            waiting = (job.settle(PATIENCE_S) for job in jobs)
            ended = await asyncio.gather(*waiting, return_exceptions=True)
            [error] = [each for each in ended if isinstance(each, BaseException)]
            assert isinstance(error, MediakitError)
            assert "media_1" in str(error)
            (open_entry,) = history.unsettled(service=owner["service"])
            assert open_entry.job_id == "media_1"
            assert history.settled_total_micro_usd(**owner) == 2 * 340_000
            return jobs

    at_first: list[str] = []
    unknown = Said({"message": "no such job"}, status=404)
    with (
        JobServer(
            lambda name, _: unknown if name == "media_1" else completed(name)
        ) as it,
        asyncio.Runner() as runner,
    ):
        names = [f"media_{number}" for number in range(3)]
        owner = left(it, history, names, **PENDING)
        jobs = runner.run(resume(it))

    assert at_first == ["completed"] * 3
    read = [name for _, name in it.reads]
    assert (read.count("media_0"), read.count("media_2")) == (1, 1)
    assert read.count("media_1") > 5
    assert jobs[0].state.record.output is not None
    assert "does not know the job media_1" in str(jobs[1].state.trouble)


def test_a_404_in_a_gateway_s_words_takes_no_hold_away(history: History) -> None:
    held: list[int] = []

    def say(job_id: str, reads: int) -> Said:
        held.append(history.reserved_micro_usd(**owner))
        return PAGE if reads < 2 else completed(job_id)

    async def wait(server: JobServer) -> None:
        async with client_of(server, history, AdvancingClock()) as client:
            (job,) = await client.resume()
            await job.settle(PATIENCE_S)

    with JobServer(say) as server, asyncio.Runner() as runner:
        owner = left(server, history, ["media_0"], status="running")
        runner.run(wait(server))

    assert held == [340_000] * 3
    assert history.settled_total_micro_usd(**owner) == 340_000


@pytest.mark.parametrize("ask", ["job", "refresh", "erase", "rebuild"])
def test_a_gateway_that_answers_404_for_ever_is_not_taken_for_the_service(
    ask: str, history: History
) -> None:
    async def asked(server: JobServer) -> None:
        left(server, history, ["media_0"], status="running")
        async with client_of(server, history, AdvancingClock()) as client:
            if ask == "rebuild":
                await client.history.rebuild("media_0", deliveries=False)
            elif ask == "job":
                await client.job("media_0")
            else:
                (job,) = await client.resume()
                await (job.erase() if ask == "erase" else job.refresh())

    with (
        JobServer(lambda *_: PAGE) as server,
        asyncio.Runner() as runner,
        pytest.raises(ServiceError, match="404 for the job media_0") as caught,
    ):
        runner.run(asked(server))

    assert caught.value.status == 404
    assert ask == "erase" or len(server.reads) > 1
    (entry,) = history.page()
    assert entry.gone_at is None
    owner = {"service": entry.service, "account": entry.account}
    assert history.reserved_micro_usd(**owner) == 340_000


def test_what_the_service_did_not_know_is_read_again_and_held_until_then(
    history: History, tmp_path: Path
) -> None:
    async def resume(server: JobServer) -> list[str]:
        async with client_of(server, history) as client:
            jobs = await client.resume()
            await asyncio.gather(*(job.settle(PATIENCE_S) for job in jobs))
            return [job.id for job in jobs]

    held: list[int] = []

    def say(job_id: str, reads: int) -> Said:
        held.append(history.reserved_micro_usd(**owner))
        return completed(job_id) if reads else running(job_id)

    with JobServer(say) as server, asyncio.Runner() as runner:
        owner = left(server, history, ["media_old", "media_new"], status="running")
        for job_id, hours in (("media_old", 25), ("media_new", 23)):
            then = VirtualClock(datetime.now(UTC) - timedelta(hours=hours))
            with History(tmp_path / "history.sqlite", clock=then) as earlier:
                earlier.mark_gone(job_id)
        assert history.reserved_micro_usd(**owner) == 2 * 340_000
        assert runner.run(resume(server)) == ["media_old", "media_new"]

    assert held[0] == 2 * 340_000
    assert history.reserved_micro_usd(**owner) == 0
    assert history.settled_total_micro_usd(**owner) == 2 * 340_000


def test_one_job_is_waited_for_on_two_loops_and_settles_once(history: History) -> None:
    settled: list[str] = []
    both = threading.Barrier(2)

    with JobServer(lambda name, n: running(name) if n < 5 else completed(name)) as it:
        client = client_of(it, history)
        client.on_settled(lambda job: settled.append(job.id))

        async def wait() -> AsyncJob:
            job = await client.job("media_0")
            await asyncio.to_thread(both.wait)
            return await job.settle(PATIENCE_S)

        def on_a_loop() -> AsyncJob:
            with asyncio.Runner() as runner:
                return runner.run(wait())

        with ThreadPoolExecutor(2) as threads:
            waiting = [threads.submit(on_a_loop) for _ in range(2)]
            jobs = [future.result() for future in waiting]

    assert {job.state.charge_micro_usd for job in jobs} == {340_000}
    assert settled == ["media_0"]


def test_a_loop_that_stops_in_the_middle_holds_up_nobody(history: History) -> None:
    with JobServer(lambda name, n: running(name) if n < 4 else completed(name)) as it:
        stopped, client = asyncio.new_event_loop(), client_of(it, history)
        first = stopped.run_until_complete(client.job("media_0"))
        stopped.run_until_complete(asyncio.sleep(0))
        other = watched(it, history)

        assert other.id == first.id
        assert other.state.charge_micro_usd == 340_000
        stopped.run_until_complete(first.settle(PATIENCE_S))
        stopped.run_until_complete(client.aclose())
        stopped.run_until_complete(asyncio.sleep(0))
        stopped.close()
