"""HTTP by httpx: one exchange, and what is known of one that failed.

The only module that knows which library speaks HTTP. It is used on the I/O thread.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Iterator,
    Mapping,
)
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, TypeVar
from urllib.parse import urlsplit
from weakref import finalize

import httpx
from httpx_aiohttp import AiohttpTransport
from yarl import URL

from mediakit.client.exchange import Answer, NoAnswerError
from mediakit.client.io_thread import close_at_end
from mediakit.client.service import LOOPBACK
from mediakit.errors import MediakitError, ServiceError

T = TypeVar("T")

TIMEOUT_S = 30.0
WHOLE_ANSWER_WITHIN_S = 30.0
MAX_CONNECTIONS = 50
MAX_REDIRECTS = 5
USER_AGENT = "mediakit"
# Servers close connections that were idle for 5 s and more. The side that closes first
# never sends a request into a connection that the other side is closing.
KEEP_ALIVE_S = 4.0
BLOCK_BYTES = 1 << 20

# Raised before the first byte of a request leaves, and only then. A ConnectTimeout is
# not among them: httpx-aiohttp raises it for connections that broke after sending.
UNSENT = (
    httpx.ConnectError,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.InvalidURL,
)
# The same, by the names of the exceptions that are the cause.
UNSENT_CAUSES = {
    "aiohttp": {
        "ClientConnectorError",
        "ClientHttpProxyError",
        "ConnectionTimeoutError",
        "InvalidURL",
        "NonHttpUrlClientError",
    },
    "httpcore": {"ConnectTimeout"},
}
NO_ADDRESS = "its address is not an http(s) URL"
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
LATE = (
    "aiohttp.ConnectionTimeoutError",
    "httpcore.ConnectTimeout",
    "httpx.PoolTimeout",
)


class Response:
    """A response whose body has not been read yet.

    Args:
        response: The response of httpx.
    """

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.url = str(response.url)
        length = response.headers.get("Content-Length", "")
        self.size_bytes = int(length) if length.isdecimal() else None

    def header(self, name: str) -> str | None:
        """Return a header's value; None without it."""
        value: str | None = self._response.headers.get(name)
        return value

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the body as it was sent, piece by piece.

        Raises:
            NoAnswerError: The connection broke, or ended early.
        """
        read_bytes = 0
        # A transport in a test may have given the body whole.
        is_read = self._response.is_stream_consumed
        raw = self._response.aiter_bytes() if is_read else self._response.aiter_raw()
        while True:
            piece = await _known(anext(raw, b""), in_body=True)
            if not piece:
                break
            read_bytes += len(piece)
            yield piece
        if self.size_bytes is not None and read_bytes < self.size_bytes:
            raise NoAnswerError("the connection ended early", sent=True)


class HttpClient:
    """Sends requests.

    Proxies of the environment are not asked for what is on this machine.

    Args:
        transport: Carries all requests, as for `httpx.AsyncClient`; the proxies of
            the environment are not used then. By default downloads go by httpx's own
            transport, and so does all that goes through a proxy; aiohttp, which is
            five times as fast at 50 requests at once, carries the rest.
        timeout_s: Seconds of silence that count as no answer.
        headers: Headers of every request, such as a key; they reach no proxy that
            opens a tunnel.
        whole_answer_within_s: Seconds until an answer that trickles counts as none.
    """

    def __init__(
        self,
        transport: httpx.AsyncBaseTransport | None = None,
        timeout_s: float = TIMEOUT_S,
        *,
        headers: Mapping[str, str] | None = None,
        whole_answer_within_s: float = WHOLE_ANSWER_WITHIN_S,
    ) -> None:
        self._transport = transport
        self._headers = {"User-Agent": USER_AGENT, **(headers or {})}
        self._timeout_s = timeout_s
        self._whole_answer_within_s = max(timeout_s, whole_answer_within_s)
        self._opened = _Opened()
        close_at_end(self)
        finalize(self, _close_later, self._opened).atexit = False

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        content: bytes | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one request and read the whole answer; redirects are not followed.

        Raises:
            NoAnswerError: No whole answer came.
            ServiceError: The environment names a proxy that cannot be used.
        """

        async def exchange() -> Answer:
            async with asyncio.timeout(self._whole_answer_within_s):
                http = self._client(url)
                request = http.build_request(
                    method, url, headers=headers, content=content, params=params
                )
                response = await http.send(request, stream=True)
                try:
                    body = await _known(response.aread(), in_body=True)
                finally:
                    await response.aclose()
            return Answer(response.status_code, response.headers, body)

        return await _known(exchange())

    async def put(
        self, url: str, *, headers: Mapping[str, str], blocks: AsyncIterable[bytes]
    ) -> Answer:
        """PUT blocks that are made as they are taken; a redirect is not followed.

        Raises:
            NoAnswerError: No answer came.
            ServiceError: The environment names a proxy that cannot be used.
        """
        loop, failed = asyncio.get_running_loop(), None

        async def watched() -> AsyncIterator[bytes]:
            nonlocal failed
            try:
                async for block in blocks:
                    yield block
                    silence.reschedule(loop.time() + self._timeout_s)
            except MediakitError as error:
                failed = error  # the transport would hide it in one of its own
                raise

        async def exchange() -> httpx.Response:
            http = self._client(url)
            return await http.put(url, headers=headers, content=watched())

        try:
            async with asyncio.timeout(self._timeout_s) as silence:
                response = await _known(exchange())
        except TimeoutError:
            raise NoAnswerError("no answer in time", sent=True) from None
        except NoAnswerError:
            if failed is not None:
                raise failed from None
            raise
        return Answer(response.status_code, response.headers, response.content)

    @asynccontextmanager
    async def get(
        self, url: str, *, headers: Mapping[str, str]
    ) -> AsyncIterator[Response]:
        """GET a URL and give the response before its body is read.

        A few redirects are followed, none from https to http.

        Raises:
            NoAnswerError: No answer came, or it leads nowhere.
            ServiceError: The environment names a proxy that cannot be used.
        """

        async def exchange() -> httpx.Response:
            async with asyncio.timeout(2 * self._timeout_s):
                # aiohttp drops what has arrived when a connection breaks.
                http = self._client(url, httpx.AsyncClient)
                request = http.build_request("GET", url, headers=headers)
                response = await http.send(request, stream=True)
                for _ in range(MAX_REDIRECTS):
                    if response.next_request is None:
                        break
                    await response.aclose()
                    request = _followed(response.next_request, request)
                    http = self._client(str(request.url), httpx.AsyncClient)
                    response = await http.send(request, stream=True)
                return response

        response = await _known(exchange())
        try:
            if response.next_request is not None:
                reason = f"more than {MAX_REDIRECTS} redirects"
                raise NoAnswerError(reason, sent=True, is_final=True)
            yield Response(response)
        finally:
            await response.aclose()

    def _client(
        self, url: str, kind: type[httpx.AsyncClient] | None = None
    ) -> httpx.AsyncClient:
        """Return the client for a URL, made on first use."""
        loop = asyncio.get_running_loop()
        if self._opened.loop is not loop:
            # A fork's child leaves the connections of its parent alone.
            _inherited.append(self._opened.clients)
            self._opened.clients, self._opened.loop = {}, loop
        key = kind or _AiohttpClient, _host(url) not in LOOPBACK
        if key not in self._opened.clients:
            self._opened.clients[key] = self._made(key[0], uses_proxies=key[1])
        return self._opened.clients[key]

    def _made(
        self, kind: type[httpx.AsyncClient], *, uses_proxies: bool
    ) -> httpx.AsyncClient:
        try:
            return kind(
                transport=self._transport,
                trust_env=uses_proxies,
                verify=_trusted(*map(os.environ.get, CERTIFICATES)),
                timeout=self._timeout_s,
                limits=httpx.Limits(
                    max_connections=MAX_CONNECTIONS, keepalive_expiry=KEEP_ALIVE_S
                ),
                headers=self._headers,
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
                event_hooks={"response": [_refuse_proxys_answer]},
            )
        except ImportError:
            why = "is a SOCKS proxy: pip install 'mediakit[socks]' lets it be used"
        except (ValueError, httpx.InvalidURL):
            why = "cannot be used: its URL has to begin with http, https or socks5"
        raise ServiceError(
            f"The proxy that the environment names {why}. Otherwise name another one, "
            "or list the service's host in NO_PROXY. Nothing was sent."
        )

    async def aclose(self) -> None:
        """Close the connections; closing twice does nothing more."""
        if self._opened.loop is asyncio.get_running_loop():
            await self._opened.aclose()


