"""Jobs polled over real HTTP, on real event loops and threads."""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any, TypedDict
from urllib.parse import unquote

import pytest

from mediakit import Catalog, Client, Job
from mediakit.api_models import JobRecord
from mediakit.client import AsyncJob, JobState, Service
from mediakit.client.io_thread import io_thread
from mediakit.client.polling import READS_AT_ONCE, process_read_limiter
from mediakit.clock import Clock
from mediakit.errors import (
    AuthError,
    JobFailedError,
    NotFoundError,
    ServiceError,
    WaitTimeoutError,
)
from mediakit.history import History
from tests.support.advancing_clock import AdvancingClock
from tests.support.servers.job_server import JobServer, completed, running
from tests.support.servers.loopback import Said
from tests.support.submissions import submission
from tests.support.virtual_clock import VirtualClock

KEY = "a-key"
LATE_S = 2.0
PENDING: dict[str, Any] = {"status": "completed", "billing": {"state": "pending"}}
PAGE = Said(b"<html>404 Not Found</html>", status=404)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History(tmp_path / "history.sqlite") as history:
        yield history


def client_of(server: JobServer, home: Path, clock: Clock | None = None) -> Client:
    return Client(
        server.base_url,
        KEY,
        home=home,
        history=home / "history.sqlite",
        catalog=Catalog.default(),
        clock=clock,
    )


@contextmanager
def serving(
    say: Callable[[str, int], Said], home: Path, clock: Clock | None = None
) -> Iterator[tuple[JobServer, Client]]:
    """Return a service with these responses about jobs, and a client of it."""
    with JobServer(say) as server, client_of(server, home, clock) as client:
        yield server, client


class Owner(TypedDict):
    """The owner of the jobs, as in queries of the history."""

    service: str
    account: str


def left(
    server: JobServer, history: History, names: Sequence[str], **record: Any
) -> Owner:
    """Write jobs to the history, as an earlier process; return their owner."""
    service = Service(server.base_url, KEY)
    owner: Owner = {"service": service.identity, "account": service.account}
    for name in names:
        history.claim(submission(f"k {name}", draw_key=f"d {name}", **owner))
        its_record = JobRecord.model_validate({**record, "id": name})
        history.record_job(f"k {name}", its_record)
    return owner


def test_thirty_jobs_of_two_clients_share_one_rate_limit(tmp_path: Path) -> None:
    names = [f"media_{number}" for number in range(30)]

    def say(name: str, reads: int) -> Said:
        return running(name) if reads < 2 else completed(name)

    with serving(say, tmp_path) as (server, one), client_of(server, tmp_path) as two:
        jobs = [(one, two)[n % 2].job(name) for n, name in enumerate(names)]
        for job in jobs:
            job.settle()

    first = {name: at for at, name in reversed(server.reads)}  # the user's own
    at_s = [at for at, name in server.reads if at != first[name]]
    assert len(at_s) == len(names) * 2
    pace = 1 / process_read_limiter().interval_s
    for (i, begins_s), (j, ends_s) in combinations(enumerate(at_s), 2):
        # A slow machine may hear of many at once: only long runs of reads tell.
        if j - i >= len(names):
            lasted_s = ends_s - begins_s + LATE_S
            assert j - i + 1 <= pace * lasted_s + 2 + 2 * READS_AT_ONCE


def test_a_wait_that_times_out_names_the_last_error(tmp_path: Path) -> None:
    gateway = Said(b"<html>Bad gateway</html>", status=502)
    in_trouble = threading.Event()

    def look(state: JobState) -> None:
        if state.trouble:
            in_trouble.set()

    def say(job_id: str, reads: int) -> Said:
        return gateway if reads else running(job_id)

    with serving(say, tmp_path) as (_, client):
        job = client.job("media_0")
        job.core.subscribe(look)
        assert in_trouble.wait()
        with pytest.raises(WaitTimeoutError, match=r"502.*The job continues"):
            job.wait(0.1)


def test_an_id_is_one_segment_of_the_path(tmp_path: Path) -> None:
    with serving(lambda name, _: running(unquote(name)), tmp_path) as (server, client):
        client.job("../media_0?a=b#c")

    assert {name for _, name in server.reads} == {"..%2Fmedia_0%3Fa%3Db%23c"}


