"""Uploads local files that the service does not have, and records their URLs."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial
from hashlib import file_digest
from mimetypes import guess_type
from pathlib import Path
from typing import BinaryIO, NamedTuple
from weakref import WeakValueDictionary

import anyio
import httpx
from anyio import CapacityLimiter, to_thread

from mediakit.api_models import UploadGrant
from mediakit.client.account_history import AccountHistory
from mediakit.client.http import (
    BLOCK_BYTES,
    HttpClient,
    ServiceClient,
    is_not_now,
)
from mediakit.client.progress import Tell, TransferProgress
from mediakit.client.responses import (
    HttpResponse,
    NoAnswerError,
    error_of,
    parse,
    retry_after_s,
)
from mediakit.client.retries import (
    MAX_RETRY_AFTER_TOTAL_S,
    READ_RETRY_FOR_S,
    jittered_backoff_s,
)
from mediakit.clock import Clock
from mediakit.errors import InputError, RateLimitError, ServiceError
from mediakit.history import Upload, uploads
from mediakit.media import local_file, probe
from mediakit.media.bodies import urls_in
from mediakit.media_limits import MediaInfo, MediaName
from mediakit.rules import Problem
from mediakit.safe_text import shown
from mediakit.schema import canonical_json

FILES_AT_ONCE = 3
LOOK_FOR_S = 5.0
TIMEOUT = "MEDIAKIT_UPLOAD_TIMEOUT_S"
ANSWER_S = 30.0
# The throughput of a slow corporate proxy.
PASSED_ON_BYTES_PER_S = 250_000
UPLOADS_PATH = "/v1/media/uploads"
TRIES = 4
NO_JOB = "No job was submitted, and nothing is charged."


class Fingerprint(NamedTuple):
    """The hash of a file in hex, and its size and modification time."""

    sha256: str
    size_bytes: int
    changed_ns: int


def fingerprint(path: Path) -> Fingerprint:
    """Hash a file."""
    with path.open("rb") as file:
        stat = os.fstat(file.fileno())
        digest = file_digest(file, "sha256")
    return Fingerprint(digest.hexdigest(), stat.st_size, stat.st_mtime_ns)


class LocalMedium(NamedTuple):
    """A local file that was checked and priced, and its field."""

    path: Path
    info: MediaInfo
    field: str

    def is_as_it_was(self, size_bytes: int, changed_ns: int) -> bool:
        """Return whether the file is unchanged since it was checked."""
        return (size_bytes, changed_ns) == (self.info.size_bytes, self.info.changed_ns)


class UploadedFile(NamedTuple):
    """A local file that was uploaded."""

    url: str
    sha256: str


class Uploads:
    """The uploads of one client."""

    def __init__(
        self,
        transport: ServiceClient,
        http: HttpClient,
        account_history: AccountHistory,
        clock: Clock,
        progress: TransferProgress,
        *,
        may_be_reset: bool = False,
    ) -> None:
        self._may_be_reset = may_be_reset
        self._transport = transport
        self._http = http
        self._account_history = account_history
        self._clock = clock
        self._progress = progress
        self._slots = CapacityLimiter(FILES_AT_ONCE)
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = (
            WeakValueDictionary()
        )

    async def upload(
        self, path: str | os.PathLike[str], field: str, *, again: bool = False
    ) -> str:
        """Upload a local file and return its permanent URL (spec 4.2)."""
        medium = await to_thread.run_sync(_probe_any, path, field)
        return (await self._one(medium, again=again)).url

    async def forget_missing(self, body: object) -> None:
        """Forget recorded uploads of a body that the storage no longer has.

        A network may have accepted a file in place of the storage, or a sandbox may
        have been reset.
        """
        sent = await self._account_history.ask(
            uploads.uploads_at, urls_in(body), service=self._account_history.service
        )
        gone = [upload.url for upload in sent if await self._is_missing(upload.url)]
        await self._forget(gone)

    async def _forget(self, urls: list[str]) -> None:
        if urls:
            await self._account_history.write(
                uploads.forget_uploads, urls, service=self._account_history.service
            )

    async def _is_missing(self, url: str) -> bool:
        """Return whether the storage reports that the file does not exist."""
        headers = {"Range": "bytes=0-0", "Accept-Encoding": "identity"}
        with anyio.move_on_after(LOOK_FOR_S), suppress(NoAnswerError):
            async with self._http.get(url, headers=headers) as response:
                return response.status in (404, 410)
        return False

    async def all(self, media: Mapping[str, LocalMedium]) -> dict[str, UploadedFile]:
        """Upload files concurrently; return them under the same keys."""
        try:
            async with asyncio.TaskGroup() as group:
                sent = {
                    key: group.create_task(self._one(medium))
                    for key, medium in media.items()
                }
        except BaseExceptionGroup as errors:
            # The first error has cancelled the other uploads.
            raise errors.exceptions[0] from None
        return {key: task.result() for key, task in sent.items()}

    async def _one(self, medium: LocalMedium, *, again: bool = False) -> UploadedFile:
        try:
            seen = await to_thread.run_sync(fingerprint, medium.path)
        except OSError as error:
            raise _unreadable(medium, error) from None
        if not medium.is_as_it_was(seen.size_bytes, seen.changed_ns):
            raise _changed(medium, "after it was checked and priced")
        key = (seen.sha256, medium.info.content_type)
        # The same bytes are sent once; a later call finds their URL.
        async with self._locks.setdefault(key, asyncio.Lock()):
            url = await self._account_history.ask(
                uploads.uploaded,
                service=self._account_history.service,
                sha256=seen.sha256,
                content_type=medium.info.content_type,
            )
            is_lost = again or (
                self._may_be_reset and url and await self._is_missing(url)
            )
            if url is not None and is_lost:
                await self._forget([url])
                url = None
            if url is None:
                url = await self._send(medium, seen.sha256)
        return UploadedFile(url, seen.sha256)

    async def _send(self, medium: LocalMedium, sha256_hex: str) -> str:
        size_bytes = medium.info.size_bytes
        with self._progress.of("upload", medium.path.name, size_bytes) as tell:
            async with self._slots:
                url = await self._put(medium, tell)
        return await self._account_history.write(
            uploads.remember_upload,
            service=self._account_history.service,
            upload=Upload(url, sha256_hex, size_bytes, medium.info.content_type),
        )

    async def _put(self, medium: LocalMedium, tell: Tell) -> str:
        """Upload a file and return its permanent URL (spec 2.3).

        Each attempt requests a new grant, which is free and has not expired.
        """
        name = f"{medium.field}: {medium.path.name}"
        tries = 0
        asked_s_in_all = 0.0
        was_refused = False
        while True:
            grant = await self._granted(medium)
            tries += 1
            asked_s = None
            # Never quote a storage response or a connection error: either may hold the
            # signed URL.
            try:
                answer = await self._put_once(medium, grant, tell)
            except NoAnswerError as error:
                if error.is_final or tries == TRIES:
                    raise ServiceError(
                        f"{name} could not be uploaded ({error.reason}). {NO_JOB} "
                        "Check the network, then repeat the call. If the storage is "
                        f"slow, {TIMEOUT} sets how many seconds it may take to respond."
                    ) from None
            else:
                status = answer.status
                if 200 <= status < 300 and answer.is_web_page:
                    raise ServiceError(
                        f"{name} could not be uploaded: a web page was returned "
                        f"instead of the storage service's response ({status}). "
                        f"{NO_JOB} You may need to sign in to this network first; "
                        "then repeat the call.",
                        status=status,
                    )
                if 200 <= status < 300:
                    return grant.url
                may_pass = status in (408, 429) or status >= 500
                # An expired grant is rejected like a wrong one.
                may_pass |= status == 403 and not was_refused
                if tries == TRIES or not may_pass:
                    raise ServiceError(
                        f"{medium.field}: the storage rejected {medium.path.name} "
                        f"({status}). {NO_JOB}",
                        status=status,
                    )
                was_refused |= status == 403
                asked_s = retry_after_s(answer)
            asked_s_in_all += asked_s or 0.0
            if asked_s_in_all > MAX_RETRY_AFTER_TOTAL_S:
                raise self._too_long(name, asked_s or 0.0, status)
            await self._clock.sleep(max(jittered_backoff_s(tries), asked_s or 0.0))

    def _too_long(self, name: str, asked_s: float, status: int) -> RateLimitError:
        at = self._clock.now() + timedelta(seconds=asked_s)
        return RateLimitError(
            f"{name} could not be uploaded: the storage service asked us to wait "
            f"(HTTP {status}). "
            f"{NO_JOB} Try again in {asked_s:,.0f} s, at {at:%Y-%m-%d %H:%M:%S} UTC.",
            status=status,
            retry_after_s=asked_s,
            retry_at=at,
        )

    async def _granted(self, medium: LocalMedium) -> UploadGrant:
        info = medium.info
        content = canonical_json(
            {"content_type": info.content_type, "size_bytes": info.size_bytes}
        )

        # An unused grant costs nothing, so the request may be repeated.
        once = partial(self._transport.exchange, "POST", UPLOADS_PATH, content=content)
        answer = await self._transport.until_answered(
            once, for_s=READ_RETRY_FOR_S, again=is_not_now
        )
        if answer.status != 200:
            raise error_of(answer, "an upload", self._clock)
        return parse(UploadGrant, answer)

    async def _put_once(
        self, medium: LocalMedium, grant: UploadGrant, tell: Tell
    ) -> HttpResponse:
        try:
            file = medium.path.open("rb", buffering=0)
        except OSError as error:
            raise _unreadable(medium, error) from None
        headers = httpx.Headers({"Content-Length": str(medium.info.size_bytes)})
        headers.update(grant.headers)
        with file:
            blocks = _blocks(file, medium, tell)
            return await self._http.put(
                grant.upload_url,
                headers=headers,
                blocks=blocks,
                answer_within_s=_answer_within_s(medium.info.size_bytes),
            )


def _answer_within_s(size_bytes: int) -> float:
    """Return how long the storage may take to respond after the last byte."""
    text = os.environ.get(TIMEOUT, "")
    try:
        seconds = float(text) if text else 0.0
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < math.inf:
        raise InputError(TIMEOUT, got=text, accepted="a number of seconds", then=NO_JOB)
    return seconds or ANSWER_S + size_bytes / PASSED_ON_BYTES_PER_S


async def _blocks(
    file: BinaryIO, medium: LocalMedium, tell: Tell
) -> AsyncIterator[bytes]:
    """Read a file in blocks, on a thread.

    Each read checks that the file is unchanged since it was hashed; a change ends the
    upload before its last byte.
    """
    size_bytes = medium.info.size_bytes
    done_bytes = 0
    tell(done_bytes, size_bytes)
    while done_bytes < size_bytes:
        most_bytes = min(size_bytes - done_bytes, BLOCK_BYTES)
        try:
            block = await to_thread.run_sync(file.read, most_bytes)
            stat = os.fstat(file.fileno())
        except OSError as error:
            raise _unreadable(medium, error) from None
        if not block or not medium.is_as_it_was(stat.st_size, stat.st_mtime_ns):
            raise _changed(medium, "during the upload")
        done_bytes += len(block)
        yield block
        tell(done_bytes, size_bytes)


def _unreadable(medium: LocalMedium, error: OSError) -> InputError:
    reason = error.strerror or type(error).__name__
    return _unusable(medium, f"cannot be read: {reason}")


def _changed(medium: LocalMedium, when: str) -> InputError:
    return _unusable(medium, f"was changed {when}")


def _unusable(medium: LocalMedium, what: str) -> InputError:
    place = str(medium.path)
    problem = Problem(
        medium.field,
        got=place,
        accepted="a file that can be read and stays unchanged until it is uploaded",
        message=f"{shown(place)} {what}",
    )
    return InputError.of([problem], then=NO_JOB)


def _probe_any(path: object, field: str) -> LocalMedium:
    if not isinstance(path, str | os.PathLike):
        accepted = (
            "the path of a file, as text or as a Path; pass an object in memory "
            "directly to a field of a request"
        )
        raise InputError(field, got=path, accepted=accepted)
    file = local_file(os.fsdecode(path))
    first: InputError | None = None
    for kind in _kinds_by_name(file):
        try:
            return LocalMedium(file, probe(file, kind, field), field)
        except InputError as error:
            first = first or error
    assert first is not None
    raise first


def _kinds_by_name(file: Path) -> list[MediaName]:
    """Return the possible media; the first, from the suffix, is named in errors."""
    kinds: list[MediaName] = ["image", "video", "audio"]
    promised = (guess_type(file.name)[0] or "").partition("/")[0]
    return sorted(kinds, key=lambda kind: kind != promised)
