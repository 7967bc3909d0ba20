"""The asynchronous client: each method awaits the work on the I/O thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping
from functools import partial, wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

from anyio import to_thread

from mediakit.client.budgets import Budget, BudgetState
from mediakit.client.components import ClientComponents
from mediakit.client.jobs.async_job import AsyncJob, check_timeout
from mediakit.client.jobs.client_jobs import Handled
from mediakit.client.loop import closed, io_thread, networked
from mediakit.client.progress import Transfer
from mediakit.client.requests import Seconds, ValidatedRequest
from mediakit.client.submitting import Take, check_take
from mediakit.errors import InputError, nothing_sent_yet
from mediakit.history import Entry
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


class AsyncClient(ClientComponents):
    """A client of one service, awaited from any asyncio event loop.

    Networking and callbacks run on the process's I/O thread. trio is not supported.
    """

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

    async def close(self) -> None:
        """Call `aclose`."""
        await self.aclose()

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

        Where the price depends on the length of a clip behind a URL, the clip's
        header is read from there, without key and cookies.

        Args:
            function: A kind or a path.
            seconds: Known durations of media, seconds by URL or path; these are not
                read.
            fields: The request's fields; local files are read, and a job is replaced
                by its output.

        Raises:
            InputError: The function is unknown, or a field that determines the price
                is missing or wrong.
        """
        request = await self.requests.validated(
            function, fields, seconds=seconds, price_only=True
        )
        return request.estimate

    @opened
    async def reserved_micro_usd(self) -> int:
        """Return the holds for jobs whose charge is not settled, in micro-USD."""
        owner = self.account_history.owner
        return await to_thread.run_sync(partial(self.store.reserved_micro_usd, **owner))

    @opened
    async def budget(self) -> BudgetState | None:
        """Return how far this client's budget is used; None without one."""
        return await self.admission.state()

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
        """Submit a job; the same call returns its existing job.

        The request is checked and priced before anything is sent; the history commits
        the key and the exact bytes before the first byte is sent.

        Args:
            function: A kind or a path.
            take: Which draw of this request; "next" submits another one.
            webhook_url: Where the service posts the job's end (spec 6.2).
            extra: Properties unknown to mediakit, sent as given.
            seconds: Known durations of media, seconds by URL or path, for the price.
            fields: The request's fields; local files are uploaded, and a job is
                replaced by its output. Both are recognised again; a presigned URL
                makes a new request each time.

        Raises:
            InputError: A field or a file is invalid; nothing was sent.
            BalanceError: It may cost more than is left; nothing was sent.
            BudgetError: The same, of the client's budget.
            JobFailedError: The job failed, now or when it was submitted before.
            GoneError: The service does not know the existing job for this API key.
            RateLimitError: The service asks to wait longer than this call waits.
            ServiceError: The service did not answer; the error says what was sent.
        """
        check_take(take)
        request = await self.prepared(
            function, fields, seconds=seconds, webhook_url=webhook_url, extra=extra
        )
        for line in request.warnings:
            log.info(line)
        return await self.submit_prepared(request, take)

    @opened
    async def prepared(
        self,
        function: str,
        fields: Mapping[str, object],
        *,
        seconds: Seconds | None = None,
        webhook_url: str | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> ValidatedRequest:
        """Check and price a request and upload its files; nothing else is sent."""
        with nothing_sent_yet():
            request = await self.requests.validated(
                function, fields, seconds=seconds, webhook_url=webhook_url, extra=extra
            )
            return await self.requests.uploaded(request)

    @opened
    async def owned_entry(
        self,
        function: str,
        /,
        *,
        webhook_url: str | None = None,
        extra: Mapping[str, object] | None = None,
        **fields: object,
    ) -> Entry | None:
        """Return the newest job of an equal request, by the history; None for none.

        Nothing is sent and nothing is uploaded.
        """
        request = await self.requests.validated(
            function, fields, webhook_url=webhook_url, extra=extra
        )
        return await self.submissions.owned(await self.requests.named(request))

    @opened
    async def submit_prepared(
        self,
        request: ValidatedRequest,
        take: Take,
        *,
        sweep: str | None = None,
        budget: Budget | None = None,
    ) -> AsyncJob:
        """Return the existing job of a request, or submit the request."""
        self._refuse_closed()
        job = await self.submissions.submit(request, take, sweep=sweep, budget=budget)
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
            take: Which draw of this request; "next" submits another one.
            webhook_url: Where the service posts the job's end (spec 6.2).
            extra: Properties unknown to mediakit, sent as given.
            seconds: Known durations of media, seconds by URL or path, for the price.
            timeout_s: Seconds to wait; None waits without a limit.
            fields: The request's fields; local files are uploaded, and a job is
                replaced by its output.

        Raises:
            InputError: A field or a file is invalid; nothing was sent.
            BalanceError: It may cost more than is left; nothing was sent.
            BudgetError: The same, of the client's budget.
            JobFailedError: The job failed, now or when it was submitted before.
            GoneError: The service does not know the existing job for this API key.
            WaitTimeoutError: The time is over; the job continues.
            RateLimitError: The service asks to wait longer than this call waits.
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
        """Resume an earlier process's unanswered submissions and unsettled charges.

        An unanswered submission is sent again under its own key, so that its job is
        found, or created, once.

        Returns:
            The jobs, oldest first; they are watched until their charge is settled.
        """
        self._refuse_closed()
        return await self.submissions.resume()

    @opened
    async def left_to_resend(self) -> list[Entry]:
        """Return the unanswered submissions that `resume` sends again."""
        return await self.submissions.left_to_resend()

    def _refuse_closed(self) -> None:
        """Raise before anything is recorded that could not be sent."""
        if self.transport.closed:
            raise closed()

    @opened
    async def job(self, job_id: str) -> AsyncJob:
        """Return a job by its id, from any process (spec 4.18).

        Args:
            job_id: The job id, shape `media_<uuid>`.

        Raises:
            InputError: It is not text; nothing was sent.
            NotFoundError: The organization has no such job.
            ServiceError: The service does not answer.
        """
        _check_job_id(job_id)
        return await self.jobs.job(job_id)

    @opened
    async def handle_event(self, event: Event) -> Handled:
        """End a job by a verified webhook event, from any receiver (spec 6).

        The effect is that of a poll: its listeners are notified, `wait()` returns, the
        history records the end, and the charge is read from the job endpoint. An event
        may arrive twice, late, or before the response to its submission. Pass this
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
        self._refuse_closed()
        return await self.jobs.handle(event)

    def on_settled(self, listener: Callable[[AsyncJob], None]) -> Callable[[], None]:
        """Call a function, on the I/O thread, with each job that has settled.

        Args:
            listener: The function; it must not block.

        Returns:
            A function that unsubscribes it.
        """
        return self.jobs.on_settled(listener)

    def on_transfer(self, listener: Callable[[Transfer], None]) -> Callable[[], None]:
        """Call a function, on the I/O thread, with each step of each transfer.

        Args:
            listener: The function; it must not block.

        Returns:
            A function that unsubscribes it.
        """
        return self._progress.subscribe(listener)

    @opened
    async def upload(self, path: str | Path, /, *, field: str = "file") -> str:
        """Upload a local file; the same bytes are uploaded once (spec 4.2).

        Args:
            path: An image, a video or an audio file.
            field: Its name in errors.

        Returns:
            The permanent URL to use as an input.

        Raises:
            InputError: There is no such file, or it is not a readable medium.
            ServiceError: The upload failed.
        """
        return await self.uploads.upload(path, field)


def _check_job_id(job_id: object) -> None:
    if not isinstance(job_id, str) or not job_id:
        raise InputError("job_id", got=job_id, accepted="a job id: media_<uuid>")
