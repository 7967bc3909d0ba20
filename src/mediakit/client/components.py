"""Creates the components of a client from its settings, and closes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx

from mediakit.catalog import Catalog
from mediakit.client.account_history import AccountHistory
from mediakit.client.admission import Admission
from mediakit.client.billing import Billing
from mediakit.client.budgets import AnyBudget, budget_name, budget_of
from mediakit.client.deliveries import AsyncDeliveries
from mediakit.client.downloads import Outputs
from mediakit.client.history_view import AsyncHistoryView
from mediakit.client.http import TIMEOUT_S, HttpClient, ServiceClient
from mediakit.client.jobs.async_job import AsyncJob
from mediakit.client.jobs.client_jobs import Jobs
from mediakit.client.loop import ProcessBound, networked
from mediakit.client.media_inputs import RemoteMedia
from mediakit.client.preview_cache import PreviewCache
from mediakit.client.progress import DelayMessages, Progress
from mediakit.client.rebuilder import Rebuilder
from mediakit.client.requests import Requests
from mediakit.client.sending import SUBMIT_RETRY_FOR_S, Sender
from mediakit.client.service import Service
from mediakit.client.submitting import Submissions
from mediakit.client.transport import UnclosedTransport
from mediakit.client.uploads import Uploads
from mediakit.clock import Clock, SystemClock
from mediakit.history import History


class ClientComponents(ProcessBound):
    """The components of an `AsyncClient`; its methods are in `async_client`.

    Args:
        service: The service.
        history: Records every submission before it is sent.
        catalog: The functions of the service; the sandbox's by default.
        clock: Gives time; the system's by default.
        project: A label for all submissions; None for none.
        budget: The limit: of the project in all its clients and processes, or of this
            client when there is no project; a `Budget` is shared by its name. None for
            no limit.
        submit_retry_for_s: Seconds to retry a submission while there is no response.
        timeout_s: Seconds to wait for the next bytes before giving up.
        transport: Sends all requests, as for `httpx.AsyncClient`; without it, the
            environment's proxies and certificates apply. It is closed with the client.
        home: The folder for previews of results and for outputs that are scored; None
            keeps none.
        on_wait: Called, on the waiting thread, with each wait for a job.

    Raises:
        InputError: The budget is not an amount of US dollars.
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
        on_wait: Callable[[AsyncJob], object] | None = None,
    ) -> None:
        self.service = service
        self.store = history
        self.home = home
        self.account_history = AccountHistory(history, service)
        # A service without bound functions has an empty catalog.
        self.catalog = Catalog.default() if catalog is None else catalog
        self.clock = clock or SystemClock()
        self._given_transport = transport
        borrowed = None if transport is None else UnclosedTransport(transport)
        self.transport = ServiceClient(
            service, clock=self.clock, timeout_s=timeout_s, transport=borrowed
        )
        self._files_http = HttpClient(borrowed, timeout_s)
        self.billing = Billing(self.transport, self.clock)
        self.deliveries = AsyncDeliveries(self.transport, self.clock)
        self.remote_media = RemoteMedia(self._files_http, self.clock)
        self._progress = Progress()
        self.uploads = Uploads(
            self.transport,
            self._files_http,
            self.account_history,
            self.clock,
            self._progress,
        )
        self.requests = Requests(self.catalog, self.remote_media, self.uploads)
        outputs = Outputs(
            self._files_http,
            self.account_history,
            service,
            self.clock,
            self._progress,
            PreviewCache(home / "looks" if home else None),
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
            self.catalog,
            self.clock,
            outputs,
            retry=lambda job_id: self.submissions.retry(job_id),
            next_take=lambda job_id: self.submissions.next_take(job_id),
            charged=self.admission.charged,
            on_wait=on_wait,
        )
        self._sender = Sender(
            self.transport,
            self.account_history,
            self.clock,
            retry_for_s=submit_retry_for_s,
        )
        self.delays = DelayMessages(
            self._progress,
            self._sender.asked_to_wait_s,
            self.account_history.blocked_text,
        )
        self.submissions = Submissions(
            self._sender,
            self.jobs,
            self.account_history,
            self.admission,
            self.requests,
            self.clock,
            project,
        )
        rebuilder = Rebuilder(
            self.transport,
            self.deliveries,
            self.account_history,
            self.jobs,
            self.catalog,
            self.clock,
        )
        self.history = AsyncHistoryView(history, service, rebuilder)

    def __repr__(self) -> str:
        # Error reporters may show a client whose __init__ failed.
        of = f" of {self.service.label}" if "service" in vars(self) else ""
        return f"<{type(self).__name__}{of}>"

    @networked
    async def aclose(self) -> None:
        """Stop watching and close the connections, for good; jobs continue.

        Waiting calls end with `WaitTimeoutError`; later ones report that the client is
        closed. Its history can still be read. A second close does nothing.
        """
        self.jobs.stop()
        await self.account_history.flush()
        await self.transport.aclose()
        await self._files_http.aclose()
        transport, self._given_transport = self._given_transport, None
        if transport is not None:
            await transport.aclose()
