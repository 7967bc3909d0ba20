"""Outbound requests, which reach public addresses only.

A URL from outside may name this machine, its network or a cloud's metadata service.
The host is resolved once, all its addresses are checked, and the connection uses a
checked address, which defeats DNS rebinding. The resolved address is checked, never
the text, because the resolver accepts spellings of 127.0.0.1 that a parser does not.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path

import httpcore
import httpx
from anyio import to_thread

Address = IPv4Address | IPv6Address

CONNECT_TIMEOUT_S = 10.0
USER_AGENT = "mediakit-sandbox/1.0"

# The standard library's `is_global` accepts these, but no URL from outside may lead
# to them.
SPECIAL_NETWORKS = tuple(
    ip_network(text)
    for text in (
        "192.0.0.0/24",  # protocol assignments
        "192.88.99.0/24",  # 6to4 relays
        "224.0.0.0/4",  # multicast
        "64:ff9b::/96",  # translated IPv4, private ones included
        "64:ff9b:1::/48",  # translated IPv4 of local use
        "2001::/32",  # Teredo, carries an IPv4 address
        "2002::/16",  # 6to4, carries an IPv4 address
        "3fff::/20",  # documentation
        "5f00::/16",  # segment routing
        "fec0::/10",  # the former site-local range
        "ff00::/8",  # multicast
    )
)


class BlockedError(Exception):
    """A URL or one of its addresses is not allowed."""


class UnresolvedError(BlockedError):
    """The host of a URL has no address."""


class FetchError(Exception):
    """A URL could not be read."""


def unmapped(address: Address) -> Address:
    """Return the IPv4 address of an IPv4-mapped IPv6 address; others unchanged."""
    return getattr(address, "ipv4_mapped", None) or address


def is_allowed(address: Address, *, allow_loopback: bool) -> bool:
    """Return whether an address may be connected to.

    Args:
        address: A resolved address.
        allow_loopback: Whether this machine itself may be reached.
    """
    address = unmapped(address)
    if address.is_loopback:
        return allow_loopback
    if any(address in network for network in SPECIAL_NETWORKS):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


async def resolve(host: str, port: int) -> list[Address]:
    """Resolve a host name or a literal address, once.

    Raises:
        UnresolvedError: It resolves to nothing.
    """
    ask = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            # Not the loop's executor: the interpreter waits for its threads at exit,
            # so a hanging resolver would delay the exit.
            found = await to_thread.run_sync(ask, abandon_on_cancel=True)
    except (OSError, UnicodeError, TimeoutError):
        raise UnresolvedError(f"the host {host!r} could not be resolved") from None
    # An IPv6 address may have a zone, such as fe80::1%eth0.
    texts = dict.fromkeys(str(entry[4][0]).split("%", 1)[0] for entry in found)
    return [unmapped(ip_address(text)) for text in texts]


async def checked_addresses(
    host: str, port: int, *, allow_loopback: bool
) -> list[Address]:
    """Resolve a host and check all its addresses.

    Raises:
        BlockedError: It resolves to nothing, or to any address that is not allowed.
    """
    addresses = await resolve(host, port)
    if not all(is_allowed(a, allow_loopback=allow_loopback) for a in addresses):
        raise BlockedError(
            f"the host {host!r} is not on the public internet, and only public "
            "addresses are reached"
        )
    return addresses


def parsed(url: str) -> httpx.URL:
    """Parse an http(s) URL without credentials.

    Raises:
        BlockedError: It is not one.
    """
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        raise BlockedError("it is not a valid URL") from None
    usable = parts.scheme in ("http", "https") and bool(parts.host)
    if not usable or parts.port not in (None, *range(1, 65_536)):
        raise BlockedError("only http and https URLs with a host are reached")
    if parts.userinfo:
        raise BlockedError("a URL with credentials in it is not reached")
    return parts


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Connects to checked addresses only, including literal ones.

    Args:
        allow_loopback: Whether this machine itself may be reached.
    """

    def __init__(self, *, allow_loopback: bool) -> None:
        self._allow_loopback = allow_loopback
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
        addresses = await self.checked(host, port)
        problem: httpcore.ConnectError | None = None
        for address in addresses:
            try:
                return await self._backend.connect_tcp(
                    str(address), port, timeout, local_address, socket_options
                )
            except httpcore.ConnectError as error:
                problem = error
        raise problem or httpcore.ConnectError(f"no address for {host!r}")

    async def checked(self, host: str, port: int) -> list[Address]:
        """Resolve a host and check its addresses.

        Raises:
            BlockedError: It must not be connected to.
        """
        return await checked_addresses(host, port, allow_loopback=self._allow_loopback)

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


class Guard:
    """Fetches URLs from outside, within limits.

    It follows no redirects, uses no proxy of the environment, keeps no cookies, and
    requests no compression, so that it counts the bytes that were sent.

    Args:
        allow_loopback: Whether this machine itself may be reached.
    """

    def __init__(self, *, allow_loopback: bool) -> None:
        self.allow_loopback = allow_loopback

    async def fetch(
        self, url: str, to: Path, *, max_bytes: int, max_seconds: float
    ) -> None:
        """Fetch a URL to a file.

        Args:
            url: The http(s) URL.
            to: The file to write.
            max_bytes: The largest size.
            max_seconds: The longest time, real seconds.

        Raises:
            BlockedError: The URL or one of its addresses is not allowed.
            FetchError: It could not be read, or exceeds a limit.
        """
        address = str(parsed(url))
        try:
            async with asyncio.timeout(max_seconds), self._get(address) as response:
                await _save(response, to, max_bytes)
        except TimeoutError:
            raise FetchError(f"it took longer than {max_seconds:g} s") from None
        except httpcore.TimeoutException:
            raise FetchError("it did not answer in time") from None
        except (httpcore.NetworkError, httpcore.ProtocolError) as problem:
            words = str(problem) or type(problem).__name__
            raise FetchError(f"the connection failed ({words})") from None

    @asynccontextmanager
    async def _get(self, url: str) -> AsyncIterator[httpcore.Response]:
        waits = ("connect", "read", "write", "pool")
        timeouts = dict.fromkeys(waits, CONNECT_TIMEOUT_S)
        headers = [("User-Agent", USER_AGENT), ("Accept-Encoding", "identity")]
        backend = GuardedBackend(allow_loopback=self.allow_loopback)
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
