"""HTTP with the service: connections that are kept, on whichever event loop is running.

This is the only module that knows which library speaks HTTP to the service. aiohttp
was chosen by `benchmarks/client_overhead.py`; another one is another class with the
same two methods.
"""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from weakref import WeakSet, finalize

import aiohttp
import httpx
from yarl import URL

from mediakit.client.exchange import Answer, NoAnswerError
from mediakit.client.proxies import proxy_for
from mediakit.client.service import Service

TIMEOUT_S = 30.0
WHOLE_ANSWER_WITHIN_S = 60.0
MOST_N = 50
USER_AGENT = "mediakit"
# Servers close connections that were idle for 5 s and more. Whoever closes first never
# sends a request into a connection that the other end is closing.
KEPT_FOR_S = 4.0

# aiohttp raises these before the first byte of a request leaves, and only then.
NEVER_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
    aiohttp.NonHttpUrlClientError,
    aiohttp.InvalidURL,
)
REASONS: tuple[tuple[type[Exception], str], ...] = (
    (aiohttp.ClientConnectorDNSError, "no such host"),
    (aiohttp.ClientConnectorCertificateError, "its certificate is not trusted"),
    (aiohttp.ClientSSLError, "no connection by TLS"),
    (aiohttp.ClientProxyConnectionError, "no connection to the proxy"),
    (aiohttp.ClientHttpProxyError, "the proxy refused"),
    (aiohttp.ClientConnectorError, "no connection"),
    (aiohttp.ConnectionTimeoutError, "no connection in time"),
    (aiohttp.NonHttpUrlClientError, "its address is not an http(s) URL"),
    (aiohttp.InvalidURL, "its address is not a URL"),
    (aiohttp.ServerDisconnectedError, "it closed the connection"),
    (aiohttp.ClientPayloadError, "its answer was cut off"),
    (aiohttp.ClientResponseError, "its answer is not HTTP"),
    (TimeoutError, "no answer in time"),
    (aiohttp.ClientConnectionError, "the connection broke"),
    (OSError, "the connection broke"),
)


@dataclass(frozen=True)
class _Open:
    """The session of one event loop, its way out, and what closes it with its loop."""

    http: aiohttp.ClientSession
    keeper: AsyncGenerator[None, None]
    proxy: URL | None
    for_proxy: Mapping[str, str]
    for_tunnel: Mapping[str, str]


