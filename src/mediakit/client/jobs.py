"""The jobs of one client: read, watched and erased."""

from __future__ import annotations

import logging
import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Literal
from weakref import WeakValueDictionary

from anyio import to_thread

from mediakit.catalog import Catalog
from mediakit.client.account_history import AccountHistory
from mediakit.client.async_job import AsyncJob
from mediakit.client.downloads import Outputs
from mediakit.client.http import ServiceClient
from mediakit.client.job_reads import JobReads
from mediakit.client.job_state import (
    JobState,
    record_of_entry,
    state_of_entry,
    state_of_record,
)
from mediakit.client.loop import FORKED, ClosedError, closed, discard, notify
from mediakit.client.poll_schedule import PATIENT_FOR_S, SETTLES_LATE_GAP_S
from mediakit.client.polling import Poller, Turns
from mediakit.client.service import Service
from mediakit.clock import Clock
from mediakit.errors import (
    AnswerError,
    ConflictError,
    GoneError,
    NotFoundError,
    ServiceError,
)
from mediakit.history import Entry, EntryState, History
from mediakit.history.entry import AT_WORK, changes_from_job
from mediakit.rates import Estimate
from mediakit.records import Job as JobRecord
from mediakit.webhooks import Event

log = logging.getLogger("mediakit.client")

USUAL_FOR_S = 60.0
EARLY_KEPT = 4_096

Handled = Literal["ended", "known", "unknown", "ignored"]
"""What an event did: see `AsyncClient.handle_event`."""


