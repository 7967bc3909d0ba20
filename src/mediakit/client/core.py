"""The client's core: written once, async; `Client` is its blocking face."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

import httpx

from mediakit.catalog import Catalog
from mediakit.client.account.billing import Billing
from mediakit.client.account.deliveries import AsyncDeliveries
from mediakit.client.events.endpoints import Endpoints
from mediakit.client.events.listening import Listener
from mediakit.client.http.delay_messages import DelayMessages
from mediakit.client.http.http_client import TIMEOUT_S, HttpClient
from mediakit.client.http.service_client import ServiceClient
from mediakit.client.http.transports import UnclosedTransport
from mediakit.client.jobs.async_job import AsyncJob, check_timeout
from mediakit.client.jobs.registry import Handled, Jobs
from mediakit.client.jobs.results import Outputs
from mediakit.client.records.account_history import AccountHistory
from mediakit.client.records.budgets import Budget
from mediakit.client.recovery.history_view import AsyncHistoryView
from mediakit.client.recovery.rebuilding import Rebuilder
from mediakit.client.requests.remote_media import RemoteMedia
from mediakit.client.requests.repricing import Pricer
from mediakit.client.requests.requests import Requests
from mediakit.client.requests.uploads import Uploads
from mediakit.client.requests.validated import ValidatedRequest
from mediakit.client.requests.validation import Seconds
from mediakit.client.runtime.io_thread import io_thread, networked
from mediakit.client.runtime.process_bound import ProcessBound, closed
from mediakit.client.runtime.progress import Progress, Transfer
from mediakit.client.runtime.service import Service
from mediakit.client.submissions.admission import (
    Admission,
    AnyBudget,
    BudgetState,
    budget_name,
    budget_of,
)
from mediakit.client.submissions.sender import SUBMIT_RETRY_FOR_S, Sender
from mediakit.client.submissions.submissions import Submissions, Take, check_take
from mediakit.client.transfers.downloads import Downloader
from mediakit.client.transfers.preview_cache import PreviewCache
from mediakit.client.transfers.upload_files import Files
from mediakit.clock import Clock, SystemClock
from mediakit.errors import InputError
from mediakit.history import History
from mediakit.rates import Estimate
from mediakit.records import Balance
from mediakit.webhooks import Event

log = logging.getLogger("mediakit.client")


class _Opens(Protocol):
    async def _ready(self) -> None: ...


C = TypeVar("C", bound=_Opens)
P = ParamSpec("P")
T = TypeVar("T")


def opened(
    method: Callable[Concatenate[C, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[C, P], Coroutine[Any, Any, T]]:
    """Let a client's method run on the I/O thread, once the client is ready."""

    @networked
    @wraps(method)
    async def when_ready(self: C, /, *args: P.args, **kwargs: P.kwargs) -> T:
        await self._ready()
        return await method(self, *args, **kwargs)

    return when_ready


