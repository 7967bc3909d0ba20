"""The blocking client: each method runs the asynchronous one on the I/O thread."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import Future, wait
from functools import cached_property, partial
from itertools import chain, repeat
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, ParamSpec, Self, TypeVar

from mediakit.catalog import Catalog
from mediakit.client.async_client import AsyncClient
from mediakit.client.budgets import BudgetState
from mediakit.client.deliveries import Deliveries
from mediakit.client.docstrings import explained_by
from mediakit.client.jobs.async_job import AsyncJob, check_timeout
from mediakit.client.jobs.client_jobs import Handled
from mediakit.client.jobs.job import Job
from mediakit.client.loop import IOThread, ProcessBound, discard, io_thread, notify
from mediakit.client.progress import Transfer
from mediakit.client.recovery.history_view import HistoryView
from mediakit.client.requests import Seconds, ValidatedRequest
from mediakit.client.service import Service
from mediakit.client.submitting import Take, check_take
from mediakit.errors import JobFailedError
from mediakit.rates import Estimate
from mediakit.records import Balance
from mediakit.webhooks import Event

log = logging.getLogger("mediakit.client")

SILENT_S = 3.0
"""Seconds after which a pending submission shows why it is slow."""
STILL_SILENT_S = 30.0
"""Seconds between progress messages of its uploads."""

JobT_co = TypeVar("JobT_co", bound=Job, covariant=True)
P = ParamSpec("P")
T = TypeVar("T")


class Client(ProcessBound, Generic[JobT_co]):
    """A client for scripts and notebooks: every call waits for its result.

    Args:
        core: The async client, used on the I/O thread only.
        job_type: The type of the jobs that it returns.
        io: The I/O thread; this process's own by default.
    """

    def __init__(
        self, core: AsyncClient, job_type: type[JobT_co], io: IOThread | None = None
    ) -> None:
        self.core = core
        self.job_type = job_type
        self.io = io or io_thread()
        self._submitted: set[str] = set()
        self._close_listeners: list[Callable[[], None]] = []

    def __repr__(self) -> str:
        # Error reporters may show a client whose __init__ failed.
        of = f" of {self.service.label}" if "core" in vars(self) else ""
        return f"<{type(self).__name__}{of}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def service(self) -> Service:
        """Return the service that this client talks to."""
        return self.core.service

    @property
    def catalog(self) -> Catalog:
        """Return the functions of the service."""
        return self.core.catalog

    @cached_property
    def history(self) -> HistoryView:
        """Return the history of submissions to this service."""
        return HistoryView(self.core.history)

    @cached_property
    def deliveries(self) -> Deliveries:
        """Return the log of webhook deliveries, and their signing secret."""
        return Deliveries(self.core.deliveries)

    def owned(self, job: AsyncJob) -> JobT_co:
        """Return the blocking interface to a job."""
        return self.job_type(job, self.io)

    def _job_of(self, request: ValidatedRequest, take: Take) -> JobT_co:
        """Submit a request; an interrupt ends only the waiting for the response."""
        self.io.refuse_itself()
        submitting = self.io.post(self.core.submit_prepared, request, take)
        try:
            why = self.core.delays.submit_text
            return self.owned(self._explained(submitting, why, after_s=[SILENT_S]))
        except KeyboardInterrupt:
            submitting.add_done_callback(_log_failure)
            raise KeyboardInterrupt(
                "stopped waiting; the request is still sent, once, and its job "
                "continues: client.history.frame() shows it"
                + ("" if take == "next" else ", and the same call finds it")
            ) from None
        except JobFailedError as error:
            if isinstance(error.job, AsyncJob):
                error.job = self.owned(error.job)
            raise

    def _with_files(
        self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Wait for work that may upload, and show its progress; interrupts end it."""
        self.io.refuse_itself()
        future = self.io.post(function, *args, **kwargs)
        after_s = chain([SILENT_S], repeat(STILL_SILENT_S))
        try:
            return self._explained(future, self.core.delays.files_text, after_s)
        except KeyboardInterrupt:
            future.cancel()
            raise

    def _explained(
        self, future: Future[T], text: Callable[[], str], after_s: Iterable[float]
    ) -> T:
        """Wait for a result; show at these intervals why it is slow."""
        for seconds in after_s:
            if wait([future], seconds).done:
                break
            self._say(text())
        return self.io.result(future)

    @explained_by(AsyncClient.estimate)
    def estimate(
        self,
        function: str,
        /,
        *,
        seconds: Seconds | None = None,
        **fields: object,
    ) -> Estimate:
        """Price a request without sending anything to the service (spec 8)."""
        return self.io.call(self.core.estimate, function, seconds=seconds, **fields)

    def reserved_micro_usd(self) -> int:
        """Return the holds for jobs whose charge is not settled, in micro-USD."""
        return self.core.reserved_micro_usd()

    def budget(self) -> BudgetState | None:
        """Return how far this client's budget is used; None without one."""
        return self.io.call(self.core.budget)

    @explained_by(AsyncClient.balance)
    def balance(self) -> Balance:
        """Read what can be spent (spec 2.4)."""
        return self.io.call(self.core.balance)

    @explained_by(AsyncClient.submit)
    def submit(
        self,
        function: str,
        /,
        *,
        take: Take = 1,
        webhook_url: str | None = None,
        extra: Mapping[str, object] | None = None,
        seconds: Seconds | None = None,
        **fields: object,
    ) -> JobT_co:
        """Submit a job; the same call returns its existing job."""
        check_take(take)
        request = self._with_files(
            self.core.prepared,
            function,
            fields,
            seconds=seconds,
            webhook_url=webhook_url,
            extra=extra,
        )
        for line in request.warnings:
            self._say(line)
        job = self._job_of(request, take)
        job.reused = job.reused or job.id in self._submitted
        self._submitted.add(job.id)
        if job.reused:
            self._say(f"Reusing existing job {job.id} (no charge).")
        return job

    def _say(self, line: str) -> None:
        log.info(line)

    @explained_by(AsyncClient.run)
    def run(
        self,
        function: str,
        /,
        *,
        take: Take = 1,
        webhook_url: str | None = None,
        extra: Mapping[str, object] | None = None,
        seconds: Seconds | None = None,
        timeout_s: float | None = None,
        **fields: object,
    ) -> JobT_co:
        """Submit a job and wait until it completes."""
        check_timeout(timeout_s)
        job = self.submit(
            function,
            take=take,
            webhook_url=webhook_url,
            extra=extra,
            seconds=seconds,
            **fields,
        )
        return job.wait(timeout_s)

    @explained_by(AsyncClient.job)
    def job(self, job_id: str) -> JobT_co:
        """Return a job by its id, from any process (spec 4.18)."""
        return self.owned(self.io.call(self.core.job, job_id))

    @explained_by(AsyncClient.upload)
    def upload(self, path: str | Path, /, *, field: str = "file") -> str:
        """Upload a local file; the same bytes are uploaded once (spec 4.2)."""
        return self._with_files(self.core.upload, path, field=field)

    @explained_by(AsyncClient.handle_event)
    def handle_event(self, event: Event) -> Handled:
        """End a job by a verified webhook event, from any receiver (spec 6)."""
        return self.io.call(self.core.handle_event, event)

    @explained_by(AsyncClient.on_settled)
    def on_settled(self, listener: Callable[[AsyncJob], None]) -> Callable[[], None]:
        """Call a function, on the I/O thread, with each job that has settled."""
        return self.core.on_settled(listener)

    @explained_by(AsyncClient.on_transfer)
    def on_transfer(self, listener: Callable[[Transfer], None]) -> Callable[[], None]:
        """Call a function, on the I/O thread, with each step of each transfer."""
        return self.core.on_transfer(listener)

    @explained_by(AsyncClient.resume)
    def resume(self) -> list[JobT_co]:
        """Resume an earlier process's unanswered submissions and unsettled charges."""
        return [self.owned(job) for job in self.io.call(self.core.resume)]

    def close(self) -> None:
        """Stop watching and close the connections, for good; jobs continue.

        Waiting calls end with `WaitTimeoutError`; later ones report that the client is
        closed. Its history can still be read. A second close does nothing.
        """
        self.io.call(self.core.aclose)
        notify(self._close_listeners)

    def on_close(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call a function when the client has been closed.

        Args:
            listener: The function.

        Returns:
            A function that unsubscribes it.
        """
        self._close_listeners.append(listener)
        return partial(discard, self._close_listeners, listener)


def _log_failure(submitting: Future[Any]) -> None:
    """Log a failure that no caller waits for, unless the process ended it."""
    error = None if submitting.cancelled() else submitting.exception()
    if error is not None:
        log.warning("an interrupted submission: %s", error)
