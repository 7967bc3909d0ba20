"""A job with asynchronous methods, usable from any event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, Self, TypeVar, overload

import anyio

from mediakit.api_models import JobRecord, JobStatus
from mediakit.client.blocking import ProcessBound
from mediakit.client.io_thread import networked
from mediakit.client.job_state import JobState
from mediakit.client.listeners import Listeners
from mediakit.client.responses import failed_charge_text
from mediakit.errors import (
    ConflictError,
    GoneError,
    InputError,
    JobFailedError,
    MediakitError,
    NotFoundError,
    WaitTimeoutError,
)
from mediakit.estimates import Estimate, Price, price_limit
from mediakit.money import format_usd
from mediakit.plain_numbers import real
from mediakit.safe_text import shown

if TYPE_CHECKING:
    from mediakit.client.jobs import Jobs
    from mediakit.client.posters import PreviewCache
    from mediakit.client.recipes import Edit

Listener = Callable[[JobState], None]
T = TypeVar("T")


class Resubmitter(Protocol):
    """Submits the request of a job again; see `Submissions`."""

    async def price_again(self, job_id: str) -> Estimate:
        """Return the current price of another take, or attempt, of a job."""

    async def attempt_again(self, job_id: str, price: Estimate | None) -> AsyncJob:
        """Submit a failed job's request again for at most a price."""

    async def next_take(self, job_id: str, price: Estimate | None) -> AsyncJob:
        """Submit another take of a job's request for at most a price."""


class JobFacts:
    """The properties that blocking and asynchronous jobs share."""

    @property
    def state(self) -> JobState:
        """Return the newest state."""
        raise NotImplementedError

    @property
    def id(self) -> str:
        """Return the job ID, in the form `media_<uuid>`."""
        return self.state.record.id

    @property
    def status(self) -> JobStatus:
        """Return the newest status (spec 3.1)."""
        return self.state.record.status

    @property
    def prompt(self) -> str | None:
        """Return the prompt that was sent; None if there was none, or after erasure."""
        return self.state.prompt

    @property
    def url(self) -> str | None:
        """Return the http(s) URL of the output; None until there is one."""
        return self.state.output_url

    @property
    def charge_micro_usd(self) -> int | None:
        """Return the settled charge; None until it is settled (spec 2.2)."""
        return self.state.charge_micro_usd

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.state.text}>"


