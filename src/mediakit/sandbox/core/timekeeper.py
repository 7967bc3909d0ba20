"""Work that the sandbox's clock makes due, and skipping time without skipping work."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from mediakit.sandbox.scheduling.clock import US_PER_S, SandboxClock
from mediakit.sandbox.store import meta
from mediakit.sandbox.store.database import Database

CLOCK_FACT = "clock"
STALL_GAP_S = 0.01
STALL_LIMIT_S = 60.0


class StalledError(Exception):
    """Work that was due did not get done, so the clock stays where it is."""


@dataclass(frozen=True)
class TimedWork:
    """One kind of work with due times of the sandbox's clock.

    The loop that does it in ordinary time uses the same functions. Both may ask for
    the same piece at once: each transition's own condition lets one of them do it.

    Args:
        counted_as: What its pieces are called in the answer to an advance.
        next_due_us: Tells when the next piece is due; None when nothing waits.
        do_due: Does what is due at an instant, waits for it really, and returns how
            many pieces it did.
    """

    counted_as: str
    next_due_us: Callable[[], int | None]
    do_due: Callable[[int], Awaitable[int]]


class Timekeeper:
    """Moves a clock forwards and does on the way all that becomes due.

    Args:
        db: Keeps the clock, so that a later start goes on from where it is.
        clock: The sandbox's clock.

    Attributes:
        works: What the clock makes due; who does a kind of work adds it.
    """

    def __init__(self, db: Database, clock: SandboxClock) -> None:
        self.works: list[TimedWork] = []
        self._db = db
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()

    async def advance(self, seconds: float) -> dict[str, int]:
        """Skip so many seconds from now; see `advance_to`."""
        async with self._one_at_a_time:
            start_us = self._clock.now_us()
            return await self._advance_to(start_us + round(seconds * US_PER_S))

    async def advance_to(self, target_us: int) -> dict[str, int]:
        """Skip to an instant, stopping wherever something is due.

        Deliveries that depend on each other, such as the nine attempts of one, so
        happen each at its own time.

        Args:
            target_us: The instant, microseconds since 1970.

        Returns:
            How many pieces of each kind of work were done.

        Raises:
            StalledError: Something that is due did not get done in a minute.
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
                # The ordinary loop is about it already: its sockets take real time.
                await asyncio.sleep(STALL_GAP_S)
        self._step(target_us)
        return done

    def _next_due_us(self) -> int | None:
        dues = [work.next_due_us() for work in self.works]
        return min((due for due in dues if due is not None), default=None)

    def _step(self, to_us: int) -> None:
        # Kept before the work is done: nothing is ever dated after what a later
        # start would call now.
        self._clock.advance_to(to_us)
        keep_clock(self._db, self._clock)


def keep_clock(db: Database, clock: SandboxClock) -> None:
    """Keep where a clock is, for a later start."""
    meta.write(db, CLOCK_FACT, json.dumps(clock.as_kept()))
