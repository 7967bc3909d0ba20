"""A repeated submission is held at the current price, not at the earlier one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from mediakit import AsyncClient, Catalog
from mediakit.catalog.own_rates import OwnRate
from mediakit.client import AsyncJob, Service
from mediakit.errors import BudgetError, JobFailedError, ServiceError
from mediakit.history import History
from mediakit.money import MicroUSD
from mediakit.sandbox.server.running import RunningSandbox
from tests.support.advancing_clock import AdvancingClock
from tests.support.clients import async_client
from tests.support.samples.media_samples import make_mp4
from tests.support.servers.file_server import FileServer

KIND = "text-to-image"
SERVICE = Service("http://127.0.0.1:9", "key-0123456789")
OLD_MICRO_USD, NEW_MICRO_USD = 10_000, 900_000
UPSCALED_MICRO_USD_PER_S = 76_000


class Desk:
    """Clients on one history, each with a rate of its own."""

    def __init__(self, sandbox: RunningSandbox, home: Path) -> None:
        self._service = Service(sandbox.base_url, sandbox.api_key)
        self.history = History(home / "history.sqlite3")

    def client(
        self, micro_usd: int, **more: Any
    ) -> AbstractAsyncContextManager[AsyncClient]:
        rate = OwnRate(MicroUSD(micro_usd))
        catalog = Catalog(
            tuple(f.priced_at(rate) if f.kind == KIND else f for f in Catalog.default())
        )
        return async_client(
            self._service, history=self.history, catalog=catalog, **more
        )

    def held(self, client: AsyncClient, job: AsyncJob) -> int:
        entry = self.history.find(job.id)
        assert entry is not None
        return entry.reserved_micro_usd


@pytest.fixture
def desk(sandbox: RunningSandbox, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(sandbox, tmp_path)
    with desk.history:
        yield desk


def high(job: AsyncJob) -> int | None:
    estimate = job.state.estimate
    return None if estimate is None else estimate.high


def test_another_draw_has_the_price_of_now_and_must_fit_the_budget_with_it(
    desk: Desk,
) -> None:
    async def main() -> None:
        async with desk.client(OLD_MICRO_USD) as old:
            first = await old.submit(
                KIND, prompt="a", webhook_url="http://127.0.0.1:9/hook"
            )
        async with desk.client(NEW_MICRO_USD, budget="$0.50") as new:
            with pytest.raises(BudgetError, match=r"\$0\.90"):
                await (await new.job(first.id)).next_take()
        async with desk.client(NEW_MICRO_USD) as new:
            job = await (await new.job(first.id)).next_take()
            assert high(job) == desk.held(new, job) == NEW_MICRO_USD

    with asyncio.Runner() as runner:
        runner.run(main())


def test_another_attempt_has_the_price_of_now(
    desk: Desk, sandbox: RunningSandbox
) -> None:
    async def main() -> None:
        sandbox.fault("fail_render", where={"function": KIND}, count=1)
        async with desk.client(OLD_MICRO_USD) as old:
            with pytest.raises(JobFailedError) as caught:
                await old.run(KIND, prompt="fails once")
        async with desk.client(NEW_MICRO_USD) as new:
            job = await (await new.job(caught.value.job.id)).retry()
            assert high(job) == desk.held(new, job) == NEW_MICRO_USD

    with asyncio.Runner() as runner:
        runner.run(main())


def test_a_rejected_request_is_submitted_again_at_the_current_price(
    desk: Desk, sandbox: RunningSandbox
) -> None:
    async def main() -> None:
        sandbox.fault("outage", where={"function": KIND}, count=4)
        async with desk.client(OLD_MICRO_USD, clock=AdvancingClock()) as old:
            with pytest.raises(ServiceError):
                await old.submit(KIND, prompt="rejected")
        async with desk.client(NEW_MICRO_USD) as new:
            job = await new.submit(KIND, prompt="rejected")
            assert high(job) == desk.held(new, job) == NEW_MICRO_USD

    with asyncio.Runner() as runner:
        runner.run(main())


def test_a_price_that_depends_on_a_length_is_made_from_the_clip_as_it_is(
    desk: Desk, tmp_path: Path
) -> None:
    clip = make_mp4(tmp_path / "clip.mp4", (320, 180), 1.5)

    async def main() -> None:
        async with desk.client(OLD_MICRO_USD) as first:
            job = await first.submit("video-upscale", video_url=url, seconds={url: 90})
            assert high(job) == 90 * UPSCALED_MICRO_USD_PER_S
        async with desk.client(OLD_MICRO_USD) as second:
            again = await (await second.job(job.id)).next_take()
            assert high(again) == 1.5 * UPSCALED_MICRO_USD_PER_S
        server.files.clear()
        async with desk.client(OLD_MICRO_USD) as third:
            again = await (await third.job(job.id)).next_take()
            # It cannot be read any more, so the larger price counts.
            assert high(again) == 90 * UPSCALED_MICRO_USD_PER_S

    with FileServer({"a.mp4": clip.read_bytes()}) as server, asyncio.Runner() as runner:
        url = server.url("a.mp4")
        runner.run(main())
