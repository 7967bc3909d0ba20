"""Sends requests to the service, once or with retries where that is safe."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import httpx

from mediakit.client.http.exchange import Answer, NoAnswerError
from mediakit.client.http.http_client import TIMEOUT_S, HttpClient
from mediakit.client.http.redaction import without_key
from mediakit.client.http.response_parsing import retry_after_s
from mediakit.client.http.retry import retry, stop_after_s
from mediakit.client.loop import closed
from mediakit.client.service import Service
from mediakit.clock import Clock
from mediakit.errors import ServiceError

log = logging.getLogger("mediakit.client")

T = TypeVar("T")

READ_RETRY_FOR_S = 10.0
# A gateway error or a rate limit: the read may succeed shortly.
NOT_NOW = frozenset({408, 429, 502, 503, 504})


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
        return await retry(
            once, clock=self._clock, stop=stop_after_s(for_s, self._clock)
        )

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
