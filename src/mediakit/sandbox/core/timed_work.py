"""Work with due times: advancing the clock does all of it on the way."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from mediakit.sandbox.store import named_values
from mediakit.sandbox.store.database import Database
from mediakit.sandbox.timing.clock import US_PER_S, SandboxClock

CLOCK_FACT = "clock"
CLOCK_LEASE_S = 4.0
STALL_GAP_S = 0.01
STALL_LIMIT_S = 60.0


class StalledError(Exception):
    """Due work was not done, so the clock stays where it is."""


@dataclass(frozen=True)
class TimedWork:
    """One kind of work with due times of the sandbox's clock.

    The loop that does it in ordinary time uses the same functions. Both may start the
    same task at once: the condition of each state transition lets only one do it.

    Args:
        counted_as: The name of its count in the response to an advance.
        next_due_us: Returns when the next task is due; None when nothing is pending.
        do_due: Does what is due at an instant, waits until it is done, and returns
            the number of tasks done.
    """

    counted_as: str
    next_due_us: Callable[[], int | None]
    do_due: Callable[[int], Awaitable[int]]


class Timekeeper:
    """Advances a clock and does all work that becomes due meanwhile.

    Args:
        db: Stores the clock, so that a later start continues from its time.
        clock: The sandbox's clock.

    Attributes:
        works: The timed work; each component adds its own kind.
    """

    def __init__(self, db: Database, clock: SandboxClock) -> None:
        self.works: list[TimedWork] = []
        self._db = db
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()

    async def advance(self, seconds: float) -> dict[str, int]:
        """Skip this number of seconds; see `advance_to`."""
        async with self._one_at_a_time:
            start_us = self._clock.now_us()
            return await self._advance_to(start_us + round(seconds * US_PER_S))

    async def advance_to(self, target_us: int) -> dict[str, int]:
        """Skip to an instant, stopping at each due time.

        Thus each of the nine attempts of one delivery happens at its own time.

        Args:
            target_us: The instant, microseconds since 1970.

        Returns:
            The number of tasks of each kind that were done.

        Raises:
            StalledError: Due work was not done within a minute.
        """
        async with self._one_at_a_time:
            return await self._advance_to(target_us)

    async def _advance_to(self, target_us: int) -> dict[str, int]:
        done = {work.counted_as: 0 for work in self.works}
        stalled_since_s = time.monotonic()
        while (due_us := self._next_due_us()) is not None and due_us <= target_us:
            self._step(due_us)
            before = sum(done.values())
            for work in self.works:
                done[work.counted_as] += await work.do_due(self._clock.now_us())
            if sum(done.values()) > before:
                stalled_since_s = time.monotonic()
            elif time.monotonic() - stalled_since_s > STALL_LIMIT_S:
                raise StalledError
            else:
                # The ordinary loop is doing it already, and its sockets take real time.
                await asyncio.sleep(STALL_GAP_S)
        self._step(target_us)
        return done

    def _next_due_us(self) -> int | None:
        dues = [work.next_due_us() for work in self.works]
        return min((due for due in dues if due is not None), default=None)

    def _step(self, to_us: int) -> None:
        # Saved before the work is done, so that nothing is dated after the time at
        # which a later start would continue.
        self._clock.advance_to(to_us)
        save_clock(self._db, self._clock)


def save_clock(
    db: Database, clock: SandboxClock, *, ahead_s: float = CLOCK_LEASE_S
) -> None:
    """Store the time from which a later start continues.

    Args:
        db: The database.
        clock: The clock.
        ahead_s: Real seconds for which the clock may run before it is saved again, so
            that it does not go back when the server is killed meanwhile.
    """
    named_values.write(db, CLOCK_FACT, json.dumps({"epoch_us": clock.us_in(ahead_s)}))


def keep_time(db: Database, clock: SandboxClock) -> int:
    """Store the time of a running clock; return when to do so again, by that clock."""
    save_clock(db, clock)
    return clock.us_in(CLOCK_LEASE_S / 2)
