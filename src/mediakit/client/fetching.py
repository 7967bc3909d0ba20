"""Fetching a file: from where it broke off, and only if it is still the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol

from mediakit.client.bare_http import BareHTTP, BrokenError, Reply
from mediakit.client.threads import Abort, in_thread
from mediakit.clock import Clock
from mediakit.errors import GoneError, ServiceError

# Seconds before each further try; a try that got further starts the count anew.
PAUSES_S = (0.3, 1.0, 3.0, 8.0)
GONE = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)
PARTIAL = (
    HTTPStatus.PARTIAL_CONTENT,
    HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
)
_PART = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")

Tell = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Version:
    """Which version of a file the bytes are of; None is unknown.

    Args:
        etag: The server's name for it.
        last_modified: When it was last changed, in the server's words.
        size_bytes: Its length.
    """

    etag: str | None
    last_modified: str | None
    size_bytes: int | None

    @property
    def validator(self) -> str | None:
        """Return what a server can tell this version by (RFC 9110, 13.1.5)."""
        if self.etag is not None and not self.etag.startswith("W/"):
            return self.etag
        return self.last_modified


UNKNOWN = Version(None, None, None)


class Sink(Protocol):
    """Where the bytes of one file go."""

    @property
    def version(self) -> Version | None:
        """Which version its bytes are of; None while there are none."""

    @property
    def size_bytes(self) -> int:
        """How many bytes it has."""

    def start(self, version: Version) -> None:
        """Forget what is there: the bytes of this version follow, from the first."""

    def cut(self, size_bytes: int) -> None:
        """Keep so many bytes of what is there; the others follow."""

    def write(self, piece: bytes | memoryview) -> None:
        """Take the next bytes, which are good until the next call."""


class Fetcher:
    """Fetches files, a broken connection notwithstanding.

    Args:
        http: Asks for them, without the key.
        clock: Gives the time between tries.
    """

    def __init__(self, http: BareHTTP, clock: Clock) -> None:
        self._http = http
        self._clock = clock

    async def fetch(self, url: str, sink: Sink, tell: Tell) -> None:
        """Give a sink the bytes that it does not have yet.

        Args:
            url: Where the file is.
            sink: Takes the bytes, in a thread.
            tell: Called in a thread with the bytes there, and in all.

        Raises:
            GoneError: It is not there any more.
            ServiceError: It could not be fetched whole.
        """
        furthest_bytes, tries = sink.size_bytes, 0
        while True:
            try:
                await in_thread(lambda abort: self._once(url, sink, tell, abort))
                return
            except BrokenError as error:
                if sink.size_bytes > furthest_bytes:
                    furthest_bytes, tries = sink.size_bytes, 0
                if not error.again or tries == len(PAUSES_S):
                    raise ServiceError(
                        f"The file could not be fetched whole ({error.reason}). The "
                        "service still has it; the same call goes on from where this "
                        "one ended, as far as the service can."
                    ) from None
            await self._clock.sleep(PAUSES_S[tries])
            tries += 1

    def _once(self, url: str, sink: Sink, tell: Tell, abort: Abort) -> None:
        wanted_bytes = resumable_bytes(sink)
        headers = {}
        if sink.version is not None and wanted_bytes:
            headers["Range"] = f"bytes={wanted_bytes}-"
            headers["If-Range"] = sink.version.validator or ""
        with self._http.get(url, headers, abort) as reply:
            _begin(reply, sink, wanted_bytes)
            total_bytes = sink.version.size_bytes if sink.version else None
            tell(sink.size_bytes, total_bytes)
            while piece := reply.read():
                sink.write(piece)
                tell(sink.size_bytes, total_bytes)
        if total_bytes is not None and sink.size_bytes != total_bytes:
            raise BrokenError("the connection ended early")


def resumable_bytes(sink: Sink) -> int:
    """Return after how many bytes a sink can go on; 0 to start over.

    Of a file that is all there the last byte is asked for again, because only an
    answer tells that it is still the same.
    """
    version = sink.version
    if version is None or version.validator is None:
        return 0
    if version.size_bytes is None:
        return sink.size_bytes
    return max(0, min(sink.size_bytes, version.size_bytes - 1))


def _begin(reply: Reply, sink: Sink, wanted_bytes: int) -> None:
    """Make the sink ready for what the answer holds."""
    if reply.status == HTTPStatus.OK:
        _refuse_encoded(reply)
        said = (reply.header("ETag"), reply.header("Last-Modified"))
        sink.start(Version(*said, reply.size_bytes))
    elif wanted_bytes and reply.status in PARTIAL:
        if not continues(reply, sink, wanted_bytes):
            sink.start(UNKNOWN)
            raise BrokenError("another part was answered than was asked for")
        sink.cut(wanted_bytes)
    elif reply.status in GONE:
        raise GoneError("The file is not there any more.", status=reply.status)
    elif reply.status == HTTPStatus.TOO_MANY_REQUESTS or reply.status >= 500:
        raise BrokenError(f"the answer was {reply.status}")
    else:
        raise ServiceError(
            f"The file could not be fetched ({reply.status}).", status=reply.status
        )


def continues(reply: Reply, sink: Sink, wanted_bytes: int) -> bool:
    """Tell whether an answer goes on where a sink ends, in the same version."""
    version = sink.version
    found = _PART.fullmatch(reply.header("Content-Range") or "")
    if version is None or found is None:
        return False
    same_version = reply.header("ETag") in (None, version.etag)
    same_length = found[3] in ("*", str(version.size_bytes))
    return same_version and same_length and int(found[1]) == wanted_bytes


def _refuse_encoded(reply: Reply) -> None:
    encoding = reply.header("Content-Encoding") or "identity"
    if encoding != "identity":
        raise ServiceError(
            "The file could not be fetched: the server packs it "
            f"({encoding}), although it was asked not to."
        )
