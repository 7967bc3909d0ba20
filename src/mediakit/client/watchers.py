"""The watchers of one client, and whether the ends of its jobs are heard of."""

from __future__ import annotations

import asyncio
import os
from random import Random

from mediakit.client.async_job import AsyncJob
from mediakit.client.read_budget import ReadBudget, process_budget
from mediakit.client.watcher import Read, Watcher
from mediakit.clock import Clock


class Watchers:
    """The watchers of one client, one for each event loop that it is used on.

    A job that is used on two loops at a time is read by both.

    Args:
        read: Reads a job once.
        service: Names the service and the account.
        clock: Gives time.
        budget: Gives turns to read; this process's own by default.
        random: Gives jitter.
    """

    def __init__(
        self,
        read: Read,
        service: str,
        clock: Clock,
        budget: ReadBudget | None = None,
        random: Random | None = None,
    ) -> None:
        self._read = read
        self._service = service
        self._clock = clock
        self._budget = budget or process_budget()
        self._random = random or Random()
        self._pid = os.getpid()
        self._of_loop: dict[asyncio.AbstractEventLoop, Watcher] = {}
        self._listeners_n = 0

    def watch(self, job: AsyncJob, *, at_once: bool = False) -> None:
        """Watch a job on the running loop until its charge is settled.

        Args:
            job: The job.
            at_once: Its state is from an earlier time: it is due now.
        """
        loop = asyncio.get_running_loop()
        self._let_go()
        watcher = self._of_loop.get(loop)
        if watcher is None:
            lane = self._budget.lane(self._service)
            watcher = Watcher(
                self._read,
                self._budget,
                lane,
                self._clock,
                self._random,
                self._is_listened,
            )
            self._of_loop[loop] = watcher
        watcher.add(job, at_once=at_once)

    def stop(self) -> None:
        """End all watching, on all loops; the jobs go on at the service."""
        self._let_go()
        for loop in tuple(self._of_loop):
            self._of_loop.pop(loop).stop()

    # -- listening ----------------------------------------------------------------

    def _is_listened(self) -> bool:
        return self._listeners_n > 0

    def listener_began(self) -> None:
        """Read jobs that run seldom from now on: their ends are heard of."""
        self._let_go()
        self._listeners_n += 1

    def listener_ended(self) -> None:
        """Read jobs that run again, unless another listener hears of them."""
        self._let_go()
        self._listeners_n = max(0, self._listeners_n - 1)
        if not self._is_listened():
            for watcher in tuple(self._of_loop.values()):
                watcher.unlistened()

    def heard(self, job: AsyncJob) -> None:
        """Take note, on whichever loop watches it, that a job was heard to have ended.

        Its state is known already; what is still open is its charge.
        """
        self._let_go()
        for watcher in tuple(self._of_loop.values()):
            watcher.heard(job)

    def _let_go(self) -> None:
        """Forget loops that have ended, and in a fork those of the other process."""
        if self._pid != os.getpid():
            self._pid, self._of_loop, self._listeners_n = os.getpid(), {}, 0
        for loop in tuple(self._of_loop):
            if loop.is_closed():
                self._of_loop.pop(loop, None)
