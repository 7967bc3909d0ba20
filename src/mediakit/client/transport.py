"""One HTTP exchange: what was sent, what came back, and what silence means."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import tenacity

from mediakit.client.service import Service
from mediakit.clock import Clock
from mediakit.errors import ServiceError

log = logging.getLogger("mediakit.client")

TIMEOUT_S = 30.0
READ_RETRY_FOR_S = 10.0
FIRST_BACKOFF_S = 0.3
LONGEST_BACKOFF_S = 8.0
# httpx's pool slows down with the number of connections it looks through.
LIMITS = httpx.Limits(max_connections=10, max_keepalive_connections=10)

NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class NoAnswerError(Exception):
    """A request got no answer.

    Args:
        reason: Why, in words.
        sent: Whether the service may have received it.
    """

    def __init__(self, reason: str, *, sent: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.sent = sent


@dataclass(frozen=True)
class Answer:
    """What the service answered."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> Any:
        """Parse the body.

        Raises:
            ServiceError: It is not JSON.
        """
        try:
            return json.loads(self.content)
        except ValueError:
            raise ServiceError(
                f"The service answered {self.status} with something that is not JSON; "
                "is the base URL that of the service?",
                status=self.status,
            ) from None

    @property
    def fields(self) -> Mapping[str, Any]:
        """Return the body if it is a JSON object, else nothing."""
        try:
            body = json.loads(self.content)
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    @property
    def message(self) -> str:
        """Return the `message` of a request-level error, if there is one (spec 7.1)."""
        message = self.fields.get("message")
        return message if isinstance(message, str) else ""


class Transport:
    """Requests to one service, with its key, on whichever event loop is running.

    Args:
        service: The service.
        clock: Gives the time between tries.
        timeout_s: Seconds until silence counts as no answer.
    """

    def __init__(
        self, service: Service, *, clock: Clock, timeout_s: float = TIMEOUT_S
    ) -> None:
        self.service = service
        self._clock = clock
        self._timeout_s = timeout_s
        self._loop: asyncio.AbstractEventLoop | None = None
        self._http: httpx.AsyncClient | None = None

    def _client(self) -> httpx.AsyncClient:
        # A connection belongs to the loop that opened it; a second asyncio.run()
        # brings another loop, on which the first one's connections are dead.
        loop = asyncio.get_running_loop()
        if self._http is None or self._loop is not loop:
            self._loop = loop
            self._http = httpx.AsyncClient(
                base_url=self.service.base_url,
                headers={"X-API-Key": self.service.api_key},
                timeout=self._timeout_s,
                limits=LIMITS,
                follow_redirects=False,
                trust_env=not self.service.on_this_machine,
            )
        return self._http

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
            NoAnswerError: No answer came.
        """
        all_headers = dict(headers or {})
        if content is not None:
            all_headers["Content-Type"] = "application/json"
        try:
            response = await self._client().request(
                method, path, content=content, headers=all_headers, params=params
            )
        except (httpx.TransportError, httpx.InvalidURL) as error:
            sent = not isinstance(error, (*NEVER_SENT, httpx.InvalidURL))
            raise NoAnswerError(_reason(error), sent=sent) from error
        log.debug("%s %s -> %s", method, path, response.status_code)
        return Answer(response.status_code, response.headers, response.content)

    async def read(
        self,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        retry_for_s: float = READ_RETRY_FOR_S,
    ) -> Answer:
        """GET a path, again and again for a while when no answer comes.

        Raises:
            ServiceError: No answer came.
        """

        async def once() -> Answer:
            return await self.exchange("GET", path, params=params)

        try:
            return await self.again(once, for_s=retry_for_s)
        except NoAnswerError as error:
            raise self.silence(error) from error

    async def again(
        self, once: Callable[[], Awaitable[Answer]], *, for_s: float
    ) -> Answer:
        """Repeat an exchange that may be repeated until an answer comes.

        Args:
            once: Sends it once.
            for_s: Seconds of waiting between the tries in all.

        Raises:
            NoAnswerError: The last try had no answer either.
        """
        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception_type(NoAnswerError),
            wait=tenacity.wait_random_exponential(
                multiplier=FIRST_BACKOFF_S, max=LONGEST_BACKOFF_S
            ),
            stop=lambda state: state.idle_for >= for_s,
            sleep=self._clock.sleep,
            reraise=True,
        )

        async def attempt() -> Answer:
            return await once()

        return await retrying(attempt)

    def silence(self, error: NoAnswerError) -> ServiceError:
        """Say for people that the service did not answer."""
        return ServiceError(
            f"The service at {self.service.base_url} does not answer "
            f"({error.reason}). Check the base URL and the network, then try again."
        )

    @asynccontextmanager
    async def bare(self) -> AsyncIterator[httpx.AsyncClient]:
        """Give a client for files that never carries the API key."""
        async with httpx.AsyncClient(
            timeout=httpx.Timeout(self._timeout_s, pool=None),
            follow_redirects=False,
            trust_env=not self.service.on_this_machine,
        ) as http:
            yield http

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        if self._http is not None and self._loop is asyncio.get_running_loop():
            await self._http.aclose()
        self._http = None


def _reason(error: Exception) -> str:
    words = {
        httpx.ConnectError: "no connection",
        httpx.ConnectTimeout: "no connection in time",
        httpx.ReadTimeout: "no answer in time",
        httpx.UnsupportedProtocol: "its address is not an http(s) URL",
        httpx.InvalidURL: "its address is not a URL",
    }
    return words.get(type(error), type(error).__name__)
