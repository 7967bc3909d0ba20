"""A job as its owner sees it: its state, and what can be done with it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import anyio

from mediakit.errors import JobFailedError, MediakitError, WaitTimeoutError
from mediakit.money import format_usd
from mediakit.rates import Estimate
from mediakit.records import Job as JobRecord
from mediakit.records import JobStatus

if TYPE_CHECKING:
    from mediakit.client.io_thread import IOThread
    from mediakit.client.jobs import Jobs

log = logging.getLogger("mediakit.client")
Listener = Callable[["JobState"], None]


@dataclass(frozen=True)
class JobState:
    """Everything that is known of a job at one moment.

    Args:
        record: What the service says.
        function: The function's path.
        kind: The function's kind; the path's last segment when it is not known.
        media_type: What it makes.
        prompt: The body's prompt, if it has one.
        body: The body that was sent; empty when it was sent from elsewhere.
        estimate: What it was estimated at; None when it was sent from elsewhere.
        submitted_at: When it was submitted.
        started_at: When it was first seen running.
        finished_at: When it was first seen ended.
        usual_runtime_s: Seconds that this function usually takes; None if unknown.
        charge_micro_usd: The settled charge; None until it is settled.
        reused: It was found in the history instead of bought.
        trouble: A sentence while it cannot be read; None otherwise.
        service: What people call the service.
    """

    record: JobRecord
    function: str
    kind: str
    media_type: str
    prompt: str | None = None
    body: Mapping[str, object] = field(default_factory=dict)
    estimate: Estimate | None = None
    submitted_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    usual_runtime_s: float | None = None
    charge_micro_usd: int | None = None
    reused: bool = False
    trouble: str | None = None
    service: str = ""

    def seen(self, record: JobRecord, now: datetime) -> JobState:
        """Return the state after a record was read; it never goes backwards."""
        if self.record.status.terminal and not record.status.terminal:
            return self
        running = record.status is JobStatus.RUNNING
        charge = record.settled_charge_micro_usd
        return replace(
            self,
            record=record,
            started_at=self.started_at or (now if running else None),
            finished_at=self.finished_at or (now if record.status.terminal else None),
            charge_micro_usd=charge if charge is not None else self.charge_micro_usd,
            trouble=None,
        )

    @property
    def text(self) -> str:
        """Write the job as one line for people."""
        parts = [self.kind, self.record.status.value, self.record.id]
        if self.charge_micro_usd is not None:
            parts.append(f"charged {format_usd(self.charge_micro_usd)}")
        elif self.estimate is not None:
            parts.append(f"estimated {self.estimate}")
        if self.reused:
            parts.append("bought before, nothing was sent")
        return " · ".join(parts)


class AsyncJob:
    """A job, on the event loop of its client.

    It watches itself from the start until its charge is settled. There is no cancel
    in the interface: a time-out or an interrupt ends the waiting only.
    """

    def __init__(self, jobs: Jobs, state: JobState) -> None:
        self._jobs = jobs
        self._state = state
        self._lock = threading.Lock()
        self._listeners: list[Listener] = []
        self._waiters: set[asyncio.Future[None]] = set()
        self._watching: asyncio.Task[None] | None = None
        self._ended: MediakitError | None = None

    @property
    def id(self) -> str:
        """Return the job id, shape `media_<uuid>`."""
        return self._state.record.id

    @property
    def state(self) -> JobState:
        """Return the newest state."""
        return self._state

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._state.text}>"

    def __await__(self) -> Generator[Any, None, Self]:
        return self.wait().__await__()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call a function with the state now and at every change.

        It is called on the client's event loop, and must not block.

        Returns:
            A function that ends it.
        """
        with self._lock:
            self._listeners.append(listener)
        listener(self._state)

        def unsubscribe() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return unsubscribe

    def update(self, state: JobState) -> None:
        """Take a newer state, tell the listeners and wake whoever waits."""
        with self._lock:
            self._state = state
            listeners = tuple(self._listeners)
        for listener in listeners:
            listener(state)
        self._wake()

    def end(self, error: MediakitError) -> None:
        """Stop watching because the job cannot be read any more."""
        self._ended = error
        self.update(replace(self._state, trouble=str(error)))

    def _wake(self) -> None:
        for waiter in tuple(self._waiters):
            if not waiter.done():
                waiter.set_result(None)

    def watch(self) -> None:
        """Watch the job on the running loop until its charge is settled."""
        task = self._watching
        loop = asyncio.get_running_loop()
        if task is not None and not task.done() and task.get_loop() is loop:
            return
        if self._state.charge_micro_usd is None and self._ended is None:
            self._watching = self._jobs.start_watch(self)

    def stop_watching(self) -> None:
        """Stop watching on the running loop; the job goes on at the service."""
        task = self._watching
        if task is not None and task.get_loop() is asyncio.get_running_loop():
            task.cancel()

    async def wait(self, timeout_s: float | None = None) -> Self:
        """Wait until the job completes.

        On ipykernel 7.4, typing into a form while a cell awaits a job can leave that
        text box dead until the page is reloaded; the blocking `wait()` does not.

        Args:
            timeout_s: Seconds to wait at the most; None waits as long as it takes.

        Raises:
            JobFailedError: The job failed.
            WaitTimeoutError: The time is over; the job goes on.
            GoneError: The service no longer knows it.
        """
        await self._until(lambda state: state.record.status.terminal, timeout_s)
        self.raise_if_failed()
        return self

    async def settle(self, timeout_s: float | None = None) -> Self:
        """Wait until the charge is settled (spec 2.2).

        Args:
            timeout_s: Seconds to wait at the most; None waits as long as it takes.

        Raises:
            WaitTimeoutError: The time is over; the charge settles all the same.
            GoneError: The service no longer knows the job.
        """
        await self._until(lambda state: state.charge_micro_usd is not None, timeout_s)
        return self

    async def _until(
        self, reached: Callable[[JobState], bool], timeout_s: float | None
    ) -> None:
        loop = asyncio.get_running_loop()
        with anyio.move_on_after(timeout_s):
            while not reached(self._state):
                if self._ended is not None:
                    raise self._ended
                self.watch()
                waiter: asyncio.Future[None] = loop.create_future()
                self._waiters.add(waiter)
                try:
                    await waiter
                finally:
                    self._waiters.discard(waiter)
            return
        raise WaitTimeoutError(
            f"Waited {timeout_s:g} s for {self.id}, which is "
            f"{self._state.record.status.value}. The job goes on; "
            f'client.job("{self.id}") picks it up again.',
            job=self,
            waited_s=timeout_s or 0.0,
        )

    def raise_if_failed(self) -> None:
        """Raise what a failed job is for its owner (spec 7.3).

        Raises:
            JobFailedError: The job failed.
        """
        record = self._state.record
        if record.status is not JobStatus.FAILED:
            return
        code = record.error.code.value if record.error else "provider_error"
        said = f": {record.error.message}" if record.error else ""
        raise JobFailedError(
            f"The job {self.id} failed ({code}){said}. Failed jobs are not charged. "
            'The same call finds this job again; take="next" asks for a new one.',
            job=self,
            code=code,
        )

    async def refresh(self) -> Self:
        """Read the job once, now.

        Raises:
            GoneError: The service no longer knows it.
            ServiceError: The service does not answer.
        """
        await self._jobs.read(self)
        return self

    async def download(
        self, path: str | Path | None = None, *, overwrite: bool = False
    ) -> Path:
        """Save the output; the file appears under its name only when it is whole.

        Args:
            path: A file or a folder; the working directory and the job's own name
                when omitted.
            overwrite: Replace a file that is there.

        Returns:
            Where it is.

        Raises:
            ConflictError: The job has no output yet.
            GoneError: The output was erased.
            InputError: A file is there and may not be replaced.
            ServiceError: The file could not be fetched whole.
        """
        return await self._jobs.download(self, path, overwrite=overwrite)

    async def fetch_output(self, max_bytes: int) -> bytes:
        """Return the output's bytes; at most so many.

        Raises:
            ConflictError: The job has no output yet.
            GoneError: The output was erased.
            ServiceError: The file is larger, or could not be fetched.
        """
        return await self._jobs.fetch_output(self, max_bytes)

    async def erase(self) -> Self:
        """Erase the stored media and the captured request, for good (spec 4.18).

        Raises:
            ConflictError: The job has not ended yet.
            ServiceError: The service does not answer.
        """
        await self._jobs.erase(self)
        return self


