"""Where a job's end may be announced (spec 6.2)."""

from mediakit.sandbox.guard import BlockedError, checked_addresses, parsed

HTTPS_PORT = 443
HTTP_PORT = 80


async def check_callback_url(url: str, *, own_port: int, allow_loopback: bool) -> None:
    """Check a `webhook_url` against the callback policy.

    Args:
        url: The URL of a submit.
        own_port: The port on which this service listens itself.
        allow_loopback: Let http and any port pass towards this machine, and towards
            it alone.

    Raises:
        BlockedError: It breaks the policy; the message says how.
    """
    parts = parsed(url)
    port = parts.port or (HTTPS_PORT if parts.scheme == "https" else HTTP_PORT)
    addresses = await checked_addresses(parts.host, port, allow_loopback=allow_loopback)
    if all(address.is_loopback for address in addresses):
        if port == own_port:
            raise BlockedError("a callback to the service itself is not accepted")
        return
    if parts.scheme != "https" or port != HTTPS_PORT:
        raise BlockedError("only https on port 443 is accepted")
