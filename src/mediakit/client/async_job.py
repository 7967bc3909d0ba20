"""A job on its client's event loop: it watches itself and tells who listens."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, Self

import anyio

from mediakit.client.job_state import JobState
from mediakit.errors import JobFailedError, MediakitError, WaitTimeoutError
from mediakit.records import JobStatus

Listener = Callable[[JobState], None]


class Keeper(Protocol):
    """What does for a job all that needs the service, as `client.jobs.Jobs` does."""

    def start_watch(self, job: AsyncJob) -> asyncio.Task[None]:
        """Start watching it on the running loop."""

    async def read(self, job: AsyncJob) -> None:
        """Read it once."""

    async def download(
        self, job: AsyncJob, path: str | Path | None, *, overwrite: bool
    ) -> Path:
        """Save its output and return where."""

    async def fetch_output(self, job: AsyncJob, max_bytes: int) -> bytes:
        """Return the bytes of its output."""

    async def erase(self, job: AsyncJob) -> None:
        """Erase its media and its request."""


class AsyncJob:
    """A job, on the event loop of its client.

    It watches itself from the start until its charge is settled. There is no cancel
    in the interface: a time-out or an interrupt ends the waiting only.
    """

    def __init__(self, keeper: Keeper, state: JobState) -> None:
        self._keeper = keeper
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
            self._watching = self._keeper.start_watch(self)

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
        said = f": {record.error.message.rstrip('.')}" if record.error else ""
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
        await self._keeper.read(self)
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
        return await self._keeper.download(self, path, overwrite=overwrite)

    async def fetch_output(self, max_bytes: int) -> bytes:
        """Return the output's bytes; at most so many.

        Raises:
            ConflictError: The job has no output yet.
            GoneError: The output was erased.
            ServiceError: The file is larger, or could not be fetched.
        """
        return await self._keeper.fetch_output(self, max_bytes)

    async def erase(self) -> Self:
        """Erase the stored media and the captured request, for good (spec 4.18).

        Raises:
            ConflictError: The job has not ended yet.
            ServiceError: The service does not answer.
        """
        await self._keeper.erase(self)
        return self
