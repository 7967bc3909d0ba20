"""Fetches URLs from outside, and connects to the addresses that the policy allows.

It is imported with the first request, because httpcore takes a while.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import httpcore

from mediakit.sandbox.delivery.outbound import (
    CONNECT_TIMEOUT_S,
    USER_AGENT,
    Address,
    BlockedError,
    FetchError,
    checked_addresses,
    parsed,
)

Check = Callable[[list[Address]], None]


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Connects to checked addresses only, including literal ones."""

    def __init__(
        self, *, allow_loopback: bool, check: Check = lambda addresses: None
    ) -> None:
        self._allow_loopback = allow_loopback
        self._check = check
        self._backend = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature of httpcore
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Resolve a host, check its addresses, and connect to one of them."""
        addresses = await checked_addresses(
            host, port, allow_loopback=self._allow_loopback
        )
        self._check(addresses)
        problem: httpcore.ConnectError | None = None
        for address in addresses:
            try:
                return await self._backend.connect_tcp(
                    str(address), port, timeout, local_address, socket_options
                )
            except httpcore.ConnectError as error:
                problem = error
        raise problem or httpcore.ConnectError(f"no address for {host!r}")

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature of httpcore
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Reject: no URL leads to a local socket."""
        raise BlockedError("local sockets are not reached")

    async def sleep(self, seconds: float) -> None:
        """Sleep in real time."""
        await self._backend.sleep(seconds)


async def fetch(
    url: str, to: Path, *, allow_loopback: bool, max_bytes: int, max_seconds: float
) -> None:
    """Fetch a URL from outside to a file, within limits.

    It follows no redirects, uses no proxy of the environment, keeps no cookies, and
    requests no compression, so that it counts the bytes that were sent.
    """
    address, backend = str(parsed(url)), GuardedBackend(allow_loopback=allow_loopback)
    try:
        async with asyncio.timeout(max_seconds), _get(address, backend) as response:
            await _save(response, to, max_bytes)
    except TimeoutError:
        raise FetchError(f"it took longer than {max_seconds:g} s") from None
    except httpcore.TimeoutException:
        raise FetchError("it did not answer in time") from None
    except (httpcore.NetworkError, httpcore.ProtocolError) as problem:
        words = str(problem) or type(problem).__name__
        raise FetchError(f"the connection failed ({words})") from None


@asynccontextmanager
async def _get(url: str, backend: GuardedBackend) -> AsyncIterator[httpcore.Response]:
    waits = ("connect", "read", "write", "pool")
    timeouts = dict.fromkeys(waits, CONNECT_TIMEOUT_S)
    headers = [("User-Agent", USER_AGENT), ("Accept-Encoding", "identity")]
    async with (
        httpcore.AsyncConnectionPool(network_backend=backend) as pool,
        pool.stream(
            "GET", url, headers=headers, extensions={"timeout": timeouts}
        ) as response,
    ):
        yield response


async def _save(response: httpcore.Response, to: Path, max_bytes: int) -> None:
    if 300 <= response.status < 400:
        raise FetchError(
            f"it returned {response.status}, and redirects are not followed"
        )
    if response.status != 200:
        raise FetchError(f"it returned {response.status}")
    size_bytes = 0
    with to.open("wb") as file:
        async for chunk in response.aiter_stream():
            size_bytes += len(chunk)
            if size_bytes > max_bytes:
                raise FetchError(f"it is larger than {max_bytes:,} bytes")
            # A page-cache write of one network chunk is faster than a thread.
            file.write(chunk)
    if size_bytes == 0:
        raise FetchError("it is empty")
