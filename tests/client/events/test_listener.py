"""Hearing of the ends of jobs: by event, and by reading where an event is lost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mediakit as mk
from mediakit import AsyncClient, Client
from mediakit.client.jobs.poll_schedule import LISTENED_GAP_S
from mediakit.client.runtime.io_thread import io_thread
from mediakit.errors import ConflictError, JobFailedError, MediakitError, ServiceError
from mediakit.records import JobStatus
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from mediakit.webhooks import COMPLETED
from tests.support.watched_jobs import Course, Service, run

PATIENCE_S = 60.0
MANY = 500
MOST_READS = 600
EARLY = "http://127.0.0.1/early.mp4"


def names(many: int) -> list[str]:
    return [f"media_{number}" for number in range(many)]


def tell_the_end(service: Service, job_id: str) -> None:
    """Let the event of a job arrive, as a listener takes it."""
    job = service.jobs[job_id]
    record = service.courses[job_id].record(job_id, service.clock.monotonic_s())
    reported = record.model_copy(update={"billing": None})
    job.see(reported, service.clock.now(), of_its_end=True)
    for client in service.clients:
        client.heard(job)


async def listened(service: Service, *, lost: set[str] | None = None) -> None:
    """Run every job to its charge, its end reported by event unless that is lost."""
    for client in service.clients:
        client.listener_began()
    reported = sorted(
        (course.starts_s + course.runs_s, job_id)
        for job_id, course in service.courses.items()
        if job_id not in (lost or set())
    )

    async def tell() -> None:
        for at_s, job_id in reported:
            await service.clock.sleep(at_s - service.clock.monotonic_s())
            tell_the_end(service, job_id)

    telling = asyncio.create_task(tell())
    await service.run(until_s=3_000)
    await telling


def test_through_events_500_jobs_are_settled_with_fewer_than_600_reads() -> None:
    courses = {
        name: Course(starts_s=number * 0.05, runs_s=2 + number * 0.07, settles_s=1.5)
        for number, name in enumerate(names(MANY))
    }
    service = Service(courses)
    run(listened(service))

    assert service.unsettled == []
    assert len(service.reads) < MOST_READS


def test_a_job_whose_event_is_lost_is_read_once_a_minute_until_it_has_ended() -> None:
    service = Service({"media_0": Course(runs_s=70, settles_s=0)})
    run(listened(service, lost={"media_0"}))

    assert service.unsettled == []
    first_s, second_s = service.reads_of()["media_0"]
    assert LISTENED_GAP_S <= first_s <= LISTENED_GAP_S * 1.1
    assert LISTENED_GAP_S <= second_s - first_s <= LISTENED_GAP_S * 1.1


@given(
    st.lists(
        st.builds(
            Course,
            starts_s=st.floats(0, 8),
            runs_s=st.floats(0.1, 200),
            settles_s=st.floats(0, 12),
            billing=st.sampled_from(["pending", "unavailable", None]),
        ),
        min_size=1,
        max_size=30,
    ),
    st.data(),
)
def test_whichever_events_are_lost_every_job_is_settled(
    chosen: list[Course], data: st.DataObject
) -> None:
    courses = dict(zip(names(len(chosen)), chosen, strict=True))
    lost = data.draw(st.sets(st.sampled_from(sorted(courses))))
    service = Service(courses, clients=2)
    run(listened(service, lost=lost))

    assert service.unsettled == []
    ends = {job.state.record.status for job in service.jobs.values()}
    assert ends == {JobStatus.COMPLETED}


def test_when_the_last_listener_ends_running_jobs_are_read_at_once() -> None:
    async def scenario() -> None:
        service = Service({"media_0": Course(runs_s=600)})
        (pollers,) = service.clients
        pollers.listener_began()
        pollers.listener_began()
        service.submit("media_0")
        await service.clock.advance(10)
        pollers.listener_ended()
        await service.clock.advance(1)
        assert service.reads == []
        pollers.listener_ended()
        await service.clock.advance(1)
        assert len(service.reads) >= 2

    run(scenario())


# -- on a real sandbox ------------------------------------------------------------


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningSandbox]:
    running = start(
        Sandbox(
            tmp_path / "data",
            speed=20,
            sketch=True,
            allow_loopback_callbacks=True,
            balance_micro_usd=1_000_000_000,
            queue_size=100,
        )
    )
    yield running
    running.stop()


@pytest.fixture
def own(running: RunningSandbox, tmp_path: Path) -> Iterator[Client]:
    with Client(running.base_url, running.api_key, home=tmp_path / "home") as client:
        yield client


def job_reads(client: Client) -> list[str]:
    """Return a list that each later read of a job is added to."""
    found: list[str] = []
    transport: Any = client.core._jobs._transport
    exchange = transport.exchange

    async def counted(method: str, path: str, **more: Any) -> Any:
        if method == "GET" and path.startswith("/v1/media/jobs/"):
            found.append(path)
        return await exchange(method, path, **more)

    transport.exchange = counted
    return found


def endpoints(running: RunningSandbox) -> list[dict[str, Any]]:
    found = httpx.get(
        f"{running.base_url}/sandbox/endpoints",
        headers={"X-API-Key": running.api_key},
        trust_env=False,
    )
    data: list[dict[str, Any]] = found.json()["data"]
    return data


def submit(client: Client, prompt: str) -> Any:
    return client.submit("text-to-video", prompt=prompt, duration=3)


@pytest.mark.spec("6")
def test_jobs_end_by_event_and_are_read_for_their_charge_alone(
    own: Client, running: RunningSandbox
) -> None:
    reads = job_reads(own)
    with own.listen() as listener:
        jobs = [submit(own, f"a kite {number}") for number in range(6)]
        jobs += [submit(own, f"sandbox:fail=timed_out {number}") for number in range(6)]
        for job in jobs[:6]:
            assert job.wait(PATIENCE_S).url
        for job in jobs[6:]:
            with pytest.raises(JobFailedError):
                job.wait(PATIENCE_S)
        for job in jobs:
            job.settle(PATIENCE_S)

        assert len(reads) <= 1.2 * len(jobs)
        assert sorted(e.data["id"] for e in listener.events) == sorted(
            job.id for job in jobs
        )
        frame = own.history.frame()
        assert frame["status"].value_counts().to_dict()["completed"] == 6
        assert frame["charge_micro_usd"].sum() == 6 * 204_000
    assert not listener.is_open
    assert endpoints(running) == []


def test_the_same_call_is_the_same_job_with_a_listener_and_without(
    own: Client,
) -> None:
    before = submit(own, "once")
    with own.listen():
        assert submit(own, "once").id == before.id
        during = submit(own, "meanwhile")
    assert submit(own, "meanwhile").id == during.id


def ended(job_id: str, url: str) -> mk.webhooks.Event:
    """Return the event of a job's end."""
    data = {
        "id": job_id,
        "status": "completed",
        "output": {"media_type": "video", "video": {"url": url}},
        "model_id": "sandbox/text-to-video/text-to-video",
    }
    event = {"id": "msg_1", "type": COMPLETED, "data": data}
    return mk.webhooks.Event.model_validate(
        event | {"timestamp": datetime.now(UTC).isoformat()}
    )


