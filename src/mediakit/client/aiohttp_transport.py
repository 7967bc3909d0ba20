"""An httpx transport that sends with aiohttp, for calls and uploads.

At fifty concurrent requests, it needs a fraction of the processor time of httpx's own
transport, and it sees a response that arrives before a request body was sent. It loses
received data when a connection breaks, so downloads do not use it.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import AsyncIterator
from types import SimpleNamespace

import httpx
from yarl import URL

# When imported, aiohttp creates an SSL context, which fails if this variable names a
# file that cannot be written. That context is never used.
_key_log = os.environ.pop("SSLKEYLOGFILE", None)
try:
    import aiohttp
finally:
    if _key_log is not None:
        os.environ["SSLKEYLOGFILE"] = _key_log

CONNECTED = "connected"
"""A request extension: called before the first byte of the request is sent."""
PIECE_BYTES = 1 << 16


class ServerDisconnectedError(httpx.RemoteProtocolError):
    """The server closed the connection before its response began."""


class AiohttpTransport(httpx.AsyncBaseTransport):
    """Sends requests as they are, without cookies or redirects.

    It is created on the event loop that it serves. Without a connection in time, it
    raises `httpx.PoolTimeout`: nothing was sent.
    """

    def __init__(self, *, verify: ssl.SSLContext | bool, limits: httpx.Limits) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                ssl=verify,
                limit=limits.max_connections or 0,
                keepalive_timeout=limits.keepalive_expiry,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trace_configs=[_connection_tracing()],
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and return the response before its body is read."""
        url = request.url
        if url.userinfo:  # aiohttp would add a second Authorization header
            url = url.copy_with(userinfo=b"")
        timeout = request.extensions["timeout"]
        is_read = isinstance(request.stream, httpx.ByteStream)
        try:
            response = await self._session.request(
                request.method,
                URL(str(url), encoded=True),
                headers=[(k.decode(), v.decode()) for k, v in request.headers.raw],
                data=(request.content or None) if is_read else request.stream,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(
                    connect=timeout["pool"],
                    sock_connect=timeout["connect"],
                    sock_read=timeout["read"],
                ),
                trace_request_ctx=request.extensions.get(CONNECTED),
            )
        except (aiohttp.ClientError, OSError) as error:
            raise _httpx_error(error) from error
        body = _ResponseBody(response)
        return httpx.Response(
            response.status, headers=response.raw_headers, stream=body
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._session.close()


class _ResponseBody(httpx.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._response.content.iter_chunked(PIECE_BYTES):
                yield piece
        except (aiohttp.ClientError, OSError) as error:
            raise _httpx_error(error) from error

    async def aclose(self) -> None:
        self._response.release()
        await self._response.wait_for_close()


def _httpx_error(error: Exception) -> httpx.TransportError:
    kind = next(kind for cause, kind in ERRORS if isinstance(error, cause))
    return kind(str(error))


ERRORS: tuple[tuple[type[Exception], type[httpx.TransportError]], ...] = (
    (aiohttp.InvalidURL, httpx.UnsupportedProtocol),
    (aiohttp.ConnectionTimeoutError, httpx.PoolTimeout),
    (TimeoutError, httpx.ReadTimeout),
    (aiohttp.ClientConnectorError, httpx.ConnectError),
    (aiohttp.ServerDisconnectedError, ServerDisconnectedError),
    (aiohttp.ClientResponseError, httpx.RemoteProtocolError),
    (Exception, httpx.ReadError),
)


def _connection_tracing() -> aiohttp.TraceConfig:
    """Return a trace that calls a request's `connected` once it is connected."""

    async def call(_: object, context: SimpleNamespace, __: object) -> None:
        if context.trace_request_ctx is not None:
            context.trace_request_ctx()

    tracing = aiohttp.TraceConfig()
    tracing.on_connection_create_end.append(call)
    tracing.on_connection_reuseconn.append(call)
    return tracing
