"""The jobs of one client: reading, polling and erasing them."""

from __future__ import annotations

import logging
import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Literal
from urllib.parse import quote, urljoin
from weakref import WeakValueDictionary

from anyio import to_thread

from mediakit.api_models import LONGEST_URL, JobRecord, JobStatus
from mediakit.catalog import Catalog
from mediakit.client.account_history import AccountHistory
from mediakit.client.async_job import AsyncJob, Resubmitter
from mediakit.client.downloads import Outputs
from mediakit.client.http import ServiceClient, is_not_now
from mediakit.client.io_thread import FORKED, ClosedError, closed
from mediakit.client.job_state import function_at, state_of
from mediakit.client.job_texts import plain_id, unreadable_text
from mediakit.client.listeners import Listeners
from mediakit.client.polling import (
    SLOW_SETTLING_INTERVAL_S,
    UNREADABLE_TIMEOUT_S,
    Poller,
)
from mediakit.client.responses import HttpResponse, NoAnswerError, error_of, parse
from mediakit.client.retries import ERASE_RETRY_FOR_S, JOB_READ_RETRY_FOR_S
from mediakit.client.sidecar import Sidecar
from mediakit.client.uploads import Uploads
from mediakit.clock import Clock
from mediakit.errors import (
    AnswerError,
    ConflictError,
    GoneError,
    NotFoundError,
    ServiceError,
)
from mediakit.history import Entry, EntryState, History
from mediakit.history.entry import AT_WORK, fresh_entry
from mediakit.history.forgetting import forget
from mediakit.history.merging import changes_from_job
from mediakit.safe_text import shown
from mediakit.webhooks import Event

log = logging.getLogger("mediakit.client")

CONTINUES = "The job continues."


def _path(job_id: str) -> str:
    return f"/v1/media/jobs/{quote(job_id, safe='')}"  # an id must be one path segment


def _is_foreign(answer: HttpResponse) -> bool:
    """Return whether a 404 lacks the service's error shape (spec 7.1)."""
    return answer.status == 404 and not answer.message


