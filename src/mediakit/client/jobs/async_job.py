"""A job, awaited from any event loop: it watches itself and tells who listens."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, Self, TypeVar, overload

import anyio

from mediakit.client.records.job_state import JobState
from mediakit.client.runtime.io_thread import networked
from mediakit.client.runtime.listeners import notify
from mediakit.client.runtime.process_bound import ProcessBound
from mediakit.errors import (
    InputError,
    JobFailedError,
    MediakitError,
    WaitTimeoutError,
)
from mediakit.records import Job as JobRecord
from mediakit.records import JobStatus

if TYPE_CHECKING:
    from mediakit.client.jobs.results import Outputs
    from mediakit.client.transfers.downloads import Sink
    from mediakit.client.transfers.preview_cache import PreviewCache

Listener = Callable[[JobState], None]
T = TypeVar("T")


class JobServices(Protocol):
    """What does for a job all that needs the service, as `client.jobs.Jobs` does."""

    @property
    def outputs(self) -> Outputs:
        """What saves and fetches what it made."""

    def waited(self, job: AsyncJob) -> None:
        """Hear that somebody begins to wait for it."""

    def watch(self, job: AsyncJob) -> None:
        """Watch it until its charge is settled."""

    async def read(self, job: AsyncJob) -> None:
        """Read it once."""

    async def erase(self, job: AsyncJob) -> None:
        """Erase its media and its request."""

    async def forget(self, job: AsyncJob) -> None:
        """Forget its prompt and its settings here."""

    retry: Callable[[str], Awaitable[AsyncJob]]
    """Asks once more for what a job failed to make."""
    next_take: Callable[[str], Awaitable[AsyncJob]]
    """Asks for another draw of a job's request."""


