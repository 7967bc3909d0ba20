"""The jobs of one client: read, watched, saved and erased."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from weakref import WeakValueDictionary

from mediakit.catalog import Catalog
from mediakit.client.answers import error_of, parse
from mediakit.client.async_job import AsyncJob
from mediakit.client.files import Files, target_of
from mediakit.client.job_state import JobState
from mediakit.client.service import Service
from mediakit.client.states import state_of_entry, state_of_record
from mediakit.client.transport import NoAnswerError, Transport
from mediakit.client.watching import SETTLING_FOR_S, gap_s, trouble_gap_s
from mediakit.clock import Clock
from mediakit.errors import AnswerError, ConflictError, GoneError, ServiceError
from mediakit.history import Entry, History
from mediakit.records import Job as JobRecord

log = logging.getLogger("mediakit.client")

JOBS_PATH = "/v1/media/jobs"


class Jobs:
    """Reads jobs, remembers what was read, and tells who watches.

    Args:
        transport: Asks the service.
        history: Remembers.
        catalog: Names the functions.
        clock: Gives time.
        files: Fetches outputs.
    """

    def __init__(
        self,
        transport: Transport,
        history: History,
        catalog: Catalog,
        clock: Clock,
        files: Files,
    ) -> None:
        self._transport = transport
        self._history = history
        self._catalog = catalog
        self._clock = clock
        self._files = files
        self._jobs: WeakValueDictionary[str, AsyncJob] = WeakValueDictionary()
        # The loop itself holds tasks only weakly.
        self._watches: set[asyncio.Task[None]] = set()
        self._settled_listeners: list[Callable[[AsyncJob], None]] = []

    @property
    def service(self) -> Service:
        """Return the service whose jobs these are."""
        return self._transport.service

    async def job(self, job_id: str) -> AsyncJob:
        """Pick a job up by its id, from anywhere (spec 4.18).

        Raises:
            NotFoundError: The organization has no such job.
            ServiceError: The service does not answer.
        """
        known = self._jobs.get(job_id)
        if known is not None:
            await self.read(known)
            return known
        record = await self._read_record(job_id)
        entry = self._history.find(job_id)
        if entry is None:
            return self.watched(state_of_record(record, self._catalog, self.service))
        self._history.record_job(entry.key, record)
        return self.watched(self.state_of(entry, record))

    def state_of(self, entry: Entry, record: JobRecord) -> JobState:
        """Return the state of a job that is in the history."""
        usual_s = self._history.usual_runtime_s(
            service=entry.service, function=entry.function
        )
        state = state_of_entry(entry, record, self._catalog, self.service)
        return replace(state, usual_runtime_s=usual_s)

    def watched(self, state: JobState) -> AsyncJob:
        """Return the one object of a job, watched until its charge is settled."""
        job = self._jobs.get(state.record.id)
        if job is None:
            job = self._jobs[state.record.id] = AsyncJob(self, state)
        job.watch()
        return job

    async def _read_record(self, job_id: str) -> JobRecord:
        answer = await self._transport.read(f"{JOBS_PATH}/{job_id}", retry_for_s=2.0)
        if answer.status == 404:
            self._history.mark_gone(job_id)
        if answer.status != 200:
            raise error_of(answer, f"the job {job_id}", self._clock)
        return parse(JobRecord, answer)

    async def read(self, job: AsyncJob) -> None:
        """Read a job once and take what the service says of it."""
        self._take(job, await self._read_record(job.id))

    def _take(self, job: AsyncJob, record: JobRecord) -> None:
        entry = self._history.find(job.id)
        if entry is not None:
            self._history.record_job(entry.key, record)
        before = job.state
        job.update(before.seen(record, self._clock.now()))
        if before.charge_micro_usd is None and job.state.charge_micro_usd is not None:
            for listener in tuple(self._settled_listeners):
                listener(job)

    def on_settled(self, listener: Callable[[AsyncJob], None]) -> Callable[[], None]:
        """Call a function with each job whose charge has settled.

        Returns:
            A function that ends it.
        """
        self._settled_listeners.append(listener)
        return lambda: self._settled_listeners.remove(listener)

    def start_watch(self, job: AsyncJob) -> asyncio.Task[None]:
        """Start watching a job on the running loop."""
        task = asyncio.get_running_loop().create_task(self.watch(job))
        self._watches.add(task)
        task.add_done_callback(self._watches.discard)
        return task

    async def watch(self, job: AsyncJob) -> None:
        """Read a job again and again until its charge is settled."""
        reads = failures = 0
        settling_since_s: float | None = None
        while job.state.charge_micro_usd is None:
            if job.state.record.status.terminal:
                settling_since_s = settling_since_s or self._clock.monotonic_s()
                if self._clock.monotonic_s() - settling_since_s > SETTLING_FOR_S:
                    return
            pause_s = trouble_gap_s(failures) if failures else gap_s(job.state, reads)
            await self._clock.sleep(pause_s)
            status = job.state.record.status
            try:
                await self.read(job)
            except AnswerError as error:
                if not _passes(error):
                    job.end(error)
                    return
                failures += 1
                again_s = trouble_gap_s(failures)
                trouble = f"{error} Asking again in {again_s:g} s; the job goes on."
                job.update(replace(job.state, trouble=trouble))
                continue
            failures = 0
            reads = reads + 1 if job.state.record.status is status else 0

    async def download(
        self, job: AsyncJob, path: str | Path | None, *, overwrite: bool
    ) -> Path:
        """Save a job's output; see `AsyncJob.download`."""
        url = await self._output_url(job)
        name = f"{job.state.kind}-{job.id.removeprefix('media_')[:8]}"
        target = target_of(path, url, name, overwrite=overwrite)
        await self._files.save(url, target)
        return target

    async def fetch_output(self, job: AsyncJob, max_bytes: int) -> bytes:
        """Return the bytes of a job's output; see `AsyncJob.fetch_output`."""
        out = BytesIO()

        def take(piece: bytes) -> None:
            out.write(piece)
            if out.tell() > max_bytes:
                raise ServiceError(f"The output is larger than {max_bytes:,} bytes.")

        await self._files.fetch(await self._output_url(job), take)
        return out.getvalue()

    async def _output_url(self, job: AsyncJob) -> str:
        # Read again: a sandbox that was started anew serves it at another port.
        await self.read(job)
        record = job.state.record
        if record.deleted_at is not None:
            raise GoneError(f"The output of {job.id} was erased.", job_id=job.id)
        if record.output is None or record.output.file is None:
            job.raise_if_failed()
            raise ConflictError(
                f"The job {job.id} is {record.status.value} and has no output yet; "
                "wait() returns when it has.",
                job_id=job.id,
            )
        return record.output.file.url

    async def erase(self, job: AsyncJob) -> None:
        """Erase a job's media and request; see `AsyncJob.erase`."""
        path = f"{JOBS_PATH}/{job.id}"
        try:
            answer = await self._transport.again(
                lambda: self._transport.exchange("DELETE", path), for_s=5.0
            )
        except NoAnswerError as error:
            raise self._transport.silence(error) from error
        if answer.status == 409:
            raise ConflictError(
                f"The job {job.id} has not ended yet; it can be erased once it has. "
                "There is no cancel in this service.",
                status=409,
                job_id=job.id,
            )
        if not 200 <= answer.status < 300:
            raise error_of(answer, f"the job {job.id}", self._clock)
        # What DELETE answers is not specified; what a read says is (spec 4.18).
        await self.read(job)

    def stop(self) -> None:
        """Stop watching on the running loop; the jobs go on at the service."""
        for job in tuple(self._jobs.values()):
            job.stop_watching()


def _passes(error: AnswerError) -> bool:
    """Tell trouble that may pass from an answer that will stay the same."""
    return error.status is None or error.status == 429 or error.status >= 500
