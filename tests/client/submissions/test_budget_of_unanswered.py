"""An unanswered submit counts against the budget of its caller."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mediakit import AsyncClient, BudgetError, Catalog
from mediakit.client import Service
from mediakit.client.idempotency import next_attempt, submission_of, take_of
from mediakit.client.loop import io_thread
from mediakit.history import Entry, History, Submission
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from tests.support.advancing_clock import AdvancingClock
from tests.support.clients import async_client
from tests.support.submissions import failed

KITE: dict[str, Any] = {"prompt": "a kite", "duration": 5}
KITE_MICRO_USD = 340_000
EARLIER = "client of an earlier start"
MAY_BE_MADE = "an earlier try was not answered and may have made a job"


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """Serve a sandbox that takes jobs and starts none."""
    data = tmp_path_factory.mktemp("idle")
    running = start(Sandbox(data, concurrency=0, queue_size=1_000))
    yield running
    running.stop()


class Desk:
    """A history that an earlier start left, under a budget of its own."""

    def __init__(self, sandbox: RunningSandbox, home: Path) -> None:
        self.sandbox = sandbox
        self.service = Service(sandbox.base_url, sandbox.api_key)
        self.history = History(home / "history.sqlite3")

    def left(self, prompt: str = "a kite") -> Entry:
        """Leave a submit that was not answered."""
        return self.history.claim(self.submission(prompt))[0]

    def submission(self, prompt: str) -> Submission:
        found = Catalog.default().function("text-to-video")
        body = found.canonical_body({**KITE, "prompt": prompt})
        return submission_of(
            self.service, found, body, found.estimate(body), budget=EARLIER
        )

    def held_micro_usd(self, budget: str = EARLIER) -> int:
        return self.history.budget_use(budget).reserved_micro_usd

    def run(
        self,
        ask: Callable[[AsyncClient], Awaitable[object]],
        budget: str,
        **more: Any,
    ) -> int:
        """Ask as a later start with a budget; return what is held of that."""

        async def main() -> int:
            async with async_client(
                self.service, history=self.history, budget=budget, **more
            ) as client:
                await ask(client)
                state = await client.budget()
                assert state is not None
                return state.reserved_micro_usd

        with asyncio.Runner() as runner:
            return runner.run(main())


@pytest.fixture
def desk(idle: RunningSandbox, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(idle, tmp_path)
    with desk.history:
        yield desk


async def submit(client: AsyncClient) -> object:
    return await client.submit("text-to-video", **KITE)


async def draw(client: AsyncClient) -> object:
    return await client.submit("text-to-video", take="next", **KITE)


@pytest.mark.parametrize("ask", [submit, draw])
def test_the_same_call_moves_it_to_its_own_budget_or_sends_nothing(
    desk: Desk, ask: Any
) -> None:
    left = desk.left()

    with pytest.raises(BudgetError, match=MAY_BE_MADE) as caught:
        desk.run(ask, "$0.30")
    assert "$0.04 over" in str(caught.value)
    assert caught.value.sent is None
    assert desk.history.find_key(left.key) == left
    assert desk.held_micro_usd() == KITE_MICRO_USD

    assert desk.run(ask, "$0.40") == KITE_MICRO_USD
    assert desk.held_micro_usd() == 0
    assert len(desk.history.page()) == 1


def test_a_further_draw_or_attempt_that_was_not_answered_is_moved_too(
    desk: Desk,
) -> None:
    first = desk.left("drawn again")
    failed_one = desk.left("tried again")

    async def ask(client: AsyncClient) -> None:
        job = await client.submit("text-to-video", prompt="drawn again", duration=5)
        desk.history.claim(take_of(first, desk.service, take=2))
        await job.next_take()
        desk.history.record_job(failed_one.key, failed(job_id="media_failed"))
        desk.history.claim(next_attempt(failed_one, desk.service))
        await io_thread().run(
            client.components.submissions.attempt_again, "media_failed"
        )

    assert desk.run(ask, "$5") == 3 * KITE_MICRO_USD
    assert desk.held_micro_usd() == 0
    assert len(desk.history.page()) == 4


def test_draws_of_two_budgets_at_once_stay_each_in_its_own(desk: Desk) -> None:
    async def main() -> list[int]:
        def client() -> AsyncClient:
            return async_client(desk.service, history=desk.history, budget="$0.40")

        async with client() as one, client() as other:
            await asyncio.gather(draw(one), draw(other))
            states = [await one.budget(), await other.budget()]
            return [state.reserved_micro_usd for state in states if state]

    with asyncio.Runner() as runner:
        assert runner.run(main()) == [KITE_MICRO_USD] * 2


def test_what_resume_sends_stays_in_the_budget_of_its_first_attempt(
    desk: Desk,
) -> None:
    desk.left("resumed")
    desk.sandbox.fault("outage", where={"function": "text-to-video"}, count=1)

    assert (
        desk.run(lambda client: client.resume(), "$0.30", clock=AdvancingClock()) == 0
    )
    assert desk.held_micro_usd() == KITE_MICRO_USD
    assert [entry.attempt for entry in desk.history.page()] == [2, 1]
