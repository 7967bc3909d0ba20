"""HTTP requests on the I/O thread: calls, uploads and downloads."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
)
from contextlib import asynccontextmanager, suppress
from functools import lru_cache, partial
from typing import Any, NamedTuple
from urllib.parse import urlencode
from weakref import finalize

import httpx

from mediakit.client.aiohttp_transport import CONNECTED, AiohttpTransport
from mediakit.client.io_thread import FORKED, ClosedError, close_at_end, closed
from mediakit.client.responses import (
    HttpResponse,
    NoAnswerError,
    retry_after_s,
    without_key,
)
from mediakit.client.retries import READ_RETRY_FOR_S, RetryWindow
from mediakit.client.service import Service
from mediakit.client.transport_errors import (
    INVALID_URL,
    ProxyAuthError,
    translate_errors,
)
from mediakit.clock import Clock
from mediakit.errors import MediakitError, ServiceError
from mediakit.proxies_and_certificates import (
    Proxies,
    ProxySetting,
    checked_ssl_context,
    needs_certificates,
)
from mediakit.web_urls import DEFAULT_PORTS

TIMEOUT_S = 30.0
TOTAL_TIMEOUT_S = 30.0
MAX_REDIRECTS = 5
MAX_CONNECTIONS = 50
# Servers close connections that were idle for 5 s and more. The side that closes first
# never sends a request into a connection that the other side is closing.
KEEP_ALIVE_S = 4.0
BLOCK_BYTES = 1 << 20
# The largest useful response is a month of spend: a few MB.
LARGEST_ANSWER_BYTES = 16 << 20
LAST_PORT = 65_535
HEADERS = {"Accept": "*/*", "Accept-Encoding": "gzip", "User-Agent": "mediakit"}
# Statuses of temporary errors and rate limits, after which a harmless request is
# repeated.
NOT_NOW = frozenset({408, 425, 429, 500, 502, 503, 504})


def is_not_now(answer: HttpResponse) -> bool:
    """Return whether a harmless request may succeed if it is soon repeated."""
    return answer.status in NOT_NOW


TOO_LARGE = f"its response is larger than {LARGEST_ANSWER_BYTES >> 20} MiB"

log = logging.getLogger("mediakit.client")


class UnclosedTransport(httpx.AsyncBaseTransport):
    """A transport that stays open when its client closes."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request through the wrapped transport."""
        return await self._transport.handle_async_request(request)


# -- requests -------------------------------------------------------------------------


