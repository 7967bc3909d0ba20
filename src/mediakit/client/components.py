"""The components of an open client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import httpx

from mediakit.client.account_history import AccountHistory
from mediakit.client.async_job import AsyncJob
from mediakit.client.billing import BillingReader
from mediakit.client.budgets import (
    ANYONE,
    Admission,
    AnyBudget,
    Caller,
    budget_name,
    budget_of,
)
from mediakit.client.deliveries import AsyncDeliveries
from mediakit.client.downloads import Outputs
from mediakit.client.history_rebuild import Rebuilder
from mediakit.client.history_view import AsyncHistoryView
from mediakit.client.http import (
    TIMEOUT_S,
    HttpClient,
    ServiceClient,
    UnclosedTransport,
)
from mediakit.client.io_thread import closed, networked
from mediakit.client.jobs import Jobs
from mediakit.client.media_inputs import MediaNames, RemoteMedia
from mediakit.client.posters import Posters, PreviewCache
from mediakit.client.progress import DelayMessages, TransferProgress
from mediakit.client.request_preparation import Preparer, Seconds, ValidatedRequest
from mediakit.client.retries import SUBMIT_RETRY_FOR_S
from mediakit.client.sender import Sender
from mediakit.client.service import Backend
from mediakit.client.submissions import Submissions, Take
from mediakit.client.uploads import Uploads
from mediakit.clock import Clock, SystemClock
from mediakit.errors import PriceError, nothing_sent_yet
from mediakit.estimates import Estimate, check_price_limit
from mediakit.history import Entry, History


class Components:
    """The components of an open `AsyncClient`."""

    def __init__(
        self,
        backend: Backend,
        history: History,
        *,
        clock: Clock | None = None,
        project: str | None = None,
        budget: AnyBudget | None = None,
        submit_retry_for_s: float = SUBMIT_RETRY_FOR_S,
        timeout_s: float = TIMEOUT_S,
        transport: httpx.AsyncBaseTransport | None = None,
        home: Path | None = None,
        on_wait: Callable[[AsyncJob], object] | None = None,
    ) -> None:
        service, catalog = backend.service.known_to(history), backend.catalog
        self.backend = replace(backend, service=service)
        self.store = history
        self.home = home
        self.account_history = AccountHistory(history, service)
        self.media_names = MediaNames(self.account_history, home)
        self.clock = clock or SystemClock()
        borrowed = None if transport is None else UnclosedTransport(transport)
        self.transport = ServiceClient(
            service, clock=self.clock, timeout_s=timeout_s, transport=borrowed
        )
        self._files_http = HttpClient(borrowed, timeout_s)
        self.billing = BillingReader(self.transport, self.clock, backend.reports)
        self.deliveries = AsyncDeliveries(self.transport, self.clock)
        self.remote_media = RemoteMedia(self._files_http, self.clock)
        self.progress = TransferProgress()
        self.uploads = Uploads(
            self.transport,
            self._files_http,
            self.account_history,
            self.clock,
            self.progress,
            may_be_reset=backend.is_sandbox,
        )
        self.preparer = Preparer(catalog, self.remote_media, self.uploads)
        previews = PreviewCache(home / "looks" if home else None)
        self.posters = Posters(self.remote_media, previews, self.clock)
        outputs = Outputs(
            self._files_http,
            self.account_history,
            service,
            self.clock,
            self.progress,
            previews,
            self.media_names,
        )
        name = budget_name(project, budget)
        self.admission = Admission(
            self.account_history,
            self.billing,
            self.clock,
            budget_of(name, budget),
            name,
        )
        self.jobs = Jobs(
            self.transport,
            self.account_history,
            catalog,
            self.clock,
            outputs,
            charged=self.admission.charged,
            uploads=self.uploads,
            on_wait=on_wait or (lambda _: None),
        )
        sender = Sender(
            self.transport,
            self.account_history,
            self.clock,
            retry_for_s=submit_retry_for_s,
        )
        self.delays = DelayMessages(
            self.progress,
            sender.asked_to_wait_s,
            self.account_history.blocked_text,
        )
        self.submissions = Submissions(
            sender,
            self.jobs,
            self.account_history,
            self.admission,
            self.preparer,
            self.clock,
            project,
        )
        self.jobs.resubmitter = self.submissions
        rebuilder = Rebuilder(
            self.transport,
            self.deliveries,
            self.account_history,
            self.jobs,
            catalog,
            self.clock,
        )
        self.history = AsyncHistoryView(history, service, rebuilder)

    def refuse_closed(self) -> None:
        """Raise if the client is closed, before anything is recorded."""
        if self.transport.closed:
            raise closed()

    @networked
    async def prepared(
        self,
        function: str,
        /,
        *,
        seconds: Seconds | None = None,
        webhook_url: str | None = None,
        extra: Mapping[str, object] | None = None,
        max_price: Estimate | None = None,
        **fields: object,
    ) -> ValidatedRequest:
        """Check and price a request and upload its files; nothing else is sent.

        A new request above `max_price` is rejected before its files are uploaded.
        """
        with nothing_sent_yet():
            request = await self.preparer.validated(
                function,
                fields,
                is_sent=True,
                seconds=seconds,
                webhook_url=webhook_url,
                extra=extra,
            )
            try:
                check_price_limit(request.estimate, max_price)
            except PriceError:
                named = await self.preparer.named(request)
                if await self.submissions.owned(named) is None:
                    raise
            return await self.preparer.uploaded(request)

    @networked
    async def submit_prepared(
        self,
        request: ValidatedRequest,
        take: Take,
        caller: Caller = ANYONE,
        price: Estimate | None = None,
    ) -> AsyncJob:
        """Return a request's existing job, or submit it for at most a price."""
        self.refuse_closed()
        job = await self.submissions.submit(request, take, caller, price)
        job.raise_if_failed()
        return job

    @networked
    async def owned_entry(
        self,
        function: str,
        /,
        *,
        webhook_url: str | None = None,
        extra: Mapping[str, object] | None = None,
        **fields: object,
    ) -> Entry | None:
        """Return the newest entry with a job for an equal request, or None.

        Nothing is sent and nothing is uploaded.
        """
        request = await self.preparer.validated(
            function, fields, webhook_url=webhook_url, extra=extra
        )
        return await self.submissions.owned(await self.preparer.named(request))

    @networked
    async def aclose(self) -> None:
        """Stop polling and close the connections; the history can still be read."""
        self.jobs.stop()
        await self.account_history.flush()
        await self.transport.aclose()
        await self._files_http.aclose()
        self.store.close()
