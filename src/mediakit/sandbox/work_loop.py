"""Work that is due by the sandbox's clock, done in a loop or when it advances."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TypeVar

from mediakit.clock import US_PER_S
from mediakit.sandbox.clock import SandboxClock
from mediakit.sandbox.store.database import SandboxDatabase

logger = logging.getLogger(__name__)

RETRY_S = 1.0
PAUSE_S = 0.01
# Real seconds until the time of the clock is stored again.
CLOCK_LEASE_S = 4.0
CLOCK = "clock"

Result = TypeVar("Result")


@dataclass(frozen=True)
class Work:
    """A kind of work that falls due by the sandbox's clock."""

    start_due: Callable[[int], int]
    next_due_us: Callable[[], int | None]
    counted_as: str | None = None
    tasks: Callable[[], Collection[asyncio.Task[None]]] | None = None


def regular_work(
    clock: SandboxClock, interval_s: float, do: Callable[[], None]
) -> Work:
    """Return work that is due at an interval in real seconds."""
    due_us = 0

    def start(now_us: int) -> int:
        nonlocal due_us
        if now_us >= due_us:
            do()
            due_us = clock.us_in(interval_s)
        return 0

    return Work(start, lambda: due_us)


class WorkLoop:
    """Does all work when it is due."""

    def __init__(
        self, db: SandboxDatabase, clock: SandboxClock, *, retry_s: float = RETRY_S
    ) -> None:
        self.works: list[Work] = []
        self._db = db
        self._clock = clock
        self._retry_s = retry_s
        self._woken = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self._pauses_n = 0

    def wake(self) -> None:
        """Look for due work now: there may be new work, or the clock was moved."""
        self._woken.set()

    async def run(self) -> None:
        """Do due work while the sandbox serves, despite any error."""
        while True:
            self._woken.clear()
            try:
                for work in self.works:
                    self._start_due(work)
                # The end of a pause wakes the loop.
                due_us = None if self._pauses_n else self._next_due_us(self.works)
                wait_s = None if due_us is None else self._clock.real_s_until(due_us)
            except Exception:  # such as a full disk
                logger.exception(
                    "Background work of the sandbox failed; it will be retried."
                )
                await asyncio.sleep(self._retry_s)
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._woken.wait()

    def _start_due(self, work: Work) -> int:
        return 0 if self._pauses_n else work.start_due(self._clock.now_us())

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Cancel running tasks, and start none inside the block."""
        self._pauses_n += 1
        try:
            await self.cancel()
            yield
        finally:
            self._pauses_n -= 1
            self.wake()

    async def cancel(self) -> None:
        """Cancel running tasks."""
        tasks = [task for work in self.works if work.tasks for task in work.tasks()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def advance(self, seconds: float) -> dict[str, int]:
        """Skip a number of seconds; see `advance_to`."""
        return await self._advance(
            lambda: self._clock.now_us() + round(seconds * US_PER_S)
        )

    async def advance_to(self, target_us: int) -> dict[str, int]:
        """Skip to an instant, stopping at each due time; return counts of the work.

        This way, each of the nine attempts of a delivery happens at its own time.
        """
        return await self._advance(lambda: target_us)

    async def _advance(self, target: Callable[[], int]) -> dict[str, int]:
        async with self._one_at_a_time:
            counted = {work.counted_as: work for work in self.works if work.counted_as}
            done = dict.fromkeys(counted, 0)
            target_us = target()
            while True:
                await self._finish(done, counted)
                due_us = self._next_due_us(counted.values())
                if due_us is None or due_us > target_us:
                    break
                self._step(due_us)
                started_n = 0
                for name, work in counted.items():
                    n = self._start_due(work)
                    done[name] += n if work.tasks is None else 0
                    started_n += n
                if not started_n:  # a reset has paused the work
                    await asyncio.sleep(PAUSE_S)
            self._step(target_us)
            return done

    async def _finish(self, done: dict[str, int], works: Mapping[str, Work]) -> None:
        """Wait for all started tasks, including the loop's, and count them."""
        for name, work in works.items():
            if work.tasks is not None and (tasks := tuple(work.tasks())):
                await asyncio.wait(tasks)
                done[name] += len(tasks)

    def _next_due_us(self, works: Iterable[Work]) -> int | None:
        dues = [work.next_due_us() for work in works]
        return min((due for due in dues if due is not None), default=None)

    def _step(self, to_us: int) -> None:
        # Save the time before doing the work, so that nothing is dated after the time
        # at which a later start would continue.
        self._clock.advance_to(to_us)
        save_clock(self._db, self._clock)


async def persist(
    subject: str, attempt: Callable[[], Result], *, retry_s: float = RETRY_S
) -> Result:
    """Retry a write until it succeeds, because a disk may be full for a while."""
    while True:
        try:
            return attempt()
        except Exception:
            logger.exception("The sandbox failed at %s and will try again.", subject)
        await asyncio.sleep(retry_s)


def save_clock(
    db: SandboxDatabase, clock: SandboxClock, *, ahead_s: float = CLOCK_LEASE_S
) -> None:
    """Store the time from which the clock continues after a restart."""
    db.run(
        "INSERT INTO meta (name, value) VALUES (?1, ?2)"
        " ON CONFLICT (name) DO UPDATE SET value = ?2",
        CLOCK,
        json.dumps({"epoch_us": clock.us_in(ahead_s)}),
    )


def stored_epoch_us(db: SandboxDatabase) -> int:
    """Return the stored time of the clock; 0 without one."""
    stored = db.value("SELECT value FROM meta WHERE name = ?", CLOCK)
    return 0 if stored is None else int(json.loads(stored)["epoch_us"])