class AsyncJob(ProcessBound):
    """A job, whose methods are awaited from any event loop.

    It watches itself from the start until its charge is settled. There is no cancel
    in the interface: a time-out or an interrupt ends the waiting only.
    """

    _instead = "hand on job.id, and ask client.job(job_id) there"

    def __init__(self, services: JobServices, state: JobState) -> None:
        self._services = services
        self._state = state
        self._lock = threading.Lock()
        self._listeners: list[Listener] = []
        self._waiters: set[asyncio.Future[None]] = set()
        self._releases = 0
        self._ended: MediakitError | None = None

    @property
    def id(self) -> str:
        """Return the job id, shape `media_<uuid>`."""
        return self._state.record.id

    @property
    def state(self) -> JobState:
        """Return the newest state."""
        return self._state

    @property
    def status(self) -> JobStatus:
        """Return the newest status (spec 3.1)."""
        return self._state.record.status

    @property
    def url(self) -> str | None:
        """Return the output's URL; None while there is none."""
        output = self._state.record.output
        return output.file.url if output and output.file else None

    @property
    def charge_micro_usd(self) -> int | None:
        """Return the settled charge; None until it is settled (spec 2.2)."""
        return self._state.charge_micro_usd

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._state.text}>"

    def __await__(self) -> Generator[Any, None, Self]:
        return self.wait().__await__()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call a function with the state now and at every change.

        It is called on the I/O thread, and must not block.

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
        self._change(lambda _: state)

    def see(
        self, record: JobRecord, now: datetime, *, of_its_end: bool = False
    ) -> bool:
        """Take what the service says of it; a state never goes backwards.

        Args:
            record: What it says.
            now: When it was said.
            of_its_end: It is as the job was when it ended: whoever knows that it has
                ended knows as much, and may know more.

        Returns:
            Whether its charge has settled by this.
        """
        self._ended = None

        def seen(state: JobState) -> JobState:
            known = of_its_end and state.record.status.terminal
            return state if known else state.seen(record, now)

        before, after = self._change(seen)
        return before.charge_micro_usd is None and after.charge_micro_usd is not None

    def trouble(self, sentence: str | None) -> None:
        """Say why it cannot be read at the moment; None says that it can be again."""
        if sentence is None:
            self._ended = None
        self._change(lambda state: replace(state, trouble=sentence))

    def end(self, error: MediakitError) -> None:
        """End the waiting, because the job cannot be read until it is seen again."""
        self._ended = error
        self._change(lambda state: replace(state, trouble=str(error)))

    def _change(
        self, change: Callable[[JobState], JobState]
    ) -> tuple[JobState, JobState]:
        # Other threads subscribe: one change at a time.
        with self._lock:
            before = self._state
            after = self._state = change(before)
            listeners = tuple(self._listeners)
        if listeners and after == before:
            listeners = ()
        notify(listeners, after)
        self._wake()
        return before, after

    def _wake(self) -> None:
        for waiter in tuple(self._waiters):
            if not waiter.done():
                waiter.set_result(None)

    def watch(self) -> None:
        """Watch the job until its charge is settled."""
        if not self._state.is_over and self._ended is None:
            self._services.watch(self)

    def release(self) -> None:
        """End the waiting, because nobody watches any more; the job goes on."""
        self._releases += 1
        self._wake()

    async def wait(self, timeout_s: float | None = None) -> Self:
        """Wait until the job completes.

        On ipykernel 7.4, typing into a form while a cell awaits a job can leave that
        text box dead until the page is reloaded; the blocking `wait()` does not.

        Args:
            timeout_s: Seconds to wait; None waits without a limit.

        Raises:
            JobFailedError: The job failed.
            WaitTimeoutError: The time is over; the job continues.
            GoneError: The service no longer knows it.
        """
        self._services.waited(self)
        await self._until(lambda state: state.record.status.terminal, timeout_s)
        self.raise_if_failed()
        return self

    async def settle(self, timeout_s: float | None = None) -> Self:
        """Wait until the charge is settled (spec 2.2).

        Args:
            timeout_s: Seconds to wait; None waits without a limit.

        Raises:
            WaitTimeoutError: The time is over; the charge still settles.
            GoneError: The service no longer knows the job.
        """
        await self._until(lambda state: state.charge_micro_usd is not None, timeout_s)
        return self

    @networked
    async def _until(
        self, reached: Callable[[JobState], bool], timeout_s: float | None
    ) -> None:
        check_timeout(timeout_s)
        loop = asyncio.get_running_loop()
        began_s, releases = loop.time(), self._releases
        with anyio.move_on_after(timeout_s):
            while releases == self._releases:
                # First the waiter, then the look: no change falls between the two.
                with self._waiter() as waiter:
                    if reached(self._state):
                        return
                    if self._ended is not None:
                        # Raised again and again, its traceback must not grow.
                        raise self._ended.with_traceback(None)
                    self.watch()
                    await waiter
        closed = releases != self._releases
        raise self._left(loop.time() - began_s, closed=closed)

    @contextmanager
    def _waiter(self) -> Iterator[asyncio.Future[None]]:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            yield waiter
        finally:
            self._waiters.discard(waiter)

    def _left(self, waited_s: float, *, closed: bool) -> WaitTimeoutError:
        why = "The client was closed. " if closed else ""
        waited = f"{waited_s:.1f}".removesuffix(".0")
        return WaitTimeoutError(
            f"{why}Waited {waited} s for {self.id}, which is "
            f"{self._state.record.status.value}.{self._last_trouble} The job goes on; "
            f'client.job("{self.id}") picks it up again.',
            job=self,
            waited_s=waited_s,
        )

    @property
    def _last_trouble(self) -> str:
        trouble = self._state.trouble
        return f" It could not be read the last time: {trouble}" if trouble else ""

    def raise_if_failed(self) -> None:
        """Raise what a failed job is for its owner (spec 7.3).

        Raises:
            JobFailedError: The job failed.
        """
        record = self._state.record
        if record.status is not JobStatus.FAILED:
            return
        code = record.error.code.value if record.error else "provider_error"
        words = record.error.message.rstrip(".") if record.error else ""
        said = f": {words}" if words else ""
        raise JobFailedError(
            f"The job {self.id} failed ({code}){said}. Failed jobs are not charged. "
            'The same call finds this job again; take="next" asks for a new one.',
            job=self,
            code=code,
        )

    @networked
    async def refresh(self) -> Self:
        """Read the job once, now.

        Raises:
            GoneError: The service no longer knows it.
            ServiceError: The service does not answer.
        """
        await self._services.read(self)
        return self

    @overload
    async def download(
        self, path: Path | None = None, *, overwrite: bool = False
    ) -> Path: ...

    @overload
    async def download(
        self, path: str | Path | None = None, *, overwrite: bool = False
    ) -> Path | str: ...

    async def download(
        self, path: str | Path | None = None, *, overwrite: bool = False
    ) -> Path | str:
        """Save the output, with a small JSON file beside it that says where it is from.

        It appears under its name only when it is whole, goes on after a broken
        connection, and is not fetched again where it is already.

        Args:
            path: A file, a folder, or a URL that fsspec knows, such as
                `s3://bucket/folder/`; the working directory and the job's own name
                when omitted.
            overwrite: Replace a file that is there.

        Returns:
            Where it is; the URL as text where one was given.

        Raises:
            ConflictError: The job has no output yet.
            GoneError: The output was erased.
            InputError: A file is there and may not be replaced, or none can be
                written there.
            ServiceError: The file could not be fetched whole.
        """
        return await self._save(path, overwrite=overwrite)

    @networked
    async def _save(self, path: str | Path | None, *, overwrite: bool) -> Path | str:
        return await self._services.outputs.save(self, path, overwrite=overwrite)

    @networked
    async def fetch_output(self, max_bytes: int) -> bytes:
        """Return the output's bytes; at most so many.

        Args:
            max_bytes: How many.

        Raises:
            ConflictError: The job has no output yet.
            GoneError: The output was erased.
            ServiceError: The file is larger, or could not be fetched.
        """
        return await self._services.outputs.fetch(self, max_bytes)

    @networked
    async def pass_output(self, sink: Sink) -> None:
        """Give the output's bytes to a sink, as they arrive.

        Args:
            sink: Takes them, on a thread; it may make the service wait.

        Raises:
            ConflictError: The job has no output yet.
            GoneError: The output was erased.
            ServiceError: The file could not be fetched whole.
        """
        await self._services.outputs.pass_on(self, sink)

    async def read_output(self, read: Callable[[BinaryIO], T]) -> T | None:
        """Read something of the output, of which a few MB at most are fetched.

        Args:
            read: Reads it, on a thread; what it cannot read raises OSError or
                ValueError.

        Returns:
            What was read; None where that was not possible.

        Raises:
            ConflictError: The job has no output yet.
            GoneError: The output was erased.
        """
        return await self._services.outputs.read(self, read)

    @property
    def preview_cache(self) -> PreviewCache:
        """Return where small pictures of results are kept on this machine."""
        return self._services.outputs.preview_cache

    @networked
    async def erase(self, *, forget: bool = False) -> Self:
        """Erase the stored media and the captured request, for good (spec 4.18).

        Files that were saved stay, and so does the job's row in the history with its
        charge.

        Args:
            forget: Forget the prompt and the settings in the history, too.

        Raises:
            ConflictError: The job has not ended yet.
            ServiceError: The service does not answer.
        """
        await self._services.erase(self)
        if forget:
            await self._services.forget(self)
        return self

    @networked
    async def forget(self) -> Self:
        """Forget the prompt and the settings of an erased job in the history.

        Raises:
            ConflictError: The job was not erased.
        """
        await self._services.forget(self)
        return self

    @networked
    async def retry(self) -> AsyncJob:
        """Ask once more for what failed, as a new job under a fresh key (spec 4.3).

        Asking twice gives the same new job, unless that one has failed too.

        Raises:
            ConflictError: The job has not failed.
            NotFoundError: It was not submitted from this history.
            BalanceError: It may cost more than is left; nothing was sent.
            BudgetError: The same, of the client's budget.
            ServiceError: The service did not answer; the error says what was sent.
        """
        return await self._services.retry(self.id)

    @networked
    async def next_take(self) -> AsyncJob:
        """Ask for another draw of the same request, which is paid for (spec 4.3).

        Nothing is uploaded again. While the answer to an earlier one is unknown, that
        one is asked for again instead.

        Raises:
            NotFoundError: It was not submitted from this history.
            BalanceError: It may cost more than is left; nothing was sent.
            BudgetError: The same, of the client's budget.
            ServiceError: The service did not answer; the error says what was sent.
        """
        return await self._services.next_take(self.id)


def check_timeout(timeout_s: object) -> None:
    """Refuse what is no time to wait.

    Raises:
        InputError: It is neither a number of seconds nor None.
    """
    is_number = isinstance(timeout_s, int | float) and not isinstance(timeout_s, bool)
    if timeout_s is not None and (not is_number or timeout_s != timeout_s):
        accepted = "a number of seconds, or None for as long as it takes"
        raise InputError("timeout_s", got=timeout_s, accepted=accepted)