class Jobs:
    """One object for each job: recorded in the history as it is read, and watched.

    A watched job is polled until its charge is settled, and ended by events.
    """

    def __init__(
        self,
        transport: ServiceClient,
        account_history: AccountHistory,
        catalog: Catalog,
        clock: Clock,
        outputs: Outputs,
        *,
        retry: Callable[[str], Awaitable[AsyncJob]],
        next_take: Callable[[str], Awaitable[AsyncJob]],
        charged: Callable[[Entry, int], Awaitable[None]],
        on_wait: Callable[[AsyncJob], object] | None = None,
        turns: Turns | None = None,
    ) -> None:
        self.retry = retry
        self.next_take = next_take
        self._charged = charged
        self._on_wait = on_wait
        self._transport = transport
        self.reads = JobReads(transport, clock)
        self._account_history = account_history
        self._catalog = catalog
        self._clock = clock
        self.outputs = outputs
        self._jobs: WeakValueDictionary[str, AsyncJob] = WeakValueDictionary()
        self._early: OrderedDict[str, JobRecord] = OrderedDict()
        self._usual: dict[str, tuple[float | None, float]] = {}
        self._unknown_since_s: dict[str, float] = {}
        self.poller = Poller(self._poll, clock, turns)
        self._settled_listeners: list[Callable[[AsyncJob], None]] = []
        self._pid = os.getpid()

    @property
    def service(self) -> Service:
        """Return the service whose jobs these are."""
        return self._transport.service

    async def job(self, job_id: str) -> AsyncJob:
        """Return a job by its id, from any process (spec 4.18).

        Raises:
            NotFoundError: The organization has no such job.
            ServiceError: The service does not answer.
        """
        known = self._jobs.get(job_id)
        if known is not None:
            await self.read(known)
            return known
        record = await self._read_record(job_id)
        await self._record(record)
        entry = await self._account_history.ask(History.find, record.id)
        if entry is None:
            state = state_of_record(
                record, self._catalog, self.service, self._clock.now()
            )
        else:
            # Its record may not be written yet: another program can lock the history.
            changes = changes_from_job(entry, record, now=self._clock.now())
            state = await self.state_of(replace(entry, **changes), record)
        return await self.begun(state)

    async def state_of(
        self, entry: Entry, record: JobRecord, estimate: Estimate | None = None
    ) -> JobState:
        """Return the state of a job that is in the history."""
        return state_of_entry(
            entry,
            record,
            self._catalog,
            self.service,
            estimate=estimate,
            usual_runtime_s=await self._usual_runtime_s(entry),
        )

    async def _usual_runtime_s(self, entry: Entry) -> float | None:
        """Return the usual runtime of this function's jobs; read once a minute."""
        known = self._usual.get(entry.function)
        now_s = self._clock.monotonic_s()
        if known is not None and now_s < known[1]:
            return known[0]
        runtime_s = await self._account_history.ask(
            History.usual_runtime_s,
            service=entry.service,
            kind=entry.kind,
            function=entry.function,
        )
        self._usual[entry.function] = (runtime_s, now_s + USUAL_FOR_S)
        return runtime_s

    def watched(self, state: JobState) -> AsyncJob:
        """Return the one object of a job, watched until its charge is settled."""
        job = self._one(state)
        job.watch()
        return job

    async def begun(self, state: JobState) -> AsyncJob:
        """Return the one object of a job from a new response, watched.

        An event may have reported its end before the response arrived (spec 6.2).
        """
        job = self.watched(state)
        early = self._early.pop(job.id, None)
        if early is not None:
            await self._end(job, early)
        return job

    async def handle(self, event: Event) -> Handled:
        """End the job that a verified event is about; see `AsyncClient.handle_event`.

        An event has no charge (spec 6.3): it is read from the job.
        """
        record = event.job
        if record is None or not record.status.terminal:
            return "ignored"
        record = record.model_copy(update={"billing": None})
        job = await self._known(record)
        if job is None:
            # The response to its submission may still be pending (spec 6.2).
            self._early[record.id] = record
            while len(self._early) > EARLY_KEPT:
                self._early.popitem(last=False)
            return "unknown"
        return await self._end(job, record)

    async def _known(self, record: JobRecord) -> AsyncJob | None:
        """Return the one object of a job of this service; None for any other job."""
        entry = await self._account_history.ask(History.find, record.id)
        job = self._jobs.get(record.id)
        if job is not None or entry is None:
            return job
        if entry.service != self.service.identity:
            return None
        known = record_of_entry(entry, self.service)
        return self._one(await self.state_of(entry, known))

    async def _end(self, job: AsyncJob, record: JobRecord) -> Handled:
        """Apply an event's record of a job, unless the job has already ended."""
        is_known = job.status.terminal
        if not is_known:
            await self._record(record)
            job.see(record, self._clock.now(), of_its_end=True)
            self.poller.heard(job)
        job.watch()
        return "known" if is_known else "ended"

    def recalled(self, entry: Entry) -> AsyncJob:
        """Return a job as the history has it, not watched and without the network."""
        record = record_of_entry(entry, self.service)
        return self._one(state_of_entry(entry, record, self._catalog, self.service))

    async def resume(self, entry: Entry) -> AsyncJob:
        """Return a job as the history has it; the poller reads it at once.

        The rate limit of this process applies, however many jobs are resumed.
        """
        record = record_of_entry(entry, self.service)
        job = self._one(await self.state_of(entry, record))
        self.poller.watch(job, at_once=True)
        return job

    def _one(self, state: JobState) -> AsyncJob:
        return self._jobs.setdefault(state.record.id, AsyncJob(self, state))

    async def _read_record(self, job_id: str) -> JobRecord:
        entry = await self._account_history.ask(History.find, job_id)
        try:
            return await self.reads.read(job_id, is_accepted=entry is not None)
        except NotFoundError:
            if entry is not None and entry.state is EntryState.SETTLED:
                await self._mark_gone(job_id)
            raise

    async def _mark_gone(self, job_id: str) -> None:
        await self._account_history.write_soon(
            job_id, History.mark_gone, job_id, account=self.service.account
        )

    async def read_content(self, job: AsyncJob) -> None:
        """Read the URL of an output that the job does not show."""
        url = await self.reads.output_url(job.id)
        if url is not None:
            await self._take(job, job.state.record.with_file(url))

    async def read(self, job: AsyncJob) -> None:
        """Read a job once and apply the service's record."""
        await self._take(job, await self._read_record(job.id))
        if job.status.terminal:
            self.poller.heard(job)

    async def _take(self, job: AsyncJob, record: JobRecord) -> None:
        await self._record(record)
        if record.deleted_at is not None:
            await to_thread.run_sync(self.outputs.preview_cache.drop, job.id)
        if job.see(record, self._clock.now()):
            notify(self._settled_listeners, job)

    async def _record(self, record: JobRecord) -> None:
        charge_micro_usd = record.settled_charge_micro_usd
        if charge_micro_usd is None:
            await self._account_history.write_soon(record.id, History.record, record)
            return
        before = await self._account_history.ask(History.find, record.id)
        await self._account_history.write_soon(record.id, History.record, record)
        if before is not None and before.charge_micro_usd is None:
            await self._charged(before, charge_micro_usd)

    def on_settled(self, listener: Callable[[AsyncJob], None]) -> Callable[[], None]:
        """Call a function with each job whose charge has settled.

        Returns:
            A function that unsubscribes it.
        """
        self._settled_listeners.append(listener)
        return partial(discard, self._settled_listeners, listener)

    def waited(self, job: AsyncJob) -> None:
        """Notify the listener for waits that one starts."""
        if self._on_wait is not None:
            self._on_wait(job)

    def watch(self, job: AsyncJob) -> None:
        """Watch a job until its charge is settled.

        Raises:
            ClosedError: The client is that of a parent process.
        """
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
        await self._take(job, record)

    async def _unknown(self, job_id: str) -> AnswerError:
        """Return the error for a job that the service accepted and does not know.

        A replica that lags and a gateway answer 404 for jobs that exist: the job is
        read again, for minutes while calls wait for it, and for a day while its hold
        lasts.
        """
        now_s = self._clock.monotonic_s()
        since_s = self._unknown_since_s.setdefault(job_id, now_s)
        what = f"The service says that it does not know the job {job_id}"
        if now_s - since_s < PATIENT_FOR_S:
            return ServiceError(
                f"{what}, which it accepted.", status=404, job_id=job_id
            )
        await self._mark_gone(job_id)
        entry = await self._account_history.ask(History.find, job_id)
        if entry is None or entry.state not in AT_WORK:
            return GoneError(
                f"{what} any more. Its charge is not known.",
                status=404,
                job_id=job_id,
            )
        return NotFoundError(
            f"{what}, which it accepted, and has said so for "
            f"{PATIENT_FOR_S / 60:.0f} minutes. You may still be charged, so its "
            "price stays held for a day. The job is read again every "
            f"{SETTLES_LATE_GAP_S / 60:.0f} minutes; job.refresh() reads it now.",
            status=404,
            job_id=job_id,
        )

    async def erase(self, job: AsyncJob) -> None:
        """Erase a job's media and request; see `AsyncJob.erase`."""
        await self.reads.erase(job.id)
        # The response to DELETE is not specified; a read's is (spec 4.18).
        await self.read(job)

    async def forget(self, job: AsyncJob) -> None:
        """Forget a job's prompt and settings in the history; see `AsyncJob.forget`."""
        if job.state.record.deleted_at is None:
            raise ConflictError(
                f"The job {job.id} was not erased, so the service still has its "
                "prompt. Erase it first: job.erase(forget=True) does both.",
                job_id=job.id,
            )
        await self._account_history.write(History.forget, job.id)
        job.update(job.state.forgotten())

    def stop(self) -> None:
        """End all watching and waiting calls; the jobs continue at the service."""
        self.poller.stop()
        for reference in self._jobs.valuerefs():
            job = reference()
            if job is not None:
                job.release()
