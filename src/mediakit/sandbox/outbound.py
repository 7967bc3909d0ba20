"""The policy for outbound requests: which URLs and addresses are allowed.

An untrusted URL may point to this machine, its network or a cloud's metadata service.
The host is resolved once, all its addresses are checked, and the connection uses a
checked address, which prevents DNS rebinding. The resolved address is checked, never
the text, because the resolver accepts spellings of 127.0.0.1 that a parser does not.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path

import httpx
from anyio import to_thread

from mediakit.forks import cached_property

Address = IPv4Address | IPv6Address
Check = Callable[[list[Address]], None]

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
    """Return whether connections to an address are allowed."""
    address = unmapped(address)
    if address.is_loopback:
        return allow_loopback
    if any(address in network for network in SPECIAL_NETWORKS):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


async def resolve(host: str, port: int) -> list[Address]:
    """Resolve a host name or a literal address, once."""
    ask = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            # Do not use the loop's executor: the interpreter waits for its threads at
            # exit, so a hanging resolver would delay the exit.
            entries = await to_thread.run_sync(ask, abandon_on_cancel=True)
    except (OSError, UnicodeError, TimeoutError):
        raise UnresolvedError(f"the host {host!r} could not be resolved") from None
    # An IPv6 address may have a zone, such as fe80::1%eth0.
    texts = dict.fromkeys(str(entry[4][0]).split("%", 1)[0] for entry in entries)
    return [unmapped(ip_address(text)) for text in texts]


async def checked_addresses(
    host: str, port: int, *, allow_loopback: bool
) -> list[Address]:
    """Resolve a host and check all its addresses."""
    addresses = await resolve(host, port)
    if not all(is_allowed(a, allow_loopback=allow_loopback) for a in addresses):
        raise BlockedError(
            f"the host {host!r} is not on the public internet, and only public "
            "addresses are allowed"
        )
    return addresses


def parsed(url: str) -> httpx.URL:
    """Parse an http(s) URL without credentials."""
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        raise BlockedError("it is not a valid URL") from None
    usable = parts.scheme in ("http", "https") and bool(parts.host)
    if not usable or not 1 <= (1 if parts.port is None else parts.port) <= 65_535:
        raise BlockedError("only http and https URLs with a host are allowed")
    if parts.userinfo:
        raise BlockedError("a URL with credentials is not allowed")
    return parts


# -- Requests -----------------------------------------------------------------------


class Outbound:
    """Sends requests to checked addresses, each on its own connection.

    It follows no redirects, uses no proxy of the environment, and keeps no cookies.
    """

    def __init__(self, *, allow_loopback: bool) -> None:
        self._allow_loopback = allow_loopback

    @cached_property
    def _certificates(self) -> ssl.SSLContext:
        # Load the certificates once, because that can take longer than a request.
        return httpx.create_ssl_context()

    @asynccontextmanager
    async def exchange(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        timeouts_s: Mapping[str, float],
        check: Check = lambda addresses: None,
    ) -> AsyncIterator[httpx.Response]:
        """Send a request; the body of the response is not read yet."""
        target = parsed(url)
        addresses = await checked_addresses(
            target.host, _port(target), allow_loopback=self._allow_loopback
        )
        check(addresses)
        verify = self._certificates if target.scheme == "https" else False
        # Use the transport directly, because a client would log the URL, which may be
        # signed.
        async with httpx.AsyncHTTPTransport(verify=verify, trust_env=False) as sender:
            response = await _first_answer(
                sender,
                [
                    httpx.Request(
                        method,
                        target.copy_with(host=str(address)),
                        headers={
                            "Host": target.netloc.decode("ascii"),
                            "User-Agent": USER_AGENT,
                            # No compression, so that the size limit counts the bytes as
                            # sent.
                            "Accept-Encoding": "identity",
                            **(headers or {}),
                        },
                        content=content,
                        extensions={
                            "timeout": dict(timeouts_s),
                            "sni_hostname": target.raw_host.decode("ascii"),
                        },
                    )
                    for address in addresses
                ],
            )
            try:
                yield response
            finally:
                await response.aclose()

    async def fetch(
        self, url: str, to: Path, *, max_bytes: int, max_seconds: float
    ) -> None:
        """Download a URL to a file, within limits."""
        waits = ("connect", "read", "write", "pool")
        timeouts_s = dict.fromkeys(waits, CONNECT_TIMEOUT_S)
        try:
            async with (
                asyncio.timeout(max_seconds),
                self.exchange("GET", url, timeouts_s=timeouts_s) as response,
            ):
                await _save(response, to, max_bytes)
        except TimeoutError:
            raise FetchError(f"it took longer than {max_seconds:g} s") from None
        except httpx.TimeoutException:
            raise FetchError("it did not answer in time") from None
        except httpx.TransportError as problem:
            words = str(problem) or type(problem).__name__
            raise FetchError(f"the connection failed ({words})") from None


async def _first_answer(
    sender: httpx.AsyncHTTPTransport, requests: list[httpx.Request]
) -> httpx.Response:
    """Send the request to the first address that accepts a connection."""
    for request in requests[:-1]:
        try:
            return await sender.handle_async_request(request)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            continue
    return await sender.handle_async_request(requests[-1])


async def _save(response: httpx.Response, to: Path, max_bytes: int) -> None:
    if 300 <= response.status_code < 400:
        raise FetchError(
            f"it returned {response.status_code}, and redirects are not followed"
        )
    if response.status_code != 200:
        raise FetchError(f"it returned {response.status_code}")
    size_bytes = 0
    with to.open("wb") as file:
        async for chunk in response.aiter_raw():
            size_bytes += len(chunk)
            if size_bytes > max_bytes:
                raise FetchError(f"it is larger than {max_bytes:,} bytes")
            # Writing one network chunk to the page cache is faster than starting a
            # thread.
            file.write(chunk)
    if size_bytes == 0:
        raise FetchError("it is empty")


# -- Callbacks (spec 6.2) ---------------------------------------------------------

HTTPS_PORT = 443
HTTP_PORT = 80
MAX_URL_LENGTH = 2_048


async def check_callback_url(url: str, *, own_port: int, allow_loopback: bool) -> None:
    """Check a callback URL against the callback policy."""
    if len(url) > MAX_URL_LENGTH:
        raise BlockedError(f"it is longer than {MAX_URL_LENGTH:,} characters")
    parts = parsed(url)
    addresses = await checked_addresses(
        parts.host, _port(parts), allow_loopback=allow_loopback
    )
    check_callback_addresses(parts, addresses, own_port=own_port)


def check_callback_addresses(
    parts: httpx.URL, addresses: Iterable[Address], *, own_port: int
) -> None:
    """Check the addresses of a callback's host against the callback policy."""
    port = _port(parts)
    if all(address.is_loopback for address in addresses):
        if port == own_port:
            raise BlockedError("a callback to the service itself is not accepted")
        return
    if parts.scheme != "https" or port != HTTPS_PORT:
        raise BlockedError("only https on port 443 is accepted")


def _port(parts: httpx.URL) -> int:
    return parts.port or (HTTPS_PORT if parts.scheme == "https" else HTTP_PORT)