@dataclass
class _Opened:
    """The clients that are open, by kind and whether they use the environment."""

    clients: dict[tuple[type[httpx.AsyncClient], bool], httpx.AsyncClient] = field(
        default_factory=dict
    )
    loop: asyncio.AbstractEventLoop | None = None

    async def aclose(self) -> None:
        while self.clients:
            _, http = self.clients.popitem()
            await http.aclose()


def _close_later(opened: _Opened) -> None:
    """Close what nobody has closed, from whichever thread collects the garbage."""
    if opened.clients and opened.loop is not None and not opened.loop.is_closed():
        asyncio.run_coroutine_threadsafe(opened.aclose(), opened.loop)


class Borrowed(httpx.AsyncBaseTransport):
    """A transport that is left open by who uses it.

    Args:
        transport: The transport.
    """

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request through it."""
        return await self._transport.handle_async_request(request)


class _AiohttpClient(httpx.AsyncClient):
    """Connects by aiohttp where no proxy is in between."""

    def _init_transport(self, *_: Any, **settings: Any) -> httpx.AsyncBaseTransport:
        return settings.pop("transport") or _AiohttpTransport(**settings)


class _AiohttpTransport(AiohttpTransport):
    """aiohttp's connections, which keep no cookie and send a URL as it stands."""

    _session: Any = None

    def get_client(self) -> Any:
        """Return what the requests of this transport are given to."""
        if self._session is None:
            self._session = super().get_client()
        return _Session(self._session)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()


