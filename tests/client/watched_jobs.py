"""Jobs on a virtual clock, at a service with a fixed end for each."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random
from typing import Any, cast

from mediakit.api_models import JobRecord
from mediakit.client.async_job import AsyncJob
from mediakit.client.io_thread import io_thread
from mediakit.client.jobs import Jobs
from mediakit.client.polling import Poller, ReadLimiter
from tests.support.job_states import state_of
from tests.support.virtual_clock import VirtualClock

CHARGE = {"state": "settled", "charge_micro_usd": 340_000}


@dataclass(frozen=True)
class Course:
    """The course of a job, in seconds of the clock.

    Args:
        starts_s: When it is submitted and polled.
        runs_s: How long it takes to end.
        settles_s: How long its charge takes after that.
        usual_s: How long its function usually takes; None if unknown.
        billing: The reported billing until it is settled.
        unknown: An unknown status that is reported while the job runs; None for
            "running".
    """

    starts_s: float = 0.0
    runs_s: float = 3.0
    settles_s: float = 0.0
    usual_s: float | None = None
    billing: str | None = "pending"
    unknown: str | None = None

    def record(self, job_id: str, now_s: float) -> JobRecord:
        """Return the service's record of the job."""
        ran_s = now_s - self.starts_s
        fields: dict[str, Any] = {"id": job_id, "status": self.unknown or "running"}
        if ran_s >= self.runs_s:
            settled = ran_s >= self.runs_s + self.settles_s
            open_ = None if self.billing is None else {"state": self.billing}
            fields |= {"status": "completed", "billing": CHARGE if settled else open_}
        return JobRecord.model_validate(fields)


class Service:
    """A service and the pollers of its jobs, on one virtual clock.

    Args:
        courses: The course of each job, by its id.
        reads_per_s: The rate limit.
        clients: The number of clients, which share the jobs.
        seed: Of the jitter.
    """

    def __init__(
        self,
        courses: dict[str, Course],
        *,
        reads_per_s: float = 20.0,
        clients: int = 1,
        seed: int = 1,
    ) -> None:
        self.clock = VirtualClock()
        self.limiter = ReadLimiter(reads_per_s, clock=self.clock)
        self.courses = courses
        self.clients = [self.client(seed + n) for n in range(clients)]
        self.jobs: dict[str, AsyncJob] = {}
        self.reads: list[tuple[float, str]] = []
        self.fault: Callable[[str], Exception | None] = lambda job_id: None

    def client(self, seed: int = 1) -> Poller:
        """Return the poller of another client."""
        random = Random(seed)
        return Poller(self.read, self.clock, self.limiter, random)

    async def read(self, job: AsyncJob) -> None:
        now_s = self.clock.monotonic_s()
        self.reads.append((now_s, job.id))
        error = self.fault(job.id)
        if error is not None:
            raise error
        job.see(self.courses[job.id].record(job.id, now_s), self.clock.now())

    def submit(self, job_id: str, pollers: Poller | None = None) -> AsyncJob:
        """Start a job, and poll it."""
        client = pollers or self.clients[len(self.jobs) % len(self.clients)]
        course = self.courses[job_id]
        state = state_of("queued", id=job_id, submitted_at=self.clock.now())
        jobs = cast(Jobs, _Jobs(self, client))
        job = AsyncJob(jobs, replace(state, usual_runtime_s=course.usual_s))
        self.jobs[job_id] = job
        client.watch(job)
        return job

    async def run(self, until_s: float) -> None:
        """Submit each job at its time; run until a time or until all are settled."""
        for job_id, course in sorted(self.courses.items(), key=lambda i: i[1].starts_s):
            # Sums of floats may differ in their last place.
            ahead_s = max(0.0, course.starts_s - self.clock.monotonic_s())
            await self.clock.advance(ahead_s)
            self.submit(job_id)
        while self.clock.monotonic_s() < until_s and self.unsettled:
            await self.clock.advance(min(10.0, until_s - self.clock.monotonic_s()))

    @property
    def unsettled(self) -> list[str]:
        """Return the jobs whose charge has not been read."""
        return [x.id for x in self.jobs.values() if x.state.charge_micro_usd is None]

    def reads_of(self) -> dict[str, list[float]]:
        """Return when each job was read."""
        found: dict[str, list[float]] = defaultdict(list)
        for at_s, job_id in self.reads:
            found[job_id].append(at_s)
        return found


class _Jobs:
    """The client's interface to a job, as far as these tests need it."""

    def __init__(self, service: Service, pollers: Poller) -> None:
        self.read = service.read
        self.watch = pollers.watch

    def on_wait(self, job: AsyncJob) -> None:
        """Waits for these jobs are not displayed."""


def run(scenario: Coroutine[Any, Any, None]) -> None:
    """Run a scenario on the I/O thread, and cancel its remaining tasks."""

    async def whole() -> None:
        before = asyncio.all_tasks()
        try:
            await scenario
        finally:
            left = asyncio.all_tasks() - before
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    io_thread().call(whole)


async def cancelled(task: asyncio.Task[Any]) -> None:
    """End a task that a scenario started."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
