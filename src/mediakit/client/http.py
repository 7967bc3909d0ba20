"""HTTP requests on the I/O thread: calls, uploads and downloads."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
)
from contextlib import asynccontextmanager
from functools import cache, partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, urlencode
from weakref import finalize

import aiohttp
import httpx
from yarl import URL

from mediakit.client.answers import (
    HttpResponse,
    NoAnswerError,
    retry_after_s,
    without_key,
)
from mediakit.client.io_thread import FORKED, ClosedError, close_at_end, closed
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
from mediakit.web_urls import parts_of

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
HEADERS = {"Accept": "*/*", "Accept-Encoding": "gzip", "User-Agent": "mediakit"}
# Statuses of temporary errors and rate limits, after which a harmless request is
# repeated.
NOT_NOW = frozenset({408, 425, 429, 500, 502, 503, 504})


def is_not_now(answer: HttpResponse) -> bool:
    """Return whether a harmless request may succeed if it is soon repeated."""
    return answer.status in NOT_NOW


TOO_LARGE = f"its answer is larger than {LARGEST_ANSWER_BYTES >> 20} MiB"

Content = bytes | AsyncIterable[bytes] | None

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
        self._whole_answer_within_s = max(timeout_s, TOTAL_TIMEOUT_S)
        all_headers = {**HEADERS, **(headers or {})}
        self._connections = _Connections(transport, timeout_s, all_headers)
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

        async def exchange() -> HttpResponse:
            async with asyncio.timeout(self._whole_answer_within_s):
                return await self._exchange(
                    method, url, headers, content, connected=connected
                )

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

        The response may take `answer_within_s` after the last byte, if that is longer
        than the usual timeout.
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

        sending = self._exchange("PUT", url, headers, blocks_with_timeout(), within_s)
        try:
            async with asyncio.timeout(self._timeout_s) as idle_timeout:
                return await translate_errors(sending)
        except TimeoutError:
            raise NoAnswerError("no answer in time", sent=True) from None
        except NoAnswerError:
            if body_error is not None:
                raise body_error from None
            raise

    async def _exchange(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        content: Content,
        read_timeout_s: float | None = None,
        connected: Callable[[], None] = lambda: None,
    ) -> HttpResponse:
        read_timeout_s = read_timeout_s or self._timeout_s
        address = _address(url)
        session = self._connections.session_for(address)
        if session is not None:
            async with session.request(
                method,
                address,
                headers=headers,
                data=content,
                allow_redirects=False,
                # Where nothing is encrypted, certificates do not matter.
                ssl=checked_ssl_context() if address.scheme == "https" else True,
                timeout=_aiohttp_timeout(self._timeout_s, read_timeout_s),
                trace_request_ctx=connected,
            ) as answer:
                body = _body(answer.content.iter_any())
                body_bytes = await translate_errors(body, in_body=True)
                return HttpResponse(answer.status, answer.headers, body_bytes)
        connected()  # a proxy may forward the request at any time from now on
        http = self._connections.httpx_for(address)
        request = http.build_request(
            method,
            url,
            headers=headers,
            content=content,
            timeout=httpx.Timeout(self._timeout_s, read=read_timeout_s),
            extensions=TRACE,
        )
        response = await http.send(request, stream=True)
        try:
            body = _body(response.aiter_bytes())
            body_bytes = await translate_errors(body, in_body=True)
        finally:
            await response.aclose()
        return HttpResponse(response.status_code, response.headers, body_bytes)

    @asynccontextmanager
    async def get(
        self, url: str, *, headers: Mapping[str, str]
    ) -> AsyncIterator[StreamedResponse]:
        """GET a URL and yield the response before its body is read.

        Follows up to five redirects, never from https to http.
        """

        async def exchange() -> httpx.Response:
            async with asyncio.timeout(2 * self._timeout_s):
                http = self._connections.httpx_for(_address(url))
                request = http.build_request(
                    "GET", url, headers=headers, extensions=TRACE
                )
                response = await http.send(request, stream=True)
                for _ in range(MAX_REDIRECTS):
                    if response.next_request is None:
                        break
                    await response.aclose()
                    request = _checked_redirect(response.next_request, request)
                    http = self._connections.httpx_for(_address(str(request.url)))
                    response = await http.send(request, stream=True)
                return response

        response = await translate_errors(exchange())
        try:
            if response.next_request is not None:
                reason = f"more than {MAX_REDIRECTS} redirects"
                raise NoAnswerError(reason, sent=True, is_final=True)
            yield StreamedResponse(response)
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Close the connections; a second close does nothing."""
        await self._connections.aclose()


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


async def _body(pieces: AsyncIterator[bytes]) -> bytes:
    """Read a body up to a limit, because a small one may unpack to gigabytes."""
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > LARGEST_ANSWER_BYTES:
            raise NoAnswerError(TOO_LARGE, sent=True, is_final=True)
    return bytes(body)


