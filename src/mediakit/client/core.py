"""The client's core: written once, async; `Client` is its blocking face."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from anyio import to_thread

from mediakit.catalog import Catalog
from mediakit.client.async_job import AsyncJob
from mediakit.client.billing import Billing
from mediakit.client.buying import Buyer, Take, check_take
from mediakit.client.files import Files
from mediakit.client.jobs import Jobs
from mediakit.client.orders import Order
from mediakit.client.prepare import Prepared, Seconds, prepare
from mediakit.client.remote_media import RemoteMedia
from mediakit.client.service import Service
from mediakit.client.submitting import Submitter
from mediakit.client.transport import Transport
from mediakit.client.uploads import Uploads
from mediakit.clock import Clock, SystemClock
from mediakit.history import History
from mediakit.rates import Estimate
from mediakit.records import Balance

log = logging.getLogger("mediakit.client")


class AsyncClient:
    """A client of one service, on whichever event loop it is used.

    Args:
        service: The service.
        history: Where every submit is written down before it is sent.
        catalog: The functions of the service; the sandbox's by default.
        clock: Gives time; the system's by default.
        submit_retry_for_s: Seconds to go on asking while no answer comes.
    """

    def __init__(
        self,
        service: Service,
        *,
        history: History,
        catalog: Catalog | None = None,
        clock: Clock | None = None,
        submit_retry_for_s: float = 60.0,
    ) -> None:
        self.service = service
        self.history = history
        self.catalog = catalog or Catalog.default()
        self._clock = clock or SystemClock()
        self._transport = Transport(service, clock=self._clock)
        self.billing = Billing(self._transport, self._clock)
        self.remote_media = RemoteMedia(self._clock)
        files = Files(self._transport, self._clock)
        self._uploads = Uploads(files, history, service)
        self._jobs = Jobs(self._transport, history, self.catalog, self._clock, files)
        submitter = Submitter(
            self._transport, history, self._clock, retry_for_s=submit_retry_for_s
        )
        self._buyer = Buyer(submitter, self._jobs, history, self.billing)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.service.label}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop watching and close the connections; jobs go on at the service."""
        self._jobs.stop()
        await self._transport.aclose()

    # -- before anything is sent --------------------------------------------------

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
            seconds: Known durations of media, seconds by URL; these are not read.
            fields: The request's fields; local files are read.

        Raises:
            InputError: The function is unknown, or a field that the price is made
                from is missing or wrong.
        """
        prepared = await self._prepared(function, fields, seconds, price_only=True)
        return prepared.estimate

    async def _prepared(
        self,
        function: str,
        fields: Mapping[str, object],
        seconds: Seconds | None,
        *,
        price_only: bool = False,
    ) -> Prepared:
        found = self.catalog.function(function)
        prepared = await to_thread.run_sync(
            lambda: prepare(found, fields, seconds=seconds, price_only=price_only)
        )
        wanted = [(item.kind, item.value) for item in prepared.lengths_wanted]
        if not wanted:
            return prepared
        looks = await self.remote_media.look(wanted)
        return prepared.measured({url: i for (_, url), i in looks.items() if i})

    def reserved_micro_usd(self) -> int:
        """Return what is held for jobs whose charge is not settled, micro-USD."""
        return self._buyer.reserved_micro_usd()

    async def balance(self) -> Balance:
        """Read what can be spent (spec 2.4).

        Raises:
            AuthError: The API key is missing, wrong or inactive.
            ServiceError: The service does not answer.
        """
        return await self.billing.balance()

    # -- submitting ---------------------------------------------------------------

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
            seconds: Known durations of media, seconds by URL, for the price.
            fields: The request's fields; local files are uploaded.

        Raises:
            InputError: A field or a file is not acceptable; nothing was sent.
            BalanceError: It may cost more than is left; nothing was sent.
            JobFailedError: The job failed, now or when it was bought before.
            GoneError: The job that was bought before is not there any more.
            RateLimitError: The service asks to wait for longer than this call does.
            ServiceError: The service did not answer; the error says what was sent.
        """
        check_take(take)
        prepared = await self._prepared(function, fields, seconds)
        for line in prepared.warnings:
            log.info(line)
        return await self._place(prepared, take, webhook_url, extra)

    async def _place(
        self,
        prepared: Prepared,
        take: Take,
        webhook_url: str | None,
        extra: Mapping[str, object] | None,
    ) -> AsyncJob:
        """Upload the files of a request and submit it."""
        found = prepared.function
        urls = await self._uploads.of(prepared)
        body = found.canonical_body(found.with_media(prepared.body, urls))
        order = Order(
            service=self.service,
            function=found,
            body=body | dict(extra or {}),
            webhook_url=webhook_url,
            estimate=prepared.estimate,
        )
        job = await self._buyer.place(order, take)
        job.raise_if_failed()
        return job

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
        """Submit a job and wait until it completes; see `submit` and `AsyncJob.wait`.

        Args:
            function: A kind or a path.
            take: Which draw of this request; "next" buys another one.
            webhook_url: Where the job's end is posted (spec 6.2).
            extra: Properties that mediakit does not know, sent as given.
            seconds: Known durations of media, seconds by URL, for the price.
            timeout_s: Seconds to wait at the most.
            fields: The request's fields; local files are uploaded.
        """
        job = await self.submit(
            function,
            take=take,
            webhook_url=webhook_url,
            extra=extra,
            seconds=seconds,
            **fields,
        )
        return await job.wait(timeout_s)

    async def resume(self) -> list[AsyncJob]:
        """Take up what an earlier process left: unanswered submits, open charges.

        An unanswered submit is asked again under its own key, so that its job is
        found, or made, once.

        Returns:
            The jobs, oldest first; they are watched until their charge is settled.
        """
        return await self._buyer.resume()

    async def job(self, job_id: str) -> AsyncJob:
        """Pick a job up by its id, from anywhere (spec 4.18).

        Raises:
            NotFoundError: The organization has no such job.
            ServiceError: The service does not answer.
        """
        return await self._jobs.job(job_id)

    def on_settled(self, listener: Callable[[AsyncJob], None]) -> Callable[[], None]:
        """Call a function with each job whose charge has settled.

        Returns:
            A function that ends it.
        """
        return self._jobs.on_settled(listener)

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
        return await self._uploads.upload(path, field)
