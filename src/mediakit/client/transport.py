"""The httpx clients that send requests, and what their failures mean."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx
from httpx_aiohttp import AiohttpTransport
from yarl import URL

from mediakit.client.answers import NoAnswerError
from mediakit.client.loop import FORKED, ClosedError
from mediakit.client.service import LOOPBACK
from mediakit.errors import ServiceError

MAX_CONNECTIONS = 50
# Servers close connections that were idle for 5 s and more. The side that closes first
# never sends a request into a connection that the other side is closing.
KEEP_ALIVE_S = 4.0
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
INVALID_URL = "its address is not an http(s) URL"

T = TypeVar("T")


class UnusableProxyError(ServiceError):
    """The environment names a proxy that cannot be used; nothing was sent."""


# -- transports -----------------------------------------------------------------------


class UnclosedTransport(httpx.AsyncBaseTransport):
    """Wraps a transport so that closing a client does not close it."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request through the wrapped transport."""
        return await self._transport.handle_async_request(request)


class _NoCookies(httpx.Cookies):
    """A jar that stays empty; a refused cookie costs httpx as much as an accepted."""

    def extract_cookies(self, response: httpx.Response) -> None:
        """Ignore the cookies of a response."""


class AiohttpClient(httpx.AsyncClient):
    """An httpx client without cookies that uses aiohttp where no proxy applies."""

    @property  # type: ignore[misc] # nobody sets it
    def cookies(self) -> httpx.Cookies:
        """Return an empty jar."""
        return _NO_COOKIES

    # Not `transport=`: httpx would ignore the environment's proxies then.
    def _init_transport(self, *_: Any, **settings: Any) -> httpx.AsyncBaseTransport:
        given: httpx.AsyncBaseTransport | None = settings.pop("transport")
        return _AiohttpTransport(**settings) if given is None else given


_NO_COOKIES = _NoCookies()


class _AiohttpTransport(AiohttpTransport):
    """An aiohttp transport that keeps no cookies and sends URLs unchanged."""

    _session: Any = None

    def get_client(self) -> Any:
        """Return the session that sends the requests of this transport."""
        if self._session is None:
            self._session = super().get_client()
        return _CookielessSession(self._session)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()


class _CookielessSession:
    def __init__(self, session: Any) -> None:
        self._session = session

    def request(self, *, url: str, headers: httpx.Headers, **request: Any) -> Any:
        self._session.cookie_jar.clear()
        raw = [(name.decode(), value.decode()) for name, value in headers.raw]
        # Re-encoding would break signed URLs: %2F would become a slash.
        return self._session.request(url=URL(url, encoded=True), headers=raw, **request)


# -- clients --------------------------------------------------------------------------


class ClientPool:
    """The open httpx clients, by kind and whether they use proxies.

    Args:
        transport: Sends all requests; None for the default of each kind.
        timeout_s: Seconds to wait for the next bytes before giving up.
        headers: Headers of every request.
    """

    def __init__(
        self,
        transport: httpx.AsyncBaseTransport | None,
        timeout_s: float,
        headers: Mapping[str, str],
    ) -> None:
        self._transport = transport
        self._timeout_s = timeout_s
        self._headers = headers
        self._clients: dict[object, httpx.AsyncClient] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = os.getpid()

    def client_for(
        self, url: str, kind: type[httpx.AsyncClient] = AiohttpClient
    ) -> httpx.AsyncClient:
        """Return the client for a URL, made on first use.

        Raises:
            NoAnswerError: The URL is invalid.
            ClosedError: The client is that of a parent process.
            ServiceError: The environment names a proxy that cannot be used.
        """
        if self._pid != os.getpid():
            raise ClosedError(FORKED)
        self._loop = asyncio.get_running_loop()
        key = kind, _host(url) not in LOOPBACK
        if key not in self._clients:
            self._clients[key] = self._make(kind, uses_proxies=key[1])
        return self._clients[key]

    def _make(
        self, kind: type[httpx.AsyncClient], *, uses_proxies: bool
    ) -> httpx.AsyncClient:
        try:
            proxied = self._transport or (uses_proxies and getproxies())
            return kind(
                transport=self._transport,
                trust_env=uses_proxies,
                verify=_ssl_context(*map(os.environ.get, CERTIFICATES)),
                timeout=self._timeout_s,
                limits=httpx.Limits(
                    max_connections=MAX_CONNECTIONS, keepalive_expiry=KEEP_ALIVE_S
                ),
                headers=self._headers,
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
                event_hooks={"response": [_raise_for_proxy_auth] if proxied else []},
            )
        except ImportError:
            why = "is a SOCKS proxy, which needs: pip install 'mediakit[socks]'"
        except (ValueError, httpx.InvalidURL):
            why = "is not supported: its URL must start with http, https or socks5"
        raise UnusableProxyError(
            f"The proxy set in the environment {why}. Alternatively, set another "
            "proxy, or list the service's host in NO_PROXY. Nothing was sent."
        )

    async def aclose(self) -> None:
        """Close all clients."""
        while self._clients:
            _, http = self._clients.popitem()
            await http.aclose()

    def schedule_close(self) -> None:
        """Close clients that were never closed; called by the garbage collector."""
        loop = self._loop if self._pid == os.getpid() else None
        if self._clients and loop is not None and not loop.is_closed():
            asyncio.run_coroutine_threadsafe(self.aclose(), loop)


@cache
def _ssl_context(*_: str | None) -> ssl.SSLContext:
    """Return the SSL context; cached by the certificate environment variables."""
    return httpx.create_ssl_context()


