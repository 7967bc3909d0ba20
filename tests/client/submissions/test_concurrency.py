"""How many submits are under way at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.client.sending import AT_ONCE_N, SubmitSlots
from mediakit.clock import VirtualClock


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


class Submits:
    """Submits that are under way until they are given their response."""

    def __init__(self, slots: SubmitSlots, clock: VirtualClock) -> None:
        self._slots, self._clock = slots, clock
        self.under_way: list[asyncio.Future[None]] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def start(self, n: int) -> None:
        self.tasks += [asyncio.ensure_future(self._submit()) for _ in range(n)]
        await self._clock.advance(0)

    async def _submit(self) -> None:
        async with self._slots.slot():
            answered = asyncio.get_running_loop().create_future()
            self.under_way.append(answered)
            await answered

    async def answer(self, n: int, *, full: bool = False, for_s: float = 1) -> None:
        answered, self.under_way = self.under_way[:n], self.under_way[n:]
        for future in answered:
            if full:
                self._slots.rejected(for_s)
            else:
                self._slots.accepted()
            future.set_result(None)
        await self._clock.advance(0)


def test_a_full_service_halves_it_once_for_all_that_were_under_way(
    runner: asyncio.Runner,
) -> None:
    async def scenario() -> None:
        clock = VirtualClock()
        slots = SubmitSlots(clock)
        submits = Submits(slots, clock)
        await submits.start(AT_ONCE_N * 3)
        assert len(submits.under_way) == AT_ONCE_N
        for at_once_n in (8, 4, 2, 1, 1):
            await submits.answer(len(submits.under_way), full=True)
            assert submits.under_way == []
            await clock.advance(1)
            assert len(submits.under_way) == slots.at_once_n == at_once_n
        while submits.under_way:
            await submits.answer(1)
        assert slots.at_once_n == AT_ONCE_N
        assert all(task.done() for task in submits.tasks)

    runner.run(scenario())


def test_nobody_begins_while_the_service_asks_to_wait(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        clock = VirtualClock()
        submits = Submits(SubmitSlots(clock, 2), clock)
        await submits.start(5)
        await submits.answer(1, full=True, for_s=20)
        await submits.start(1)
        await submits.answer(1, full=True)
        await clock.advance(19)
        assert submits.under_way == []
        await clock.advance(1)
        assert len(submits.under_way) == 1

    runner.run(scenario())


STEPS = ("start", "start", "accepted", "full", "cancel", "a second passes")


@given(st.lists(st.sampled_from(STEPS), max_size=80))
def test_there_are_never_more_than_allowed_and_nobody_is_forgotten(
    steps: list[str],
) -> None:
    async def scenario() -> None:
        clock = VirtualClock()
        slots = SubmitSlots(clock, 4)
        submits = Submits(slots, clock)
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
                await submits.answer(1, full=step == "full")
            assert len(submits.under_way) <= max(before, slots.at_once_n)
            assert 1 <= slots.at_once_n <= 4
        await clock.advance(1)
        while submits.under_way:
            await submits.answer(1)
        assert all(task.done() for task in submits.tasks)

    with asyncio.Runner() as runner:
        runner.run(scenario())
