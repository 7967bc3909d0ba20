"""A job for scripts and notebooks: the blocking face of `AsyncJob`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, overload

from mediakit.client.jobs.async_job import AsyncJob
from mediakit.client.records.job_state import JobState
from mediakit.client.runtime.io_thread import IOThread
from mediakit.client.runtime.process_bound import ProcessBound
from mediakit.errors import JobFailedError, WaitTimeoutError
from mediakit.records import JobStatus


class Job(ProcessBound):
    """A job, for scripts and notebooks: every call waits for its answer.

    Args:
        core: The job on the I/O thread.
        io: The I/O thread.

    `reused` tells whether the call that returned it found it instead of buying it.
    """

    _instead = AsyncJob._instead

    def __init__(self, core: AsyncJob, io: IOThread) -> None:
        self.core = core
        self.io = io
        self.reused = core.state.reused

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
        return self.core.status

    @property
    def url(self) -> str | None:
        """Return the output's URL; None while there is none."""
        return self.core.url

    @property
    def charge_micro_usd(self) -> int | None:
        """Return the settled charge; None until it is settled (spec 2.2)."""
        return self.core.charge_micro_usd

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.state.text}>"

    def __await__(self) -> Generator[Any, None, Self]:
        return self._awaited().__await__()

    async def _awaited(self) -> Self:
        with self._in_errors():
            await asyncio.wrap_future(self.io.post(self.core.wait))
        return self

    @contextmanager
    def _in_errors(self) -> Iterator[None]:
        """Let errors carry this job, not the one on the I/O thread."""
        try:
            yield
        except (JobFailedError, WaitTimeoutError) as error:
            error.job = self
            raise

    def wait(self, timeout_s: float | None = None) -> Self:
        """Wait until the job completes; Ctrl-C ends the waiting, not the job.

        Args:
            timeout_s: Seconds to wait; None waits without a limit.

        Raises:
            JobFailedError: The job failed.
            WaitTimeoutError: The time is over; the job continues.
            GoneError: The service no longer knows it.
        """
        self._wait_for(self.core.wait, timeout_s)
        return self

    def _wait_for(
        self,
        reached: Callable[[float | None], Awaitable[AsyncJob]],
        timeout_s: float | None,
    ) -> None:
        try:
            with self._in_errors():
                self.io.call(reached, timeout_s)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f'stopped waiting; the job goes on: client.job("{self.id}")'
            ) from None

    def settle(self, timeout_s: float | None = None) -> Self:
        """Wait until the charge is settled (spec 2.2).

        Args:
            timeout_s: Seconds to wait; None waits without a limit.

        Raises:
            WaitTimeoutError: The time is over; the charge still settles.
            GoneError: The service no longer knows the job.
        """
        self._wait_for(self.core.settle, timeout_s)
        return self

    def refresh(self) -> Self:
        """Read the job once, now.

        Raises:
            GoneError: The service no longer knows it.
            ServiceError: The service does not answer.
        """
        self.io.call(self.core.refresh)
        return self

    @overload
    def download(
        self, path: Path | None = None, *, overwrite: bool = False
    ) -> Path: ...

    @overload
    def download(
        self, path: str | Path | None = None, *, overwrite: bool = False
    ) -> Path | str: ...

    def download(
        self, path: str | Path | None = None, *, overwrite: bool = False
    ) -> Path | str:
        """Save the output, with a small JSON file beside it that says where it is from.

        It appears under its name only when it is whole, goes on where an earlier call
        broke off, and is not fetched again where it is already.

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
        return self.io.call(self.core.download, path, overwrite=overwrite)

    def fetch_output(self, max_bytes: int) -> bytes:
        """Return the output's bytes; at most so many.

        Args:
            max_bytes: How many.

        Raises:
            ConflictError: The job has no output yet.
            GoneError: The output was erased.
            ServiceError: The file is larger, or could not be fetched.
        """
        return self.io.call(self.core.fetch_output, max_bytes)

    def erase(self, *, forget: bool = False) -> Self:
        """Erase the stored media and the captured request, for good (spec 4.18).

        Files that were saved stay, and so does the job's row in the history with its
        charge.

        Args:
            forget: Forget the prompt and the settings in the history, too.

        Raises:
            ConflictError: The job has not ended yet.
            ServiceError: The service does not answer.
        """
        self.io.call(self.core.erase, forget=forget)
        return self

    def forget(self) -> Self:
        """Forget the prompt and the settings of an erased job in the history.

        Raises:
            ConflictError: The job was not erased.
        """
        self.io.call(self.core.forget)
        return self

    def retry(self) -> Self:
        """Ask once more for what failed, as a new job under a fresh key (spec 4.3).

        Asking twice gives the same new job, unless that one has failed too.

        Raises:
            ConflictError: The job has not failed.
            NotFoundError: It was not submitted from this history.
            BalanceError: It may cost more than is left; nothing was sent.
            BudgetError: The same, of the client's budget.
            ServiceError: The service did not answer; the error says what was sent.
        """
        return self._another(self.io.call(self.core.retry))

    def next_take(self) -> Self:
        """Ask for another draw of the same request, which is paid for (spec 4.3).

        Nothing is uploaded again. While the answer to an earlier one is unknown, that
        one is asked for again instead.

        Raises:
            NotFoundError: It was not submitted from this history.
            BalanceError: It may cost more than is left; nothing was sent.
            BudgetError: The same, of the client's budget.
            ServiceError: The service did not answer; the error says what was sent.
        """
        return self._another(self.io.call(self.core.next_take))

    def _another(self, core: AsyncJob) -> Self:
        """Return the blocking face of another job of the same client."""
        return type(self)(core, self.io)
