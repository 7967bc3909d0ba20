"""Sends requests with httpx: calls, uploads and downloads; on the I/O thread."""

from __future__ import annotations

import asyncio
import logging
import random
import zlib
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
)
from contextlib import asynccontextmanager
from typing import TypeVar
from weakref import finalize

import httpx

from mediakit.client.answers import Answer, NoAnswerError, retry_after_s, without_key
from mediakit.client.loop import close_at_end, closed
from mediakit.client.service import Service
from mediakit.client.transport import ClientPool, translate_errors
from mediakit.clock import Clock
from mediakit.errors import MediakitError, ServiceError

TIMEOUT_S = 30.0
TOTAL_TIMEOUT_S = 30.0
MAX_REDIRECTS = 5
USER_AGENT = "mediakit"
BLOCK_BYTES = 1 << 20
# The largest answer with a meaning is a month of spend: a few MB.
LARGEST_ANSWER_BYTES = 16 << 20
PACKED = ("gzip", "deflate")
GZIP_OR_ZLIB_WBITS = zlib.MAX_WBITS | 32

FIRST_BACKOFF_S = 0.3
LONGEST_BACKOFF_S = 8.0
RETRY_AFTER_FOR_S = 120.0
READ_RETRY_FOR_S = 10.0
# A gateway error or a rate limit: the read may succeed shortly.
NOT_NOW = frozenset({408, 429, 502, 503, 504})

CUT_OFF = "its answer was cut off"
TOO_LARGE = f"its answer is larger than {LARGEST_ANSWER_BYTES >> 20} MiB"
UNPACKABLE = "its answer cannot be unpacked"

T = TypeVar("T")

log = logging.getLogger("mediakit.client")


class StreamedResponse:
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
        """Return a header's value; None if it is absent."""
        value: str | None = self._response.headers.get(name)
        return value

    async def iter_raw(self) -> AsyncGenerator[bytes, None]:
        """Yield the body as it was sent, in pieces.

        Raises:
            NoAnswerError: The connection broke, or ended early.
        """
        read_bytes = 0
        # A mock transport may return a body that is already read.
        is_read = self._response.is_stream_consumed
        raw = self._response.aiter_bytes() if is_read else self._response.aiter_raw()
        while True:
            piece = await translate_errors(anext(raw, b""), in_body=True)
            if not piece:
                break
            read_bytes += len(piece)
            yield piece
        if self.size_bytes is not None and read_bytes < self.size_bytes:
            raise NoAnswerError("the connection ended early", sent=True)


