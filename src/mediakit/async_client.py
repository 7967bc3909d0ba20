"""The asynchronous client; the blocking client is a thin layer over it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Coroutine, Mapping
from functools import partial, wraps
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from anyio import to_thread

from mediakit.api_models import Balance
from mediakit.backend import Settings, find_backend, refuse_no_catalog
from mediakit.catalog import Catalog
from mediakit.client import AnyBudget, AsyncJob, BudgetState
from mediakit.client.async_job import read_timeout
from mediakit.client.blocking import ProcessBound
from mediakit.client.budgets import budget_name, budget_of
from mediakit.client.components import Components
from mediakit.client.deliveries import AsyncDeliveries
from mediakit.client.history_view import AsyncHistoryView
from mediakit.client.io_thread import closed, io_thread, networked
from mediakit.client.jobs import Handled
from mediakit.client.request_preparation import Seconds
from mediakit.client.submissions import Take, read_take
from mediakit.client_facts import ClientFacts
from mediakit.clock import Clock
from mediakit.estimates import Estimate, Price, price_limit
from mediakit.forks import cached_property
from mediakit.history import History
from mediakit.job import show_wait
from mediakit.notebook import in_notebook
from mediakit.webhooks import Event

if TYPE_CHECKING:
    import httpx
    import pandas as pd

    from mediakit.client.sample_history import SeededPast
    from mediakit.spend import AsyncSpend
    from mediakit.sweep import AsyncPlan, AsyncResults

log = logging.getLogger("mediakit.client")

P = ParamSpec("P")
T = TypeVar("T")


def opened(
    method: Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    """Make a client's method run on the I/O thread, once the client is open."""

    @networked
    @wraps(method)
    async def when_open(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        await self._opened()
        return await method(self, *args, **kwargs)

    return when_open


class AsyncClient(ClientFacts, ProcessBound):
    """An asyncio client, usable from any event loop.

    `mk.connect` explains the arguments; `clock` defaults to the system clock.
    Networking and callbacks run on the process's I/O thread. `async with`, or the first
    awaited call, opens the history and starts the embedded sandbox in the background;
    attributes such as `client.catalog` are available from then on.

    Raises:
        InputError: A setting is invalid.
        ServiceError: The sandbox cannot be started.
    """

    _components: Components | None = None
    _transport: httpx.AsyncBaseTransport | None = None
    _is_closed = False

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        home: str | Path | None = None,
        history: str | Path | None = None,
        catalog: Catalog | None = None,
        clock: Clock | None = None,
        project: str | None = None,
        budget: AnyBudget | None = None,
        own_rates: bool = False,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        settings = Settings.read(
            base_url, api_key, home=home, history=history, own_rates=own_rates
        )
        refuse_no_catalog(catalog)
        limit = budget_of(budget_name(project, budget), budget)

        def connect() -> Components:
            return Components(
                find_backend(settings, catalog, transport),
                History(settings.history, clock=clock),
                clock=clock,
                project=project,
                budget=limit,
                transport=transport,
                home=settings.home,
                on_wait=_show_own_wait,
            )

        self._connect = connect
        self._transport = transport
        self._opening = threading.Lock()

    @property
    def components(self) -> Components:
        """Return the client's components.

        Raises:
            AttributeError: The client is not open yet.
        """
        if self._components is None:
            raise AttributeError(
                f"this {type(self).__name__} is not open yet: use `async with`, or "
                "await a method first"
            )
        return self._components

    def _open(self) -> Self:
        """Find the service and open the history once; blocks."""
        with self._opening:
            if self._is_closed:
                raise closed()
            if self._components is None:
                self._components = self._connect()
        return self

    async def _opened(self) -> None:
        if self._components is None:
            await to_thread.run_sync(self._open)

    def __repr__(self) -> str:
        of = f" of {self.service.label}" if self._components else ""
        return f"<{type(self).__name__}{of}>"

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__()} - {"components", "backend"})

    async def __aenter__(self) -> Self:
        await io_thread().run(self._opened)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def close(self) -> None:
        """Close the client for good, as `aclose` does; jobs continue."""
        await self.aclose()

    @networked
    async def aclose(self) -> None:
        """Stop polling and close the connections, for good; jobs continue.

        Pending waits end with `WaitTimeoutError`; later calls report that the client is
        closed. The history can still be read. A second call does nothing.
        """
        components = await to_thread.run_sync(self._shut)
        if components is not None:
            await components.aclose()
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    def _shut(self) -> Components | None:
        """Mark the client as closed; return its components if it was open."""
        with self._opening:
            self._is_closed = True
            return self._components

    # -- properties ----------------------------------------------------------------

    @property
    def history(self) -> AsyncHistoryView:
        """Return the history of submissions to this service."""
        return self.components.history

    @property
    def deliveries(self) -> AsyncDeliveries:
        """Return the log of webhook deliveries, and their signing secret."""
        return self.components.deliveries

    @cached_property
    def spend(self) -> AsyncSpend:
        """Return the spend reports (spec 4.19)."""
        from mediakit.spend import AsyncSpend

        components = self.components
        return AsyncSpend(
            components.billing, self.history, self.catalog, components.clock
        )

    # -- reads --------------------------------------------------------------------

    @opened
    async def estimate(
        self,
        function: str,
        /,
        *,
        seconds: Seconds | None = None,
        **fields: object,
    ) -> Estimate:
        """Price a request without sending anything to the service (spec 8).

        If the price depends on the length of a clip at a URL, the clip's header is read
        from that URL, without the key or cookies.

        Args:
            function: A kind or a path.
            seconds: Known durations of media, seconds by URL or path; these are not
                read.
            fields: The request's fields; local files are read, and a job is replaced
                by its output.

        Raises:
            InputError: The function is unknown, or a field that determines the price is
                missing or invalid.
        """
        request = await self.components.preparer.validated(
            function, fields, seconds=seconds, price_only=True
        )
        return request.estimate

    @opened
    async def reserved_micro_usd(self) -> int:
        """Return the amount held for jobs that have not settled, in micro-USD."""
        account_history = self.components.account_history
        use = await account_history.ask(History.account_use, **account_history.owner)
        return use.reserved_micro_usd

    @opened
    async def budget(self) -> BudgetState | None:
        """Return how much of this client's budget is used, or None if it has none."""
        return await self.components.admission.state()

    @opened
    async def balance(self) -> Balance:
        """Read the balance that can be spent (spec 2.4).

        Raises:
            AuthError: The API key is missing, wrong or inactive.
            ServiceError: The service does not respond.
        """
        return await self.components.billing.balance()

    # -- submitting ---------------------------------------------------------------

    @opened
    async def submit(
        self,
        function: str,
        /,
        *,
        take: Take = 1,
        webhook_url: str | None = None,
        extra: Mapping[str, object] | None = None,
        seconds: Seconds | None = None,
        max_price: Price | None = None,
        **fields: object,
    ) -> AsyncJob:
        """Submit a job; the same call returns its existing job.

        The request is checked and priced before anything is sent; the history commits
        the key and the exact bytes before the first byte is sent.

        Args:
            function: A kind or a path.
            take: The number of the take; "next" submits another one.
            webhook_url: The URL that the service notifies when the job ends (spec 6.2).
            extra: Properties unknown to mediakit, sent as given.
            seconds: Known durations of media, seconds by URL or path, for the price.
            max_price: The price that you have seen, as an amount or an estimate; a new
                request that costs more is not sent. None accepts any price.
            fields: The request's fields; local files are uploaded, and a job is
                replaced by its output. Both are recognised again; a presigned URL
                makes a new request each time.

        Raises:
            InputError: A field or a file is invalid; nothing was sent.
            PriceError: It costs more than `max_price`; nothing was sent.
            BalanceError: It may cost more than the balance covers; nothing was sent.
            BudgetError: It may cost more than the client's budget covers; nothing was
                sent.
            JobFailedError: The job failed, now or in an earlier submission.
            GoneError: The service does not know the existing job for this API key.
            RateLimitError: The service asks to wait longer than this call waits.
            ServiceError: The service did not answer; the error says what was sent.
        """
        take = read_take(take)
        price = price_limit(max_price)
        request = await self.components.prepared(
            function,
            seconds=seconds,
            webhook_url=webhook_url,
            extra=extra,
            max_price=price,
            **fields,
        )
        for line in request.warnings:
            log.info(line)
        return await self.components.submit_prepared(request, take, price=price)

    @opened
    async def run(
        self,
        function: str,
        /,
        *,
        take: Take = 1,
        webhook_url: str | None = None,
        extra: Mapping[str, object] | None = None,
        seconds: Seconds | None = None,
        max_price: Price | None = None,
        timeout_s: float | None = None,
        **fields: object,
    ) -> AsyncJob:
        """Submit a job, as `submit` does, and wait until it completes.

        Args:
            function: A kind or a path.
            take: The number of the take; "next" submits another one.
            webhook_url: The URL that the service notifies when the job ends (spec 6.2).
            extra: Properties unknown to mediakit, sent as given.
            seconds: Known durations of media, seconds by URL or path, for the price.
            max_price: The price that you have seen, as an amount or an estimate; a new
                request that costs more is not sent. None accepts any price.
            timeout_s: Seconds to wait; None waits without a limit.
            fields: The request's fields, as in `submit`.

        Raises:
            JobFailedError: The job failed, now or in an earlier submission.
            WaitTimeoutError: The timeout was reached; the job continues.
            MediakitError: Any error of `submit`.
        """
        timeout_s = read_timeout(timeout_s)
        job = await self.submit(
            function,
            take=take,
            webhook_url=webhook_url,
            extra=extra,
            seconds=seconds,
            max_price=max_price,
            **fields,
        )
        return await job.wait(timeout_s)

    @opened
    async def resume(self) -> list[AsyncJob]:
        """Resume an earlier process's unanswered submissions and unsettled charges.

        An unanswered submission is sent again under its own key, so that its job is
        found, or created, once.

        Returns:
            The jobs, oldest first; they are polled until their charge is settled.
        """
        self.components.refuse_closed()
        return await self.components.submissions.resume()

    @opened
    async def job(self, job_id: str) -> AsyncJob:
        """Return a job by its id, from any process (spec 4.18).

        Args:
            job_id: The job id, shape `media_<uuid>`.

        Raises:
            InputError: The id is not text; nothing was sent.
            NotFoundError: The organization has no such job.
            ServiceError: The service does not respond.
        """
        return await self.components.jobs.job(job_id)

    @opened
    async def handle_event(self, event: Event) -> Handled:
        """Apply a verified webhook event to its job, from any receiver (spec 6).

        The effect is that of a poll: listeners are notified, `wait()` returns, the
        history records the end, and the charge is read from the job endpoint. An event
        may arrive twice, late, or before the response to the submission. Pass this
        method to `mediakit.webhooks.receiver`, or call it with the result of
        `mediakit.verify_webhook`.

        Args:
            event: The event.

        Returns:
            "ended" if it ended the job, "known" if the job had already ended,
            "unknown" if this account has no such job here, "ignored" if the event
            is not about the end of a job.

        Raises:
            MediakitError: The client is closed.
        """
        self.components.refuse_closed()
        return await self.components.jobs.handle(event)

    @opened
    async def upload(
        self, path: str | PathLike[str], /, *, field: str = "file", again: bool = False
    ) -> str:
        """Upload a local file; the same bytes are uploaded once (spec 4.2).

        Args:
            path: An image, a video or an audio file.
            field: Its name in errors.
            again: Upload it even if it was uploaded before, for example if the storage
                lost it.

        Returns:
            The permanent URL to use as an input.

        Raises:
            InputError: The file does not exist, or is not a readable medium.
            ServiceError: The upload failed.
        """
        return await self.components.uploads.upload(path, field, again=again)

    # -- sweeps and the sandbox ---------------------------------------------------

    @opened
    async def sweep(
        self,
        function: str,
        /,
        *,
        zip: object = None,
        rows: object = None,
        labels: object = None,
        sample: int | tuple[int, int] | None = None,
        takes: int = 1,
        shuffle: int | None = None,
        **axes: object,
    ) -> AsyncPlan:
        """Plan a grid of requests, priced before anything is sent.

        A list is an axis; everything else is fixed. A string may have slots, such as
        `prompt="a {animal} over {place}"` with `animal=[...]`; doubled braces stand for
        literal braces. Strings may have names, `prompt={"v1": "...", "v2": "..."}`,
        which the frames show in their place. A field that takes a list varies over a
        list of lists. Where a function has a seed, all cells of a take share one.

        Args:
            function: A kind or a path.
            zip: Axes that vary together: their names, or the lists by name.
            rows: A frame whose rows are values that go together.
            labels: Columns of `rows` to copy to the frames and never send, such as
                `["id"]`.
            sample: The number of points of the grid to choose at random, or this number
                and a seed, such as (20, 7).
            takes: The number of takes of each point.
            shuffle: A seed that shuffles the order in which the shots or other values
                of the longest axis are sent, for a budget below the full price.
            axes: Fields and slots. Files and jobs are media, as in `submit`.

        Returns:
            The plan: cells, prices, what is owned already, and what is invalid and
            why. `plan.run(budget="$5")` sends it.

        Raises:
            InputError: An argument is invalid, or no cell can be sent.
        """
        from mediakit.sweep import AsyncPlan, plan_of

        return await plan_of(
            self,
            AsyncPlan,
            function,
            zip=zip,
            rows=rows,
            labels=labels,
            sample=sample,
            takes=takes,
            shuffle=shuffle,
            **axes,
        )

    @opened
    async def sweeps(self) -> pd.DataFrame:
        """Return the sweeps that were run, the newest first, from the history alone.

        Returns:
            One row per sweep: `sweep` (its id), `function`, `axes`, `prompt` (the one
            that all cells share, with its slots; <NA> if it varies) (str), `cells`,
            `completed` and `kept` (int64, without repairs), `rating` (float64, the
            mean), `charge_micro_usd` (int64) and `charge_usd` (float64) of the jobs
            that the sweep submitted, `begun_at` and `ended_at` (UTC); then the mean of
            each score (float64), and `judge_cost_micro_usd` (Int64, <NA> means
            unknown), if a judge reported its charges.
        """
        from mediakit.history.sweeps import sweeps_frame

        owner = self.components.account_history.owner
        read = partial(sweeps_frame, self.components.store, **owner)
        return await to_thread.run_sync(read)

    @opened
    async def sweep_results(self, sweep: str, /) -> AsyncResults:
        """Return the results of a sweep that was run, even by another process.

        They come from the history alone: nothing is sent, and no file is read. Cells
        that were not submitted are `unsent`; the code of the plan, in `plan.code`,
        makes the plan again that sends them.

        Args:
            sweep: Its id, as in `sweeps()` or `results.id`.

        Raises:
            NotFoundError: The history has no such sweep.
        """
        from mediakit.sweep import AsyncPlan, AsyncResults, past_plan

        return AsyncResults(await past_plan(self, sweep, AsyncPlan), self)

    @opened
    async def seed_past(
        self, days: int = 365, jobs: int = 2_000, seed: int = 1
    ) -> SeededPast:
        """Generate past jobs in the sandbox and import them into the history.

        This gives you a year of spend to explore: jobs of all functions with prompts,
        projects, estimates, charges and some ratings, submitted with the organization's
        key and two members' keys. They end yesterday by the sandbox's clock. The
        balance does not change. Repeating the call, from any client, adds nothing.

        These jobs have no media: they appear as erased. Submitting a request that
        equals one of them still creates a new job.

        Args:
            days: The number of days, from 1 to 3,650.
            jobs: The number of jobs, from 1 to 10,000.
            seed: The seed, from 0, of the generated jobs.

        Returns:
            How many jobs there are and what they were charged, as a sentence in
            `text`.

        Raises:
            InputError: The service is not a sandbox on this machine, or a number is out
                of range; nothing was sent.
            ServiceError: The sandbox does not respond.
        """
        from mediakit.client.sample_history import seed_past

        numbers = {"days": days, "jobs": jobs, "seed": seed}
        past = await seed_past(self.components, numbers)
        await self.spend.daily(refresh=True)  # days kept in memory have new charges
        return past


def _show_own_wait(job: AsyncJob) -> None:
    """Show waits that the user started, not those of the I/O thread itself."""
    if in_notebook() and not io_thread().is_here:
        show_wait(job)
