"""The client for notebooks and scripts; every call blocks."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future
from functools import partial
from itertools import chain, repeat
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from mediakit.async_client import AsyncClient
from mediakit.client import AsyncJob
from mediakit.client.async_job import read_timeout
from mediakit.client.blocking import Blocking, ProcessBound, blocking, explained_by
from mediakit.client.components import Components
from mediakit.client.deliveries import Deliveries
from mediakit.client.history_view import HistoryView
from mediakit.client.io_thread import io_thread
from mediakit.client.job_texts import REUSED
from mediakit.client.listeners import Listeners
from mediakit.client.request_preparation import ValidatedRequest
from mediakit.client.submissions import Take, read_take
from mediakit.client_facts import ClientFacts
from mediakit.errors import JobFailedError, WaitInterrupted
from mediakit.estimates import Estimate, Price, price_limit
from mediakit.forks import cached_property
from mediakit.job import Job
from mediakit.notebook import in_notebook

if TYPE_CHECKING:
    from mediakit.spend import Spend
    from mediakit.sweep import Plan, Results
    from mediakit.widgets.form.controller import Form
    from mediakit.widgets.studio import Studio

log = logging.getLogger("mediakit.client")

P = ParamSpec("P")
T = TypeVar("T")


def _owned(client: Client, job: AsyncJob, /) -> Job:
    return client.owned(job)


def _all_owned(client: Client, jobs: list[AsyncJob], /) -> list[Job]:
    return [client.owned(job) for job in jobs]


class Client(ClientFacts, Blocking, ProcessBound):
    """A client for notebooks and scripts: every call blocks until it has its result.

    `mk.connect` explains the arguments; `clock` defaults to the system clock. Threads
    may share a client; a forked or spawned process needs its own. It also works inside
    a coroutine, but its calls then block the event loop; `AsyncClient` does not.

    Raises:
        InputError: A setting is invalid.
        ServiceError: The sandbox cannot be started.
    """

    core: AsyncClient

    @explained_by(AsyncClient.__init__)
    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(AsyncClient(*given, **settings)._open())
        self.io = io_thread()
        self._submitted: set[str] = set()
        self._closed: Listeners[()] = Listeners()

    def __repr__(self) -> str:
        # Error reporters may show a client whose __init__ failed.
        of = f" of {self.service.label}" if "core" in vars(self) else ""
        return f"<{type(self).__name__}{of}>"

    def __dir__(self) -> list[str]:
        inner = {"components", "on_close", "owned", "backend"}
        return sorted({*super().__dir__()} - inner)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # -- properties ----------------------------------------------------------------

    @property
    def components(self) -> Components:
        """Return the client's components."""
        return self.core.components

    @cached_property
    def history(self) -> HistoryView:
        """Return the history of submissions to this service."""
        return HistoryView(self.core.history)

    @cached_property
    def deliveries(self) -> Deliveries:
        """Return the log of webhook deliveries, and their signing secret."""
        return Deliveries(self.core.deliveries)

    @cached_property
    def spend(self) -> Spend:
        """Return the spend reports (spec 4.19)."""
        from mediakit.spend import Spend

        return Spend(self.core.spend)

    # -- calls --------------------------------------------------------------------

    balance = blocking(AsyncClient.balance)
    budget = blocking(AsyncClient.budget)
    estimate = blocking(AsyncClient.estimate)
    handle_event = blocking(AsyncClient.handle_event)
    job = blocking(AsyncClient.job, _owned)
    reserved_micro_usd = blocking(AsyncClient.reserved_micro_usd)
    resume = blocking(AsyncClient.resume, _all_owned)
    seed_past = blocking(AsyncClient.seed_past)

    @explained_by(AsyncClient.submit)
    def submit(
        self,
        function: str,
        /,
        *,
        take: Take = 1,
        max_price: Price | None = None,
        **asked: Any,
    ) -> Job:
        """Submit a job; the same call returns its existing job."""
        take = read_take(take)
        price = price_limit(max_price)
        prepare = partial(self.components.prepared, function, max_price=price, **asked)
        request = self._explained(prepare, self.components.delays.files_text)
        for line in request.warnings:
            self._say(line)
        job = self._sent(request, take, price)
        job.reused = job.reused or job.id in self._submitted
        self._submitted.add(job.id)
        if job.reused:
            self._say(REUSED.format(id=job.id))
        return job

    @explained_by(AsyncClient.run)
    def run(
        self, function: str, /, *, timeout_s: float | None = None, **asked: Any
    ) -> Job:
        """Submit a job and wait until it completes."""
        timeout_s = read_timeout(timeout_s)
        return self.submit(function, **asked).wait(timeout_s)

    @explained_by(AsyncClient.upload)
    def upload(self, path: str | PathLike[str], /, **options: Any) -> str:
        """Upload a local file; the same bytes are uploaded once (spec 4.2)."""
        upload = partial(self.core.upload, path, **options)
        return self._explained(upload, self.components.delays.files_text)

    def owned(self, job: AsyncJob) -> Job:
        """Return the blocking interface to a job."""
        return Job(job, self)

    def _sent(
        self, request: ValidatedRequest, take: Take, price: Estimate | None
    ) -> Job:
        """Submit a request; an interrupt does not cancel a submission in flight."""
        submit = partial(self.components.submit_prepared, price=price)
        sending = self.io.post(submit, request, take)
        try:
            delays = self.components.delays
            silences_s = [delays.first_after_s]
            return self.owned(self._result(sending, delays.submit_text, silences_s))
        except KeyboardInterrupt:
            sending.add_done_callback(_log_failure)
            raise WaitInterrupted(
                "stopped waiting; the request will still be sent, only once, and its "
                "job will continue: find it in client.history.frame()"
                + ("" if take == "next" else ", or repeat the call")
            ) from None
        except JobFailedError as error:
            if isinstance(error.job, AsyncJob):
                error.job = self.owned(error.job)
            raise

    def _explained(
        self, work: Callable[[], Awaitable[T]], text: Callable[[], str]
    ) -> T:
        """Wait for a coroutine, repeatedly showing why it is slow."""
        self.io.refuse_itself()
        future = self.io.post(work)
        try:
            delays = self.components.delays
            silences_s = chain([delays.first_after_s], repeat(delays.then_every_s))
            return self._result(future, text, silences_s)
        except KeyboardInterrupt:
            future.cancel()
            raise

    def _result(
        self, future: Future[T], text: Callable[[], str], silences_s: Iterable[float]
    ) -> T:
        """Wait for a result, printing an explanation after each silence."""
        for silence_s in silences_s:
            try:
                return self.io.result(future, silence_s)
            except TimeoutError:
                if future.done():
                    break
                self._say(text())
        return self.io.result(future)

    def _say(self, line: str) -> None:
        if in_notebook():
            print(line)  # noqa: T201 - one quiet line in the cell
        else:
            log.info(line)

    def close(self) -> None:
        """Stop polling and close the connections, for good; jobs continue.

        Pending waits end with `WaitTimeoutError`; later calls report that the client is
        closed. The history can still be read. A second call does nothing.
        """
        self._call(self.core.aclose)
        self._closed.notify()

    def on_close(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call a function once the client is closed.

        Returns:
            A function that unsubscribes it.
        """
        return self._closed.subscribe(listener)

    # -- sweeps and widgets -------------------------------------------------------

    @explained_by(AsyncClient.sweep)
    def sweep(self, function: str, /, **asked: Any) -> Plan:
        """Plan a grid of requests, priced before anything is sent."""
        from mediakit.sweep import Plan, plan_of

        return self.io.call(plan_of, self.core, partial(Plan, self), function, **asked)

    sweeps = blocking(AsyncClient.sweeps)

    @explained_by(AsyncClient.sweep_results)
    def sweep_results(self, sweep: str, /) -> Results:
        """Return the results of a sweep that was run, even by another process."""
        from mediakit.sweep import Plan, Results, past_plan

        plan = self.io.call(past_plan, self.core, sweep, partial(Plan, self))
        return Results(plan, self.core, owned=self.owned)

    def form(
        self,
        function: str = "",
        /,
        *,
        like: Job | str | None = None,
        from_file: str | PathLike[str] | None = None,
        name: str = "",
        fresh: bool = False,
        **values: object,
    ) -> Form:
        """Return a form for a function, to be shown in the cell.

        A cell that is run again keeps its form's values and jobs, even after the kernel
        restarts, and leaves the forms of other cells alone. A value that the code now
        gives differently wins. Unsent input is kept in the history, without URLs that
        are signed or contain a password.

        A notebook is known by its path: a copied, moved or renamed notebook begins with
        empty forms, and its earlier jobs are in `client.history`. Where the notebook
        is not known, as in Voilà, nothing is kept.

        Args:
            function: A kind or a path. Without one, the error lists the functions.
            like: Begin with the values of an earlier request: "last" for the last one
                of this function, or a job, or its id. A form that exists already, or
                existed before a restart, keeps its values.
            from_file: Begin with the request in a file that mediakit saved, or in the
                JSON file next to it, for the function that it names. If the file comes
                from another history, its media are left out, because nothing is fetched
                from untrusted URLs.
            name: Distinguishes several forms of one function in a cell, or in a
                notebook that does not identify its cells.
            fresh: Begin empty, without the form's earlier values and jobs, which stay
                in `client.history`.
            values: Initial values of the fields; the form reports invalid ones.

        Raises:
            InputError: The function is unknown, and the message suggests similar names;
                or the file has no request, or one for another function.
            NotFoundError: The earlier request is not in this history.
        """
        from mediakit.widgets.form.controller import Form, is_open
        from mediakit.widgets.form.form_values import recalled, recalled_from_file
        from mediakit.widgets.toolkit.cell_outputs import current_cell

        if from_file is not None:
            function, recipe = recalled_from_file(self, function, Path(from_file))
            values = recipe | values
        found, cell = self.catalog.function(function), current_cell()
        continues = not fresh and is_open(self, found, cell, name)
        if like is not None and not continues:
            values = recalled(self, found, like) | values
        return Form(self, found, values, cell=cell, name=name, fresh=fresh)

    def studio(self) -> Studio:
        """Return the studio, to be shown in the cell.

        It combines all functions with their forms, the searchable history, and balance
        and spend. Rerunning a cell continues its own studio and leaves the studios of
        other cells alone.
        """
        from mediakit.widgets.studio import Studio
        from mediakit.widgets.toolkit.cell_outputs import current_cell

        return Studio(self, cell=current_cell())


def _log_failure(sending: Future[Any]) -> None:
    """Log a failure that no caller waits for, unless the process is exiting."""
    error = None if sending.cancelled() else sending.exception()
    if error is not None:
        log.warning("an interrupted submission: %s", error)
