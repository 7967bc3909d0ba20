"""The pool of httpx clients: by event loop, proxies and certificates."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Mapping
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx

from mediakit.client.http.exchange import NoAnswerError
from mediakit.client.http.transport_errors import INVALID_URL
from mediakit.client.http.transports import AiohttpClient
from mediakit.client.loop import FORKED, ClosedError
from mediakit.client.service import LOOPBACK
from mediakit.errors import ServiceError

MAX_CONNECTIONS = 50
# Servers close connections that were idle for 5 s and more. The side that closes first
# never sends a request into a connection that the other side is closing.
KEEP_ALIVE_S = 4.0

CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


class UnusableProxyError(ServiceError):
    """The environment names a proxy that cannot be used; nothing was sent."""


class ClientPool:
    """The open clients of one event loop, by kind and whether they use proxies.

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
        self._clients: dict[
            tuple[type[httpx.AsyncClient], bool], httpx.AsyncClient
        ] = {}
        self.loop: asyncio.AbstractEventLoop | None = None
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
        self.loop = asyncio.get_running_loop()
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
        """Close all clients, on their loop."""
        while self._clients:
            _, http = self._clients.popitem()
            await http.aclose()

    def schedule_close(self) -> None:
        """Close clients that were never closed; called by the garbage collector."""
        loop = self.loop if self._pid == os.getpid() else None
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
