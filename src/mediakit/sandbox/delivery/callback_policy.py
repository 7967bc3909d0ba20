"""The policy for callback URLs (spec 6.2)."""

from collections.abc import Iterable

import httpx

from mediakit.sandbox.delivery.outbound_guard import (
    Address,
    BlockedError,
    GuardedBackend,
    checked_addresses,
    parsed,
)

HTTPS_PORT = 443
HTTP_PORT = 80
MAX_URL_LENGTH = 2_048


async def check_callback_url(url: str, *, own_port: int, allow_loopback: bool) -> None:
    """Check a callback URL against the callback policy.

    Args:
        url: The `webhook_url` of a submission, or the URL of an endpoint.
        own_port: The port of this service.
        allow_loopback: Accept http and any port, for this machine only.

    Raises:
        BlockedError: It violates the policy; the message says how.
    """
    if len(url) > MAX_URL_LENGTH:
        raise BlockedError(f"it is longer than {MAX_URL_LENGTH:,} characters")
    parts = parsed(url)
    addresses = await checked_addresses(
        parts.host, _port(parts), allow_loopback=allow_loopback
    )
    _check_addresses(parts, addresses, own_port)


class CallbackBackend(GuardedBackend):
    """Connects for one callback, to addresses that the policy currently accepts.

    The addresses are checked again when connecting, because the host may have changed
    its addresses since the URL was accepted.

    Args:
        url: The URL to post to.
        own_port: The port of this service.
        allow_loopback: Whether this machine itself may be reached.
    """

    def __init__(self, url: httpx.URL, *, own_port: int, allow_loopback: bool) -> None:
        super().__init__(allow_loopback=allow_loopback)
        self._url = url
        self._own_port = own_port

    async def checked(self, host: str, port: int) -> list[Address]:
        """Resolve a host and check it as the target of this callback."""
        addresses = await super().checked(host, port)
        _check_addresses(self._url, addresses, self._own_port)
        return addresses


def _check_addresses(
    parts: httpx.URL, addresses: Iterable[Address], own_port: int
) -> None:
    port = _port(parts)
    if all(address.is_loopback for address in addresses):
        if port == own_port:
            raise BlockedError("a callback to the service itself is not accepted")
        return
    if parts.scheme != "https" or port != HTTPS_PORT:
        raise BlockedError("only https on port 443 is accepted")


def _port(parts: httpx.URL) -> int:
    return parts.port or (HTTPS_PORT if parts.scheme == "https" else HTTP_PORT)
