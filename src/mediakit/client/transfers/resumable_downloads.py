"""Downloads files; continues a partial download after a broken connection."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from io import BufferedReader
from typing import BinaryIO, Protocol, Self, TypeVar

from anyio import CancelScope, to_thread

from mediakit.client.http.exchange import NoAnswerError
from mediakit.client.http.http_client import BLOCK_BYTES, HttpClient, StreamedResponse
from mediakit.client.http.retry import jittered_backoff_s, retry
from mediakit.clock import Clock
from mediakit.errors import GoneError, ServiceError
from mediakit.media.remote import LIMIT_S, RemoteFile, read_remote

TRIES = 5
WRITE_WITHIN_S = 0.1
GONE = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)
PARTIAL = (
    HTTPStatus.PARTIAL_CONTENT,
    HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
)
_PART = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")

Tell = Callable[[int, int | None], None]
T = TypeVar("T")


@dataclass(frozen=True)
class Version:
    """The version of a file's bytes; None for unknown values.

    Args:
        etag: The server's `ETag`.
        last_modified: The server's `Last-Modified`.
        size_bytes: Its length.
    """

    etag: str | None
    last_modified: str | None
    size_bytes: int | None

    @property
    def validator(self) -> str | None:
        """Return a validator of this version for the server (RFC 9110, 13.1.5)."""
        if self.etag is not None and not self.etag.startswith("W/"):
            return self.etag
        return self.last_modified


UNKNOWN = Version(None, None, None)


class Sink(Protocol):
    """Receives the bytes of one file."""

    @property
    def version(self) -> Version | None:
        """The version of its bytes; None while there are none."""

    @property
    def size_bytes(self) -> int:
        """The number of bytes so far."""

    def start(self, version: Version) -> None:
        """Start over: the bytes of this version follow, from the first."""

    def cut(self, size_bytes: int) -> None:
        """Truncate to a size; the remaining bytes follow."""

    def write(self, piece: bytes) -> None:
        """Append the next bytes."""


class Downloader:
    """Fetches files, and retries after a broken connection.

    Args:
        http: Sends the requests, without the API key.
        clock: Gives the time between attempts.
    """

    def __init__(self, http: HttpClient, clock: Clock) -> None:
        self._http = http
        self._clock = clock

    async def fetch(self, url: str, sink: Sink, tell: Tell) -> None:
        """Pass the missing bytes of a file to a sink.

        Args:
            url: The URL of the file.
            sink: Receives the bytes, on a thread.
            tell: Called with the received and the total bytes.

        Raises:
            GoneError: The file no longer exists.
            ServiceError: The file could not be fetched completely.
        """
        furthest_bytes, tries = sink.size_bytes, 0

        async def once() -> None:
            nonlocal furthest_bytes, tries
            try:
                await self._once(url, sink, tell)
            except NoAnswerError:
                got_further = sink.size_bytes > furthest_bytes
                furthest_bytes = max(furthest_bytes, sink.size_bytes)
                tries = 1 if got_further else tries + 1
                raise

        try:
            await retry(
                once,
                clock=self._clock,
                stop=lambda _: tries == TRIES,
                wait=lambda _: jittered_backoff_s(tries),
            )
        except NoAnswerError as error:
            reason = error.reason
        else:
            return
        raise ServiceError(
            f"The file could not be fetched completely ({reason}). The service still "
            "has it; the same call fetches it again."
        )

    async def read(self, url: str, read: Callable[[BinaryIO], T]) -> T | None:
        """Read a part of a file; at most a few MB are fetched.

        Args:
            url: The URL of the file.
            read: Reads it, on a thread.

        Returns:
            Its result; None if it failed for any reason.
        """

        def read_file(file: RemoteFile) -> T:
            return read(BufferedReader(file))

        return await read_remote(url, self._http, read_file, limit_s=LIMIT_S)

    async def _once(self, url: str, sink: Sink, tell: Tell) -> None:
        wanted_bytes = resumable_bytes(sink)
        headers = {"Accept-Encoding": "identity"}
        if sink.version is not None and wanted_bytes:
            headers["Range"] = f"bytes={wanted_bytes}-"
            headers["If-Range"] = sink.version.validator or ""
        async with self._http.get(url, headers=headers) as response:
            await to_thread.run_sync(_begin, response, sink, wanted_bytes)
            total_bytes = sink.version.size_bytes if sink.version else None
            tell(sink.size_bytes, total_bytes)
            async with _Writer(sink, tell, total_bytes) as writer:
                async for piece in response.iter_raw():
                    await writer.take(piece)
        if total_bytes is not None and sink.size_bytes != total_bytes:
            raise _broken("the connection ended early")


class _Writer:
    """Writes pieces on a thread, a megabyte at a time, while more of them arrive.

    Received bytes are also written after a short pause, and when the block ends.

    Args:
        sink: Receives them.
        tell: Called with the received and the total bytes.
        total_bytes: The length of the file; None if unknown.
    """

    def __init__(self, sink: Sink, tell: Tell, total_bytes: int | None) -> None:
        self._sink = sink
        self._tell = tell
        self._total_bytes = total_bytes
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._writing: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def take(self, piece: bytes) -> None:
        """Add the next piece; wait while the previous one is being written."""
        self._waiting.append(piece)
        self._waiting_bytes += len(piece)
        if self._waiting_bytes >= BLOCK_BYTES:
            await self._ended()
            self._begin()
        elif self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(WRITE_WITHIN_S, self._begin)

    def _begin(self) -> None:
        self._stop_timer()
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _write(self) -> None:
        block = b"".join(self._waiting)
        self._waiting, self._waiting_bytes = [], 0
        await to_thread.run_sync(self._sink.write, block)
        self._tell(self._sink.size_bytes, self._total_bytes)

    async def _ended(self) -> None:
        if self._writing is not None:
            await asyncio.shield(self._writing)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stop_timer()
        with CancelScope(shield=True):
            await self._ended()
            if self._waiting:
                await self._write()


def _broken(reason: str) -> NoAnswerError:
    return NoAnswerError(reason, sent=True)


def resumable_bytes(sink: Sink) -> int:
    """Return the offset from which a sink can resume; 0 to start over.

    For a complete file, the last byte is requested again, because only a response
    shows that the version is still the same.
    """
    version = sink.version
    if version is None or version.validator is None:
        return 0
    if version.size_bytes is None:
        return sink.size_bytes
    return max(0, min(sink.size_bytes, version.size_bytes - 1))


def _begin(response: StreamedResponse, sink: Sink, wanted_bytes: int) -> None:
    """Prepare the sink for the content of the response."""
    if response.status == HTTPStatus.OK:
        _refuse_encoded(response)
        _refuse_page(response)
        said = (response.header("ETag"), response.header("Last-Modified"))
        sink.start(Version(*said, response.size_bytes))
    elif wanted_bytes and response.status in PARTIAL:
        if not continues(response, sink, wanted_bytes):
            sink.start(UNKNOWN)
            raise _broken("the server sent another range than the requested one")
        sink.cut(wanted_bytes)
    elif response.status in GONE:
        raise GoneError("The file no longer exists.", status=response.status)
    elif response.status == HTTPStatus.TOO_MANY_REQUESTS or response.status >= 500:
        raise _broken(f"the answer was {response.status}")
    else:
        raise ServiceError(
            f"The file could not be fetched ({response.status}).",
            status=response.status,
        )


def continues(response: StreamedResponse, sink: Sink, wanted_bytes: int) -> bool:
    """Return whether a response continues a sink's bytes, in the same version."""
    version = sink.version
    found = _PART.fullmatch(response.header("Content-Range") or "")
    if version is None or found is None:
        return False
    same_version = response.header("ETag") in (None, version.etag)
    same_length = found[3] in ("*", str(version.size_bytes))
    return same_version and same_length and int(found[1]) == wanted_bytes


def _refuse_page(response: StreamedResponse) -> None:
    """Reject a page that a network sends in place of the file."""
    kind = (response.header("Content-Type") or "").partition(";")[0].strip()
    if kind.lower() == "text/html":
        raise ServiceError(
            "The file could not be fetched: a web page arrived in its place, as from a "
            "network that requires a login. Check the network, then try again."
        )
    if response.size_bytes == 0:
        raise _broken("the answer was empty")


def _refuse_encoded(response: StreamedResponse) -> None:
    encoding = response.header("Content-Encoding") or "identity"
    if encoding != "identity":
        raise ServiceError(
            "The file could not be fetched: the server compresses it "
            f"({encoding}), although the request excludes that."
        )
