"""What clips and sounds behind URLs are, from the few bytes of their headers."""

from __future__ import annotations

import logging
import re
from http.cookiejar import CookieJar, DefaultCookiePolicy
from io import SEEK_CUR, SEEK_END, SEEK_SET, BufferedReader, RawIOBase
from threading import Event
from typing import TYPE_CHECKING

import httpx
from anyio import move_on_after, to_thread

from mediakit.media.probing import MediaInfo, probe_file
from mediakit.schema import MediaName

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

log = logging.getLogger("mediakit.media")

LIMIT_S = 10.0
SILENCE_S = 5.0
BLOCK_BYTES = 131_072
MAX_BYTES = 32 * BLOCK_BYTES
# A single frame of a large clip may be as long as all that may be taken.
PROBE_BYTES = 500_000
MAX_REDIRECTS = 3
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


async def probe_url(
    url: str, expected: MediaName, *, limit_s: float = LIMIT_S
) -> MediaInfo | None:
    """Read what a medium behind a URL is from its header.

    It takes at most about 4 MB, and carries no key and no cookies.

    Args:
        url: Where it is.
        expected: The medium that is wanted.
        limit_s: Seconds that it may take in all.

    Returns:
        What it is; None, whatever the reason, when that cannot be found out.
    """
    given_up = Event()
    try:
        with move_on_after(limit_s):
            return await to_thread.run_sync(
                _probe, url, expected, given_up, abandon_on_cancel=True
            )
    finally:
        given_up.set()
    log.debug("a medium behind a URL is not known: no answer in time")
    return None


def _probe(url: str, expected: MediaName, given_up: Event) -> MediaInfo | None:
    try:
        with http_for(url) as http:
            file = RemoteFile(http, url, given_up)
            return probe_file(
                BufferedReader(file),
                expected,
                file.size_bytes,
                probe_bytes=PROBE_BYTES,
            )
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        # Neither the URL nor the error's words: both may hold a signature.
        log.debug("a medium behind a URL is not known: %s", type(error).__name__)
        return None


def http_for(url: str) -> httpx.Client:
    """Return what reads media behind a URL: no key, no cookies, few redirects."""
    return httpx.Client(
        timeout=SILENCE_S,
        follow_redirects=True,
        max_redirects=MAX_REDIRECTS,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        trust_env=httpx.URL(url).host not in LOOPBACK,
        event_hooks={"request": [_hush]},
    )


class _HushedURL(httpx.URL):
    """A URL that is written without its query, where a signature may stand."""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}{self.path}"

    __repr__ = __str__

    def join(self, url: httpx.URL | str) -> httpx.URL:
        """Return where a redirect leads to from here."""
        return httpx.URL(super().__str__()).join(url)


def _hush(request: httpx.Request) -> None:
    # httpx logs the URL of every request, and of what a redirect leads to.
    request.url = _HushedURL(request.url)


class RemoteFile(RawIOBase):
    """A file behind a URL that can be read here and there, in blocks that are kept.

    Where a server gives no ranges, the start of the file is all that there is.

    Args:
        http: Asks for it.
        url: Where it is.
        given_up: Set when nobody waits for it any more.

    Raises:
        httpx.HTTPError: There is no answer.
        OSError: It cannot be read, or only with more bytes than may be taken.
    """

    def __init__(self, http: httpx.Client, url: str, given_up: Event) -> None:
        super().__init__()
        self._http = http
        self._url = httpx.URL(url)
        self._given_up = given_up
        self._left_bytes = MAX_BYTES
        self._position = 0
        self._blocks: dict[int, bytes] = {}
        self._has_ranges = True
        self.size_bytes = 0
        self._fetch(0)

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def seekable(self) -> bool:
        """Tell that it can be read from anywhere."""
        return True

    def tell(self) -> int:
        """Return where the next byte is read."""
        return self._position

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        """Choose where the next byte is read; nothing is fetched yet."""
        start = {SEEK_SET: 0, SEEK_CUR: self._position, SEEK_END: self.size_bytes}
        self._position = max(0, start[whence] + offset)
        return self._position

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read on, at most to the end of a block."""
        if self._position >= self.size_bytes:
            return 0
        index, offset = divmod(self._position, BLOCK_BYTES)
        if index not in self._blocks:
            self._fetch(index)
        view = memoryview(buffer).cast("B")
        piece = self._blocks[index][offset : offset + len(view)]
        view[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)

    def _fetch(self, index: int) -> None:
        if self._left_bytes <= 0 or not self._has_ranges:
            raise OSError("it cannot be read in so few bytes")
        start = index * BLOCK_BYTES
        headers = {
            "Range": f"bytes={start}-{start + BLOCK_BYTES - 1}",
            "Accept-Encoding": "identity",
        }
        with self._http.stream("GET", self._url, headers=headers) as response:
            self._url = response.url  # where a redirect led is asked the next time
            if response.status_code == httpx.codes.PARTIAL_CONTENT:
                self._take_block(response, index)
            elif response.status_code == httpx.codes.OK and index == 0:
                self._take_start(response)
            else:
                raise OSError(f"the answer was {response.status_code}")

    def _take_block(self, response: httpx.Response, index: int) -> None:
        found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        first, last, total = map(int, found.groups()) if found else (0, 0, 0)
        start = index * BLOCK_BYTES
        stop = min(start + BLOCK_BYTES, total)
        if (first, last + 1) != (start, stop) or self.size_bytes not in (0, total):
            raise OSError("another part was given than was asked for")
        self._blocks[index] = self._content(response, stop - start)
        if len(self._blocks[index]) != stop - start:
            raise OSError("the answer ended early")
        self.size_bytes = total

    def _take_start(self, response: httpx.Response) -> None:
        self._has_ranges = False
        content = self._content(response, MAX_BYTES)
        said = response.headers.get("Content-Length", "")
        if not said.isdecimal() and len(content) == MAX_BYTES:
            raise OSError("its length is not known")
        self.size_bytes = int(said) if said.isdecimal() else len(content)
        for start in range(0, len(content), BLOCK_BYTES):
            block = content[start : start + BLOCK_BYTES]
            self._blocks[start // BLOCK_BYTES] = block

    def _content(self, response: httpx.Response, most_bytes: int) -> bytes:
        content = bytearray()
        for piece in response.iter_raw():
            if self._given_up.is_set():
                raise OSError("nobody waits for it any more")
            self._left_bytes -= len(piece)
            content += piece
            if len(content) >= most_bytes:
                break
        return bytes(content[:most_bytes])