async def _raise_for_proxy_auth(response: httpx.Response) -> None:
    """Raise if a proxy rejects the password, so that its 407 is not the service's."""
    if response.status_code == httpx.codes.PROXY_AUTHENTICATION_REQUIRED:
        await response.aclose()
        raise httpx.ProxyError("407", request=response.request)


def _host(url: str) -> str | None:
    """Return the host of a URL.

    Raises:
        NoAnswerError: The URL or its port is invalid.
    """
    try:
        parts = urlsplit(url)
        return parts.hostname if parts.port != 0 else None
    except ValueError:
        raise NoAnswerError(INVALID_URL, sent=False, is_final=True) from None


# -- failures -------------------------------------------------------------------------

# Raised only before any byte is sent. ConnectTimeout is not listed because
# httpx-aiohttp also raises it when a connection breaks after sending.
UNSENT = (
    httpx.ConnectError,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.InvalidURL,
)
# The same for the underlying libraries: exception class names by package.
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
CONNECT_TIMEOUTS = (
    "aiohttp.ConnectionTimeoutError",
    "httpcore.ConnectTimeout",
    "httpx.PoolTimeout",
)
REASONS_UNSENT: tuple[tuple[type[BaseException], str], ...] = (
    (socket.gaierror, "no such host"),
    (ssl.SSLCertVerificationError, "its certificate is not trusted"),
    (ssl.SSLError, "no connection by TLS"),
    (httpx.ProxyError, "the proxy refused"),
    (httpx.UnsupportedProtocol, INVALID_URL),
    (httpx.InvalidURL, INVALID_URL),
)
REASONS_SENT: tuple[tuple[type[BaseException], str], ...] = (
    (httpx.DecodingError, "its answer cannot be unpacked"),
    (httpx.WriteTimeout, "it took the request too slowly"),
    (httpx.ReadTimeout, "no answer in time"),
    (TimeoutError, "no answer in time"),
)


async def translate_errors(work: Awaitable[T], *, in_body: bool = False) -> T:
    """Await an HTTP call and translate its failures to `NoAnswerError`.

    Suppresses the logs of httpx and httpcore, which would show signed URLs.

    Args:
        work: The call; its other exceptions propagate.
        in_body: Whether the head of the response has arrived.
    """
    try:
        with unlogged():
            return await work
    except Exception as error:
        if isinstance(error, NoAnswerError) or not _is_transport_error(error):
            raise
        no_answer = _no_answer_from(error, in_body=in_body)
    # Raised outside the except block so that the httpx error, which holds the API key
    # in its request headers, is not chained to it.
    raise no_answer


def _no_answer_from(error: BaseException, *, in_body: bool) -> NoAnswerError:
    sent = in_body or not _is_unsent(error)
    is_final = isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL)
    if isinstance(error, httpx.ProxyError):  # it rejects the user or password
        is_final = str(error).startswith("407") or "password" in str(error)
    reason = _reason(error, sent=sent, in_body=in_body)
    return NoAnswerError(reason, sent=sent, is_final=is_final)


def _is_transport_error(error: Exception) -> bool:
    kinds = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError)
    # httpx passes on some exceptions of the underlying libraries unchanged.
    return isinstance(error, kinds) or _package_of(error) in ("aiohttp", "socksio")


def _is_unsent(error: BaseException) -> bool:
    cause = error if _package_of(error) == "aiohttp" else error.__cause__
    if _package_of(error) == "socksio":
        return True
    if cause is not None and _package_of(cause) in UNSENT_CAUSES:
        names = {kind.__name__ for kind in type(cause).__mro__}
        if names & UNSENT_CAUSES[_package_of(cause)]:
            return True
        if _package_of(cause) == "aiohttp":
            return False
    return isinstance(error, UNSENT)


def _package_of(error: BaseException) -> str:
    return type(error).__module__.partition(".")[0]


def _reason(error: BaseException, *, sent: bool, in_body: bool) -> str:
    chain = list(_causes(error))
    for kind, words in REASONS_SENT if sent else REASONS_UNSENT:
        if any(isinstance(each, kind) for each in chain):
            return words
    names = {type(each).__name__ for each in chain}
    if not sent:
        kinds = {f"{_package_of(each)}.{type(each).__name__}" for each in chain}
        is_late = not kinds.isdisjoint(CONNECT_TIMEOUTS)
        return "no connection in time" if is_late else "no connection"
    if in_body:
        return "its answer was cut off"
    if "ServerDisconnectedError" in names or "disconnected" in str(error):
        return "it closed the connection"
    if names & {"ClientResponseError", "RemoteProtocolError"}:
        return "its answer is not HTTP"
    return "the connection broke"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


# -- logs -----------------------------------------------------------------------------

_PARTS_OF_HTTPCORE = ("connection", "http11", "http2", "proxy", "socks")
_is_ours: ContextVar[bool] = ContextVar("mediakit_is_ours", default=False)


@contextmanager
def unlogged() -> Iterator[None]:
    """Keep the requests that are sent meanwhile out of the logs of httpx."""
    token = _is_ours.set(True)
    try:
        yield
    finally:
        _is_ours.reset(token)


class _DropOwnRequests(logging.Filter):
    """Drops the log records of our requests: a URL may be signed."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not _is_ours.get()


for _name in ("httpx", *(f"httpcore.{part}" for part in _PARTS_OF_HTTPCORE)):
    logging.getLogger(_name).addFilter(_DropOwnRequests())