@pytest.mark.spec("6.2")
def test_an_event_before_the_submits_answer_and_again_after_it_is_one_result(
    own: Client,
) -> None:
    core: Any = own.core
    record, did = core._sender._record, []

    async def event_first(submission: Any, made: Any) -> Any:
        did.append(await own.core.handle_event(ended(made.id, EARLY)))
        return await record(submission, made)

    core._sender._record = event_first
    with own.listen():
        job = submit(own, "reported too early")
        again = own.handle_event(ended(job.id, "http://127.0.0.1/twice.mp4"))

        assert [*did, again] == ["unknown", "known"]
        assert job.status is JobStatus.COMPLETED
        assert job.url == EARLY
        assert core._jobs._early == {}
        assert len(own.history.frame()) == 1
        assert own.history.frame()["status"].tolist() == ["completed"]
        job.settle(PATIENCE_S)
        assert job.charge_micro_usd == 204_000


def test_a_listener_takes_the_place_of_one_that_died_and_hears_what_that_missed(
    running: RunningSandbox, tmp_path: Path
) -> None:
    ids: list[str] = []

    async def dies() -> None:
        client = AsyncClient(running.base_url, running.api_key, home=tmp_path / "home")
        await client.listen()
        running_now: Any = client._listeners[0]
        running_now._server.should_exit = True
        await io_thread().run(asyncio.wait, [running_now._serving])
        job = await client.submit("text-to-video", prompt="missed", duration=3)
        ids.append(job.id)

    with asyncio.Runner() as runner:
        runner.run(dies())
    (left,) = endpoints(running)
    with Client(running.base_url, running.api_key, home=tmp_path / "home") as client:
        assert client.job(ids[0]).wait(PATIENCE_S).id == ids[0]
        running.advance(seconds=1)  # the first attempt is over: nobody was there
        with client.listen() as listener:
            assert [one["id"] for one in endpoints(running)] == [left["id"]]
            running.advance(minutes=10)
            deadline_s = time.monotonic() + PATIENCE_S
            while not listener.events and time.monotonic() < deadline_s:
                time.sleep(0.02)
            assert [event.data["id"] for event in listener.events] == ids
    assert endpoints(running) == []


