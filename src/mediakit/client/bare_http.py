"""HTTP for files: in large blocks, without the API key, and never logged.

It stands on `http.client`, which moves twice the bytes per second of httpx and writes
no URL to any log. It blocks, so it is used in threads.
"""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from string import printable
from types import TracebackType
from typing import Self
from urllib.parse import quote, urljoin, urlsplit

import httpx

from mediakit.client.proxies import Proxy, proxy_for
from mediakit.client.threads import Abort

SILENCE_S = 30.0
BLOCK_BYTES = 1 << 20
MAX_REDIRECTS = 5
USER_AGENT = "mediakit"
PORTS = {"http": 80, "https": 443}
AS_IT_IS = printable.strip()  # all that a request line may hold
REDIRECTS = frozenset({301, 302, 303, 307, 308})


class BrokenError(Exception):
    """An exchange did not come to its end.

    Args:
        reason: Why, in words without any URL.
        again: Whether it may go well the next time.
    """

    def __init__(self, reason: str, *, again: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.again = again


class Reply:
    """What a server answered; its body is read in pieces.

    Args:
        connection: Closed together with the reply.
        response: The answer.
        abort: Ends the reading from another thread.
    """

    def __init__(
        self,
        connection: http.client.HTTPConnection,
        response: http.client.HTTPResponse,
        abort: Abort,
    ) -> None:
        self._connection = connection
        self._response = response
        self._abort = abort
        self._left_bytes = response.length
        self._room = memoryview(bytearray(min(BLOCK_BYTES, response.length or 0)))
        self.status = response.status
        self.size_bytes = response.length

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._response.close()
        self._connection.close()

    def header(self, name: str) -> str | None:
        """Return a header's value."""
        return self._response.getheader(name)

    def read(self) -> bytes | memoryview:
        """Return the next piece of the body; nothing at its end.

        It is good until the next one is read.

        Raises:
            BrokenError: The connection broke, or ended early.
        """
        self._abort.check()
        try:
            piece = self._next()
        except (OSError, http.client.HTTPException) as error:
            self._abort.check()
            raise broken(error) from None
        if self._left_bytes is not None:
            self._left_bytes -= len(piece)
            if not piece and self._left_bytes:
                raise BrokenError("the connection ended early")
        return piece

    def _next(self) -> bytes | memoryview:
        if self._left_bytes is None:
            return self._response.read1(BLOCK_BYTES)
        # Always into the same room: to find room anew takes as long as to read.
        room = self._room[: self._left_bytes]
        return room[: self._response.fp.readinto1(room)] if room else b""


class BareHTTP:
    """Exchanges of files, each on a connection of its own.

    Args:
        silence_s: Seconds without a byte until a connection counts as broken.
    """

    def __init__(self, silence_s: float = SILENCE_S) -> None:
        self._silence_s = silence_s

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        # The certificates that the rest of the client trusts.
        return httpx.create_ssl_context()

    def put(
        self,
        url: str,
        headers: Mapping[str, str],
        blocks: Iterable[memoryview],
        abort: Abort,
    ) -> int:
        """PUT the blocks with exactly these headers; a redirect is not followed.

        Returns:
            The status of the answer.

        Raises:
            BrokenError: No answer came.
        """
        with self._asked("PUT", url, headers, blocks, abort) as reply:
            return reply.status

    def get(self, url: str, headers: Mapping[str, str], abort: Abort) -> Reply:
        """GET a URL; a few redirects are followed, none from https to http.

        Raises:
            BrokenError: No answer came, or it leads nowhere.
        """
        for _ in range(MAX_REDIRECTS + 1):
            reply = self._asked("GET", url, headers, (), abort)
            location = reply.header("Location")
            if reply.status not in REDIRECTS or location is None:
                return reply
            with reply:
                url = next_url(url, location)
        raise BrokenError(f"more than {MAX_REDIRECTS} redirects", again=False)

    def _asked(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        blocks: Iterable[memoryview],
        abort: Abort,
    ) -> Reply:
        place = place_of(url)
        connection, for_proxy = self._connection(place, proxy_for(url))
        target = place.through_proxy if for_proxy is not None else place.target
        try:
            connection.connect()
            abort.watch(connection.sock)
            _send_head(connection, method, target, {**headers, **(for_proxy or {})})
            response = _send(connection, blocks, abort)
        except (OSError, http.client.HTTPException, ValueError) as error:
            connection.close()
            abort.check()
            raise broken(error) from None
        except BaseException:
            connection.close()
            raise
        return Reply(connection, response, abort)

    def _connection(
        self, place: Place, proxy: Proxy | None
    ) -> tuple[http.client.HTTPConnection, dict[str, str] | None]:
        """Return a connection, and the headers for a proxy that reads the request."""
        host, port = (proxy.host, proxy.port) if proxy else (place.host, place.port)
        if place.scheme == "http":
            connection = http.client.HTTPConnection(host, port, self._silence_s)
            return connection, proxy.headers if proxy else None
        secure = http.client.HTTPSConnection(
            host, port, timeout=self._silence_s, context=self._tls
        )
        if proxy is not None:
            secure.set_tunnel(place.host, place.port, proxy.headers)
        return secure, None


@dataclass(frozen=True)
class Place:
    """Where a URL points.

    Args:
        scheme: "http" or "https".
        host: The server.
        port: The same.
        target: What to ask it for: path and query.
    """

    scheme: str
    host: str
    port: int
    target: str = field(repr=False)

    @property
    def through_proxy(self) -> str:
        """Return what to ask a proxy for."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.target}"


def place_of(url: str) -> Place:
    """Read a URL; what is signed in it stays as it is.

    Raises:
        BrokenError: It is no http(s) URL.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or PORTS[parts.scheme]
    except (ValueError, KeyError):
        parts, port = urlsplit(""), 0
    if not parts.hostname:
        raise BrokenError("its address is not an http(s) URL", again=False)
    path = quote(parts.path or "/", safe=AS_IT_IS)
    query = quote(parts.query, safe=AS_IT_IS)
    return Place(
        parts.scheme, parts.hostname, port, f"{path}?{query}" if query else path
    )


def next_url(url: str, location: str) -> str:
    """Return where a redirect leads.

    Raises:
        BrokenError: It is no place to follow.
    """
    leads_to = urljoin(url, location)
    was, becomes = urlsplit(url).scheme, urlsplit(leads_to).scheme
    if becomes not in ("http", "https"):
        raise BrokenError("a redirect led away from http(s)", again=False)
    if (was, becomes) == ("https", "http"):
        raise BrokenError("a redirect led from https to http", again=False)
    return leads_to


def broken(error: Exception) -> BrokenError:
    """Say why an exchange broke, without the error's words: they may hold the URL."""
    words = {
        TimeoutError: "no answer in time",
        ConnectionRefusedError: "no connection",
        ConnectionResetError: "the connection broke",
        BrokenPipeError: "the connection broke",
        http.client.RemoteDisconnected: "the connection ended early",
        http.client.IncompleteRead: "the connection ended early",
        ssl.SSLCertVerificationError: "its certificate is not trusted",
    }
    again = not isinstance(error, ValueError)
    return BrokenError(words.get(type(error), type(error).__name__), again=again)


def _send_head(
    connection: http.client.HTTPConnection,
    method: str,
    target: str,
    headers: Mapping[str, str],
) -> None:
    given = {name.casefold() for name in headers}
    connection.putrequest(
        method, target, skip_host="host" in given, skip_accept_encoding=True
    )
    usual = {
        "User-Agent": USER_AGENT,
        "Accept-Encoding": "identity",
        "Connection": "close",
    }
    missing = {n: value for n, value in usual.items() if n.casefold() not in given}
    for name, value in {**headers, **missing}.items():
        connection.putheader(name, value)
    connection.endheaders()


def _send(
    connection: http.client.HTTPConnection,
    blocks: Iterable[memoryview],
    abort: Abort,
) -> http.client.HTTPResponse:
    for block in blocks:
        abort.check()
        try:
            connection.send(block)
        except TimeoutError:
            raise
        except OSError:
            # A server that refuses early closes its end: its answer may be here.
            response = connection.getresponse()
            if response.status < HTTPStatus.BAD_REQUEST:
                raise
            return response
    return connection.getresponse()