class Job:
    """A job, for scripts and notebooks: every call waits for its answer.

    Args:
        core: The job on the I/O thread.
        io: The I/O thread.
    """

    def __init__(self, core: AsyncJob, io: IOThread) -> None:
        self.core = core
        self.io = io

    @property
    def id(self) -> str:
        """Return the job id, shape `media_<uuid>`."""
        return self.core.id

    @property
    def state(self) -> JobState:
        """Return the newest state."""
        return self.core.state

    @property
    def status(self) -> JobStatus:
        """Return the newest status (spec 3.1)."""
        return self.core.state.record.status

    @property
    def url(self) -> str | None:
        """Return the output's URL; None while there is none."""
        output = self.core.state.record.output
        return output.file.url if output and output.file else None

    @property
    def charge_micro_usd(self) -> int | None:
        """Return the settled charge; None until it is settled (spec 2.2)."""
        return self.core.state.charge_micro_usd

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.state.text}>"

    def __await__(self) -> Generator[Any, None, Self]:
        return self._awaited().__await__()

    async def _awaited(self) -> Self:
        await asyncio.wrap_future(self.io.post(self.core.wait))
        return self

    def wait(self, timeout_s: float | None = None) -> Self:
        """Wait until the job completes; Ctrl-C ends the waiting, not the job.

        Args:
            timeout_s: Seconds to wait at the most; None waits as long as it takes.

        Raises:
            JobFailedError: The job failed.
            WaitTimeoutError: The time is over; the job goes on.
            GoneError: The service no longer knows it.
        """
        try:
            self.io.call(self.core.wait, timeout_s)
        except (JobFailedError, WaitTimeoutError) as error:
            error.job = self
            raise
        return self

    def settle(self, timeout_s: float | None = None) -> Self:
        """Wait until the charge is settled (spec 2.2).

        Args:
            timeout_s: Seconds to wait at the most; None waits as long as it takes.

        Raises:
            WaitTimeoutError: The time is over; the charge settles all the same.
            GoneError: The service no longer knows the job.
        """
        try:
            self.io.call(self.core.settle, timeout_s)
        except WaitTimeoutError as error:
            error.job = self
            raise
        return self

    def refresh(self) -> Self:
        """Read the job once, now.

        Raises:
            GoneError: The service no longer knows it.
            ServiceError: The service does not answer.
        """
        self.io.call(self.core.refresh)
        return self

    def download(
        self, path: str | Path | None = None, *, overwrite: bool = False
    ) -> Path:
        """Save the output; the file appears under its name only when it is whole.

        Args:
            path: A file or a folder; the working directory and the job's own name
                when omitted.
            overwrite: Replace a file that is there.

        Returns:
            Where it is.

        Raises:
            ConflictError: The job has no output yet.
            GoneError: The output was erased.
            InputError: A file is there and may not be replaced.
            ServiceError: The file could not be fetched whole.
        """
        return self.io.call(self.core.download, path, overwrite=overwrite)

    def fetch_output(self, max_bytes: int) -> bytes:
        """Return the output's bytes; at most so many.

        Raises:
            ConflictError: The job has no output yet.
            GoneError: The output was erased.
            ServiceError: The file is larger, or could not be fetched.
        """
        return self.io.call(self.core.fetch_output, max_bytes)

    def erase(self) -> Self:
        """Erase the stored media and the captured request, for good (spec 4.18).

        Raises:
            ConflictError: The job has not ended yet.
            ServiceError: The service does not answer.
        """
        self.io.call(self.core.erase)
        return self
