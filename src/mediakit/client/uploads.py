"""Uploads local files under grants, each byte once, and records their URLs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from anyio import CapacityLimiter, to_thread

from mediakit.client.account_history import AccountHistory
from mediakit.client.answers import (
    Answer,
    NoAnswerError,
    error_of,
    parse,
    retry_after_s,
)
from mediakit.client.http import (
    BLOCK_BYTES,
    HttpClient,
    ServiceClient,
    jittered_backoff_s,
)
from mediakit.client.progress import Progress, Tell
from mediakit.clock import Clock
from mediakit.errors import InputError, ServiceError
from mediakit.history import Upload, tuning
from mediakit.media import MediaInfo, local_file, probe
from mediakit.records import UploadGrant
from mediakit.schema import MediaName, canonical_json

AT_ONCE = 3
CHUNK_BYTES = 1 << 18
UPLOADS_PATH = "/v1/media/uploads"
TRIES = 4
# A grant lives for 300 s (spec 2.3).
YOUNG_FOR_S = 240.0
UNSENT = "The request that needed it was not sent; nothing is charged."

T = TypeVar("T")


class Fingerprint(NamedTuple):
    """The identity of a file when it was hashed.

    Args:
        sha256: The hash of its bytes, in hex.
        size_bytes: Its length.
        changed_ns: When it was last changed.
    """

    sha256: str
    size_bytes: int
    changed_ns: int


def fingerprint(path: Path) -> Fingerprint:
    """Hash a file, reading it once in pieces."""
    digest = sha256()
    with path.open("rb") as file:
        stat = os.fstat(file.fileno())
        while piece := file.read(CHUNK_BYTES):
            digest.update(piece)
    return Fingerprint(digest.hexdigest(), stat.st_size, stat.st_mtime_ns)


class LocalMedium(NamedTuple):
    """A local file that was checked and priced.

    Args:
        path: Its path.
        info: Its properties.
        field: The field that names it, for errors.
    """

    path: Path
    info: MediaInfo
    field: str


class UploadedFile(NamedTuple):
    """A local file that was uploaded."""

    url: str
    sha256: str


@dataclass(frozen=True)
class _Upload:
    path: Path
    content_type: str
    field: str
    seen: Fingerprint


class Uploads:
    """The uploads of one client."""

    def __init__(
        self,
        transport: ServiceClient,
        http: HttpClient,
        account_history: AccountHistory,
        clock: Clock,
        progress: Progress,
    ) -> None:
        self._transport = transport
        self._http = http
        self._account_history = account_history
        self._clock = clock
        self._progress = progress
        self._slots = CapacityLimiter(AT_ONCE)
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = (
            WeakValueDictionary()
        )

    async def upload(self, path: str | Path, field: str) -> str:
        """Upload a local file and return its permanent URL (spec 4.2)."""
        medium = await to_thread.run_sync(_probe_any, path, field)
        return (await self._one(medium)).url

    async def all(self, media: Mapping[str, LocalMedium]) -> dict[str, UploadedFile]:
        """Upload files, and return them by the same keys.

        Raises:
            InputError: A file changed since it was checked; or the service refuses it.
            ServiceError: An upload failed.
        """
        sent = await _gathered(self._one(medium) for medium in media.values())
        return dict(zip(media, sent, strict=True))

    async def _one(self, medium: LocalMedium) -> UploadedFile:
        path, info, field = medium
        try:
            seen = await to_thread.run_sync(fingerprint, path)
        except OSError as error:
            raise _unreadable(field, path, error) from None
        if (seen.size_bytes, seen.changed_ns) != (info.size_bytes, info.changed_ns):
            raise _unsent(field, path, "changed after it was checked and priced")
        upload = _Upload(path, info.content_type, field, seen)
        key = (seen.sha256, info.content_type)
        # The same bytes are sent once; who comes later finds their URL.
        async with self._locks.setdefault(key, asyncio.Lock()):
            url = await self._known(upload) or await self._send(upload)
        return UploadedFile(url, seen.sha256)

    async def _known(self, upload: _Upload) -> str | None:
        return await self._account_history.ask(
            tuning.uploaded,
            service=self._account_history.service,
            sha256=upload.seen.sha256,
            content_type=upload.content_type,
        )

    async def _send(self, upload: _Upload) -> str:
        name, size_bytes = upload.path.name, upload.seen.size_bytes
        with self._progress.of("upload", name, size_bytes) as tell:
            async with self._slots:
                # Another process may have uploaded the same bytes since.
                known = await self._known(upload)
                if known is not None:
                    return known
                url = await self._put(upload, tell)
        return await self._account_history.write(
            tuning.remember_upload,
            service=self._account_history.service,
            upload=Upload(url, upload.seen.sha256, size_bytes, upload.content_type),
        )

    async def _put(self, upload: _Upload, tell: Tell) -> str:
        """Upload a file under a grant, and return its permanent URL (spec 2.3).

        A broken connection is retried, under the same grant while it is recent; a
        refused grant is requested again, once.
        """
        grant, since_s = await self._granted(upload)
        tries, is_renewed = 0, False
        while True:
            if self._clock.monotonic_s() - since_s >= YOUNG_FOR_S:
                grant, since_s = await self._granted(upload)
            asked_s = None
            try:
                answer = await self._put_once(upload, grant, tell)
            except NoAnswerError as error:
                tries += 1
                if error.is_final or tries == TRIES:
                    raise _not_sent(upload, error.reason) from None
            else:
                if 200 <= answer.status < 300:
                    return grant.url
                if answer.status == 403 and not is_renewed:
                    grant, since_s = await self._granted(upload)
                    is_renewed = True
                    continue
                tries += 1
                if tries == TRIES or not _passes(answer.status):
                    raise _refused(upload, answer.status)
                asked_s = retry_after_s(answer)
            await self._clock.sleep(max(jittered_backoff_s(tries), asked_s or 0.0))

    async def _granted(self, upload: _Upload) -> tuple[UploadGrant, float]:
        """Return a new grant, and when it was asked for."""
        size_bytes = upload.seen.size_bytes
        body = {"content_type": upload.content_type, "size_bytes": size_bytes}
        content = canonical_json(body)

        async def once() -> Answer:
            return await self._transport.exchange("POST", UPLOADS_PATH, content=content)

        since_s = self._clock.monotonic_s()
        try:
            # An unused grant costs nothing, so the request may be repeated.
            answer = await self._transport.retry_until_answered(once, for_s=10.0)
        except NoAnswerError as error:
            raise self._transport.silence(error) from error
        if answer.status != 200:
            raise error_of(answer, "an upload", self._clock)
        return parse(UploadGrant, answer), since_s

    async def _put_once(
        self, upload: _Upload, grant: UploadGrant, tell: Tell
    ) -> Answer:
        try:
            file = upload.path.open("rb", buffering=0)
        except OSError as error:
            raise _unreadable(upload.field, upload.path, error) from None
        with file:
            return await self._http.put(
                grant.upload_url,
                headers=_with_length(grant.headers, upload),
                blocks=_blocks(file, upload, tell),
            )


def _with_length(headers: dict[str, str], upload: _Upload) -> dict[str, str]:
    """Return a grant's headers, with the length added if it is missing.

    Raises:
        ServiceError: They grant another length than the file's.
    """
    length = str(upload.seen.size_bytes)
    said = {n.casefold(): value for n, value in headers.items()}.get("content-length")
    if said is None:
        return {**headers, "Content-Length": length}
    if said != length:
        raise ServiceError(
            f"{upload.field}: the service granted an upload of {said} bytes for "
            f"{upload.path.name}, which has {length}. Nothing of it was sent."
        )
    return headers


def _passes(status: int) -> bool:
    """Return whether a refusal may be temporary."""
    return status in (408, 429) or status >= 500


# Never quote the storage or a connection error: it may hold the signed URL.
def _refused(upload: _Upload, status: int) -> ServiceError:
    return ServiceError(
        f"{upload.field}: the storage refused {upload.path.name} ({status}). {UNSENT}",
        status=status,
    )


def _not_sent(upload: _Upload, reason: str) -> ServiceError:
    return ServiceError(
        f"{upload.field}: {upload.path.name} could not be uploaded ({reason}). "
        f"{UNSENT} Check the network, then repeat the call."
    )


def _unreadable(field: str, path: Path, error: OSError) -> InputError:
    return _unsent(field, path, f"could not be read to its end: {error.strerror}")


def _unsent(field: str, path: Path, what: str) -> InputError:
    return InputError(
        field,
        got=f"{path} ({what})",
        accepted="a file that does not change until it is uploaded",
        then=UNSENT,
    )


async def _blocks(file: BinaryIO, upload: _Upload, tell: Tell) -> AsyncIterator[bytes]:
    """Read a file in blocks, on a thread."""
    left_bytes = upload.seen.size_bytes
    tell(0, upload.seen.size_bytes)
    while left_bytes:
        size_bytes = min(left_bytes, BLOCK_BYTES)
        block = await to_thread.run_sync(_block, file, upload, size_bytes)
        left_bytes -= len(block)
        yield block
        tell(upload.seen.size_bytes - left_bytes, upload.seen.size_bytes)


def _block(file: BinaryIO, upload: _Upload, size_bytes: int) -> bytes:
    """Read a block, and check that the file is still as it was hashed.

    The check follows the read: a change during the upload ends it before its last byte.
    """
    try:
        block = file.read(size_bytes)
        stat = os.fstat(file.fileno())
    except OSError as error:
        raise _unreadable(upload.field, upload.path, error) from None
    now = (stat.st_size, stat.st_mtime_ns)
    if not block or now != (upload.seen.size_bytes, upload.seen.changed_ns):
        raise _unsent(upload.field, upload.path, "changed while it was sent")
    return block


async def _gathered(works: Iterable[Coroutine[object, object, T]]) -> list[T]:
    """Run all concurrently; the first error cancels the others and is raised."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _probe_any(path: object, field: str) -> LocalMedium:
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
            return LocalMedium(file, probe(file, kind, field), field)
        except InputError as error:
            errors.append(error)
    raise errors[0]