class Connections:
    """Sends requests to one service, with its key.

    Args:
        service: The service.
        timeout_s: Seconds of silence that count as no answer.
        whole_answer_within_s: Seconds until an answer that trickles counts as none.
    """

    def __init__(
        self,
        service: Service,
        timeout_s: float = TIMEOUT_S,
        *,
        whole_answer_within_s: float = WHOLE_ANSWER_WITHIN_S,
    ) -> None:
        self._service = service
        # Not the session's headers: aiohttp shows those to a proxy that opens a tunnel.
        self._key = {"X-API-Key": service.api_key}
        self._is_encrypted = service.base_url.startswith("https:")
        self._timeout = aiohttp.ClientTimeout(
            total=max(timeout_s, whole_answer_within_s),
            connect=timeout_s,
            sock_read=timeout_s,
        )
        self._open: dict[asyncio.AbstractEventLoop, _Open] = {}
        # It holds what is open: were that found in one heap of rubbish with all else,
        # a session could be thrown away before what closes it.
        finalize(self, _let_go, self._open).atexit = False
        _living.add(self)

    async def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        content: bytes | None,
        params: Mapping[str, str] | None,
    ) -> Answer:
        """Send one request and read the whole answer.

        A POST is sent once. A GET is sent again, once, when the connection that was
        kept for it turns out to be closed.

        Raises:
            NoAnswerError: No whole answer came.
        """
        opened = await self._of_this_loop()
        try:
            async with opened.http.request(
                method,
                self._service.base_url + path,
                params=params,
                headers={**self._key, **headers, **opened.for_proxy},
                data=content,
                allow_redirects=False,
                proxy=opened.proxy,
                proxy_headers=opened.for_tunnel,
            ) as response:
                body = await response.read()
                return Answer(response.status, response.headers, body)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            no_answer = _no_answer(error)
        # Outside of the handler: errors of aiohttp hold the request with its headers,
        # and so the API key; none of them may hang on to what people see or log.
        raise no_answer

    async def _of_this_loop(self) -> _Open:
        # A connection belongs to the loop that opened it; a second asyncio.run()
        # brings another loop, on which the first one's connections are dead.
        loop = asyncio.get_running_loop()
        opened = self._open.get(loop)
        if opened is None:
            self._forget_closed_loops()
            opened = self._open[loop] = self._new()
            await anext(opened.keeper)
        return opened

    def _new(self) -> _Open:
        proxy = proxy_for(self._service.base_url)
        headers = proxy.headers if proxy else {}
        http = self._session()
        return _Open(
            http,
            _kept(http),
            URL.build(scheme="http", host=proxy.host, port=proxy.port)
            if proxy
            else None,
            for_proxy={} if self._is_encrypted else headers,
            for_tunnel=headers if self._is_encrypted else {},
        )

    def _session(self) -> aiohttp.ClientSession:
        # The certificates that the rest of the client trusts.
        trusted = httpx.create_ssl_context() if self._is_encrypted else True
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=MOST_N, keepalive_timeout=KEPT_FOR_S, ssl=trusted
            ),
            headers={"User-Agent": USER_AGENT},
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=self._timeout,
        )

    def _forget_closed_loops(self) -> None:
        for loop in [each for each in self._open if each.is_closed()]:
            _close_late(self._open.pop(loop).http)

    async def aclose(self) -> None:
        """Close the connections of the running loop, and have others close theirs."""
        opened = self._open.pop(asyncio.get_running_loop(), None)
        _let_go(self._open)
        if opened is not None:
            await opened.keeper.aclose()

    def leave_quietly(self) -> None:
        """Let the process end although loops are left that never ended.

        A notebook's kernel ends so; aiohttp would write an error for each connection.
        """
        self._forget_closed_loops()
        for loop in self._open:
            loop.set_exception_handler(_say_nothing)


async def _kept(http: aiohttp.ClientSession) -> AsyncGenerator[None, None]:
    """Close a session when its loop ends: loops close their generators then."""
    try:
        yield
    finally:
        await http.close()


def _let_go(open_: dict[asyncio.AbstractEventLoop, _Open]) -> None:
    """Close all sessions, from wherever this is called."""
    for loop in tuple(open_):
        opened = open_.pop(loop)
        if loop.is_closed():
            _close_late(opened.http)
        else:
            # A loop that stands still closes it when it ends, or runs again.
            with suppress(RuntimeError):  # it was closed just now
                loop.call_soon_threadsafe(_close_soon, opened.keeper)


def _close_late(http: aiohttp.ClientSession) -> None:
    """Close a session whose loop was closed before: there is nothing to wait for."""
    with suppress(StopIteration):
        http.close().send(None)


def _close_soon(keeper: AsyncGenerator[None, None]) -> None:
    task = asyncio.get_running_loop().create_task(_close(keeper))
    _closing.add(task)
    task.add_done_callback(_closing.discard)


async def _close(keeper: AsyncGenerator[None, None]) -> None:
    await keeper.aclose()


def _no_answer(error: Exception) -> NoAnswerError:
    known = (words for kind, words in REASONS if isinstance(error, kind))
    return NoAnswerError(
        next(known, "it cannot be asked"), sent=not isinstance(error, NEVER_SENT)
    )


def _say_nothing(_: asyncio.AbstractEventLoop, __: dict[str, object]) -> None:
    pass


_closing: set[asyncio.Task[None]] = set()  # a loop holds its tasks only weakly
_living: WeakSet[Connections] = WeakSet()


@atexit.register
def _leave_quietly() -> None:
    for connections in tuple(_living):
        connections.leave_quietly()
