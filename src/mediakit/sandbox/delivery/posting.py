"""An attempt of a delivery: posts an event, returns its outcome (spec 6.3, 6.5)."""

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import httpcore
import httpx

from mediakit.clock import Clock
from mediakit.forks import cached_property
from mediakit.sandbox.delivery.fetching import GuardedBackend
from mediakit.sandbox.delivery.outbound import (
    CONNECT_TIMEOUT_S,
    USER_AGENT,
    BlockedError,
    UnresolvedError,
    check_callback_addresses,
    parsed,
)

MS_PER_S = 1_000
MAX_ANSWER_BYTES = 64 * 1024
OWN_HEADERS = {"content-type": "application/json", "user-agent": USER_AGENT}

# The errors of httpcore, which have no common base.
_NETWORK_ERRORS = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
    OSError,
)


@dataclass(frozen=True)
class Outcome:
    """The outcome of one attempt: a reason says why it failed (spec 6.5)."""

    status_code: int | None = None
    reason: str | None = None
    retry_after: str | None = None
    duration_ms: int = 0


class Poster:
    """Posts events: no redirects, no proxies, a new connection each time."""

    def __init__(
        self, *, own_port: int, allow_loopback: bool, timeout_s: float, system: Clock
    ) -> None:
        self._own_port = own_port
        self._allow_loopback = allow_loopback
        self._timeout_s = timeout_s
        self._system = system

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> Outcome:
        """Post an event once."""
        started_s = self._system.monotonic_s()
        exchange, problem = _Exchange(), None
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._exchange(exchange, url, headers, body)
        except (BlockedError, *_NETWORK_ERRORS) as error:
            problem = error
        passed_ms = round((self._system.monotonic_s() - started_s) * MS_PER_S)
        if exchange.response is None:
            return Outcome(reason=exchange.reason(problem), duration_ms=passed_ms)
        return _outcome_of(exchange.response, passed_ms)

    async def _exchange(
        self, exchange: "_Exchange", url: str, headers: dict[str, str], body: bytes
    ) -> None:
        target = parsed(url)
        # The addresses are checked again when connecting, because the host may have
        # changed its addresses since the URL was accepted.
        backend = GuardedBackend(
            allow_loopback=self._allow_loopback,
            check=partial(check_callback_addresses, target, own_port=self._own_port),
        )
        waits = {"connect": min(CONNECT_TIMEOUT_S, self._timeout_s)}
        async with (
            httpcore.AsyncConnectionPool(
                network_backend=backend,
                ssl_context=self._certificates if target.scheme == "https" else None,
            ) as pool,
            pool.stream(
                "POST",
                str(target),
                headers=list((OWN_HEADERS | headers).items()),
                content=body,
                extensions={"timeout": waits, "trace": exchange.trace},
            ) as response,
        ):
            exchange.response = response
            await _drain(response)

    @cached_property
    def _certificates(self) -> ssl.SSLContext:
        # Loaded once: it can take longer than a delivery.
        return httpx.create_ssl_context()


class _Exchange:
    """The progress of one attempt."""

    def __init__(self) -> None:
        self.response: httpcore.Response | None = None
        self._shaking_hands = False

    async def trace(self, event: str, info: Mapping[str, object]) -> None:
        """Track the TLS handshake."""
        if event.startswith("connection.start_tls."):
            self._shaking_hands = not event.endswith(".complete")

    def reason(self, problem: Exception | None) -> str:
        """Return why there was no response, in the words of spec 6.5."""
        match problem:
            case UnresolvedError():
                return "connect"
            case BlockedError():
                return "blocked"
            case TimeoutError():
                return "timeout"
            case ssl.SSLError():
                return "tls"
        return "tls" if self._shaking_hands else "connect"


async def _drain(response: httpcore.Response) -> None:
    """Read and discard the receiver's response, up to a limit."""
    size_bytes = 0
    async for chunk in response.aiter_stream():
        size_bytes += len(chunk)
        if size_bytes >= MAX_ANSWER_BYTES:
            return


def _outcome_of(response: httpcore.Response, duration_ms: int) -> Outcome:
    code = response.status
    if 200 <= code < 300:
        return Outcome(code, duration_ms=duration_ms)
    headers = {name.lower(): value for name, value in response.headers}
    retry_after = headers.get(b"retry-after")
    return Outcome(
        status_code=code,
        reason=f"http_{code // 100}xx: {code}",
        retry_after=None if retry_after is None else retry_after.decode("latin-1"),
        duration_ms=duration_ms,
    )