def test_a_listener_never_gets_an_older_state_after_a_newer_one(tmp_path: Path) -> None:
    seen: list[str] = []
    newer = threading.Event()

    def listen(state: JobState) -> None:
        if io_thread().is_here:
            newer.set()
        else:
            newer.wait(0.7)  # the poller reads the end meanwhile
        seen.append(state.record.status.value)

    def say(name: str, reads: int) -> Said:
        return completed(name) if reads else running(name)

    with serving(say, tmp_path) as (_, client):
        job = client.job("media_0")
        job.core.subscribe(listen)
        job.settle()

    assert seen == ["running", "completed"]


def test_a_late_response_never_moves_a_job_back_to_queued(tmp_path: Path) -> None:
    seen: list[str] = []

    def say(name: str, reads: int) -> Said:
        if reads > 1:
            return completed(name)
        return Said({"id": name, "status": "queued"}) if reads else running(name)

    with serving(say, tmp_path, AdvancingClock()) as (_, client):
        job = client.job("media_0")
        job.core.subscribe(lambda state: seen.append(state.record.status.value))
        job.settle()

    assert "queued" not in seen
    assert seen[-1] == "completed"


def test_the_traceback_of_a_reraised_error_does_not_grow(
    tmp_path: Path,
) -> None:
    refused = Said({"message": "no such key"}, status=401)
    lengths = []

    def say(name: str, reads: int) -> Said:
        return refused if reads else running(name)

    with serving(say, tmp_path) as (_, client):
        job = client.job("media_0")
        for _ in range(4):
            with pytest.raises(AuthError) as caught:
                job.settle()
            lengths.append(len(traceback.extract_tb(caught.value.__traceback__)))

    first, *later = lengths
    assert later == [first] * 3


@pytest.mark.spec("9")
def test_a_job_survives_an_unknown_status_and_billing_state(
    tmp_path: Path,
) -> None:
    def say(job_id: str, reads: int) -> Said:
        if reads > 1:
            return completed(job_id)
        billing = {"state": "metering"}
        return Said({"id": job_id, "status": "post_processing", "billing": billing})

    with serving(say, tmp_path, AdvancingClock()) as (_, client):
        job = client.job("media_0").settle()

    assert job.charge_micro_usd == 340_000
    assert job.state.trouble is None


@pytest.mark.parametrize(
    "said",
    [
        Said(b'{"id": "media_0", "sta'),
        Said({"id": "media_0", "status": 7}),
        Said({}, status=202),
        PAGE,
        Said({"message": "broken"}, status=500),
        Said({"message": "too many"}, status=429, headers={"Retry-After": "1"}),
    ],
    ids=["cut off", "no status", "202", "404", "500", "429"],
)
def test_temporary_errors_are_reported_and_recovered_from(
    tmp_path: Path, said: Said
) -> None:
    def say(job_id: str, reads: int) -> Said:
        return said if reads == 1 else (completed if reads else running)(job_id)

    troubles: list[str | None] = []
    with serving(say, tmp_path) as (server, client):
        job = client.job("media_0")
        job.core.subscribe(lambda state: troubles.append(state.trouble))
        job.settle()

    said_once = [trouble for trouble in troubles if trouble]
    assert len(said_once) == 1
    assert "Retrying in 1 s" in said_once[0]
    assert "job continues." in said_once[0]
    assert troubles[-1] is None
    assert len(server.reads) == 3


@pytest.mark.spec("2.1")
def test_a_job_that_failed_without_a_message_raises_with_its_code(
    tmp_path: Path,
) -> None:
    error = {"code": "internal", "message": None}

    def say(job_id: str, _: int) -> Said:
        return Said({"id": job_id, "status": "failed", "error": error})

    with (
        serving(say, tmp_path) as (_, client),
        pytest.raises(JobFailedError, match=r"failed \(internal\)\. Failed jobs"),
    ):
        client.job("media_0").wait()


@pytest.mark.spec("2.2")
def test_a_charge_that_is_restated_later_does_not_replace_the_first(
    tmp_path: Path,
) -> None:
    charges = (340_000, 999_999, 340_000)

    def say(job_id: str, reads: int) -> Said:
        billing = {"state": "settled", "charge_micro_usd": charges[reads]}
        return Said({"id": job_id, "status": "completed", "billing": billing})

    with serving(say, tmp_path) as (_, client):
        job = client.job("media_0")
        assert job.charge_micro_usd == 340_000
        assert job.refresh().charge_micro_usd == 340_000
        assert job.refresh().charge_micro_usd == 340_000


