"""An attempt of a delivery: posts an event, returns its outcome (spec 6.3, 6.5)."""

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import httpx

from mediakit.clock import Clock
from mediakit.sandbox.delivery.outbound import (
    CONNECT_TIMEOUT_S,
    BlockedError,
    Outbound,
    UnresolvedError,
    check_callback_addresses,
    parsed,
)

MS_PER_S = 1_000
MAX_ANSWER_BYTES = 64 * 1024


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
        self._outbound = Outbound(allow_loopback=allow_loopback)
        self._own_port = own_port
        self._timeout_s = timeout_s
        self._system = system

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Outcome:
        """Post an event once."""
        started_s = self._system.monotonic_s()
        response: httpx.Response | None = None
        reason = None
        try:
            # The addresses are checked again, because the host may have changed them
            # since the URL was accepted.
            check = partial(
                check_callback_addresses, parsed(url), own_port=self._own_port
            )
            async with (
                asyncio.timeout(self._timeout_s),
                self._outbound.exchange(
                    "POST",
                    url,
                    headers={"Content-Type": "application/json", **headers},
                    content=body,
                    timeouts_s={"connect": min(CONNECT_TIMEOUT_S, self._timeout_s)},
                    check=check,
                ) as response,
            ):
                await _drain(response)
        except (BlockedError, httpx.TransportError, OSError) as problem:
            reason = _reason(problem)
        passed_ms = round((self._system.monotonic_s() - started_s) * MS_PER_S)
        if response is None:
            return Outcome(reason=reason, duration_ms=passed_ms)
        code = response.status_code
        return Outcome(
            status_code=code,
            reason=None if response.is_success else f"http_{code // 100}xx: {code}",
            retry_after=response.headers.get("retry-after"),
            duration_ms=passed_ms,
        )


def _reason(problem: BaseException) -> str:
    """Return why there was no response, in the words of spec 6.5."""
    match problem:
        case UnresolvedError():
            return "connect"
        case BlockedError():
            return "blocked"
        case TimeoutError():
            return "timeout"
    cause: BaseException | None = problem
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__context__
    return "connect" if cause is None else "tls"


async def _drain(response: httpx.Response) -> None:
    """Read and discard the receiver's response, up to a limit."""
    size_bytes = 0
    async for chunk in response.aiter_raw():
        size_bytes += len(chunk)
        if size_bytes >= MAX_ANSWER_BYTES:
            return
