"""A job with blocking methods, for scripts and notebooks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, overload

from mediakit.client.job_state import JobState
from mediakit.client.jobs.async_job import AsyncJob
from mediakit.client.loop import IOThread, ProcessBound
from mediakit.errors import JobFailedError, WaitTimeoutError
from mediakit.records import JobStatus


class Job(ProcessBound):
    """A job, for scripts and notebooks: every call waits for its result.

    Args:
        core: The job on the I/O thread.
        io: The I/O thread.

    `reused` is whether the call that returned it found an existing job.
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
        """Return the output's URL; None until there is one."""
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
        """Make errors refer to this job, not to the one on the I/O thread."""
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
                f"stopped waiting; the job continues: client.job({self.id!r})"
            ) from None

    def settle(self, timeout_s: float | None = None) -> Self:
        """Wait until the charge is settled (spec 2.2).

        Args:
            timeout_s: Seconds to wait; None waits without a limit.

        Raises:
            WaitTimeoutError: The time is over; the charge still settles.
            GoneError: The service no longer knows the job.
            ServiceError: The charge cannot be read, and could not 30 s before.
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
        """Save the output, with a JSON sidecar that records its origin.

        The file appears under its name only when it is complete. A broken connection is
        resumed, and a file that is already there is not fetched again.

        Args:
            path: A file, a folder, or a URL that fsspec supports, such as
                `s3://bucket/folder/`; the working directory and the job's own name
                when omitted.
            overwrite: Replace an existing file.

        Returns:
            The path of the file; the URL as text if one was given.

        Raises:
            ConflictError: The job has no output yet.
            GoneError: The output was erased.
            InputError: A file exists and may not be replaced, or the file cannot be
                written.
            ServiceError: The file could not be fetched completely.
        """
        return self.io.call(self.core.download, path, overwrite=overwrite)

    def fetch_output(self, max_bytes: int) -> bytes:
        """Return the output's bytes, up to a maximum.

        Args:
            max_bytes: The maximum.

        Raises:
            ConflictError: The job has no output yet.
            GoneError: The output was erased.
            ServiceError: The file is larger, or could not be fetched.
        """
        return self.io.call(self.core.fetch_output, max_bytes)

    def erase(self, *, forget: bool = False) -> Self:
        """Erase the stored media and the captured request, for good (spec 4.18).

        Saved files are kept, and so is the job's row in the history with its charge.

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
        """Submit a failed job's request again, under a fresh key (spec 4.3).

        A second call returns the same new job, unless that one has failed, too.

        Raises:
            ConflictError: The job has not failed.
            NotFoundError: It was not submitted from this history.
            BalanceError: It may cost more than is left; nothing was sent.
            BudgetError: The same, of the client's budget.
            ServiceError: The service did not answer; the error says what was sent.
        """
        return self._another(self.io.call(self.core.retry))

    def next_take(self) -> Self:
        """Submit another draw of the same request, which is charged (spec 4.3).

        Nothing is uploaded again. While the response to an earlier draw is unknown,
        that draw is submitted again instead.

        Raises:
            NotFoundError: It was not submitted from this history.
            BalanceError: It may cost more than is left; nothing was sent.
            BudgetError: The same, of the client's budget.
            ServiceError: The service did not answer; the error says what was sent.
        """
        return self._another(self.io.call(self.core.next_take))

    def _another(self, core: AsyncJob) -> Self:
        """Return the blocking interface to another job of the same client."""
        return type(self)(core, self.io)
