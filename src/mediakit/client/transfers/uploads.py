"""Uploads local files, each under a grant from the service."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from anyio import to_thread

from mediakit.client.http.exchange import Answer, NoAnswerError
from mediakit.client.http.http_client import BLOCK_BYTES, HttpClient
from mediakit.client.http.response_errors import error_of
from mediakit.client.http.response_parsing import parse, retry_after_s
from mediakit.client.http.retry import retry, stop_after_attempts
from mediakit.client.http.service_client import ServiceClient
from mediakit.clock import Clock
from mediakit.errors import InputError, ServiceError
from mediakit.records import UploadGrant
from mediakit.schema import canonical_json

CHUNK_BYTES = 1 << 18
UPLOADS_PATH = "/v1/media/uploads"
TRIES = 4
# A grant lives for 300 s (spec 2.3).
YOUNG_FOR_S = 240.0

Tell = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Fingerprint:
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


@dataclass(frozen=True)
class Upload:
    """One file to upload.

    Args:
        path: Its path.
        content_type: Its content type.
        seen: Its fingerprint when it was hashed.
        field: The field that names it, for errors.
    """

    path: Path
    content_type: str
    seen: Fingerprint
    field: str


@dataclass(frozen=True)
class _Granted:
    grant: UploadGrant
    since_s: float


class Files:
    """The uploads of one client.

    Args:
        transport: Requests grants.
        http: Sends the bytes, without the API key.
        clock: Gives the time between attempts.
    """

    def __init__(
        self, transport: ServiceClient, http: HttpClient, clock: Clock
    ) -> None:
        self._transport = transport
        self._http = http
        self._clock = clock

    async def put(self, upload: Upload, tell: Tell) -> str:
        """Upload a file under a grant.

        A broken connection is retried, under the same grant while it is recent; a
        refused grant is requested again, once.

        Args:
            upload: The file.
            tell: Called with the sent and the total bytes.

        Returns:
            The permanent URL (spec 2.3).

        Raises:
            InputError: The file changed during the upload, or the service refuses it.
            ServiceError: The upload failed.
        """
        granted = await self._granted(upload)

        async def once() -> Answer:
            nonlocal granted
            granted = await self._still_young(granted, upload)
            answer = await self._put(upload, granted.grant, tell)
            if answer.status == 403:
                granted = await self._granted(upload)
                answer = await self._put(upload, granted.grant, tell)
            if _passes(answer.status):
                raise _RefusedForNowError(answer)
            return answer

        try:
            answer = await retry(
                once, clock=self._clock, stop=stop_after_attempts(TRIES)
            )
        except _RefusedForNowError as error:
            answer = error.answer
        except NoAnswerError as error:
            raise _not_sent(upload, error.reason) from None
        if not 200 <= answer.status < 300:
            raise _refused(upload, answer.status)
        return granted.grant.url

    async def _still_young(self, granted: _Granted, upload: Upload) -> _Granted:
        age_s = self._clock.monotonic_s() - granted.since_s
        return granted if age_s < YOUNG_FOR_S else await self._granted(upload)

    async def _granted(self, upload: Upload) -> _Granted:
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
        return _Granted(parse(UploadGrant, answer), since_s)

    async def _put(self, upload: Upload, grant: UploadGrant, tell: Tell) -> Answer:
        """Send the bytes once."""
        with _opened(upload) as file:
            return await self._http.put(
                grant.upload_url,
                headers=with_length(grant.headers, upload),
                blocks=_blocks(file, upload, tell),
            )


class _RefusedForNowError(NoAnswerError):
    """The storage refused an upload temporarily."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(
            f"HTTP {answer.status}", sent=True, retry_after_s=retry_after_s(answer)
        )
        self.answer = answer


def with_length(headers: dict[str, str], upload: Upload) -> dict[str, str]:
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


UNSENT = "The request that needed it was not sent; nothing is charged."


# Never quote the storage or a connection error: it may hold the signed URL.
def _refused(upload: Upload, status: int) -> ServiceError:
    return ServiceError(
        f"{upload.field}: the storage refused {upload.path.name} ({status}). {UNSENT}",
        status=status,
    )


def _not_sent(upload: Upload, reason: str) -> ServiceError:
    return ServiceError(
        f"{upload.field}: {upload.path.name} could not be uploaded ({reason}). "
        f"{UNSENT} Check the network, then repeat the call."
    )


def _opened(upload: Upload) -> BinaryIO:
    try:
        return upload.path.open("rb", buffering=0)
    except OSError as error:
        raise unreadable(upload.field, upload.path, error) from None


async def _blocks(file: BinaryIO, upload: Upload, tell: Tell) -> AsyncIterator[bytes]:
    """Read a file in blocks, on a thread."""
    left_bytes = upload.seen.size_bytes
    tell(0, upload.seen.size_bytes)
    while left_bytes:
        size_bytes = min(left_bytes, BLOCK_BYTES)
        block = await to_thread.run_sync(_block, file, upload, size_bytes)
        left_bytes -= len(block)
        yield block
        tell(upload.seen.size_bytes - left_bytes, upload.seen.size_bytes)


def _block(file: BinaryIO, upload: Upload, size_bytes: int) -> bytes:
    """Read a block, and check that the file is still as it was hashed.

    The check follows the read: a change during the upload ends it before its last byte.
    """
    try:
        block = file.read(size_bytes)
        stat = os.fstat(file.fileno())
    except OSError as error:
        raise unreadable(upload.field, upload.path, error) from None
    now = (stat.st_size, stat.st_mtime_ns)
    if not block or now != (upload.seen.size_bytes, upload.seen.changed_ns):
        raise unsent(upload.field, upload.path, "changed while it was sent")
    return block


def unreadable(field: str, path: Path, error: OSError) -> InputError:
    """Return the error for a file that could not be read."""
    return unsent(field, path, f"could not be read to its end: {error.strerror}")


def unsent(field: str, path: Path, what: str) -> InputError:
    """Return the error for a file that was not sent."""
    return InputError(
        field,
        got=f"{path} ({what})",
        accepted="a file that does not change until it is uploaded",
        then="The request that needed it was not sent; nothing is charged.",
    )