class _Session:
    def __init__(self, session: Any) -> None:
        self._session = session

    def request(self, *, url: str, **request: Any) -> Any:
        self._session.cookie_jar.clear()
        # Encoded anew, what is signed in it would change: %2F becomes a slash.
        return self._session.request(url=URL(url, encoded=True), **request)


@cache
def _trusted(*_: str | None) -> ssl.SSLContext:
    """Return what tells which certificates are trusted, once for an environment."""
    return httpx.create_ssl_context()


async def _refuse_proxys_answer(response: httpx.Response) -> None:
    """Tell a proxy that wants another password from the service that it hides."""
    if response.status_code == httpx.codes.PROXY_AUTHENTICATION_REQUIRED:
        await response.aclose()
        raise httpx.ProxyError("407", request=response.request)


def _host(url: str) -> str | None:
    """Return the host of a URL.

    Raises:
        NoAnswerError: It is no URL, or its port is none.
    """
    try:
        parts = urlsplit(url)
        return parts.hostname if parts.port != 0 else None
    except ValueError:
        raise NoAnswerError(NO_ADDRESS, sent=False, is_final=True) from None


def _followed(request: httpx.Request, before: httpx.Request) -> httpx.Request:
    """Return the request that a redirect asks for.

    Raises:
        NoAnswerError: It leads to a place that is not followed.
    """
    was, becomes = before.url.scheme, request.url.scheme
    reason = None
    if becomes not in ("http", "https"):
        reason = "a redirect led away from http(s)"
    elif (was, becomes) == ("https", "http"):
        reason = "a redirect led from https to http"
    if reason is not None:
        raise NoAnswerError(reason, sent=True, is_final=True)
    return request


# -- what a failure means ---------------------------------------------------------


