"""A blocking job for scripts and notebooks, which displays itself in a cell."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

from mediakit.client import AsyncJob, JobState
from mediakit.client.async_job import JobFacts
from mediakit.client.blocking import (
    Blocking,
    ProcessBound,
    blocking,
    documented_by,
    itself,
)
from mediakit.client.io_thread import io_thread
from mediakit.errors import JobFailedError, WaitInterrupted, WaitTimeoutError
from mediakit.notebook import in_notebook

if TYPE_CHECKING:
    from mediakit.blocking_client import Client
    from mediakit.widgets.job.jobs import JobsWidget
    from mediakit.widgets.toolkit.cell_outputs import NotebookCell


def _another(job: Job, core: AsyncJob, /) -> Job:
    return Job(core, job.client)


class Job(JobFacts, Blocking, ProcessBound):
    """A job: every call blocks, and a notebook shows its progress, result and charge.

    `reused` tells whether the call that returned it found an existing job.
    """

    core: AsyncJob
    _instead = AsyncJob._instead

    def __init__(self, core: AsyncJob, client: Client | None = None) -> None:
        super().__init__(core)
        self.client = client
        self.reused = core.state.reused
        self._shown_in: NotebookCell | None = None
        self._widget: JobsWidget | None = None

    @property
    def state(self) -> JobState:
        """Return the newest state."""
        return self.core.state

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__()} - {"client"})

    # -- waiting ------------------------------------------------------------------

    def __await__(self) -> Generator[Any, None, Self]:
        return self._awaited().__await__()

    async def _awaited(self) -> Self:
        self._show_wait()
        with self._in_errors():
            await asyncio.wrap_future(io_thread().post(self.core.wait))
        await asyncio.to_thread(self._complete_cards)
        return self

    def wait(self, timeout_s: float | None = None) -> Self:
        """Wait until the job completes, showing its progress in a notebook cell.

        Jobs that one cell waits for share one progress line. Ctrl-C ends the waiting,
        not the job.

        Args:
            timeout_s: Seconds to wait; None waits without a limit.

        Raises:
            JobFailedError: The job failed.
            WaitTimeoutError: The timeout was reached; the job continues.
            GoneError: The service no longer knows it.
        """
        self._show_wait()
        return self._wait_for(self.core.wait, timeout_s)

    @documented_by(AsyncJob.settle)
    def settle(self, timeout_s: float | None = None) -> Self:
        """Wait until the charge is settled (spec 2.2)."""
        return self._wait_for(self.core.settle, timeout_s)

    def _wait_for(self, reached: Callable[..., Any], timeout_s: float | None) -> Self:
        try:
            with self._in_errors():
                self._call(reached, timeout_s)
        except KeyboardInterrupt:
            raise WaitInterrupted(
                f"stopped waiting; the job continues: client.job({self.id!r})"
            ) from None
        self._complete_cards()
        return self

    def _complete_cards(self) -> None:
        if in_notebook():
            from mediakit.widgets.form.job_cell import complete_cards

            complete_cards(self.id)

    @contextmanager
    def _in_errors(self) -> Iterator[None]:
        """Make errors refer to this job, not to its asynchronous counterpart."""
        try:
            yield
        except (JobFailedError, WaitTimeoutError) as error:
            error.job = self
            raise

    def _show_wait(self) -> None:
        from mediakit.widgets.toolkit.cell_outputs import current_cell

        if in_notebook() and (
            self._shown_in is None or self._shown_in != current_cell()
        ):
            show_wait(self.core)

    # -- files and acts -----------------------------------------------------------

    refresh = blocking(AsyncJob.refresh, itself)
    fetch_output = blocking(AsyncJob.fetch_output)
    erase = blocking(AsyncJob.erase, itself)
    forget = blocking(AsyncJob.forget, itself)
    next_price = blocking(AsyncJob.next_price)
    retry = blocking(AsyncJob.retry, _another)
    next_take = blocking(AsyncJob.next_take, _another)

    @overload
    def download(
        self, path: Path | None = None, *, overwrite: bool = ..., recipe: bool = ...
    ) -> Path: ...

    @overload
    def download(
        self,
        path: str | Path | None = None,
        *,
        overwrite: bool = ...,
        recipe: bool = ...,
    ) -> Path | str: ...

    @documented_by(AsyncJob.download)
    def download(
        self,
        path: str | Path | None = None,
        *,
        overwrite: bool = False,
        recipe: bool = False,
    ) -> Path | str:
        """Save the output, with a JSON sidecar that records its origin."""
        download = self.core.download
        return self._call(download, path, overwrite=overwrite, recipe=recipe)

    # -- in a notebook ------------------------------------------------------------

    def _ipython_display_(self) -> None:
        from mediakit.widgets.toolkit.cell_outputs import current_cell

        # `job.show()` in the same cell has shown the job already.
        if self._shown_in is None or self._shown_in != current_cell():
            self.show()

    @property
    def widget(self) -> JobsWidget:
        """Return the live job as an ipywidgets widget, for your own layouts.

        It works in `VBox`, `Tab`, `Accordion`, `Output` and `interact`, in any number
        of views. Unlike the job itself, it leaves no card in a saved notebook.
        """
        from mediakit.widgets.form.job_cell import job_widget

        if self._widget is None or self._widget.comm is None:  # the cell ran again
            self._widget = job_widget(self.core, self.client)
        return self._widget

    def show(self, *, embed: bool = False) -> None:
        """Show the job in this cell: live, and as a card in the saved notebook.

        Args:
            embed: Embed the result in the notebook, which grows by 1.33 times its size;
                a result that browsers cannot play is embedded as a small copy.
                Otherwise the notebook keeps a small picture, the facts and the link.
        """
        from mediakit.widgets.form.job_cell import display_job
        from mediakit.widgets.job.waiting import leave_to_card
        from mediakit.widgets.toolkit.cell_outputs import current_cell

        cell = self._shown_in = current_cell()
        if cell is not None:
            leave_to_card(cell, self.id)
        display_job(self.core, self.client, embed=embed)


def show_wait(job: AsyncJob) -> None:
    """Show in a notebook cell that it is waiting for a job."""
    from mediakit.widgets.job import waiting

    waiting.show_wait(job)
