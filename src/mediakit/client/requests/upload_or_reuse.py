"""Uploads local files, and reuses the URL of a file that was uploaded before."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import TypeVar

from anyio import CapacityLimiter, to_thread

from mediakit.client.idempotency import name_of_file
from mediakit.client.progress import Progress
from mediakit.client.records.account_history import AccountHistory
from mediakit.client.requests.single_flight import SingleFlight
from mediakit.client.requests.validated_request import (
    UploadedFile,
    ValidatedRequest,
)
from mediakit.client.transfers.uploads import (
    Files,
    Upload,
    fingerprint,
    unreadable,
    unsent,
)
from mediakit.errors import InputError
from mediakit.history import uploads
from mediakit.media import MediaInfo, is_url, local_file, probe
from mediakit.schema import MediaName

T = TypeVar("T")

AT_ONCE = 3


class Uploads:
    """Uploads files and records their URLs.

    Args:
        files: Sends the files.
        account_history: Records the URLs.
        progress: Receives the progress.
    """

    def __init__(
        self, files: Files, account_history: AccountHistory, progress: Progress
    ) -> None:
        self._files = files
        self._account_history = account_history
        self._progress = progress
        self._slots = CapacityLimiter(AT_ONCE)
        self._sending: SingleFlight[str] = SingleFlight()

    async def upload(self, path: str | Path, field: str) -> str:
        """Upload a local file and return its permanent URL (spec 4.2)."""
        file, info = await to_thread.run_sync(_probe_any, path, field)
        return (await self._upload(file, info, field)).url

    async def of(self, request: ValidatedRequest) -> dict[str, UploadedFile]:
        """Upload the local files of a request; return them by their paths."""
        labels: dict[str, str] = {}
        for item in request.function.media(request.body):
            if not is_url(item.value):
                labels.setdefault(item.value, item.label)
        if not labels:
            return {}
        paths = request.paths
        sent = await _all(
            self._upload(paths[value], request.infos[value], label)
            for value, label in labels.items()
        )
        return dict(zip(labels, sent, strict=True))

    async def named(self, request: ValidatedRequest) -> dict[str, UploadedFile]:
        """Return the local files of a request under their names, by their paths.

        Nothing is sent: a request is looked up by these names.

        Raises:
            OSError: A file cannot be read.
        """
        found = {}
        for value, path in request.paths.items():
            seen = await to_thread.run_sync(fingerprint, path)
            found[value] = UploadedFile(name_of_file(seen.sha256), seen.sha256)
        return found

    async def _upload(self, file: Path, info: MediaInfo, field: str) -> UploadedFile:
        try:
            seen = await to_thread.run_sync(fingerprint, file)
        except OSError as error:
            raise unreadable(field, file, error) from None
        if (seen.size_bytes, seen.changed_ns) != (info.size_bytes, info.changed_ns):
            raise unsent(field, file, "changed after it was checked and priced")
        upload = Upload(file, info.content_type, seen, field)
        url = await self._known(upload) or await self._sending.once(
            (seen.sha256, info.content_type), lambda: self._send(upload)
        )
        return UploadedFile(url, seen.sha256)

    async def _send(self, upload: Upload) -> str:
        name, size_bytes = upload.path.name, upload.seen.size_bytes
        with self._progress.of("upload", name, size_bytes) as tell:
            async with self._slots:
                # Another process may have uploaded the same bytes since.
                known = await self._known(upload)
                if known is not None:
                    return known
                url = await self._files.put(upload, tell)
        return await self._account_history.write(
            uploads.remember_upload,
            service=self._account_history.service,
            sha256=upload.seen.sha256,
            size_bytes=size_bytes,
            content_type=upload.content_type,
            url=url,
        )

    async def _known(self, upload: Upload) -> str | None:
        return await self._account_history.ask(
            uploads.uploaded,
            service=self._account_history.service,
            sha256=upload.seen.sha256,
            content_type=upload.content_type,
        )


async def _all(works: Iterable[Coroutine[object, object, T]]) -> list[T]:
    """Run all concurrently; the first error cancels the others and is raised."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _probe_any(path: object, field: str) -> tuple[Path, MediaInfo]:
    if not isinstance(path, str | Path):
        accepted = (
            "the path of a file, as text or as a Path; pass an object in memory "
            "directly to a field of a request"
        )
        raise InputError(field, got=path, accepted=accepted)
    file = local_file(path)
    errors: list[InputError] = []
    kinds: tuple[MediaName, ...] = ("image", "video", "audio")
    for kind in kinds:
        try:
            return file, probe(file, kind, field)
        except InputError as error:
            errors.append(error)
    raise errors[0]
