"""Verified events from the user's receiver end jobs as a poll does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from mediakit import AsyncClient, Client, Job, JobFailedError
from mediakit.api_models import JobStatus
from mediakit.client.io_thread import io_thread
from mediakit.clock import SystemClock
from mediakit.errors import MediakitError
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from mediakit.webhooks import COMPLETED, TEST, Event, receiver
from tests.support.servers.asgi_server import serve
from tests.support.waiting import until

LATE_URL = "http://127.0.0.1/late.mp4"
CHARGE_MICRO_USD = 204_000


class _StandingClock(SystemClock):
    """A clock that is stopped until released, so that no poll becomes due."""

    def __init__(self) -> None:
        self.stands_at_s: float | None = super().monotonic_s()

    def monotonic_s(self) -> float:
        at_s = self.stands_at_s
        return super().monotonic_s() if at_s is None else at_s

    async def sleep(self, seconds: float) -> None:
        until_s = self.monotonic_s() + seconds
        while self.monotonic_s() < until_s:
            await super().sleep(0.01)

    def go(self) -> None:
        self.stands_at_s = None


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningSandbox]:
    running = start(
        Sandbox(tmp_path / "data", speed=20, sketch=True, allow_loopback_callbacks=True)
    )
    yield running
    running.stop()


@pytest.fixture
def clock() -> _StandingClock:
    return _StandingClock()


@pytest.fixture
def own(
    running: RunningSandbox, tmp_path: Path, clock: _StandingClock
) -> Iterator[Client]:
    home = tmp_path / "home"
    with Client(running.base_url, running.api_key, home=home, clock=clock) as client:
        yield client


def event_of(job_id: str, kind: str = COMPLETED, **more: Any) -> Event:
    data: dict[str, Any] = {"id": job_id, "status": "completed"}
    data["output"] = {"media_type": "video", "video": {"url": LATE_URL}}
    yesterday = datetime.now(UTC) - timedelta(days=1)
    event = {"id": "msg_1", "type": kind, "timestamp": yesterday.isoformat()}
    return Event.model_validate(event | {"data": data | more})


@pytest.mark.spec("6")
@pytest.mark.parametrize("prompt", ["a kite", "sandbox:fail=timed_out"])
def test_an_event_from_a_receiver_ends_the_job_without_a_poll(
    own: Client, clock: _StandingClock, prompt: str
) -> None:
    did: list[str] = []

    def on_event(event: Event) -> None:
        did.append(own.handle_event(event))

    app = receiver(own.deliveries.secret().reveal(), on_event, inbox=":memory:")
    with serve(app) as url:
        settled: list[str] = []
        own.on_settled(lambda job: settled.append(job.id))
        states: list[JobStatus] = []
        hook = f"{url}/hook"
        if prompt == "a kite":
            job = own.submit(
                "text-to-video", prompt=prompt, duration=3, webhook_url=hook
            ).wait()
            assert job.url
        else:
            with pytest.raises(JobFailedError) as failed:
                own.submit(
                    "text-to-video", prompt=prompt, duration=3, webhook_url=hook
                ).wait()
            assert isinstance(failed.value.job, Job)
            job = failed.value.job
        job.core.subscribe(lambda state: states.append(state.record.status))
        [row] = own.history.frame().to_dict("records")

    # The clock of the polls stands: the event has reported the end, unless it arrived
    # before the answer to the submission, which then said that the job had failed.
    assert did == ["ended"] or (did == ["unknown"] and prompt != "a kite")
    assert states[-1] is job.status is JobStatus(row["status"])
    assert settled == []
    clock.go()
    job.settle()
    assert job.charge_micro_usd == (CHARGE_MICRO_USD if prompt == "a kite" else 0)
    until(lambda: settled == [job.id])
    app.inbox.close()


@pytest.mark.spec("6.3")
def test_the_charge_in_an_event_is_ignored(own: Client, clock: _StandingClock) -> None:
    job = own.submit("text-to-video", prompt="a kite", duration=3)
    claimed = {"state": "settled", "charge_micro_usd": 1}

    assert own.handle_event(event_of(job.id, billing=claimed)) == "ended"
    assert job.status is JobStatus.COMPLETED
    assert job.charge_micro_usd is None
    frame = own.history.frame()
    assert frame["status"].tolist() == ["completed"]
    assert frame["charge_micro_usd"].isna().all()
    clock.go()
    assert job.settle().charge_micro_usd == CHARGE_MICRO_USD


def test_a_repeated_or_late_event_changes_nothing(
    own: Client, clock: _StandingClock
) -> None:
    job = own.submit("text-to-video", prompt="reported too late", duration=3)
    clock.go()
    job.wait().settle()
    url = job.url

    assert own.handle_event(event_of(job.id)) == "known"
    assert job.url == url
    job.erase()
    assert own.handle_event(event_of(job.id)) == "known"
    assert job.url is None
    assert job.state.record.deleted_at is not None
    assert job.charge_micro_usd == CHARGE_MICRO_USD


@pytest.mark.spec("6.2")
def test_an_event_before_the_response_to_the_submission_ends_the_job(
    running: RunningSandbox, tmp_path: Path, clock: _StandingClock
) -> None:
    did: list[str] = []

    class _EventFirst(httpx.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            response = await super().handle_async_request(request)
            if request.method == "POST":
                job_id = json.loads(await response.aread())["id"]
                did.append(await client.core.handle_event(event_of(job_id)))
            return response

    client = Client(
        running.base_url,
        running.api_key,
        home=tmp_path / "home",
        clock=clock,
        transport=_EventFirst(),
    )
    with client:
        job = client.submit("text-to-video", prompt="reported too early", duration=3)
        did.append(client.handle_event(event_of(job.id)))

        assert did == ["unknown", "known"]
        assert job.status is JobStatus.COMPLETED
        assert job.url == LATE_URL
        assert client.history.frame()["status"].tolist() == ["completed"]
        clock.go()
        assert job.settle().charge_micro_usd == CHARGE_MICRO_USD


def test_events_of_other_jobs_and_of_no_job_change_nothing(
    own: Client, tmp_path: Path
) -> None:
    job = own.submit("text-to-video", prompt="a kite", duration=3)

    assert own.handle_event(event_of("media_of_somebody_else")) == "unknown"
    assert own.handle_event(event_of(job.id, TEST)) == "ignored"
    assert own.handle_event(event_of(job.id, "media.job.new")) == "ignored"
    assert own.handle_event(event_of(job.id, status="running")) == "ignored"
    with Client("https://api.example", "key-1", home=tmp_path / "home") as another:
        # The same history, but another service: it does not know the job.
        assert another.handle_event(event_of(job.id)) == "unknown"
    assert job.status is JobStatus.QUEUED
    assert own.history.frame()["status"].tolist() == ["queued"]


def test_a_closed_client_refuses_events_so_that_a_receiver_keeps_them(
    own: Client,
) -> None:
    own.close()

    with pytest.raises(MediakitError, match="closed"):
        own.handle_event(event_of("media_1"))


def test_a_process_with_only_the_history_ends_the_job_and_reads_its_charge(
    own: Client, running: RunningSandbox, tmp_path: Path
) -> None:
    job = own.submit("text-to-video", prompt="a kite", duration=3)
    home = tmp_path / "home"
    with Client(running.base_url, running.api_key, home=home) as other:
        settled: list[Any] = []
        other.on_settled(settled.append)

        assert other.handle_event(event_of(job.id)) == "ended"
        until(lambda: settled)
        assert settled[0].charge_micro_usd == CHARGE_MICRO_USD
    frame = own.history.frame()
    assert frame["charge_micro_usd"].tolist() == [CHARGE_MICRO_USD]


def test_the_async_client_has_the_same_event_handler(
    running: RunningSandbox, tmp_path: Path
) -> None:
    client = AsyncClient(running.base_url, running.api_key, home=tmp_path / "home")
    io = io_thread()
    io.call(client.balance)
    secret = io.call(client.deliveries.secret).reveal()
    app = receiver(secret, client.handle_event, inbox=":memory:")

    async def submit(url: str) -> Any:
        hook = f"{url}/hook"
        return await client.run(
            "text-to-video", prompt="awaited", duration=3, webhook_url=hook
        )

    with serve(app) as url:
        job = io.call(submit, url)
        until(lambda: not app.inbox.next_due())
    assert job.url
    io.call(client.aclose)
    app.inbox.close()