def test_a_message_of_somebody_else_is_refused_and_changes_nothing(
    own: Client,
) -> None:
    with own.listen() as listener:
        forged = {
            "webhook-id": "msg_1",
            "webhook-timestamp": "1",
            "webhook-signature": "v1,x",
        }
        answer = httpx.post(listener.url, headers=forged, json={}, trust_env=False)
        assert 400 <= answer.status_code < 500
        assert listener.events == ()


def test_the_awaited_client_listens_on_its_own_loop_and_closes_with_it(
    running: RunningSandbox, tmp_path: Path
) -> None:
    async def scenario() -> None:
        home = tmp_path / "home"
        async with AsyncClient(running.base_url, running.api_key, home=home) as client:
            listener = await client.listen()
            job = await client.run("text-to-video", prompt="awaited", duration=3)
            assert [event.data["id"] for event in listener.events] == [job.id]
        assert not listener.is_open
        with pytest.raises(MediakitError, match="closed"):
            await client.listen()

    with asyncio.Runner() as runner:
        runner.run(scenario())
    assert endpoints(running) == []


def test_a_hosted_service_is_not_asked_to_post_to_this_machine(tmp_path: Path) -> None:
    with (
        Client("https://service.invalid", "key-01234567", home=tmp_path) as client,
        pytest.raises(ServiceError, match=r"webhooks\.receiver"),
    ):
        client.listen()


def test_a_sandbox_that_may_not_call_back_says_how_it_may(tmp_path: Path) -> None:
    running = start(Sandbox(tmp_path / "data", speed=20, sketch=True))
    with (
        Client(running.base_url, running.api_key, home=tmp_path) as client,
        pytest.raises(ServiceError, match="--allow-loopback-callbacks"),
    ):
        client.listen()
    running.stop()


def test_where_it_is_not_clear_whose_events_are_wanted_none_are_heard(
    own: Client, running: RunningSandbox
) -> None:
    made = httpx.post(
        f"{running.base_url}/sandbox/orgs",
        json={"name": "another"},
        headers={"X-API-Key": running.api_key},
        trust_env=False,
    )
    assert made.is_success
    with pytest.raises(ConflictError, match="2 organizations"):
        own.listen()
    assert endpoints(running) == []


def test_a_listener_shows_no_secret(own: Client) -> None:
    with own.listen() as listener:
        endpoint: Any = listener._endpoint
        assert endpoint.secret.startswith("whsec_")
        assert endpoint.secret not in f"{listener!r} {endpoint!r}"