class AsyncClient(ProcessBound):
    """A client of one service, awaited from any event loop of asyncio.

    Networking and callbacks run on the process's I/O thread. trio is not supported.

    Args:
        service: The service.
        history: Where every submit is written down before it is sent.
        catalog: The functions of the service; the sandbox's by default.
        clock: Gives time; the system's by default.
        project: A label for all that is bought; None for none.
        budget: What may be spent: by the project over all its clients and starts, or
            by this client when there is no project; a `Budget` is shared by its name.
            None for as much as there is.
        submit_retry_for_s: Seconds to go on asking while no answer comes.
        timeout_s: Seconds to wait for the next bytes before giving up.
        transport: Sends all requests, as for `httpx.AsyncClient`; without it, the
            environment's proxies and certificates count. It is closed with the client.
        home: The folder that pictures of results, and outputs that are scored, are
            kept in; None keeps none.

    Raises:
        InputError: The budget is no amount of US dollars.
    """

    def __init__(
        self,
        service: Service,
        *,
        history: History,
        catalog: Catalog | None = None,
        clock: Clock | None = None,
        project: str | None = None,
        budget: AnyBudget | None = None,
        submit_retry_for_s: float = SUBMIT_RETRY_FOR_S,
        timeout_s: float = TIMEOUT_S,
        transport: httpx.AsyncBaseTransport | None = None,
        home: Path | None = None,
    ) -> None:
        self.service = service
        self.store = history
        self.home = home
        self._account_history = AccountHistory(history, service)
        # A service that is not bound has a catalog, and it is empty.
        self.catalog = Catalog.default() if catalog is None else catalog
        self._clock = clock or SystemClock()
        self._given_transport = transport
        borrowed = None if transport is None else UnclosedTransport(transport)
        self._transport = ServiceClient(
            service, clock=self._clock, timeout_s=timeout_s, transport=borrowed
        )
        self._files_http = HttpClient(borrowed, timeout_s)
        self.billing = Billing(self._transport, self._clock)
        self.deliveries = AsyncDeliveries(self._transport, self._clock)
        self.remote_media = RemoteMedia(self._files_http, self._clock)
        self._progress = Progress()
        files = Files(self._transport, self._files_http, self._clock)
        self._requests = Requests(
            self.catalog,
            self._account_history,
            self.remote_media,
            Uploads(files, self._account_history, self._progress),
        )
        downloader = Downloader(self._files_http, self._clock)
        outputs = Outputs(
            downloader,
            self._account_history,
            service,
            self._clock,
            self._progress,
            PreviewCache(home / "looks" if home else None),
        )
        self._jobs = Jobs(
            self._transport, self._account_history, self.catalog, self._clock, outputs
        )
        self._sender = Sender(
            self._transport,
            self._account_history,
            self._clock,
            retry_for_s=submit_retry_for_s,
        )
        self.delays = DelayMessages(
            self._progress,
            self._sender.asked_to_wait_s,
            self._account_history.blocked_text,
        )
        self._listeners: list[Listener] = []
        name = budget_name(project, budget)
        self._admission = Admission(
            self._account_history,
            self.billing,
            self._clock,
            budget_of(name, budget),
            name,
        )
        self._submissions = Submissions(
            self._sender,
            self._jobs,
            self._account_history,
            self._admission,
            Pricer(self.catalog, self.remote_media),
            self._clock,
            project,
        )
        rebuilder = Rebuilder(
            self._transport,
            self._account_history,
            self._jobs,
            self.catalog,
            self._clock,
        )
        self.history = AsyncHistoryView(history, service, rebuilder)

    def __repr__(self) -> str:
        # Error reporters may show a client whose __init__ failed.
        of = f" of {self.service.label}" if "service" in vars(self) else ""
        return f"<{type(self).__name__}{of}>"

    async def _ready(self) -> None:
        """Prepare the client for its first call; nothing to do here."""

    async def __aenter__(self) -> Self:
        await io_thread().run(self._ready)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    @networked
    async def aclose(self) -> None:
        """Stop watching and close the connections, for good; jobs go on.

        Calls that wait end with `WaitTimeoutError`; later ones say that the client is
        closed. Its history can still be read. Closing twice does nothing more.
        """
        while self._listeners:
            await self._listeners.pop().aclose()
        self._jobs.stop()
        await self._account_history.flush()
        await self._transport.aclose()
        await self._files_http.aclose()
        transport, self._given_transport = self._given_transport, None
        if transport is not None:
            await transport.aclose()

    async def close(self) -> None:
        """Do the same as `aclose`."""
        await self.aclose()

    # -- before anything is sent --------------------------------------------------

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

        Where the price depends on the length of a clip behind a URL, the clip's
        header is read from there, without key and cookies.

        Args:
            function: A kind or a path.
            seconds: Known durations of media, seconds by URL or path; these are not
                read.
            fields: The request's fields; local files are read, and a job stands for
                its output.

        Raises:
            InputError: The function is unknown, or a field that the price is made
                from is missing or wrong.
        """
        request = await self._requests.validated(
            function, fields, seconds=seconds, price_only=True
        )
        return request.estimate

    def reserved_micro_usd(self) -> int:
        """Return what is held for jobs whose charge is not settled, micro-USD."""
        return self.store.reserved_micro_usd(**self._account_history.owner)

    @opened
    async def budget(self) -> BudgetState | None:
        """Return how far this client's budget is used; None without one."""
        return await self._admission.state()

    @opened
    async def balance(self) -> Balance:
        """Read what can be spent (spec 2.4).

        Raises:
            AuthError: The API key is missing, wrong or inactive.
            ServiceError: The service does not answer.
        """
        return await self.billing.balance()

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
        **fields: object,
    ) -> AsyncJob:
        """Submit a job; the same call finds the job that it bought before.

        Everything is checked and priced before anything is sent; the key and the
        exact bytes are in the history before the first of them leaves.

        Args:
            function: A kind or a path.
            take: Which draw of this request; "next" buys another one.
            webhook_url: Where the job's end is posted (spec 6.2).
            extra: Properties that mediakit does not know, sent as given.
            seconds: Known durations of media, seconds by URL or path, for the price.
            fields: The request's fields; local files are uploaded, and a job stands
                for its output.

        Raises:
            InputError: A field or a file is not acceptable; nothing was sent.
            BalanceError: It may cost more than is left; nothing was sent.
            BudgetError: The same, of the client's budget.
            JobFailedError: The job failed, now or when it was bought before.
            GoneError: The job that was bought before is not there any more.
            RateLimitError: The service asks to wait for longer than this call does.
            ServiceError: The service did not answer; the error says what was sent.
        """
        check_take(take)
        request = await self._validated(
            function, fields, seconds=seconds, webhook_url=webhook_url, extra=extra
        )
        for line in request.warnings:
            log.info(line)
        return await self._submit(request, take)

    @opened
    async def _validated(
        self,
        function: str,
        fields: Mapping[str, object],
        *,
        seconds: Seconds | None = None,
        webhook_url: str | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> ValidatedRequest:
        """Check and price a request and upload its files; nothing else is sent."""
        return await self._requests.uploaded(
            function, fields, seconds=seconds, webhook_url=webhook_url, extra=extra
        )

    @opened
    async def _submit(
        self,
        request: ValidatedRequest,
        take: Take,
        *,
        sweep: str | None = None,
        budget: Budget | None = None,
    ) -> AsyncJob:
        """Find the job of a request that was bought before, or buy it."""
        self._refuse_closed()
        job = await self._submissions.submit(request, take, sweep=sweep, budget=budget)
        job.raise_if_failed()
        return job

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
        timeout_s: float | None = None,
        **fields: object,
    ) -> AsyncJob:
        """Submit a job, as `submit` does, and wait until it completes.

        Args:
            function: A kind or a path.
            take: Which draw of this request; "next" buys another one.
            webhook_url: Where the job's end is posted (spec 6.2).
            extra: Properties that mediakit does not know, sent as given.
            seconds: Known durations of media, seconds by URL or path, for the price.
            timeout_s: Seconds to wait at the most; None waits as long as it takes.
            fields: The request's fields; local files are uploaded, and a job stands
                for its output.

        Raises:
            InputError: A field or a file is not acceptable; nothing was sent.
            BalanceError: It may cost more than is left; nothing was sent.
            BudgetError: The same, of the client's budget.
            JobFailedError: The job failed, now or when it was bought before.
            GoneError: The job that was bought before is not there any more.
            WaitTimeoutError: The time is over; the job goes on.
            RateLimitError: The service asks to wait for longer than this call does.
            ServiceError: The service did not answer; the error says what was sent.
        """
        check_timeout(timeout_s)
        job = await self.submit(
            function,
            take=take,
            webhook_url=webhook_url,
            extra=extra,
            seconds=seconds,
            **fields,
        )
        return await job.wait(timeout_s)

    @opened
    async def resume(self) -> list[AsyncJob]:
        """Take up what an earlier process left: unanswered submits, open charges.

        An unanswered submit is asked again under its own key, so that its job is
        found, or made, once.

        Returns:
            The jobs, oldest first; they are watched until their charge is settled.
        """
        self._refuse_closed()
        return await self._submissions.resume()

    def _refuse_closed(self) -> None:
        """Refuse before anything is written down that could not be sent."""
        if self._transport.closed:
            raise closed()

    @opened
    async def job(self, job_id: str) -> AsyncJob:
        """Pick a job up by its id, from anywhere (spec 4.18).

        Args:
            job_id: The job id, shape `media_<uuid>`.

        Raises:
            InputError: It is no text; nothing was sent.
            NotFoundError: The organization has no such job.
            ServiceError: The service does not answer.
        """
        _check_job_id(job_id)
        return await self._jobs.job(job_id)

    @opened
    async def handle_event(self, event: Event) -> Handled:
        """End a job by a verified webhook event, from any receiver (spec 6).

        It is as if the job had been polled: its listeners hear of its end, `wait()`
        returns, the history has it, and its charge is read from the job endpoint. An
        event may come twice, late, or before its submit is answered. Give it to
        `mediakit.webhooks.receiver`, or call it with what `mediakit.verify_webhook`
        returns.

        Args:
            event: The event.

        Returns:
            "ended" if the job ended by it, "known" if it was known to have ended,
            "unknown" if this account has no such job here, "ignored" if the event
            is not about the end of a job.

        Raises:
            MediakitError: The client is closed.
        """
        self._refuse_closed()
        return await self._jobs.handle(event)

    @opened
    async def listen(self) -> Listener:
        """Hear of the ends of jobs by event instead of polling them (spec 6).

        A receiver on this machine is registered as an endpoint of the sandbox's
        account, and gives its events to `handle_event`; bodies and keys of submits
        stay the same. It receives until it or the client is closed. Only the end of a
        job is told: until then it shows the status it had at its last read, once a
        minute.

        Raises:
            ServiceError: The service is no sandbox of this machine, or refuses.
            ConflictError: It cannot be told whose events are wanted.
        """
        self._refuse_closed()
        listener = Listener(
            self._jobs.handle, Endpoints(self._transport), self._jobs.pollers
        )
        self._listeners.append(await listener.open())
        return listener

    def on_settled(self, listener: Callable[[AsyncJob], None]) -> Callable[[], None]:
        """Call a function, on the I/O thread, with each job that has settled.

        Args:
            listener: The function; it must not block.

        Returns:
            A function that ends it.
        """
        return self._jobs.on_settled(listener)

    def on_transfer(self, listener: Callable[[Transfer], None]) -> Callable[[], None]:
        """Call a function, on the I/O thread, with each step of each transfer.

        Args:
            listener: The function; it must not block.

        Returns:
            A function that ends it.
        """
        return self._progress.subscribe(listener)

    @opened
    async def upload(self, path: str | Path, /, *, field: str = "file") -> str:
        """Upload a local file; the same bytes are uploaded once (spec 4.2).

        Args:
            path: A picture, a clip or a sound.
            field: What to call it in errors.

        Returns:
            The permanent URL to use as an input.

        Raises:
            InputError: There is no such file, or it is no medium that can be read.
            ServiceError: The upload did not go through.
        """
        return await self._requests.uploads.upload(path, field)


def _check_job_id(job_id: object) -> None:
    if not isinstance(job_id, str) or not job_id:
        raise InputError("job_id", got=job_id, accepted="a job id: media_<uuid>")
