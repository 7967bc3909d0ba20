"""Results of jobs: saved with their sidecar, or returned as bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import anyio
from anyio import to_thread

from mediakit.client.jobs.async_job import AsyncJob
from mediakit.client.progress import Progress
from mediakit.client.records.account_history import AccountHistory
from mediakit.client.service import Service
from mediakit.client.transfers.destinations import (
    Destination,
    NameTakenError,
    Store,
    held,
    target_of,
    unwritable,
)
from mediakit.client.transfers.preview_cache import PreviewCache
from mediakit.client.transfers.resumable_downloads import Downloader, Sink, Version
from mediakit.client.transfers.sidecar import Saved, is_of, sidecar_of, urls_in, written
from mediakit.clock import Clock
from mediakit.errors import ConflictError, GoneError, ServiceError
from mediakit.history import History, uploads
from mediakit.media import plain_name, result_suffix
from mediakit.records import JobStatus

AT_ONCE = 4

T = TypeVar("T")


class Outputs:
    """The results of one client's jobs.

    Args:
        downloader: Fetches the files.
        account_history: Has the requests of the jobs.
        service: The service of the jobs.
        clock: Dates the sidecars.
        progress: Receives the progress of downloads.
        preview_cache: The cache of previews.
    """

    def __init__(
        self,
        downloader: Downloader,
        account_history: AccountHistory,
        service: Service,
        clock: Clock,
        progress: Progress,
        preview_cache: PreviewCache,
    ) -> None:
        self._downloader = downloader
        self._account_history = account_history
        self._service = service
        self._clock = clock
        self._progress = progress
        self.preview_cache = preview_cache
        self._slots = anyio.CapacityLimiter(AT_ONCE)

    async def save(
        self, job: AsyncJob, path: str | Path | None, *, overwrite: bool
    ) -> Path | str:
        """Save a job's output; see `AsyncJob.download`."""
        url = await output_url(job)
        target = await to_thread.run_sync(target_of, path, _file_name(job))
        try:
            if not overwrite and await self._is_there(target, job):
                return target.place
            async with self._slots:
                await self._fetch(job, url, target, overwrite=overwrite)
        except OSError as error:
            raise unwritable(target.place, error) from None
        return target.place

    async def _is_there(self, target: Destination, job: AsyncJob) -> bool:
        """Return whether the result exists; update a charge that settled since."""
        charge = job.state.charge_micro_usd

        def look() -> bool:
            sidecar = self._held(target, job)
            if sidecar is None:
                return False
            if charge is not None and sidecar.get("charge_micro_usd") is None:
                target.write_beside(written({**sidecar, "charge_micro_usd": charge}))
            return True

        return await to_thread.run_sync(look)

    async def _fetch(
        self, job: AsyncJob, url: str, target: Destination, *, overwrite: bool
    ) -> None:
        store = await to_thread.run_sync(target.open)
        try:
            with self._progress.of("download", target.name) as tell:
                await self._downloader.fetch(url, store, tell)
            await self._publish(job, target, store, overwrite=overwrite)
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(store.close)

    async def _publish(
        self, job: AsyncJob, target: Destination, store: Store, *, overwrite: bool
    ) -> None:
        """Write the sidecar, then rename the file to its name.

        In this order: a sidecar without its file is replaced by the same call, but a
        file without a sidecar may be somebody else's and is refused.
        """
        saved = Saved(store.size_bytes, store.sha256, self._clock.now())
        entry = await self._account_history.ask(History.find, job.id)
        inputs = await self._account_history.ask(
            uploads.uploads_at,
            urls_in(job.state.body),
            service=self._account_history.service,
        )
        sidecar = sidecar_of(job.state, entry, self._service, saved, inputs)
        content = written(sidecar)

        def publish() -> None:
            before = target.beside()
            target.write_beside(content)
            try:
                store.publish(overwrite=overwrite)
            except FileExistsError:
                # Another process may have saved the same result since.
                if not self._is_saved(target, job):
                    _restore(target, before)
                    raise NameTakenError(target.place) from None
            except BaseException:
                with suppress(OSError):
                    _restore(target, before)
                raise

        await to_thread.run_sync(publish)

    def _held(self, target: Destination, job: AsyncJob) -> Mapping[str, Any] | None:
        return held(target, lambda sidecar: is_of(sidecar, job.id, self._service))

    def _is_saved(self, target: Destination, job: AsyncJob) -> bool:
        with suppress(NameTakenError):
            return self._held(target, job) is not None
        return False

    async def read(self, job: AsyncJob, read: Callable[[BinaryIO], T]) -> T | None:
        """Read a part of a job's output; see `AsyncJob.read_output`."""
        url = await output_url(job)
        async with self._slots:
            return await self._downloader.read(url, read)

    async def pass_on(self, job: AsyncJob, sink: Sink) -> None:
        """Pass a job's output to a sink; see `AsyncJob.pass_output`."""
        url = await output_url(job)
        async with self._slots:
            with self._progress.of("download", job.id) as tell:
                await self._downloader.fetch(url, sink, tell)

    async def fetch(self, job: AsyncJob, max_bytes: int) -> bytes:
        """Return the bytes of a job's output; see `AsyncJob.fetch_output`."""
        url = await output_url(job)
        memory = Memory(max_bytes)
        async with self._slots:
            with self._progress.of("download", job.id) as tell:
                await self._downloader.fetch(url, memory, tell)
        return bytes(memory.content)


