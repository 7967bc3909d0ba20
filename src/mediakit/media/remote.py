"""Reads the header or poster of media at URLs, from a partial download."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from concurrent import futures
from contextlib import AbstractAsyncContextManager, aclosing
from http import HTTPStatus
from io import SEEK_CUR, SEEK_END, SEEK_SET, BufferedReader, RawIOBase
from threading import Event
from typing import TYPE_CHECKING, Protocol, TypeVar

from anyio import from_thread, move_on_after, to_thread

from mediakit.errors import MediakitError
from mediakit.media.probing import probe_file
from mediakit.media.samples import poster_jpeg
from mediakit.media_limits import MediaInfo, MediaName

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

T = TypeVar("T")

log = logging.getLogger("mediakit.media")

LIMIT_S = 10.0
BLOCK_BYTES = 131_072
MAX_BYTES = 32 * BLOCK_BYTES
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


class Response(Protocol):
    """A response with an unread body."""

    status: int
    url: str

    def header(self, name: str) -> str | None:
        """Return the value of a header; None if it is missing."""

    def iter_raw(self) -> AsyncGenerator[bytes, None]:
        """Yield the body."""


class Http(Protocol):
    """Sends requests without API key and cookies, as the client does."""

    def get(
        self, url: str, *, headers: Mapping[str, str]
    ) -> AbstractAsyncContextManager[Response]:
        """GET a URL; a few redirects are followed."""


async def probe_url(
    url: str, expected: MediaName, http: Http, *, limit_s: float = LIMIT_S
) -> MediaInfo | None:
    """Read the properties of a medium at a URL; see `probe_file`.

    Downloads at most about 4 MB. None if reading fails for any reason.
    """

    def probe(file: RemoteFile) -> MediaInfo:
        return probe_file(BufferedReader(file), expected, file.size_bytes, whole=False)

    return await read_remote(url, http, probe, limit_s=limit_s)


async def poster_at(
    url: str,
    max_px: int,
    http: Http,
    *,
    at_s: float | None = None,
    limit_s: float = LIMIT_S,
) -> bytes | None:
    """Make a JPEG poster of a clip or picture at a URL.

    Downloads at most about 4 MB. None if that fails for any reason.
    """

    def poster(file: RemoteFile) -> bytes:
        return poster_jpeg(BufferedReader(file), max_px, at_s)

    return await read_remote(url, http, poster, limit_s=limit_s)


async def read_remote(
    url: str, http: Http, read: Callable[[RemoteFile], T], *, limit_s: float
) -> T | None:
    """Read from a file at a URL, on a thread; None if that fails for any reason."""
    abandoned = Event()

    def work() -> T | None:
        try:
            return read(RemoteFile(http, url, abandoned))
        except (OSError, ValueError, MediakitError) as error:
            # Neither the URL nor the error text, since both may contain a signature.
            reason = type(error).__name__
            log.debug("the medium at a URL is not known: %s", reason)
            return None

    try:
        with move_on_after(limit_s):
            return await to_thread.run_sync(work, abandon_on_cancel=True)
    finally:
        abandoned.set()
    log.debug("the medium at a URL is not known: no response in time")
    return None


class RemoteFile(RawIOBase):
    """A seekable file at a URL, which is read in cached blocks.

    If the server does not support ranges, only the start of the file is available.
    Requests are sent on the event loop that started this thread; `abandoned` is set
    when the caller no longer waits.
    """

    def __init__(self, http: Http, url: str, abandoned: Event) -> None:
        super().__init__()
        self._http = http
        self._url = url
        self._abandoned = abandoned
        self._left_bytes = MAX_BYTES
        self._position = 0
        self._blocks: dict[int, bytes] = {}
        self._has_ranges = True
        self.size_bytes = 0
        self._wait_for(0)

    def readable(self) -> bool:
        """Report that the file is readable."""
        return True

    def seekable(self) -> bool:
        """Report that the file is seekable."""
        return True

    def tell(self) -> int:
        """Return the position of the next read."""
        return self._position

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        """Set the position of the next read, without downloading anything."""
        start = {SEEK_SET: 0, SEEK_CUR: self._position, SEEK_END: self.size_bytes}
        self._position = max(0, start[whence] + offset)
        return self._position

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read from the current position, at most to the end of a block."""
        if self._position >= self.size_bytes:
            return 0
        index, offset = divmod(self._position, BLOCK_BYTES)
        if index not in self._blocks:
            self._wait_for(index)
        view = memoryview(buffer).cast("B")
        piece = self._blocks[index][offset : offset + len(view)]
        view[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)

    def _wait_for(self, index: int) -> None:
        if self._abandoned.is_set():
            raise OSError("the read was abandoned")
        try:
            from_thread.run(self._fetch, index)
        except (asyncio.CancelledError, futures.CancelledError):
            # The decoder calls this from C: it propagates only an Exception, and
            # retries after it.
            self._abandoned.set()
            raise OSError("the read was abandoned") from None

    async def _fetch(self, index: int) -> None:
        if self._left_bytes <= 0 or not self._has_ranges:
            raise OSError("too many bytes are needed to read it")
        start = index * BLOCK_BYTES
        headers = {
            "Range": f"bytes={start}-{start + BLOCK_BYTES - 1}",
            "Accept-Encoding": "identity",
        }
        async with self._http.get(self._url, headers=headers) as response:
            self._url = response.url  # the next request goes to the redirect's target
            if response.status == HTTPStatus.PARTIAL_CONTENT:
                await self._take_block(response, index)
            elif response.status == HTTPStatus.OK and index == 0:
                await self._take_start(response)
            else:
                raise OSError(f"the response was {response.status}")

    async def _take_block(self, response: Response, index: int) -> None:
        match = _RANGE.fullmatch(response.header("Content-Range") or "")
        first, last, total = map(int, match.groups()) if match else (0, 0, 0)
        start = index * BLOCK_BYTES
        stop = min(start + BLOCK_BYTES, total)
        if (first, last + 1) != (start, stop) or self.size_bytes not in (0, total):
            raise OSError("the server sent a different range from the one requested")
        self._blocks[index] = await self._content(response, stop - start)
        if len(self._blocks[index]) != stop - start:
            raise OSError("the response ended early")
        self.size_bytes = total

    async def _take_start(self, response: Response) -> None:
        self._has_ranges = False
        content = await self._content(response, MAX_BYTES)
        length = response.header("Content-Length") or ""
        if not length.isdecimal() and len(content) == MAX_BYTES:
            raise OSError("its length is not known")
        self.size_bytes = int(length) if length.isdecimal() else len(content)
        for start in range(0, len(content), BLOCK_BYTES):
            block = content[start : start + BLOCK_BYTES]
            self._blocks[start // BLOCK_BYTES] = block

    async def _content(self, response: Response, most_bytes: int) -> bytes:
        content = bytearray()
        async with aclosing(response.iter_raw()) as pieces:
            async for piece in pieces:
                if self._abandoned.is_set():
                    raise OSError("the read was abandoned")
                self._left_bytes -= len(piece)
                content += piece
                if len(content) >= most_bytes:
                    break
        return bytes(content[:most_bytes])
