"""Stopping a submission that is being retried: later requests, and messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

import mediakit as mk
from mediakit.client import AsyncJob
from mediakit.client.stopping import (
    MAY_EXIST,
    STOPPING,
    PendingSubmissions,
    Stoppable,
    stoppable_here,
)
from mediakit.history import History
from mediakit.history.entry import STOPPED_CODE
from tests.support.advancing_clock import AdvancingClock
from tests.support.service_in_memory import CHARGE_MICRO_USD, ServiceInMemory

CLIP: dict[str, Any] = {"prompt": "a kite", "duration": 5}


class Pausing(AdvancingClock):
    """A clock whose pauses never end, and which signals when one begins."""

    def __init__(self) -> None:
        super().__init__()
        self.paused = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.paused.set()
        await asyncio.Event().wait()


@pytest.fixture
def client(service: ServiceInMemory, tmp_path: Path) -> Iterator[mk.Client]:
    with service.client(tmp_path, clock=Pausing()) as client:
        yield client


def stopped_at_pause(client: mk.Client, *, records: bool = True) -> mk.MediakitError:
    """Submit, stop at the first pause, and return the error."""

    async def submit() -> None:
        call, clock = Stoppable(), client.core.components.clock
        assert isinstance(clock, Pausing)
        submission = client.core.submit("text-to-video", **CLIP)
        task = asyncio.create_task(call.run(lambda: submission))
        await clock.paused.wait()
        with nullcontext() if records else suppress(mk.MediakitError):
            await call.stop()
        await task

    with pytest.raises(mk.MediakitError) as caught:
        client.io.call(submit)
    return caught.value


Fails = Callable[[ServiceInMemory], Any]
UNMADE: dict[str, Fails] = {
    "no network": lambda service: service.fails(httpx.ConnectError("no route")),
    "a service that is full": lambda _: says_busy,
}


async def says_busy(_: str, __: int) -> httpx.Response:
    return httpx.Response(
        429, json={"message": "Slow down."}, headers={"Retry-After": "9"}
    )


@pytest.mark.parametrize("why", UNMADE)
def test_a_stopped_request_without_a_job_holds_nothing_and_is_not_resent_automatically(
    service: ServiceInMemory, client: mk.Client, tmp_path: Path, why: str
) -> None:
    service.on_submit = UNMADE[why](service)
    error = stopped_at_pause(client)
    assert error.sent is False
    assert "No job was created, and nothing is charged" in error.message
    assert client.reserved_micro_usd() == 0
    client.close()
    with service.client(tmp_path) as later:
        assert later.resume() == []
    assert len(service.posts) == 1


def test_a_stopped_request_without_a_response_names_its_cost_and_is_resent_on_request(
    service: ServiceInMemory, client: mk.Client, tmp_path: Path
) -> None:
    service.on_submit = service.fails(httpx.ReadError("lost"), makes_jobs=True)
    error = stopped_at_pause(client)
    assert error.sent is None
    assert "a job may exist; if it does, you are charged once, up to" in error.message
    assert client.reserved_micro_usd() == CHARGE_MICRO_USD
    client.close()

    service.on_submit = service.accepts
    with service.client(tmp_path) as later:
        assert later.resume() == []
        assert len(service.posts) == 1
        job = later.submit("text-to-video", **CLIP, take="next")
        assert job.id in service.jobs.values()
    assert len(service.jobs) == len(set(service.posts)) == 1


def test_a_job_in_a_response_that_arrives_after_the_stop_is_returned(
    service: ServiceInMemory, client: mk.Client
) -> None:
    async def submit() -> AsyncJob:
        call, arrived, answers = Stoppable(), asyncio.Event(), asyncio.Event()

        async def late(key: str, _: int) -> httpx.Response:
            arrived.set()
            await answers.wait()
            return await service.accepts(key)

        service.on_submit = late
        submission = client.core.submit("text-to-video", **CLIP)
        task = asyncio.create_task(call.run(lambda: submission))
        await arrived.wait()
        await call.stop()
        answers.set()
        return await task

    assert client.io.call(submit).id in service.jobs.values()
    assert len(service.posts) == 1


def stopped_entries(client: mk.Client) -> list[str | None]:
    """Return the error codes of the unanswered submissions that hold money."""
    components = client.core.components
    owner = components.account_history.owner
    return [entry.error_code for entry in components.store.unanswered_entries(**owner)]


def test_a_stop_is_recorded_before_the_response_and_outlasts_one_without_a_job(
    service: ServiceInMemory, client: mk.Client, tmp_path: Path
) -> None:
    async def submit() -> None:
        call, arrived, answers = Stoppable(), asyncio.Event(), asyncio.Event()

        async def late(key: str, _: int) -> httpx.Response:
            arrived.set()
            await answers.wait()
            await service.accepts(key)
            return httpx.Response(302)  # no further retries after this

        service.on_submit = late
        submission = client.core.submit("text-to-video", **CLIP)
        task = asyncio.create_task(call.run(lambda: submission))
        await arrived.wait()
        await call.stop()
        assert stopped_entries(client) == [STOPPED_CODE]
        answers.set()
        await task

    with pytest.raises(mk.MediakitError, match="so a job may exist") as caught:
        client.io.call(submit)
    assert caught.value.sent is None
    assert client.reserved_micro_usd() == CHARGE_MICRO_USD
    client.close()
    with service.client(tmp_path) as later:
        assert later.resume() == []
    assert len(service.posts) == 1


def test_a_request_repeated_after_a_stop_is_resent_on_connect_if_it_got_lost(
    service: ServiceInMemory, client: mk.Client, tmp_path: Path
) -> None:
    lost = service.fails(httpx.ReadError("lost"), makes_jobs=True)
    service.on_submit = lost
    stopped_at_pause(client)
    client.close()

    with (
        service.client(tmp_path, clock=AdvancingClock()) as later,
        pytest.raises(mk.ServiceError, match="connecting again will find the job"),
    ):
        later.submit("text-to-video", **CLIP)
    service.on_submit = service.accepts
    with service.client(tmp_path) as latest:
        assert len(latest.resume()) == 1
    assert len(service.jobs) == len(set(service.posts)) == 1


def test_a_task_that_outlives_a_stopped_call_submits(
    service: ServiceInMemory, client: mk.Client
) -> None:
    async def submit() -> AsyncJob:
        call, ended = Stoppable(), asyncio.Event()

        async def later() -> AsyncJob:
            await ended.wait()
            return await client.core.submit("text-to-video", **CLIP)

        async def starts_a_task() -> asyncio.Task[AsyncJob]:
            return asyncio.create_task(later())

        task = await call.run(starts_a_task)
        await call.stop()
        ended.set()
        return await task

    assert client.io.call(submit).id in service.jobs.values()


def test_a_request_stopped_before_sending_is_not_sent(
    service: ServiceInMemory, client: mk.Client
) -> None:
    async def submit() -> None:
        call = Stoppable()
        submission = client.core.submit("text-to-video", **CLIP)
        task = asyncio.create_task(call.run(lambda: submission))
        await asyncio.sleep(0)
        await call.stop()
        await task

    with pytest.raises(mk.MediakitError, match=r"Stopped\. Nothing was sent"):
        client.io.call(submit)
    assert service.posts == []
    assert client.reserved_micro_usd() == 0


def refused_while_it_stops(
    service: ServiceInMemory, client: mk.Client
) -> mk.MediakitError:
    """Lose one response, stop while the next is pending, and return the error."""

    async def submit() -> None:
        call, arrived, answers = Stoppable(), asyncio.Event(), asyncio.Event()

        async def late(_: str, __: int) -> httpx.Response:
            arrived.set()
            await answers.wait()
            return httpx.Response(403, json={"message": "The key may not submit."})

        lost = service.fails(httpx.ReadError("lost"), makes_jobs=True)
        service.on_submit = service.in_turn(lost, late)
        submission = client.core.submit("text-to-video", **CLIP)
        task = asyncio.create_task(call.run(lambda: submission))
        await arrived.wait()
        await call.stop()
        answers.set()
        await task

    with pytest.raises(mk.MediakitError) as caught:
        client.io.call(submit)
    return caught.value


def unanswered_a_day_later(
    service: ServiceInMemory, client: mk.Client
) -> mk.MediakitError:
    """Lose the responses to a request and to its repetition two days later."""
    service.on_submit = service.fails(httpx.ReadError("lost"), makes_jobs=True)
    with pytest.raises(mk.ServiceError, match="connecting again will find the job"):
        client.submit("text-to-video", **CLIP)
    clock = client.core.components.clock
    assert isinstance(clock, AdvancingClock)
    clock.skip(2 * 86_400)
    with pytest.raises(mk.ServiceError) as caught:
        client.submit("text-to-video", **CLIP)
    return caught.value


@pytest.mark.parametrize("lose", [refused_while_it_stops, unanswered_a_day_later])
def test_the_error_says_that_only_the_same_call_finds_the_job(
    service: ServiceInMemory,
    tmp_path: Path,
    lose: Callable[[ServiceInMemory, mk.Client], mk.MediakitError],
) -> None:
    clock = AdvancingClock()
    with service.client(tmp_path, clock=clock) as client:
        error = lose(service, client)
        assert error.sent is None
        assert "connecting again will find" not in error.message
        assert "submit the same request again" in error.message
        assert "Connecting again does not send it." in error.message
    service.on_submit = service.accepts
    with service.client(tmp_path, clock=clock) as later:
        posts = len(service.posts)
        assert later.resume() == []
        assert len(service.posts) == posts
        assert later.submit("text-to-video", **CLIP).id in service.jobs.values()
    assert len(service.jobs) == 1


def test_submissions_in_one_place_share_one_text_with_the_worst_state(
    client: mk.Client,
) -> None:
    texts: list[tuple[str, bool]] = []

    async def submit() -> None:
        clock, delays = AdvancingClock(), client.core.components.delays
        ends, many = asyncio.Event(), asyncio.Event()
        pending = PendingSubmissions("requests", lambda: note(pending))

        def note(pending: PendingSubmissions) -> None:
            texts.append((pending.text, pending.can_stop))
            if len(texts) == 100:
                many.set()

        async def tries(*, in_doubt: bool) -> None:
            call = stoppable_here()
            call.begin_sending(partial(asyncio.sleep, 0))
            call.in_doubt = in_doubt
            await ends.wait()

        tasks = [
            asyncio.create_task(
                pending.run(partial(tries, in_doubt=in_doubt), delays, clock)
            )
            for in_doubt in (False, True, False)
        ]
        await many.wait()
        await pending.stop()
        stopped = len(texts)
        ends.set()
        await asyncio.gather(*tasks)
        assert texts[stopped - 1] == (f"3 requests are being sent. {STOPPING}", False)
        assert texts[-1] == ("", False)

    client.io.call(submit)
    trying = "The service has not responded yet; still trying."
    all_three = f"3 requests are being sent. {trying} {MAY_EXIST}"
    assert set(texts[10:100]) == {(all_three, True)}


def test_a_stop_that_cannot_be_recorded_says_that_connecting_may_send_the_request(
    service: ServiceInMemory, client: mk.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disk_is_full(*_: object, **__: object) -> None:
        raise mk.MediakitError("The disk is full.")

    monkeypatch.setattr(History, "record_stop", disk_is_full)
    service.on_submit = service.fails(httpx.ReadError("lost"), makes_jobs=True)
    error = stopped_at_pause(client, records=False)
    assert "connecting again may send it, too. The disk is full." in error.message
    assert "does not send it" not in error.message
