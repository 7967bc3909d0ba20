"""Draws of one request: each is a job of its own, in any call and at any time."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mediakit import AsyncClient
from mediakit.client import Service
from mediakit.client.idempotency import submission_of
from mediakit.history import History, Submission
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from tests.support.advancing_clock import AdvancingClock
from tests.support.clients import async_client
from tests.support.servers.scripted_server import ScriptedServer, Visit, json_page

PATIENCE_S = 30.0
KITE: dict[str, Any] = {"prompt": "a kite", "duration": 3}


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """Serve a sandbox that takes jobs and starts none."""
    data = tmp_path_factory.mktemp("idle")
    running = start(Sandbox(data, concurrency=0, queue_size=1_000))
    yield running
    running.stop()


class Desk:
    """Answers submits, one job a key; one answer waits until another submit comes.

    Args:
        rejections: How many submissions are rejected first, because the queue is full.
    """

    def __init__(self, rejections: int = 0) -> None:
        self._rejections = rejections
        self._lock = threading.Lock()
        self._another_came = threading.Event()
        self.one_waits = threading.Event()
        self.keys: list[str] = []

    def __call__(self, visit: Visit) -> None:
        while request := visit.request():
            visit.say(self._answer(request))

    def _answer(self, request: bytes) -> bytes:
        if request.startswith(b"GET /billing"):
            return json_page({"balance_micro_usd": 50_000_000})
        found = re.search(rb"(?i)idempotency-key: (\w+)", request)
        if found is None:
            job_id = request.split()[1].rsplit(b"/", 1)[-1].decode()
            return json_page({"id": job_id, "status": "queued"})
        return self._submitted(found[1].decode())

    def _submitted(self, key: str) -> bytes:
        with self._lock:
            self.keys.append(key)
            number = len(self.keys) - self._rejections
        if number <= 0:
            error = {"code": "rate_limited", "message": "the queue is full"}
            full = {"id": "media_full", "status": "failed", "error": error}
            return json_page(full, "Retry-After: 1", status="429 Too Many Requests")
        if number == 1:
            self.one_waits.set()
            self._another_came.wait(PATIENCE_S)
        else:
            self._another_came.set()
        return json_page({"id": f"media_{key[:8]}", "status": "queued"})


def client_of(base_url: str, home: Path, **more: Any) -> AsyncClient:
    """Give a client whose service has a name of its own, wherever it is."""
    service = Service(base_url, "key-0123456789", identity="the-service")
    history = History(home / "history.sqlite3")
    return async_client(service, history=history, **more)


def kite_of(client: AsyncClient) -> Submission:
    """Return what a submit of the kite writes down first."""
    function = client.catalog.function("text-to-video")
    body = function.canonical_body(KITE)
    return submission_of(client.service, function, body, function.estimate(body))


async def draw(client: AsyncClient) -> str:
    return (await client.submit("text-to-video", take="next", **KITE)).id


def test_draws_that_begin_at_different_turns_of_the_loop_are_all_jobs_of_their_own(
    idle: RunningSandbox, tmp_path: Path
) -> None:
    async def later(client: AsyncClient, turns: int) -> str:
        for _ in range(turns):
            await asyncio.sleep(0)
        return await draw(client)

    async def main() -> list[str]:
        service = Service(idle.base_url, idle.api_key)
        history = History(tmp_path / "history.sqlite3")
        async with async_client(service, history=history) as client:
            return await asyncio.gather(*(later(client, n) for n in range(24)))

    with asyncio.Runner() as runner:
        assert len(set(runner.run(main()))) == 24


def test_clients_of_one_process_on_one_history_draw_a_job_each(tmp_path: Path) -> None:
    desk = Desk()

    async def main(base_url: str) -> list[str]:
        one, other = client_of(base_url, tmp_path), client_of(base_url, tmp_path)
        async with one, other:
            first = asyncio.create_task(draw(one))
            await asyncio.to_thread(desk.one_waits.wait, PATIENCE_S)
            second = await draw(other)
            return [await first, second]

    with ScriptedServer(desk) as server, asyncio.Runner() as runner:
        assert len(set(runner.run(main(server.base_url)))) == 2


def test_a_draw_that_was_rejected_first_is_not_given_to_another_draw(
    tmp_path: Path,
) -> None:
    desk = Desk(rejections=1)

    async def main(base_url: str) -> list[str]:
        async with client_of(base_url, tmp_path, clock=AdvancingClock()) as client:
            first = asyncio.create_task(draw(client))
            await asyncio.to_thread(desk.one_waits.wait, PATIENCE_S)
            second = await draw(client)
            return [await first, second]

    with ScriptedServer(desk) as server, asyncio.Runner() as runner:
        assert len(set(runner.run(main(server.base_url)))) == 2
    assert len(set(desk.keys)) == 3


def test_what_is_sent_from_another_history_is_not_taken_for_an_answer_to_come(
    tmp_path: Path,
) -> None:
    desk = Desk()

    async def main(base_url: str) -> list[str]:
        ours, theirs = tmp_path / "ours", tmp_path / "theirs"
        async with client_of(base_url, theirs) as other, client_of(base_url, ours) as c:
            c.components.store.claim(kite_of(c))
            first = asyncio.create_task(draw(other))
            await asyncio.to_thread(desk.one_waits.wait, PATIENCE_S)
            found = await draw(c)
            assert len(await c.history.frame()) == 1
            return [await first, found]

    with ScriptedServer(desk) as server, asyncio.Runner() as runner:
        assert len(set(runner.run(main(server.base_url)))) == 1


def test_a_history_is_the_same_place_by_whatever_path_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    same = ["h.db", str(tmp_path / "h.db"), str(tmp_path / "link" / "h.db")]
    places = []
    for name in [*same, "other.db", "sqlite://", "sqlite://"]:
        with History(name) as history:
            places.append(history.place)

    assert places[0] == places[1] == places[2]
    assert len(set(places)) == 4