class HttpClient:
    """Sends requests.

    Requests to this machine do not use the environment's proxies.

    Args:
        transport: Sends all requests instead of the defaults, which are aiohttp for
            calls and uploads, and httpx's own transport for downloads and proxies. The
            environment's proxies are not used with it.
        timeout_s: Seconds to wait for the next bytes before giving up.
        headers: Headers of every request, such as a key; they reach no proxy that
            opens a tunnel.
        total_timeout_s: Seconds that one complete call may take.
    """

    def __init__(
        self,
        transport: httpx.AsyncBaseTransport | None = None,
        timeout_s: float = TIMEOUT_S,
        *,
        headers: Mapping[str, str] | None = None,
        total_timeout_s: float = TOTAL_TIMEOUT_S,
    ) -> None:
        self._headers = {
            "Accept": "*/*",
            "Accept-Encoding": "gzip",
            "User-Agent": USER_AGENT,
            **(headers or {}),
        }
        self._extensions = {"timeout": httpx.Timeout(timeout_s).as_dict()}
        self._timeout_s = timeout_s
        self._whole_answer_within_s = max(timeout_s, total_timeout_s)
        self._pool = ClientPool(transport, timeout_s, self._headers)
        close_at_end(self)
        finalize(self, self._pool.schedule_close).atexit = False

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        content: bytes | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one request and read the whole response; redirects are not followed.

        Raises:
            NoAnswerError: No complete response arrived.
            ServiceError: The environment names a proxy that cannot be used.
        """

        async def exchange() -> Answer:
            async with asyncio.timeout(self._whole_answer_within_s):
                http = self._pool.client_for(url)
                # Equivalent to http.build_request(), in half the time.
                request = httpx.Request(
                    method,
                    url,
                    params=params,
                    headers={**self._headers, **headers},
                    content=content,
                    extensions=self._extensions,
                )
                return await _answer(await http.send(request, stream=True))

        return await translate_errors(exchange())

    async def put(
        self, url: str, *, headers: Mapping[str, str], blocks: AsyncIterable[bytes]
    ) -> Answer:
        """PUT a body that is read while it is sent; does not follow redirects.

        Raises:
            NoAnswerError: No response arrived.
            ServiceError: The environment names a proxy that cannot be used.
        """
        loop, body_error = asyncio.get_running_loop(), None

        async def blocks_with_timeout() -> AsyncIterator[bytes]:
            nonlocal body_error
            try:
                async for block in blocks:
                    yield block
                    idle_timeout.reschedule(loop.time() + self._timeout_s)
            except MediakitError as error:
                body_error = error  # the transport would wrap it in its own error
                raise

        async def exchange() -> Answer:
            http = self._pool.client_for(url)
            request = http.build_request(
                "PUT", url, headers=headers, content=blocks_with_timeout()
            )
            return await _answer(await http.send(request, stream=True))

        try:
            async with asyncio.timeout(self._timeout_s) as idle_timeout:
                return await translate_errors(exchange())
        except TimeoutError:
            raise NoAnswerError("no answer in time", sent=True) from None
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

        Raises:
            NoAnswerError: No response arrived, or a redirect cannot be followed.
            ServiceError: The environment names a proxy that cannot be used.
        """

        async def exchange() -> httpx.Response:
            async with asyncio.timeout(2 * self._timeout_s):
                # aiohttp drops the received bytes when a connection breaks.
                http = self._pool.client_for(url, httpx.AsyncClient)
                request = http.build_request("GET", url, headers=headers)
                response = await http.send(request, stream=True)
                for _ in range(MAX_REDIRECTS):
                    if response.next_request is None:
                        break
                    await response.aclose()
                    request = _checked_redirect(response.next_request, request)
                    http = self._pool.client_for(str(request.url), httpx.AsyncClient)
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
        await self._pool.aclose()


async def _answer(response: httpx.Response) -> Answer:
    """Read a whole response, and close it.

    Raises:
        NoAnswerError: It is not complete, too large, or cannot be unpacked.
    """
    try:
        body = await translate_errors(_body(response), in_body=True)
    finally:
        await response.aclose()
    return Answer(response.status_code, response.headers, body)


async def _body(response: httpx.Response) -> bytes:
    """Unpack a body piece by piece: a small one may unpack to gigabytes."""
    # A mock transport may return a body that is already read.
    if response.is_stream_consumed:
        return _within_limit(response.content)
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("", "identity", *PACKED):
        raise NoAnswerError(UNPACKABLE, sent=True, is_final=True)
    unpack = zlib.decompressobj(GZIP_OR_ZLIB_WBITS) if encoding in PACKED else None
    body, read_bytes = bytearray(), 0
    async for piece in response.aiter_raw():
        read_bytes += len(piece)
        if unpack is not None:
            try:
                piece = unpack.decompress(piece, LARGEST_ANSWER_BYTES + 1 - len(body))
            except zlib.error:
                raise NoAnswerError(UNPACKABLE, sent=True) from None
        body += piece
        if max(len(body), read_bytes) > LARGEST_ANSWER_BYTES:
            raise NoAnswerError(TOO_LARGE, sent=True, is_final=True)
    if unpack is not None and read_bytes and not unpack.eof:
        raise NoAnswerError(CUT_OFF, sent=True)
    return bytes(body)


def _within_limit(body: bytes) -> bytes:
    if len(body) > LARGEST_ANSWER_BYTES:
        raise NoAnswerError(TOO_LARGE, sent=True, is_final=True)
    return body