def _file_name(job: AsyncJob) -> str:
    output = job.state.record.output
    assert output is not None
    assert output.file is not None
    suffix = result_suffix(
        output.file.url, job.state.media_type, output.file.content_type
    )
    # Both come from the service, and must not lead to another folder.
    name = f"{job.state.kind}-{job.id.removeprefix('media_')[:8]}"
    return plain_name(name.replace("/", "_")) + suffix


def _restore(target: Destination, sidecar: bytes | None) -> None:
    """Undo the sidecar of a file that did not get its name."""
    if sidecar is None:
        target.remove_beside()
    else:
        target.write_beside(sidecar)


class Memory:
    """Holds the bytes of a small file.

    Args:
        max_bytes: The most that it holds.
    """

    def __init__(self, max_bytes: int) -> None:
        self.version: Version | None = None
        self.content = bytearray()
        self._max_bytes = max_bytes

    @property
    def size_bytes(self) -> int:
        """Return the number of bytes so far."""
        return len(self.content)

    def start(self, version: Version) -> None:
        """Start over: the bytes of this version follow, from the first.

        Raises:
            ServiceError: They are too many.
        """
        self.version = version
        self.content.clear()
        self._check(version.size_bytes or 0)

    def cut(self, size_bytes: int) -> None:
        """Truncate to a size; the remaining bytes follow."""
        del self.content[size_bytes:]

    def write(self, piece: bytes) -> None:
        """Append the next bytes.

        Raises:
            ServiceError: They are too many.
        """
        self.content += piece
        self._check(len(self.content))

    def _check(self, size_bytes: int) -> None:
        if size_bytes > self._max_bytes:
            raise ServiceError(f"The output is larger than {self._max_bytes:,} bytes.")


async def output_url(job: AsyncJob) -> str:
    """Return the current URL of a job's output.

    Raises:
        ConflictError: The job has no output yet.
        GoneError: The output was erased.
    """
    # Read again: a restarted sandbox serves it at another port.
    await job.refresh()
    if job.status is JobStatus.COMPLETED and job.url is None:
        await job.read_content()
    record = job.state.record
    if record.deleted_at is not None:
        raise GoneError(f"The output of {job.id} was erased.", job_id=job.id)
    if record.output is None or record.output.file is None:
        job.raise_if_failed()
        then = "wait() returns when it has."
        if record.status is JobStatus.COMPLETED:
            then = "the service does not say where it is. Try again in a minute."
        raise ConflictError(
            f"The job {job.id} is {record.status.value} and has no output yet; {then}",
            job_id=job.id,
        )
    return record.output.file.url
