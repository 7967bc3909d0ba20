"""How many submits are under way at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.client.submissions.concurrency import MOST_N, START_N, SubmitConcurrency
from mediakit.clock import VirtualClock


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


class Submits:
    """Submits that are under way until they are given their response."""

    def __init__(self, concurrency: SubmitConcurrency, clock: VirtualClock) -> None:
        self._pace, self._clock = concurrency, clock
        self.under_way: list[tuple[int, asyncio.Future[None]]] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def start(self, n: int) -> None:
        self.tasks += [asyncio.ensure_future(self._submit()) for _ in range(n)]
        await self._clock.advance(0)

    async def _submit(self) -> None:
        async with self._pace.slot() as its_round:
            answered = asyncio.get_running_loop().create_future()
            self.under_way.append((its_round, answered))
            await answered

    async def answer(self, n: int, *, full: bool = False, for_s: float = 0) -> None:
        answered, self.under_way = self.under_way[:n], self.under_way[n:]
        for its_round, future in answered:
            if full:
                self._pace.full(its_round, closed_for_s=for_s)
            else:
                self._pace.accepted()
            future.set_result(None)
        await self._clock.advance(0)


def test_a_number_go_at_once_and_the_others_follow(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        clock = VirtualClock()
        concurrency = SubmitConcurrency(clock, start_n=4)
        submits = Submits(concurrency, clock)
        await submits.start(7)
        assert len(submits.under_way) == 4
        await submits.answer(2)
        assert len(submits.under_way) == 4
        await submits.answer(4)
        assert len(submits.under_way) == 1
        await submits.answer(1)
        assert all(task.done() for task in submits.tasks)

    runner.run(scenario())


def test_a_full_service_halves_it_once_for_all_that_were_under_way(
    runner: asyncio.Runner,
) -> None:
    async def scenario() -> None:
        clock = VirtualClock()
        concurrency = SubmitConcurrency(clock)
        submits = Submits(concurrency, clock)
        await submits.start(START_N * 3)
        await submits.answer(START_N, full=True)
        assert concurrency.at_once_n == START_N // 2
        assert len(submits.under_way) == START_N // 2
        await submits.answer(START_N // 2, full=True)
        assert concurrency.at_once_n == START_N // 4
        for _ in range(10):
            await submits.answer(1, full=True)
        assert concurrency.at_once_n == 1
        assert len(submits.under_way) == 1
        await submits.answer(1)
        assert concurrency.at_once_n == 2
        while submits.under_way:
            await submits.answer(1)
        assert all(task.done() for task in submits.tasks)

    runner.run(scenario())


def test_a_round_of_accepted_submits_makes_room_for_one_more() -> None:
    concurrency = SubmitConcurrency(VirtualClock(), start_n=10)

    for _ in range(11):
        concurrency.accepted()
    assert concurrency.at_once_n == 11
    for _ in range(10_000):
        concurrency.accepted()
    assert concurrency.at_once_n == MOST_N


def test_nobody_begins_while_the_service_asks_to_wait(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        clock = VirtualClock()
        submits = Submits(SubmitConcurrency(clock, start_n=2), clock)
        await submits.start(5)
        await submits.answer(1, full=True, for_s=20)
        await submits.start(1)
        await submits.answer(1, full=True)
        assert submits.under_way == []
        await clock.advance(19)
        assert submits.under_way == []
        await clock.advance(1)
        assert len(submits.under_way) == 1

    runner.run(scenario())


def test_who_gives_up_waiting_leaves_the_turn_to_the_next(
    runner: asyncio.Runner,
) -> None:
    async def scenario() -> None:
        clock = VirtualClock()
        submits = Submits(SubmitConcurrency(clock, start_n=1), clock)
        await submits.start(3)
        _, second, third = submits.tasks
        _, answered = submits.under_way.pop()
        answered.set_result(None)
        await asyncio.sleep(0)  # the first leaves, and the second is woken
        second.cancel()
        await clock.advance(0)
        assert second.cancelled()
        assert len(submits.under_way) == 1
        await submits.answer(1)
        assert third.done()

    runner.run(scenario())


STEPS = ("start", "start", "accepted", "full", "cancel", "a second passes")


@given(st.lists(st.sampled_from(STEPS), max_size=80))
def test_there_are_never_more_than_allowed_and_nobody_is_forgotten(
    steps: list[str],
) -> None:
    async def scenario() -> None:
        clock = VirtualClock()
        concurrency = SubmitConcurrency(clock, start_n=4)
        submits = Submits(concurrency, clock)
        for step in steps:
            before = len(submits.under_way)
            if step == "start":
                await submits.start(1)
            elif step == "cancel":
                waiting = [t for t in submits.tasks if not t.done()][before:]
                for task in waiting[:1]:
                    task.cancel()
                await clock.advance(0)
            elif step == "a second passes":
                await clock.advance(1)
            else:
                await submits.answer(1, full=step == "full", for_s=1)
            assert len(submits.under_way) <= max(before, concurrency.at_once_n)
            assert 1 <= concurrency.at_once_n <= MOST_N
        await clock.advance(1)
        while submits.under_way:
            await submits.answer(1)
        assert all(task.done() for task in submits.tasks)

    with asyncio.Runner() as runner:
        runner.run(scenario())