def _checked_redirect(request: httpx.Request, before: httpx.Request) -> httpx.Request:
    """Return the request to follow a redirect.

    Raises:
        NoAnswerError: It must not be followed.
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


# -- trying again ---------------------------------------------------------------------


def jittered_backoff_s(tries: int) -> float:
    """Return a random pause, at most 0.3 s after one try, doubling up to 8 s."""
    longest_s = FIRST_BACKOFF_S * 2.0 ** min(tries - 1, 10)
    return random.uniform(0.0, min(LONGEST_BACKOFF_S, longest_s))


class Silence:
    """The time in which a request has no response, and the pauses between its tries.

    The waits that the service requests are added, up to two minutes in all.

    Args:
        clock: Gives time.
        for_s: Seconds to try.
    """

    def __init__(self, clock: Clock, for_s: float) -> None:
        self._clock = clock
        self._for_s = for_s
        self._started_s = clock.monotonic_s()
        self._asked_s = 0.0
        self._tries_n = 1

    def pause_s(self, error: NoAnswerError) -> float | None:
        """Return the seconds to wait before the next try; None to stop."""
        asked_s = error.retry_after_s or 0.0
        self._asked_s += asked_s
        until_s = self._started_s + self._for_s + self._asked_s
        is_late = self._clock.monotonic_s() >= until_s
        if error.is_final or is_late or self._asked_s > RETRY_AFTER_FOR_S:
            return None
        pause_s = max(jittered_backoff_s(self._tries_n), asked_s)
        self._tries_n += 1
        return pause_s

    @property
    def text(self) -> str:
        """Say how often and how long it was tried."""
        for_s = self._clock.monotonic_s() - self._started_s
        if self._tries_n == 1:
            return "tried once"
        return f"tried {self._tries_n} times in {for_s:.0f} s"


# -- the service ----------------------------------------------------------------------


class _NotNowError(NoAnswerError):
    """The service, or a gateway before it, rejects a read temporarily."""

    def __init__(self, answer: Answer) -> None:
        asked_s = retry_after_s(answer)
        super().__init__(f"HTTP {answer.status}", sent=True, retry_after_s=asked_s)
        self.answer = answer


class ServiceClient:
    """Requests to one service, with its key.

    Args:
        service: The service.
        clock: Gives the time between attempts.
        timeout_s: Seconds to wait for the next bytes before giving up.
        transport: Sends the requests; see `HttpClient`.
    """

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
    ) -> Answer:
        """Send one request, once.

        Raises:
            NoAnswerError: No response arrived.
            MediakitError: The client is closed.
        """
        if self.closed:
            raise closed()
        all_headers = dict(headers or {})
        if content is not None:
            all_headers["Content-Type"] = "application/json"
        answer = await self._http.send(
            method,
            self.service.base_url + path,
            headers=all_headers,
            content=content,
            params=params,
        )
        log.debug("%s %s -> %s", method, path, answer.status)
        return without_key(answer, self.service.api_key)

    async def read(
        self,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        retry_for_s: float = READ_RETRY_FOR_S,
        is_foreign: Callable[[Answer], bool] | None = None,
    ) -> Answer:
        """GET a path; retry while there is no response.

        Honors `Retry-After` for up to two minutes in all. If the service asks for
        longer, or keeps rejecting the read, returns its last response.

        Args:
            path: The path.
            params: The query.
            retry_for_s: Seconds to retry, beside the waits that the service requests.
            is_foreign: Returns whether a response is not the service's own; then the
                read is retried, too.

        Raises:
            ServiceError: No response arrived.
        """

        async def once() -> Answer:
            answer = await self.exchange("GET", path, params=params)
            if answer.status in NOT_NOW or (is_foreign and is_foreign(answer)):
                raise _NotNowError(answer)
            return answer

        try:
            return await self.retry_until_answered(once, for_s=retry_for_s)
        except _NotNowError as error:
            return error.answer
        except NoAnswerError as error:
            raise self.silence(error) from error

    async def retry_until_answered(
        self, once: Callable[[], Awaitable[T]], *, for_s: float
    ) -> T:
        """Retry a repeatable exchange until there is a response.

        Args:
            once: Sends it once.
            for_s: Seconds to retry in all; the waits that the service requests are
                added, up to two minutes.

        Raises:
            NoAnswerError: The last attempt had no response either.
        """
        silence = Silence(self._clock, for_s)
        while True:
            try:
                return await once()
            except NoAnswerError as error:
                pause_s = silence.pause_s(error)
                if pause_s is None:
                    raise
            await self._clock.sleep(pause_s)

    def silence(self, error: NoAnswerError) -> ServiceError:
        """Return the error that says that the service did not answer."""
        return ServiceError(
            f"The service at {self.service.base_url} does not answer "
            f"({error.reason}). Check the base URL and the network, then try again.",
            in_doubt=error.sent,
        )

    async def aclose(self) -> None:
        """Close the connections, for good; a second close does nothing."""
        self.closed = True
        await self._http.aclose()