def test_unsettled_jobs_of_an_earlier_process_are_read_on_connect(
    history: History, tmp_path: Path
) -> None:
    unknown = Said({"message": "no such job"}, status=404)

    def say(name: str, _: int) -> Said:
        return unknown if name == "media_1" else completed(name)

    with serving(say, tmp_path, AdvancingClock()) as (server, client):
        names = [f"media_{number}" for number in range(3)]
        owner = left(server, history, names, **PENDING)
        first, unread, last = client.resume()
        for job in (first, last):
            assert job.status == "completed"
            job.settle()
        with pytest.raises(NotFoundError, match="does not know the job media_1"):
            unread.settle()
        (open_entry,) = history.unsettled(service=owner["service"])
        assert open_entry.job_id == "media_1"
        assert history.settled_total_micro_usd(**owner) == 2 * 340_000

    read = [name for _, name in server.reads]
    assert (read.count("media_0"), read.count("media_2")) == (1, 1)
    assert read.count("media_1") > 5
    assert first.url is not None
    assert "does not know the job media_1" in str(unread.state.trouble)


@pytest.mark.parametrize("ask", ["job", "refresh", "erase", "rebuild"])
def test_a_permanent_404_from_a_gateway_is_not_taken_for_the_services_answer(
    ask: str, history: History, tmp_path: Path
) -> None:
    with serving(lambda *_: PAGE, tmp_path, AdvancingClock()) as (server, client):
        owner = left(server, history, ["media_0"], status="running")
        calls: dict[str, Callable[[], object]] = {
            "job": lambda: client.job("media_0"),
            "refresh": lambda: client.resume()[0].refresh(),
            "erase": lambda: client.resume()[0].erase(),
            "rebuild": lambda: client.history.rebuild("media_0", deliveries=False),
        }
        with pytest.raises(ServiceError, match="404 for the job media_0") as caught:
            calls[ask]()

    assert caught.value.status == 404
    assert ask == "erase" or len(server.reads) > 1
    (entry,) = history.page()
    assert entry.gone_at is None
    assert history.account_use(**owner).reserved_micro_usd == 340_000


def test_a_job_unknown_to_the_service_is_read_again_and_held_until_then(
    history: History, tmp_path: Path
) -> None:
    held: list[int] = []

    def say(job_id: str, reads: int) -> Said:
        held.append(history.account_use(**owner).reserved_micro_usd)
        return completed(job_id) if reads else running(job_id)

    with serving(say, tmp_path) as (server, client):
        owner = left(server, history, ["media_old", "media_new"], status="running")
        for job_id, hours in (("media_old", 25), ("media_new", 23)):
            then = VirtualClock(datetime.now(UTC) - timedelta(hours=hours))
            with History(tmp_path / "history.sqlite", clock=then) as earlier:
                earlier.mark_gone(job_id)
        assert history.account_use(**owner).reserved_micro_usd == 2 * 340_000
        jobs = [job.settle() for job in client.resume()]
        assert [job.id for job in jobs] == ["media_old", "media_new"]

    assert held[0] == 2 * 340_000
    assert history.account_use(**owner).reserved_micro_usd == 0
    assert history.settled_total_micro_usd(**owner) == 2 * 340_000


def test_two_loops_wait_for_one_job_and_each_listener_is_called_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settled: list[str] = []
    both = threading.Barrier(2)

    def clumsy(_: AsyncJob) -> None:
        raise ZeroDivisionError

    def say(name: str, reads: int) -> Said:
        return running(name) if reads < 5 else completed(name)

    with serving(say, tmp_path) as (_, client), ThreadPoolExecutor(2) as threads:
        client.on_settled(clumsy)
        client.on_settled(lambda job: settled.append(job.id))
        unsubscribe = client.on_settled(lambda _: settled.append("unsubscribed"))
        unsubscribe()
        unsubscribe()

        async def wait() -> Job:
            job = client.job("media_0")
            await asyncio.to_thread(both.wait)
            return await job

        def on_a_loop() -> Job:
            with asyncio.Runner() as runner:
                return runner.run(wait()).settle()

        waiting = [threads.submit(on_a_loop) for _ in range(2)]
        jobs = [future.result() for future in waiting]

    assert {job.charge_micro_usd for job in jobs} == {340_000}
    assert {job.state.trouble for job in jobs} == {None}
    assert settled == ["media_0"]
    assert "a listener raised an error: " in caplog.text
    assert "clumsy" in caplog.text
