"""Creates the poller of one client on first use; counts its event listeners."""

from __future__ import annotations

import asyncio
from random import Random

from mediakit.client.jobs.async_job import AsyncJob
from mediakit.client.jobs.poll_budget import PollBudget, process_budget
from mediakit.client.jobs.poller import Poller, Read
from mediakit.clock import Clock


class ClientPoller:
    """The poller of one client; a forked child starts without one.

    Args:
        read: Reads a job once.
        clock: Gives time.
        budget: Limits the rate of reads; this process's own by default.
        random: Gives jitter.
    """

    def __init__(
        self,
        read: Read,
        clock: Clock,
        budget: PollBudget | None = None,
        random: Random | None = None,
    ) -> None:
        self._read = read
        self._clock = clock
        self._budget = budget or process_budget()
        self._random = random or Random()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._poller: Poller | None = None
        self._listeners_n = 0

    def watch(self, job: AsyncJob, *, at_once: bool = False) -> None:
        """Watch a job until its charge is settled.

        Args:
            job: The job.
            at_once: Its state may be outdated: it is due now.
        """
        poller = self._current()
        if poller is None:
            poller = self._poller = Poller(
                self._read,
                self._budget,
                self._clock,
                self._random,
                lambda: self._listeners_n > 0,
            )
        poller.add(job, at_once=at_once)

    def stop(self) -> None:
        """End all watching; the jobs continue at the service."""
        poller = self._current()
        self._poller = None
        if poller is not None:
            poller.stop()

    def _current(self) -> Poller | None:
        """Return this process's poller; drop one inherited through a fork."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._poller, self._listeners_n = loop, None, 0
        return self._poller

    # -- listening ----------------------------------------------------------------

    def listener_began(self) -> None:
        """Poll running jobs less often, because a listener receives their ends."""
        self._current()
        self._listeners_n += 1

    def listener_ended(self) -> None:
        """Resume the usual polling of running jobs, unless another listener is open."""
        poller = self._current()
        self._listeners_n = max(0, self._listeners_n - 1)
        if poller is not None and not self._listeners_n:
            poller.unlistened()

    def heard(self, job: AsyncJob) -> None:
        """Note that an event has reported the end of a job.

        Its state is already updated; only its charge may be open.
        """
        poller = self._current()
        if poller is not None:
            poller.heard(job)
