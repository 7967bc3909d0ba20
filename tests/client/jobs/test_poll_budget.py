"""Turns to read: who is next, and what becomes of who does not come."""

from __future__ import annotations

import asyncio

import pytest

from mediakit.client.jobs.poll_budget import Lane, PollBudget, process_budget
from mediakit.clock import VirtualClock
from tests.support.watched_jobs import run

START_S = 10.0
READS_PER_S = 7.0
GAP_S = 1 / PollBudget(READS_PER_S).steady_reads_per_s


def test_a_process_has_one_budget() -> None:
    assert process_budget() is process_budget()


class Line:
    """Those who wait for a turn, and when they had it."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.budget = PollBudget(READS_PER_S, clock=self.clock)
        self.turns: list[tuple[str, float]] = []

    async def use_up(self, lane: Lane) -> None:
        """Take the turns that were saved."""
        await self.clock.advance(START_S)
        for _ in range(2):
            await self.budget.turn(lane, 0.0)

    def come(self, name: str, rank_s: float, lane: Lane) -> asyncio.Task[None]:
        async def wait() -> None:
            await self.budget.turn(lane, rank_s)
            self.turns.append((name, self.clock.monotonic_s()))

        return asyncio.ensure_future(wait())


def test_the_lowest_rank_is_next_and_turns_are_spaced() -> None:
    line = Line()
    lane = Lane()

    async def scenario() -> None:
        await line.clock.advance(START_S)
        for name, rank_s in (("c", 3.0), ("a", 1.0), ("d", 4.0), ("b", 2.0)):
            line.come(name, rank_s, lane)
        await line.clock.advance(10.0)

    run(scenario())
    names, times_s = zip(*line.turns, strict=True)
    # A turn that was saved goes to the first that asks; then they queue.
    assert names == ("c", "a", "b", "d")
    gaps = [(at_s - START_S) / GAP_S for at_s in times_s]
    assert gaps == pytest.approx([0, 0, 1, 2])


def test_one_that_misses_its_turn_is_skipped() -> None:
    line = Line()
    lane = Lane()
    gone = line.budget.turn(lane, 0.0)

    async def scenario() -> None:
        await line.use_up(lane)
        gone.send(None)
        for name in "ab":
            line.come(name, 1.0, lane)
        await line.clock.advance(10.0)

    run(scenario())
    # Once the others wait for the absent one, one gap; then no more.
    names, times_s = zip(*line.turns, strict=True)
    assert names == ("a", "b")
    assert [(at_s - START_S) / GAP_S for at_s in times_s] == pytest.approx([2, 3])
    gone.close()


def test_one_that_leaves_the_line_makes_room() -> None:
    line = Line()
    lane = Lane()

    async def scenario() -> None:
        await line.use_up(lane)
        leaving = line.come("leaving", 0.0, lane)
        line.come("staying", 1.0, lane)
        await line.clock.advance(0.1)
        leaving.cancel()
        await line.clock.advance(10.0)

    run(scenario())
    ((name, at_s),) = line.turns
    assert name == "staying"
    assert at_s <= START_S + 2.01 * GAP_S


def test_a_pause_stops_one_lane_and_the_longer_pause_holds() -> None:
    line = Line()
    here, there = Lane(), Lane()

    async def scenario() -> None:
        line.budget.pause(here, 60.0)
        line.budget.pause(here, 5.0)
        line.come("here", 0.0, here)
        line.come("there", 1.0, there)
        await line.clock.advance(59.0)
        assert [name for name, _ in line.turns] == ["there"]
        await line.clock.advance(1.0)

    run(scenario())
    assert line.turns[-1] == ("here", 60.0)