class HttpClient:
    """Sends requests; to this machine, without the environment's proxies.

    Calls and uploads use aiohttp; downloads and proxied requests use httpx. With a
    `transport`, all requests use that. A proxy that opens a tunnel never sees the
    headers, which contain the key.
    """

    def __init__(
        self,
        transport: httpx.AsyncBaseTransport | None = None,
        timeout_s: float = TIMEOUT_S,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._timeout_s = timeout_s
        self._timeout = httpx.Timeout(timeout_s).as_dict()
        self._whole_answer_within_s = max(timeout_s, TOTAL_TIMEOUT_S)
        self._headers = {**HEADERS, **(headers or {})}
        self._connections = _Connections(transport)
        close_at_end(self)
        finalize(self, self._connections.close_later).atexit = False

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        content: bytes | None = None,
        connected: Callable[[], None] = lambda: None,
    ) -> HttpResponse:
        """Send one request and read the whole response; redirects are not followed.

        `connected` is called before the first byte of the request is sent.
        """
        if method != "GET":
            content = content or b""
            headers = {**headers, "Content-Length": str(len(content))}
        stream = httpx.ByteStream(content or b"")
        request = self._request(method, url, headers, stream, connected=connected)
        request.read()  # a user's transport may read `content`

        async def exchange() -> HttpResponse:
            async with asyncio.timeout(self._whole_answer_within_s):
                return await self._exchange(request)

        return await translate_errors(exchange())

    async def put(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        blocks: AsyncIterable[bytes],
        answer_within_s: float = 0.0,
    ) -> HttpResponse:
        """PUT a body that is read while it is sent; does not follow redirects.

        The headers contain the length of the body. The response may take
        `answer_within_s` after the last byte, if that is longer than the usual timeout.
        """
        within_s = max(answer_within_s, self._timeout_s)
        loop, body_error = asyncio.get_running_loop(), None

        async def blocks_with_timeout() -> AsyncIterator[bytes]:
            nonlocal body_error
            try:
                async for block in blocks:
                    yield block
                    idle_timeout.reschedule(loop.time() + self._timeout_s)
                # A proxy may accept all bytes at once and forward them slowly.
                idle_timeout.reschedule(loop.time() + within_s)
            except MediakitError as error:
                body_error = error  # the transport would wrap it in its own error
                raise

        stream = _Blocks(blocks_with_timeout())
        request = self._request("PUT", url, headers, stream, read_timeout_s=within_s)
        try:
            async with asyncio.timeout(self._timeout_s) as idle_timeout:
                return await translate_errors(self._exchange(request))
        except TimeoutError:
            raise NoAnswerError("no response in time", sent=True) from None
        except NoAnswerError:
            if body_error is not None:
                raise body_error from None
            raise

    @asynccontextmanager
    async def get(
        self, url: str, *, headers: Mapping[str, str]
    ) -> AsyncIterator[StreamedResponse]:
        """GET a URL and yield the response before its body is read.

        Follows up to five redirects, never from https to http.
        """

        async def exchange() -> httpx.Response:
            async with asyncio.timeout(2 * self._timeout_s):
                request = self._request("GET", url, headers)
                for _ in range(1 + MAX_REDIRECTS):
                    response = await self._begin(request, is_download=True)
                    if not response.has_redirect_location:
                        return response
                    await response.aclose()
                    request = self._request("GET", _redirect_url(response), headers)
            reason = f"more than {MAX_REDIRECTS} redirects"
            raise NoAnswerError(reason, sent=True, is_final=True)

        response = await translate_errors(exchange())
        try:
            yield StreamedResponse(response)
        finally:
            await response.aclose()

    def _request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        stream: httpx.AsyncByteStream | None = None,
        *,
        read_timeout_s: float | None = None,
        connected: Callable[[], None] = lambda: None,
    ) -> httpx.Request:
        timeout = self._timeout
        if read_timeout_s is not None:
            timeout = {**timeout, "read": read_timeout_s}
        address = _address(url)
        host = address.netloc.decode()
        all_headers = httpx.Headers({"Host": host, **self._headers})
        all_headers.update(headers)
        # With `content` instead of `stream`, it would take twice the processor time.
        request = httpx.Request(
            method,
            address,
            headers=all_headers,
            stream=stream or httpx.ByteStream(b""),
            extensions={
                "timeout": timeout,
                "trace": _raise_for_tunnel_auth,
                CONNECTED: connected,
            },
        )
        if address.userinfo:
            auth = httpx.BasicAuth(address.username, address.password)
            return next(auth.auth_flow(request))
        return request

    async def _begin(
        self, request: httpx.Request, *, is_download: bool = False
    ) -> httpx.Response:
        """Send a request and return the response before its body is read."""
        route = self._connections.route_for(request.url, is_download=is_download)
        if not route.is_direct:
            # A proxy may forward the request at any time from now on.
            request.extensions[CONNECTED]()
        response = await route.transport.handle_async_request(request)
        response.request = request
        status = response.status_code
        if not route.is_direct and status == httpx.codes.PROXY_AUTHENTICATION_REQUIRED:
            await response.aclose()
            raise ProxyAuthError("407")  # it is not the service's
        return response

    async def _exchange(self, request: httpx.Request) -> HttpResponse:
        response = await self._begin(request)
        try:
            body = await translate_errors(_body(response), in_body=True)
        finally:
            await response.aclose()
        return HttpResponse(response.status_code, response.headers, body)

    async def aclose(self) -> None:
        """Close the connections; a second close does nothing."""
        await self._connections.aclose()


class _Blocks(httpx.AsyncByteStream):
    """The body of an upload."""

    def __init__(self, blocks: AsyncIterator[bytes]) -> None:
        self._blocks = blocks

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._blocks


