"""Polls the jobs of one client until their charge is settled."""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from math import inf
from random import Random

from mediakit.client.jobs.async_job import AsyncJob
from mediakit.client.jobs.poll_budget import Lane, PollBudget
from mediakit.client.jobs.poll_schedule import (
    HEARD_GAP_S,
    PATIENT_FOR_S,
    SETTLES_LATE_GAP_S,
    concerns_all,
    jittered_s,
    passes,
    pause_s,
)
from mediakit.client.jobs.watched_job import Place, Watched
from mediakit.clock import Clock
from mediakit.errors import (
    AnswerError,
    MediakitError,
    NotFoundError,
    RateLimitError,
)

log = logging.getLogger("mediakit.client")

AT_ONCE = 8
LATER_S = 5.0

Read = Callable[[AsyncJob], Awaitable[None]]


class Poller:
    """Reads jobs, each when it is due and the budget has a turn.

    The poller reads the most overdue job first; a job that only waits for its charge
    yields to one round of the others. So with `n` jobs and `r` turns a second, no
    running job waits for more than `n / r` seconds beyond its own gap.

    The poller keeps a reference to a job until its charge is settled, so that the
    charge reaches the history. An unknown job, or a status or charge that is
    unreadable, may be temporary; one that stays so ends the waiting but not the
    watching.

    Args:
        read: Reads a job once. `AnswerError` is an error response of the service, or
            no response.
        budget: Limits the rate of reads.
        clock: Gives time.
        random: Gives jitter.
        listened: Returns whether events report the ends of jobs: then running jobs
            are read less often.
    """

    def __init__(
        self,
        read: Read,
        budget: PollBudget,
        clock: Clock,
        random: Random,
        listened: Callable[[], bool],
    ) -> None:
        self._read = read
        self._budget = budget
        self._lane = Lane()
        self._clock = clock
        self._random = random
        self._listened = listened
        self._loop = asyncio.get_running_loop()
        self._numbers = count()
        self._watched: dict[str, Watched] = {}
        self._resting: list[Place] = []
        self._ready: list[Place] = []
        self._reading: set[asyncio.Task[None]] = set()
        self._runner: asyncio.Task[None] | None = None
        self._nap: asyncio.Future[None] | None = None
        self._nap_until_s = 0.0

    def add(self, job: AsyncJob, *, at_once: bool) -> None:
        """Watch a job; a job that is already watched does not change.

        Args:
            job: The job.
            at_once: Its state may be outdated: it is due now.
        """
        refusal = self._budget.refusal(self._lane)
        if refusal is not None:
            job.end(refusal)
        if job.id in self._watched:
            return
        watched = self._watched[job.id] = self._new(job)
        now_s = self._clock.monotonic_s()
        self._rest(watched, now_s if at_once else now_s + self._gap_s(watched, now_s))
        if self._runner is None or self._runner.done():
            self._runner = self._loop.create_task(self._run())

    def _new(self, job: AsyncJob) -> Watched:
        state, now_s = job.state, self._clock.monotonic_s()
        age_s = 0.0
        if state.submitted_at is not None:
            age_s = (self._clock.now() - state.submitted_at).total_seconds()
        status = state.record.status
        ended_s = now_s if status.terminal else None
        return Watched(job, status, now_s - max(0.0, age_s), ended_s)

    def stop(self) -> None:
        """End all watching."""
        for task in (*self._reading, self._runner):
            if task is not None:
                task.cancel()
        self._forget()

    def _forget(self) -> None:
        self._watched.clear()
        self._resting.clear()
        self._ready.clear()

    # -- events ---------------------------------------------------------------------

    def heard(self, job: AsyncJob) -> None:
        """Note that an event has reported the end of a job.

        If its charge is not known yet, it is read later.
        """
        watched = self._watched.get(job.id)
        # A job that is lined up or being read is still read.
        if watched is None or watched.rests is None:
            return
        if job.state.is_over:
            watched.rests = None  # its place is skipped
            del self._watched[job.id]
        elif not watched.status.terminal:
            now_s = self._clock.monotonic_s()
            watched.was_read(now_s)
            # An event has no billing; another read of the job may have set it.
            unsaid = job.state.record.billing is None
            heard_gap_s = jittered_s(HEARD_GAP_S, self._random)
            gap_s = heard_gap_s if unsaid else self._gap_s(watched, now_s)
            self._rest(watched, now_s + gap_s)

    def unlistened(self) -> None:
        """Resume the usual polling, because no listener is left."""
        now_s = self._clock.monotonic_s()
        for watched in self._watched.values():
            if watched.rests is not None and not watched.status.terminal:
                self._rest(watched, now_s)

    # -- the loop -------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            while self._watched:
                try:
                    await self._step()
                except Exception:
                    # After any error, waiting calls must not wait forever.
                    log.exception("watching jobs failed; it continues")
                    await self._clock.sleep(LATER_S)
        finally:
            # An event loop that ends cancels this; then no job is referenced here.
            self._forget()

    async def _step(self) -> None:
        self._call_up()
        if self._ready:
            await self._read_next()
        else:
            await self._rest_until_due()

    def _rest(self, watched: Watched, due_s: float) -> None:
        watched.rests = Place(due_s, next(self._numbers), watched)
        heapq.heappush(self._resting, watched.rests)
        if due_s < self._nap_until_s:
            self._wake()

    def _gap_s(self, watched: Watched, now_s: float) -> float:
        gap_s = watched.gap_s(now_s, listened=self._listened())
        return jittered_s(gap_s, self._random)

    def _call_up(self) -> None:
        """Line up the jobs that are due."""
        now_s = self._clock.monotonic_s()
        round_s = len(self._watched) / self._budget.steady_reads_per_s
        while self._resting and self._resting[0].rank_s <= now_s:
            place = heapq.heappop(self._resting)
            if place is not place.watched.rests:
                continue  # it has another place now
            place.watched.rests = None
            if place.watched.status.terminal:
                place.rank_s += round_s
            heapq.heappush(self._ready, place)

    async def _rest_until_due(self) -> None:
        """Wait until a job is due or anything changes."""
        nap: asyncio.Future[None] = self._loop.create_future()
        self._nap_until_s = inf
        if self._resting:
            self._nap_until_s = self._resting[0].rank_s
            wait_s = self._nap_until_s - self._clock.monotonic_s()
            nap = self._loop.create_task(self._clock.sleep(wait_s))
        self._nap = nap
        try:
            await asyncio.wait({nap})
        finally:
            nap.cancel()

    def _wake(self) -> None:
        if self._nap is not None:
            self._nap.cancel()

    async def _read_next(self) -> None:
        # A service with errors gets one read at a time.
        while len(self._reading) >= (1 if self._lane.failures else AT_ONCE):
            await asyncio.wait(self._reading, return_when=asyncio.FIRST_COMPLETED)
        await self._budget.turn(self._lane, self._ready[0].rank_s)
        self._call_up()
        watched = heapq.heappop(self._ready).watched
        task = self._loop.create_task(self._once(watched.job))
        self._reading.add(task)
        task.add_done_callback(partial(self._was_read, watched))

    async def _once(self, job: AsyncJob) -> None:
        # Another read may have settled it while it waited for its turn.
        if not job.state.is_over:
            await self._read(job)

    # -- the result of a read -------------------------------------------------------

    def _was_read(self, watched: Watched, task: asyncio.Task[None]) -> None:
        self._reading.discard(task)
        self._wake()
        if watched.job.id not in self._watched:
            return
        try:
            self._take(watched, None if task.cancelled() else task.exception())
        except Exception:
            # As in `_run`: a job without a place is never read again.
            log.exception("watching the job %s failed; it continues", watched.job.id)
            if watched.job.id in self._watched and watched.rests is None:
                self._rest(watched, self._clock.monotonic_s() + LATER_S)

    def _take(self, watched: Watched, error: BaseException | None) -> None:
        if error is None:
            self._went_well(watched)
        elif isinstance(error, NotFoundError):
            # A gateway may have answered so: the job may be found again.
            watched.job.end(error)
            now_s = self._clock.monotonic_s()
            self._rest(watched, now_s + jittered_s(SETTLES_LATE_GAP_S, self._random))
        elif isinstance(error, MediakitError) and not passes(error):
            del self._watched[watched.job.id]
            watched.job.end(error)
        else:
            self._went_wrong(watched, error)

    def _went_well(self, watched: Watched) -> None:
        now_s = self._clock.monotonic_s()
        watched.was_read(now_s)
        if watched.job.state.is_over:
            del self._watched[watched.job.id]
        else:
            self._rest(watched, now_s + self._gap_s(watched, now_s))
        if self._lane.failures:
            self._lane.failures, self._lane.closed_by = 0, None
            self._tell(None)
        lost = watched.lost(now_s)
        if lost is not None:
            watched.job.end(lost)

    def _went_wrong(self, watched: Watched, error: BaseException) -> None:
        watched.failures += 1
        now_s = self._clock.monotonic_s()
        if concerns_all(error):
            self._lane.failures += 1
            wait_s = pause_s(error, self._lane.failures, self._random)
            self._budget.pause(self._lane, wait_s)
            self._rest(watched, now_s)
            self._tell(trouble_text(error, wait_s))
            if wait_s > PATIENT_FOR_S and isinstance(error, AnswerError):
                self._close_lane(error)
        else:
            wait_s = pause_s(error, watched.failures, self._random)
            self._rest(watched, now_s + wait_s)
            watched.job.trouble(trouble_text(error, wait_s))
        if not isinstance(error, AnswerError):
            log.error("reading the job %s failed", watched.job.id, exc_info=error)

    def _tell(self, trouble: str | None) -> None:
        for watched in tuple(self._watched.values()):
            watched.job.trouble(trouble)

    def _close_lane(self, error: AnswerError) -> None:
        """End the waiting calls; watching continues when the service allows it."""
        self._lane.closed_by = error
        for watched in tuple(self._watched.values()):
            watched.job.end(error)


def trouble_text(error: BaseException, wait_s: float) -> str:
    """Return a sentence with the error and the time of the next attempt."""
    said = str(error) if isinstance(error, MediakitError) else type(error).__name__
    end = "" if said.endswith("?") else "."
    then = "" if isinstance(error, RateLimitError) else "; the job continues"
    return f"{said.rstrip('.')}{end} Retrying in {wait_s:,.0f} s{then}."