async def _known(work: Awaitable[T], *, in_body: bool = False) -> T:
    """Await HTTP, and turn its failures into `NoAnswerError`.

    While it lasts httpx and httpcore log nothing: they would log signed URLs.

    Args:
        work: What is awaited; its other exceptions are let through.
        in_body: Whether the head of the answer has arrived.
    """
    token = _is_ours.set(True)
    try:
        return await work
    except Exception as error:
        if isinstance(error, NoAnswerError) or not _is_failed_exchange(error):
            raise
        no_answer = failure_of(error, in_body=in_body)
    finally:
        _is_ours.reset(token)
    # Outside of the handler: errors of httpx hold the request with its headers, and so
    # the API key; none of them may be chained to what people see or log.
    raise no_answer


def failure_of(error: BaseException, *, in_body: bool = False) -> NoAnswerError:
    """Return what is known of an exchange that failed.

    Args:
        error: What it failed with.
        in_body: Whether the head of the answer had arrived.
    """
    sent = in_body or not _is_unsent(error)
    is_final = isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL)
    if isinstance(error, httpx.ProxyError):  # it wants another user or password
        is_final = "407" in str(error) or "password" in str(error)
    reason = _reason(error, sent=sent, in_body=in_body)
    return NoAnswerError(reason, sent=sent, is_final=is_final)


def _is_failed_exchange(error: Exception) -> bool:
    kinds = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError)
    # Some exceptions of the libraries below are let through as they are.
    return isinstance(error, kinds) or _library(error) in ("aiohttp", "socksio")


def _is_unsent(error: BaseException) -> bool:
    cause = error if _library(error) == "aiohttp" else error.__cause__
    if _library(error) == "socksio":
        return True
    if cause is not None and _library(cause) in UNSENT_CAUSES:
        names = {kind.__name__ for kind in type(cause).__mro__}
        if names & UNSENT_CAUSES[_library(cause)]:
            return True
        if _library(cause) == "aiohttp":
            return False
    return isinstance(error, UNSENT)


def _library(error: BaseException) -> str:
    return type(error).__module__.partition(".")[0]


def _reason(error: BaseException, *, sent: bool, in_body: bool) -> str:
    chain = list(_chain(error))
    for kind, words in _REASONS_SENT if sent else _REASONS_UNSENT:
        if any(isinstance(each, kind) for each in chain):
            return words
    names = {type(each).__name__ for each in chain}
    if not sent:
        is_late = any(
            f"{_library(each)}.{type(each).__name__}" in LATE for each in chain
        )
        return "no connection in time" if is_late else "no connection"
    if in_body:
        return "its answer was cut off"
    if "ServerDisconnectedError" in names or "disconnected" in str(error):
        return "it closed the connection"
    if names & {"ClientResponseError", "RemoteProtocolError"}:
        return "its answer is not HTTP"
    return "the connection broke"


_Reasons = tuple[tuple[type[BaseException], str], ...]
_REASONS_UNSENT: _Reasons = (
    (socket.gaierror, "no such host"),
    (ssl.SSLCertVerificationError, "its certificate is not trusted"),
    (ssl.SSLError, "no connection by TLS"),
    (httpx.ProxyError, "the proxy refused"),
    (httpx.UnsupportedProtocol, NO_ADDRESS),
    (httpx.InvalidURL, NO_ADDRESS),
)
_REASONS_SENT: _Reasons = (
    (httpx.DecodingError, "its answer cannot be unpacked"),
    (httpx.WriteTimeout, "it took the request too slowly"),
    (httpx.ReadTimeout, "no answer in time"),
    (TimeoutError, "no answer in time"),
)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


_is_ours: ContextVar[bool] = ContextVar("mediakit_is_ours", default=False)
_inherited: list[object] = []


_PARTS_OF_HTTPCORE = ("connection", "http11", "http2", "proxy", "socks")


class _WithoutURLs(logging.Filter):
    """Drops what is logged of our requests: a URL may be signed."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not _is_ours.get()


for _name in ("httpx", *(f"httpcore.{part}" for part in _PARTS_OF_HTTPCORE)):
    logging.getLogger(_name).addFilter(_WithoutURLs())