class StreamedResponse:
    """A response whose body has not been read yet."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.url = str(response.url)
        # A mock transport may return a body that is already read, and unpacked.
        self.is_read = response.is_stream_consumed
        length = response.headers.get("Content-Length", "")
        self.size_bytes = int(length) if length.isdecimal() else None

    def header(self, name: str) -> str | None:
        """Return a header's value; None if it is absent."""
        value: str | None = self._response.headers.get(name)
        return value

    async def iter_raw(self) -> AsyncGenerator[bytes, None]:
        """Yield the body as it was sent, in pieces."""
        read_bytes = 0
        raw = self._response.aiter_bytes if self.is_read else self._response.aiter_raw
        pieces = raw()
        while piece := await translate_errors(anext(pieces, b""), in_body=True):
            read_bytes += len(piece)
            yield piece
        if self.size_bytes is not None and read_bytes < self.size_bytes:
            raise NoAnswerError("the connection ended early", sent=True)


async def _body(response: httpx.Response) -> bytes:
    """Read a body up to a limit, because a small one may unpack to gigabytes."""
    pieces: AsyncIterable[bytes] = response.aiter_bytes()
    stream = response.stream
    # A user's transport may have read the body, and unpacked it.
    is_as_sent = not response.is_stream_consumed
    is_as_sent &= "Content-Encoding" not in response.headers
    if is_as_sent and isinstance(stream, httpx.AsyncByteStream):
        pieces = stream  # a fifth of the processor time
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > LARGEST_ANSWER_BYTES:
            raise NoAnswerError(TOO_LARGE, sent=True, is_final=True)
    return bytes(body)


@lru_cache(maxsize=1024)  # a job is read many times, and httpx parses slowly
def _address(url: str) -> httpx.URL:
    """Parse a URL; %2F in a signed URL stays encoded."""
    with suppress(httpx.InvalidURL):
        address = httpx.URL(url)
        is_port = address.port is None or 0 < address.port <= LAST_PORT
        if address.scheme in DEFAULT_PORTS and address.host and is_port:
            return address
    raise NoAnswerError(INVALID_URL, sent=False, is_final=True)


def _redirect_url(response: httpx.Response) -> str:
    """Return the URL to which a response redirects."""
    try:
        url = response.url.join(response.headers["Location"])
    except httpx.InvalidURL:
        url = httpx.URL()
    if url.scheme not in DEFAULT_PORTS:
        reason = "a redirect led away from http(s)"
    elif (response.url.scheme, url.scheme) == ("https", "http"):
        reason = "a redirect led from https to http"
    else:
        return str(url)
    raise NoAnswerError(reason, sent=True, is_final=True)


async def _raise_for_tunnel_auth(event: str, info: Mapping[str, Any]) -> None:
    """Raise if a proxy refuses a tunnel: a callback of httpcore's `trace`."""
    if event == "http11.receive_response_headers.complete":
        _, status, *_ = info["return_value"]
        if status == httpx.codes.PROXY_AUTHENTICATION_REQUIRED:
            raise ProxyAuthError("407")


# -- connections ----------------------------------------------------------------------


class _Way(NamedTuple):
    """The properties that determine which transport carries a request."""

    scheme: str
    proxy: ProxySetting | None
    is_download: bool


class _Route(NamedTuple):
    """A transport, and whether it is known to use no proxy."""

    transport: httpx.AsyncBaseTransport
    is_direct: bool


def _route(way: _Way) -> _Route:
    limits = httpx.Limits(
        max_connections=MAX_CONNECTIONS, keepalive_expiry=KEEP_ALIVE_S
    )
    # Where nothing is encrypted, certificates do not matter.
    is_secure = needs_certificates(f"{way.scheme}:", way.proxy)
    verify = checked_ssl_context() if is_secure else False
    if way.proxy is None and not way.is_download:
        return _Route(AiohttpTransport(verify=verify, limits=limits), is_direct=True)
    transport = httpx.AsyncHTTPTransport(
        verify=verify,
        trust_env=False,
        limits=limits,
        proxy=way.proxy.checked_url() if way.proxy else None,
    )
    return _Route(transport, is_direct=way.proxy is None)