class JobReads:
    """The requests about one job; each returns the service's record, or raises."""

    def __init__(self, transport: ServiceClient, clock: Clock) -> None:
        self._transport = transport
        self._clock = clock

    async def read(
        self,
        job_id: str,
        *,
        is_accepted: bool = False,
        for_s: float = JOB_READ_RETRY_FOR_S,
    ) -> JobRecord:
        """Read a job, retrying for some seconds without a response."""
        answer = await self._transport.read(
            _path(job_id),
            retry_for_s=for_s,
            is_foreign=lambda answer: (
                answer.status == 404 and (is_accepted or not answer.message)
            ),
        )
        return await self._job_in(answer, job_id)

    async def read_once(self, job_id: str) -> JobRecord:
        """Read a job without a retry."""
        try:
            answer = await self._transport.exchange("GET", _path(job_id))
        except NoAnswerError as error:
            raise self._transport.silence(error) from error
        try:
            return await self._job_in(answer, job_id)
        except ServiceError:
            if answer.status != 200 or answer.fields:
                raise
        # A truncated response or a page of another server says nothing about the job.
        reason = "it returned 200 with something that is not JSON"
        raise self._transport.silence(NoAnswerError(reason, sent=True))

    async def output_url(self, job_id: str) -> str | None:
        """Read the URL of a job's output; None if the service has none."""
        path = f"{_path(job_id)}/content"
        answer = await self._transport.read(path, retry_for_s=JOB_READ_RETRY_FOR_S)
        if answer.status in (404, 409):
            return None
        if 300 <= answer.status < 400:
            url: object = answer.headers.get("location")
        elif answer.status == 200:
            url = answer.fields.get("url")
        else:
            raise error_of(answer, f"the output of {job_id}", self._clock)
        is_url = isinstance(url, str) and len(url) <= LONGEST_URL
        return self._absolute(path, str(url)) if is_url else None

    def _absolute(self, path: str, url: str) -> str:
        """Add the host to a service's path, such as /files/a.mp4."""
        if not url.startswith("/"):
            return url
        try:
            return urljoin(f"{self._transport.service.base_url}{path}", url)
        except ValueError:
            return url

    async def erase(self, job_id: str) -> None:
        """Erase a job's media and request."""
        path = _path(job_id)
        answer = await self._transport.until_answered(
            lambda: self._transport.exchange("DELETE", path),
            for_s=ERASE_RETRY_FOR_S,
            again=is_not_now,
        )
        if answer.status == 409:
            raise ConflictError(
                f"The job {job_id} has not ended yet; it can be erased once it has. "
                "This service cannot cancel jobs.",
                status=409,
                job_id=job_id,
            )
        self._refuse_foreign(answer, job_id)
        if not 200 <= answer.status < 300:
            raise error_of(answer, f"the job {job_id}", self._clock)

    async def _job_in(self, answer: HttpResponse, job_id: str) -> JobRecord:
        self._refuse_foreign(answer, job_id)
        if not 200 <= answer.status < 300:
            then = CONTINUES if answer.status == 429 else ""
            raise error_of(answer, f"the job {job_id}", self._clock, then=then)
        job = parse(JobRecord, answer)
        if job.id != job_id:
            raise ServiceError(
                f"The service was asked for the job {job_id} but returned the job "
                f"{shown(job.id)}. Try again.",
                status=answer.status,
                job_id=job_id,
            )
        if not job.has_unread_output:
            return job
        url = None
        try:
            url = await self.output_url(job_id)
        except AnswerError as error:
            log.debug("the content of a job cannot be read: %s", error)
        if url is None and job.output is not None and job.output.file is not None:
            url = self._absolute(_path(job_id), job.output.file.url)
        return job if url is None else job.with_file(url)

    def _refuse_foreign(self, answer: HttpResponse, job_id: str) -> None:
        if not _is_foreign(answer):
            return
        raise ServiceError(
            f"{self._transport.service.base_url} returned 404 for the job {job_id}, "
            "but not in the service's format: a gateway may have responded. The job "
            "may exist. Check the base URL and the network, then try again.",
            status=404,
            job_id=job_id,
        )


# -- the jobs of one client ------------------------------------------------------------


USUAL_FOR_S = 60.0
EARLY_KEPT = 4_096

Handled = Literal["ended", "known", "unknown", "ignored"]
"""The effect of an event: see `AsyncClient.handle_event`."""


