"""An organization may change its API key: its requests can be submitted again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mediakit import AsyncClient
from mediakit.client import AsyncJob, Service
from mediakit.client.idempotency import take_of
from mediakit.errors import JobFailedError, NotFoundError
from mediakit.history import Entry, History
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from tests.sandbox.conftest import Api
from tests.support.clients import async_client
from tests.support.sandbox.admin import AdminClient

PATIENCE_S = 30.0
KITE: dict[str, Any] = {"prompt": "a kite", "duration": 5}  # $0.34


@dataclass
class Desk:
    """A service, and one history for all who ask it."""

    admin: AdminClient
    history: History

    def org(self, balance_usd: float = 100) -> str:
        return self.admin.org(balance_usd=balance_usd, concurrency=4, queue_size=9)

    def client(self, org: str) -> AsyncClient:
        """Give a client with a new key of an organization."""
        service = Service(
            self.admin.api.running.base_url,
            self.admin.key(org)["key"],
            identity="the-service",
        )
        return async_client(service, history=self.history)

    def fail_next(self) -> None:
        self.admin.api.running.fault("fail_render", count=1)

    def entry(self, job: AsyncJob) -> Entry:
        entry = self.history.find(job.id)
        assert entry is not None
        return entry


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """Serve a sandbox; each test has organizations of its own there."""
    data = tmp_path_factory.mktemp("changed") / "data"
    running = start(Sandbox(data, speed=20, sketch=True))
    yield running
    running.stop()


@pytest.fixture
def desk(running: RunningSandbox, tmp_path: Path) -> Iterator[Desk]:
    api = Api(running)
    with (
        AdminClient(api) as admin,
        api.http,
        History(tmp_path / "h.sqlite3") as history,
    ):
        yield Desk(admin, history)


async def failed_job(client: AsyncClient) -> str:
    with pytest.raises(JobFailedError) as caught:
        await client.run("text-to-video", **KITE)
    return caught.value.job.id


def test_a_draw_whose_answer_was_lost_under_an_earlier_key_is_found_with_the_new_one(
    desk: Desk,
) -> None:
    async def main() -> None:
        org = desk.org()
        async with desk.client(org) as old, desk.client(org) as new:
            first = await old.submit("text-to-video", **KITE)
            # What the old key claims here, it would have sent; its answer never came.
            second = take_of(desk.entry(first), old.service, take=2)
            lost, _ = desk.history.claim(second)
            found = await (await new.job(first.id)).next_take()
            assert desk.entry(found).key == lost.key
            assert (await (await new.job(first.id)).next_take()).id != found.id

    with asyncio.Runner() as runner:
        runner.run(main())


def test_what_an_earlier_key_has_spent_is_not_missing_from_the_balance_of_the_new_one(
    desk: Desk,
) -> None:
    async def main() -> None:
        org = desk.org(balance_usd=0.70)
        async with desk.client(org) as old, desk.client(org) as new:
            done = await old.run("text-to-video", prompt="done", duration=5)
            await done.settle(PATIENCE_S)
            desk.fail_next()
            failed = await failed_job(old)
            assert (await (await new.job(failed)).retry()).id != failed

    with asyncio.Runner() as runner:
        runner.run(main())


def test_what_a_rebuilt_job_asked_for_is_not_made_up(desk: Desk) -> None:
    async def main() -> None:
        org = desk.org()
        async with desk.client(org) as client:
            with History(":memory:") as elsewhere:
                lost = async_client(client.service, history=elsewhere)
                async with lost:
                    job = await lost.submit("text-to-image", prompt="a kite")
            await client.history.rebuild(job.id)
            known = await client.job(job.id)
            with pytest.raises(NotFoundError, match="its request is not known"):
                await known.next_take()

    with asyncio.Runner() as runner:
        runner.run(main())