class AsyncJob(JobFacts, ProcessBound):
    """A job whose methods can be awaited from any event loop.

    The job is polled from the start until its charge is settled. The service cannot
    cancel jobs: a timeout or an interrupt ends only the waiting.
    """

    _instead = "pass job.id, and call client.job(job_id) there"

    def __init__(self, jobs: Jobs, state: JobState) -> None:
        self._jobs = jobs
        self._state = state
        self._lock = threading.RLock()
        self._listeners: Listeners[JobState] = Listeners()
        self._changed = asyncio.Event()
        self._releases_n = 0
        self._ended: MediakitError | None = None

    @property
    def state(self) -> JobState:
        """Return the newest state."""
        return self._state

    def __await__(self) -> Generator[Any, None, Self]:
        return self.wait().__await__()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call a function with the current state and with every change.

        The listener is called on the I/O thread, and must not block. Returns a function
        that unsubscribes it.
        """
        with self._lock:  # no change comes before the current state
            unsubscribe = self._listeners.subscribe(listener)
            listener(self._state)
        return unsubscribe

    def update(self, state: JobState) -> None:
        """Set a newer state, notify the listeners and wake the waiting calls."""
        with self._lock:  # other threads may subscribe
            before, self._state = self._state, state
        if self._listeners and state != before:
            self._listeners.notify(state)
        self._wake()

    def see(self, record: JobRecord, now: datetime) -> bool:
        """Apply a record of the service; return whether it settled the charge."""
        was_open = self.charge_micro_usd is None
        self._ended = None
        self.update(self._state.seen(record, now))
        return was_open and self.charge_micro_usd is not None

    def trouble(self, sentence: str | None) -> None:
        """Set the reason why the job cannot be read; None once it can be again."""
        if sentence is None:
            self._ended = None
        self.update(replace(self._state, trouble=sentence))

    def end(self, error: MediakitError) -> None:
        """End pending waits with an error, because the job cannot be read for now."""
        self._ended = error
        self.update(replace(self._state, trouble=str(error)))

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def release(self) -> None:
        """End pending waits because polling has stopped; the job continues."""
        self._releases_n += 1
        self._wake()

    async def wait(self, timeout_s: float | None = None) -> Self:
        """Wait until the job completes.

        On ipykernel 7.4, typing into a form while a cell awaits a job can disable that
        text box until the page is reloaded; the blocking `wait()` does not.

        Args:
            timeout_s: Seconds to wait; None waits without a limit.

        Raises:
            JobFailedError: The job failed.
            WaitTimeoutError: The timeout was reached; the job continues.
            GoneError: The service no longer knows it.
        """
        self._jobs.on_wait(self)
        await self._until(lambda state: state.record.status.terminal, timeout_s)
        self.raise_if_failed()
        return self

    async def settle(self, timeout_s: float | None = None) -> Self:
        """Wait until the charge is settled (spec 2.2).

        Args:
            timeout_s: Seconds to wait; None waits without a limit.

        Raises:
            WaitTimeoutError: The timeout was reached; the charge still settles.
            GoneError: The service no longer knows the job.
            ServiceError: The charge has been unreadable for 30 s.
        """
        await self._until(lambda state: state.charge_micro_usd is not None, timeout_s)
        return self

    @networked
    async def _until(
        self, reached: Callable[[JobState], bool], timeout_s: float | None
    ) -> None:
        timeout_s = read_timeout(timeout_s)
        loop = asyncio.get_running_loop()
        began_s, releases_n = loop.time(), self._releases_n
        with anyio.move_on_after(timeout_s):
            if isinstance(self._ended, NotFoundError) and not reached(self._state):
                # The service may have the job again, so each new wait reads it once.
                await self._jobs.read(self)
            while releases_n == self._releases_n:
                # Get the event before the check, so that no change is missed.
                changed = self._changed
                if reached(self._state):
                    return
                if self._ended is not None:
                    # The same error is raised for each wait; its traceback must not
                    # grow.
                    raise self._ended.with_traceback(None)
                self._jobs.watch(self)
                await changed.wait()
        closed = releases_n != self._releases_n
        raise self._left(loop.time() - began_s, closed=closed)

    def _left(self, waited_s: float, *, closed: bool) -> WaitTimeoutError:
        why = "The client was closed. " if closed else ""
        waited = f"{waited_s:.1f}".removesuffix(".0")
        trouble = f" {self._state.trouble}" if self._state.trouble else ""
        if self.status.terminal:
            what, then = f"the charge of {self.id}", "The charge is still being read;"
        else:
            what, then = self.id, "The job continues;"
        return WaitTimeoutError(
            f"{why}Waited {waited} s for {what} ({self.status.value})."
            f"{trouble} {then} to get the job again, call client.job({self.id!r}).",
            job=self,
            waited_s=waited_s,
        )

    def raise_if_failed(self) -> None:
        """Raise if the job failed (spec 7.3)."""
        record = self._state.record
        if record.status is not JobStatus.FAILED:
            return
        code = record.error.code.value if record.error else "provider_error"
        words = record.error.message.rstrip(".") if record.error else ""
        detail = f": {words}" if words else ""
        raise JobFailedError(
            f"The job {self.id} failed ({code}){detail}. "
            f"{failed_charge_text(self.charge_micro_usd)} "
            'The same call returns this job; take="next" submits a new one.',
            job=self,
            code=code,
        )

    @networked
    async def refresh(self) -> Self:
        """Read the job once, now.

        Raises:
            GoneError: The service no longer knows it.
            ServiceError: The service does not respond.
        """
        await self._jobs.read(self)
        return self

    @overload
    async def download(
        self, /, path: Path | None = None, *, overwrite: bool = ..., recipe: bool = ...
    ) -> Path: ...

    @overload
    async def download(
        self,
        /,
        path: str | Path | None = None,
        *,
        overwrite: bool = ...,
        recipe: bool = ...,
    ) -> Path | str: ...

    @networked
    async def download(
        self,
        path: str | Path | None = None,
        *,
        overwrite: bool = False,
        recipe: bool = False,
    ) -> Path | str:
        """Save the output, with a JSON sidecar that records its origin.

        The file appears under its name only when it is complete. A file that is
        already there is not fetched again.

        Args:
            path: A file, a folder, or a URL that fsspec supports, such as
                `s3://bucket/folder/`; the working directory and the job's own name
                when omitted.
            overwrite: Replace an existing file.
            recipe: Add the request to the file's metadata (PNG, JPEG, WebP, mp4 and
                mov), as the Download button does. Otherwise the file is saved as
                delivered.

        Returns:
            The path of the file; the URL as text if one was given.

        Raises:
            ConflictError: The job has no output yet.
            GoneError: The output was erased.
            InputError: A file exists and may not be replaced, or the file cannot be
                written.
            ServiceError: The file could not be fetched completely.
        """
        save = self._jobs.outputs.save
        how = {"overwrite": overwrite, "recipe": recipe}
        return await save(self._output_url, lambda: self._state, path, **how)

    @networked
    async def recipe_edits(self) -> tuple[int, list[Edit]]:
        """Return the output's length in bytes, and how its recipe is added to it."""
        return await self._jobs.outputs.recipe_edits(self._state, self._output_url)

    async def _output_url(self) -> str:
        """Read the job again and return the URL of its output.

        A service may sign the URL again at each read, and a sandbox that was started
        again has another port.
        """
        await self._jobs.read(self)
        if self.status is JobStatus.COMPLETED and self.url is None:
            await self._jobs.read_content(self)
        record = self._state.record
        if record.deleted_at is not None:
            raise GoneError(f"The output of {self.id} was erased.", job_id=self.id)
        if self.url is not None:
            return self.url
        self.raise_if_failed()
        then = "and has no output yet; wait() returns once it does."
        file = record.output.file if record.output else None
        if file is not None:
            then = (
                f"but its output is at {shown(file.url)}, which is not an http(s) URL "
                "that can be fetched. Ask the service for it."
            )
        elif record.status is JobStatus.COMPLETED:
            then = "but the service does not say where its output is"
            then += f" ({record.error.code})." if record.error else "."
            if self.charge_micro_usd:
                then += f" It was charged {format_usd(self.charge_micro_usd)}."
            then += " Ask the service for it."
        text = f"The job {self.id} is {record.status.value}, {then}"
        raise ConflictError(text, job_id=self.id)

    @networked
    async def fetch_output(self, max_bytes: int) -> bytes:
        """Return the output's bytes, up to a maximum.

        Args:
            max_bytes: The maximum.

        Raises:
            ConflictError: The job has no output yet.
            GoneError: The output was erased.
            ServiceError: The file is larger, or could not be fetched.
        """
        return await self._jobs.outputs.fetch(self._output_url, self.id, max_bytes)

    @networked
    async def read_output(self, read: Callable[[BinaryIO], T]) -> T | None:
        """Read a few MB of the output on a thread; None if `read` cannot use it."""
        return await self._jobs.outputs.read(self._output_url, read)

    @property
    def preview_cache(self) -> PreviewCache:
        """Return the cache of result previews on this machine."""
        return self._jobs.outputs.preview_cache

    @networked
    async def erase(self, *, forget: bool = False) -> Self:
        """Erase the stored media and the captured request, for good (spec 4.18).

        Saved files are kept, and so is the job's row in the history with its charge.

        Args:
            forget: Also delete the texts about it from the history; see `forget`.

        Raises:
            ConflictError: The job has not ended yet.
            ServiceError: The service does not respond.
        """
        await self._jobs.reads.erase(self.id)
        # The response to DELETE is not specified, so read the job (spec 4.18).
        await self._jobs.read(self)
        if forget:
            await self._jobs.forget(self)
        return self

    @networked
    async def forget(self) -> Self:
        """Forget the texts about an erased job in the history.

        The texts are the prompt and settings, the error message, the answers of judges,
        the note and tags, and, for a sweep, the values of the job's cell and the
        sweep's prompt and code. The rating and all charges, including those of judges,
        are kept.

        Raises:
            ConflictError: The job was not erased.
        """
        await self._jobs.forget(self)
        return self

    @networked
    async def next_price(self) -> Estimate:
        """Return the current price of another take, or a retry, of the job (spec 8).

        Rates, and a clip at a URL, may have changed since the submission.

        Raises:
            NotFoundError: It was not submitted from this history.
        """
        return await self._jobs.resubmitter.price_again(self.id)

    @networked
    async def retry(self, *, max_price: Price | None = None) -> AsyncJob:
        """Submit a failed job's request again, under a fresh key (spec 4.3).

        A second call returns the same new job, unless that one has failed, too.

        Args:
            max_price: The price that you have seen, as an amount or an estimate; a
                request that costs more now is not sent. None accepts any price.

        Raises:
            PriceError: It costs more than `max_price`; nothing was sent.
            ConflictError: The job has not failed.
            NotFoundError: It was not submitted from this history.
            BalanceError: It may cost more than the balance covers; nothing was sent.
            BudgetError: It may cost more than the client's budget covers.
            ServiceError: The service did not answer; the error says what was sent.
        """
        price = price_limit(max_price)
        return await self._jobs.resubmitter.attempt_again(self.id, price)

    @networked
    async def next_take(self, *, max_price: Price | None = None) -> AsyncJob:
        """Submit another take of the same request, which is charged (spec 4.3).

        Nothing is uploaded again. While the response to an earlier take is unknown,
        that take is submitted again instead.

        Args:
            max_price: The price that you have seen, as an amount or an estimate; a
                request that costs more now is not sent. None accepts any price.

        Raises:
            PriceError: It costs more than `max_price`; nothing was sent.
            NotFoundError: It was not submitted from this history.
            BalanceError: It may cost more than the balance covers; nothing was sent.
            BudgetError: It may cost more than the client's budget covers.
            ServiceError: The service did not answer; the error says what was sent.
        """
        price = price_limit(max_price)
        return await self._jobs.resubmitter.next_take(self.id, price)


def read_timeout(timeout_s: object) -> float | None:
    """Validate a timeout in seconds; None for no limit."""
    seconds = real(timeout_s)
    if timeout_s is not None and seconds is None:
        accepted = "a number of seconds, or None to wait without a limit"
        raise InputError("timeout_s", got=timeout_s, accepted=accepted)
    return seconds