class _Connections:
    """The transports of one `HttpClient`, created on first use."""

    def __init__(self, transport: httpx.AsyncBaseTransport | None) -> None:
        self._transport = transport
        self._routes: dict[_Way | None, _Route] = {}
        self._proxies: Proxies | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = os.getpid()

    def route_for(self, url: httpx.URL, *, is_download: bool) -> _Route:
        """Return the transport for a URL."""
        if self._pid != os.getpid():
            raise ClosedError(FORKED)
        self._loop = asyncio.get_running_loop()
        if self._transport is not None:
            route = _Route(self._transport, is_direct=False)
            return self._routes.setdefault(None, route)
        if self._proxies is None:
            self._proxies = Proxies.read()
        way = _Way(url.scheme, self._proxies.proxy_for(str(url)), is_download)
        if way not in self._routes:
            self._routes[way] = _route(way)
        return self._routes[way]

    async def aclose(self) -> None:
        """Close all connections; a second call does nothing."""
        while self._routes:
            _, route = self._routes.popitem()
            await route.transport.aclose()

    def close_later(self) -> None:
        """Close connections that were left open; called by the garbage collector."""
        loop = self._loop if self._pid == os.getpid() else None
        if self._routes and loop is not None and not loop.is_closed():
            asyncio.run_coroutine_threadsafe(self.aclose(), loop)


# -- the service ----------------------------------------------------------------------


class ServiceClient:
    """Sends requests to one service, with its key."""

    def __init__(
        self,
        service: Service,
        *,
        clock: Clock,
        timeout_s: float = TIMEOUT_S,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.service = service
        self._clock = clock
        # Set once as a client header: tracebacks may show local variables.
        key = {"X-API-Key": service.api_key}
        self._http = HttpClient(transport, timeout_s, headers=key)
        self.closed = False

    async def exchange(
        self,
        method: str,
        path: str,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        connected: Callable[[], None] = lambda: None,
    ) -> HttpResponse:
        """Send a request once; `connected` is called before its first byte."""
        if self.closed:
            raise closed()
        all_headers = dict(headers or {})
        if content is not None:
            all_headers["Content-Type"] = "application/json"
        query = f"?{urlencode(params)}" if params else ""
        url = f"{self.service.base_url}{path}{query}"
        answer = await self._http.send(
            method, url, headers=all_headers, content=content, connected=connected
        )
        log.debug("%s %s -> %s", method, path, answer.status)
        return without_key(answer, self.service.api_key)

    async def read(
        self,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        retry_for_s: float = READ_RETRY_FOR_S,
        is_foreign: Callable[[HttpResponse], bool] | None = None,
    ) -> HttpResponse:
        """GET a path; retry without a response, or while it `is_foreign`.

        Honours `Retry-After` for up to two minutes in total. If the service asks for
        longer, or keeps rejecting the request, its last response is returned.
        """

        def is_temporary(answer: HttpResponse) -> bool:
            is_other = is_foreign is not None and is_foreign(answer)
            return is_not_now(answer) or is_other

        once = partial(self.exchange, "GET", path, params=params)
        return await self.until_answered(once, for_s=retry_for_s, again=is_temporary)

    async def until_answered(
        self,
        once: Callable[[], Awaitable[HttpResponse]],
        *,
        for_s: float,
        again: Callable[[HttpResponse], bool] = lambda _: False,
    ) -> HttpResponse:
        """Repeat a harmless request until `again` is false for its response.

        If that never happens, the last response is returned.
        """
        window = RetryWindow(self._clock, for_s)
        while True:
            answer = None
            try:
                answer = await once()
                if not again(answer):
                    return answer
                asked_s = retry_after_s(answer)
                reason = f"HTTP {answer.status}"
                failure = NoAnswerError(reason, sent=True, retry_after_s=asked_s)
            except NoAnswerError as error:
                failure = error
            pause_s = window.pause_s(failure)
            if pause_s is None:
                if answer is not None:
                    return answer
                raise self.silence(failure) from failure
            await self._clock.sleep(pause_s)

    def silence(self, error: NoAnswerError) -> ServiceError:
        """Return the error for a service that does not respond."""
        return ServiceError(
            f"The service at {self.service.base_url} does not answer "
            f"({error.reason}). Check the base URL and the network, then try again.",
            in_doubt=error.sent,
        )

    async def aclose(self) -> None:
        """Close the connections, for good; a second close does nothing."""
        self.closed = True
        await self._http.aclose()
