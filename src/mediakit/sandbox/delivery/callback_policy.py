"""The policy for callback URLs (spec 6.2)."""

from collections.abc import Iterable

import httpx

from mediakit.sandbox.delivery.outbound_policy import (
    Address,
    BlockedError,
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
    check_callback_addresses(parts, addresses, own_port)


def check_callback_addresses(
    parts: httpx.URL, addresses: Iterable[Address], own_port: int
) -> None:
    """Check the addresses of a callback's host against the callback policy.

    Raises:
        BlockedError: They violate the policy; the message says how.
    """
    port = _port(parts)
    if all(address.is_loopback for address in addresses):
        if port == own_port:
            raise BlockedError("a callback to the service itself is not accepted")
        return
    if parts.scheme != "https" or port != HTTPS_PORT:
        raise BlockedError("only https on port 443 is accepted")


def _port(parts: httpx.URL) -> int:
    return parts.port or (HTTPS_PORT if parts.scheme == "https" else HTTP_PORT)
