"""HTTP by httpx: calls, uploads and downloads; used on the I/O thread."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Mapping,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies
from weakref import finalize

import httpx

from mediakit.client.exchange import Answer, NoAnswerError
from mediakit.client.http_failures import NO_ADDRESS, known
from mediakit.client.http_transports import AiohttpClient
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

CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


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
            piece = await known(anext(raw, b""), in_body=True)
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
        self._headers = {
            "Accept": "*/*",
            "Accept-Encoding": "gzip, deflate",
            "User-Agent": USER_AGENT,
            **(headers or {}),
        }
        self._extensions = {"timeout": httpx.Timeout(timeout_s).as_dict()}
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
                # As http.build_request() does, in half of the time.
                request = httpx.Request(
                    method,
                    url,
                    params=params,
                    headers={**self._headers, **headers},
                    content=content,
                    extensions=self._extensions,
                )
                response = await http.send(request, stream=True)
                try:
                    body = await known(response.aread(), in_body=True)
                finally:
                    await response.aclose()
            return Answer(response.status_code, response.headers, body)

        return await known(exchange())

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
                response = await known(exchange())
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

        response = await known(exchange())
        try:
            if response.next_request is not None:
                reason = f"more than {MAX_REDIRECTS} redirects"
                raise NoAnswerError(reason, sent=True, is_final=True)
            yield Response(response)
        finally:
            await response.aclose()

    def _client(
        self, url: str, kind: type[httpx.AsyncClient] = AiohttpClient
    ) -> httpx.AsyncClient:
        """Return the client for a URL, made on first use."""
        loop = asyncio.get_running_loop()
        if self._opened.loop is not loop:
            # A fork's child leaves the connections of its parent alone.
            if self._opened.clients:
                _inherited.append(self._opened.clients)
            self._opened.clients, self._opened.loop = {}, loop
            self._opened.pid = os.getpid()
        key = kind, _host(url) not in LOOPBACK
        if key not in self._opened.clients:
            self._opened.clients[key] = self._made(kind, uses_proxies=key[1])
        return self._opened.clients[key]

    def _made(
        self, kind: type[httpx.AsyncClient], *, uses_proxies: bool
    ) -> httpx.AsyncClient:
        try:
            proxied = self._transport or (uses_proxies and getproxies())
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
                event_hooks={"response": [_refuse_proxys_answer] if proxied else []},
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
    pid: int = 0

    async def aclose(self) -> None:
        while self.clients:
            _, http = self.clients.popitem()
            await http.aclose()


def _close_later(opened: _Opened) -> None:
    """Close what nobody has closed, from whichever thread collects the garbage."""
    loop = opened.loop if opened.pid == os.getpid() else None
    if opened.clients and loop is not None and not loop.is_closed():
        asyncio.run_coroutine_threadsafe(opened.aclose(), loop)


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


_inherited: list[object] = []
