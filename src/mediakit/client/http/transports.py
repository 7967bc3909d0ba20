"""The transports of httpx clients."""

from __future__ import annotations

from typing import Any

import httpx
from httpx_aiohttp import AiohttpTransport
from yarl import URL


class UnclosedTransport(httpx.AsyncBaseTransport):
    """Wraps a transport so that closing a client does not close it.

    Args:
        transport: The transport.
    """

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