class Jobs:
    """One object per job: recorded in the history as it is read, and polled."""

    resubmitter: Resubmitter
    """Set once it exists; it needs the jobs first."""

    def __init__(
        self,
        transport: ServiceClient,
        account_history: AccountHistory,
        catalog: Catalog,
        clock: Clock,
        outputs: Outputs,
        *,
        charged: Callable[[Entry, int], Awaitable[None]],
        uploads: Uploads,
        on_wait: Callable[[AsyncJob], object],
    ) -> None:
        self._transport = transport
        self._account_history = account_history
        self._catalog = catalog
        self._clock = clock
        self.outputs = outputs
        self._charged = charged
        self.uploads = uploads
        self.on_wait = on_wait
        self.service = transport.service
        self.reads = JobReads(transport, clock)
        self.poller = Poller(self._poll, clock)
        self._jobs: WeakValueDictionary[str, AsyncJob] = WeakValueDictionary()
        self._early: OrderedDict[str, JobRecord] = OrderedDict()
        self._usual: dict[str, tuple[float | None, float]] = {}
        self._unknown_since_s: dict[str, float] = {}
        self.settled: Listeners[AsyncJob] = Listeners()
        self._pid = os.getpid()

    # -- one object per job -------------------------------------------------------

    async def job(self, job_id: str) -> AsyncJob:
        """Return a job by its id; see `AsyncClient.job`."""
        job_id = plain_id(job_id)
        job = await self._known(job_id)
        if job is None:
            record = await self.reads.read(job_id)
            return await self.begun(self._elsewhere(record), record)
        await self.read(job)
        self.watch(job)
        return job

    async def begun(self, entry: Entry, record: JobRecord) -> AsyncJob:
        """Return a newly submitted job, and start polling it."""
        job = self._one(entry, await self._usual_runtime_s(entry), record)
        self._see(job, record)
        self.watch(job)
        # An event may have reported the job's end before the response arrived (spec
        # 6.2).
        early = self._early.pop(job.id, None)
        if early is not None:
            await self._end(job, early)
        return job

    def recalled(self, entry: Entry) -> AsyncJob:
        """Return a job from the history, without polling or the network."""
        return self._one(entry)

    async def resume(self, entry: Entry) -> AsyncJob:
        """Return a job from the history, which is polled from now on."""
        job = self._one(entry, await self._usual_runtime_s(entry))
        self.poller.watch(job, at_once=True)
        return job

    async def _known(self, job_id: str) -> AsyncJob | None:
        """Return a job from memory or the history; None if it is neither."""
        job = self._jobs.get(job_id)
        if job is not None:
            return job
        entry = await self._account_history.ask(History.find, job_id)
        identities = (self.service.identity, *self.service.also)
        if entry is None or entry.service not in identities:
            return None
        return self._one(entry, await self._usual_runtime_s(entry))

    def _one(
        self,
        entry: Entry,
        usual_runtime_s: float | None = None,
        record: JobRecord | None = None,
    ) -> AsyncJob:
        state = state_of(
            entry,
            self._catalog,
            self.service,
            record=record,
            usual_runtime_s=usual_runtime_s,
            names=self.outputs.names.known,
        )
        return self._jobs.setdefault(state.record.id, AsyncJob(self, state))

    async def _usual_runtime_s(self, entry: Entry) -> float | None:
        """Return the usual runtime of a function's jobs; read once a minute."""
        cached = self._usual.get(entry.function)
        now_s = self._clock.monotonic_s()
        if cached is not None and now_s < cached[1]:
            return cached[0]
        runtime_s = await self._account_history.ask(
            History.usual_runtime_s,
            service=entry.service,
            kind=entry.kind,
            function=entry.function,
        )
        self._usual[entry.function] = (runtime_s, now_s + USUAL_FOR_S)
        return runtime_s

    def _elsewhere(self, record: JobRecord) -> Entry:
        """Return an in-memory entry for a job that was submitted elsewhere."""
        path = record.model_id or ""
        function = function_at(self._catalog, path)
        sidecar = Sidecar(
            job_id=record.id,
            service=self.service.identity,
            function=path or "an unknown function",
            kind=function.kind if function else path.rsplit("/", 1)[-1] or "job",
        )
        now = self._clock.now()
        submission = sidecar.submission(self.service, {})
        entry = replace(
            fresh_entry(submission, number=0, created_at=now),
            state=EntryState.SUBMITTED,
            job_id=record.id,
            status=record.status,
        )
        return replace(entry, **changes_from_job(entry, record, now=now))

    # -- events -------------------------------------------------------------------

    async def handle(self, event: Event) -> Handled:
        """Apply a verified event; see `AsyncClient.handle_event`."""
        record = event.job
        if record is None or not record.status.terminal:
            return "ignored"
        record = record.model_copy(update={"billing": None})
        job = await self._known(record.id)
        if job is None:
            # The response to the job's submission may still be pending (spec 6.2).
            self._early[record.id] = record
            while len(self._early) > EARLY_KEPT:
                self._early.popitem(last=False)
            return "unknown"
        return await self._end(job, record)

    async def _end(self, job: AsyncJob, record: JobRecord) -> Handled:
        """Apply an event's record of a job, unless the job has already ended."""
        is_known = job.status.terminal
        if not is_known:
            await self._record(record)
            if not job.status.terminal:  # a poll may have seen the end in the meantime
                job.see(record, self._clock.now())
            self.poller.on_end_reported(job)
        self.watch(job)
        return "known" if is_known else "ended"

    # -- reads --------------------------------------------------------------------

    async def read(self, job: AsyncJob) -> None:
        """Read a job once, now, and apply the service's record."""
        try:
            record = await self.reads.read(job.id, is_accepted=True)
        except NotFoundError:
            if job.state.entry.state is EntryState.SETTLED:
                await self._mark_gone(job.id)
            raise
        await self._apply(job, record)
        if job.status.terminal:
            self.poller.on_end_reported(job)

    async def read_content(self, job: AsyncJob) -> None:
        """Read the URL of an output that the job's record lacks."""
        url = await self.reads.output_url(job.id)
        if url is not None:
            await self._apply(job, job.state.record.with_file(url))

    async def _apply(self, job: AsyncJob, record: JobRecord) -> None:
        await self._record(record)
        if record.deleted_at is not None:
            await to_thread.run_sync(self.outputs.preview_cache.drop, job.id)
        charge_micro_usd = record.settled_charge_micro_usd
        if charge_micro_usd is not None and job.charge_micro_usd is None:
            await self._charged(job.state.entry, charge_micro_usd)
        if record.status is JobStatus.FAILED and not job.status.terminal:
            await self.uploads.forget_missing(job.state.body)
        self._see(job, record)

    async def _record(self, record: JobRecord) -> None:
        await self._account_history.write_soon(record.id, History.record, record)

    def _see(self, job: AsyncJob, record: JobRecord) -> None:
        text = unreadable_text(record)
        if text is not None and text != job.state.trouble:
            log.warning("%s: %s", job.id, text)
        if job.see(record, self._clock.now()):
            self.settled.notify(job)

    async def _mark_gone(self, job_id: str) -> None:
        await self._account_history.write_soon(
            job_id, History.mark_gone, job_id, account=self.service.account
        )

    # -- watching -----------------------------------------------------------------

    def watch(self, job: AsyncJob) -> None:
        """Poll a job until its charge is settled."""
        if job.state.is_over:
            return
        if self._pid != os.getpid():
            raise ClosedError(FORKED)
        if self._transport.closed:
            job.end(closed())
        else:
            self.poller.watch(job)

    async def _poll(self, job: AsyncJob) -> None:
        """Read a job once; the poller decides when to retry."""
        try:
            record = await self.reads.read_once(job.id)
        except NotFoundError as error:
            raise await self._unknown(job.id) from error
        self._unknown_since_s.pop(job.id, None)
        await self._apply(job, record)

    async def _unknown(self, job_id: str) -> AnswerError:
        """Return the error for an accepted job that the service does not know."""
        now_s = self._clock.monotonic_s()
        since_s = self._unknown_since_s.setdefault(job_id, now_s)
        what = f"The service says that it does not know the job {job_id}"
        if now_s - since_s < UNREADABLE_TIMEOUT_S:
            return ServiceError(
                f"{what}, which it accepted.", status=404, job_id=job_id
            )
        await self._mark_gone(job_id)
        entry = await self._account_history.ask(History.find, job_id)
        if entry is None or entry.state not in AT_WORK:
            return GoneError(
                f"The service says that it no longer knows the job {job_id}. Its "
                "charge is not known.",
                status=404,
                job_id=job_id,
            )
        return NotFoundError(
            f"For {UNREADABLE_TIMEOUT_S / 60:.0f} minutes, the service has said that "
            f"it does not know the job {job_id}, although it accepted it. You may "
            "still be charged, so the price stays held for a day. mediakit checks the "
            f"job again every {SLOW_SETTLING_INTERVAL_S / 60:.0f} minutes; call "
            "job.refresh() to check it now.",
            status=404,
            job_id=job_id,
        )

    def stop(self) -> None:
        """Stop polling and end pending waits; the jobs continue at the service."""
        self.poller.stop()
        for job in tuple(self._jobs.values()):
            job.release()

    async def forget(self, job: AsyncJob) -> None:
        """Delete the texts about a job from the history; see `AsyncJob.forget`."""
        if job.state.record.deleted_at is None:
            raise ConflictError(
                f"The job {job.id} was not erased, so the service still has its "
                "prompt. Erase it first: job.erase(forget=True) does both.",
                job_id=job.id,
            )
        await self._account_history.write(forget, job.id)
        job.update(job.state.forgotten())