def _checked_redirect(request: httpx.Request, before: httpx.Request) -> httpx.Request:
    """Return the request that follows a redirect."""
    was, becomes = before.url.scheme, request.url.scheme
    if becomes not in ("http", "https"):
        reason = "a redirect led away from http(s)"
    elif (was, becomes) == ("https", "http"):
        reason = "a redirect led from https to http"
    else:
        return request
    raise NoAnswerError(reason, sent=True, is_final=True)


# -- connections ----------------------------------------------------------------------


class _Connections:
    """The open connections of one `HttpClient`, created on first use."""

    def __init__(
        self,
        transport: httpx.AsyncBaseTransport | None,
        timeout_s: float,
        headers: Mapping[str, str],
    ) -> None:
        self._transport = transport
        self._timeout_s = timeout_s
        self._headers = headers
        self._session: aiohttp.ClientSession | None = None
        # By proxy, and by whether certificates are checked.
        self._clients: dict[tuple[ProxySetting | None, bool], httpx.AsyncClient] = {}
        self._proxies: Proxies | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = os.getpid()

    def session_for(self, url: URL) -> aiohttp.ClientSession | None:
        """Return the aiohttp session for a URL; None if httpx must be used."""
        if self._transport is not None or self._proxy_for(url) is not None:
            return None
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=MAX_CONNECTIONS,
                    keepalive_timeout=KEEP_ALIVE_S,
                ),
                headers=self._headers,
                cookie_jar=aiohttp.DummyCookieJar(),
                trace_configs=[_connection_tracing()],
                timeout=_aiohttp_timeout(self._timeout_s, self._timeout_s),
            )
        return self._session

    def httpx_for(self, url: URL) -> httpx.AsyncClient:
        """Return the httpx client for a URL."""
        proxy = self._proxy_for(url)
        is_secure = needs_certificates(str(url), proxy)
        if (proxy, is_secure) not in self._clients:
            self._clients[proxy, is_secure] = self._make_httpx(
                proxy, is_secure=is_secure
            )
        return self._clients[proxy, is_secure]

    def _proxy_for(self, url: URL) -> ProxySetting | None:
        if self._pid != os.getpid():
            raise ClosedError(FORKED)
        self._loop = asyncio.get_running_loop()
        if self._transport is not None:
            return None
        if self._proxies is None:
            self._proxies = Proxies.read()
        return self._proxies.proxy_for(str(url))

    def _make_httpx(
        self, proxy: ProxySetting | None, *, is_secure: bool
    ) -> httpx.AsyncClient:
        proxied = self._transport is not None or proxy is not None
        checks = is_secure and self._transport is None
        return httpx.AsyncClient(
            transport=self._transport,
            proxy=proxy.checked_url() if proxy else None,
            trust_env=False,
            verify=checked_ssl_context() if checks else False,
            timeout=self._timeout_s,
            limits=httpx.Limits(
                max_connections=MAX_CONNECTIONS, keepalive_expiry=KEEP_ALIVE_S
            ),
            headers=self._headers,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            event_hooks={"response": [_raise_for_proxy_auth] if proxied else []},
        )

    async def aclose(self) -> None:
        """Close all connections; a second call does nothing."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()
        while self._clients:
            _, http = self._clients.popitem()
            await http.aclose()

    def close_later(self) -> None:
        """Close connections that were left open; called by the garbage collector."""
        loop = self._loop if self._pid == os.getpid() else None
        is_open = self._session is not None or self._clients
        if is_open and loop is not None and not loop.is_closed():
            asyncio.run_coroutine_threadsafe(self.aclose(), loop)


@cache
def _aiohttp_timeout(timeout_s: float, read_timeout_s: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(
        total=None, connect=timeout_s, sock_connect=timeout_s, sock_read=read_timeout_s
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


async def _raise_for_proxy_auth(response: httpx.Response) -> None:
    """Raise if a proxy rejects the password: its 407 is not the service's."""
    if response.status_code == httpx.codes.PROXY_AUTHENTICATION_REQUIRED:
        await response.aclose()
        raise ProxyAuthError("407", request=response.request)


async def _raise_for_tunnel_auth(event: str, info: Mapping[str, Any]) -> None:
    """Raise if a proxy refuses a tunnel: a callback of httpcore's `trace`."""
    if event == "http11.receive_response_headers.complete":
        _, status, *_ = info["return_value"]
        if status == httpx.codes.PROXY_AUTHENTICATION_REQUIRED:
            raise ProxyAuthError("407")


TRACE: Mapping[str, Any] = {"trace": _raise_for_tunnel_auth}


def _address(url: str) -> URL:
    """Return a URL exactly as written: %2F in a signed URL must stay encoded."""
    if not url.isascii():  # a request line allows no other characters
        parts = parts_of(url)
        path, query = map(_in_ascii, (parts.path, parts.query))
        url = parts._replace(path=path, query=query).geturl()
    try:
        address = URL(url, encoded=True)
        if address.scheme in ("http", "https") and address.host and address.port:
            return address
    except ValueError:
        pass
    raise NoAnswerError(INVALID_URL, sent=False, is_final=True)


def _in_ascii(part: str) -> str:
    return re.sub(r"[^\x00-\x7f]+", lambda match: quote(match[0]), part)


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
