"""Which proxy of the environment stands between this machine and a URL."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from mediakit.client.service import LOOPBACK
from mediakit.errors import ServiceError

HTTP_PORT = 80


@dataclass(frozen=True)
class Proxy:
    """An HTTP proxy.

    Args:
        host: Where it is.
        port: The same.
        authorization: The value of `Proxy-Authorization`; None without a user.
    """

    host: str
    port: int
    authorization: str | None = field(default=None, repr=False)

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers that are for the proxy alone."""
        if self.authorization is None:
            return {}
        return {"Proxy-Authorization": self.authorization}


def proxy_for(url: str) -> Proxy | None:
    """Return the proxy that the environment names for a URL; None for none.

    What is on this machine is never asked for through a proxy.

    Raises:
        ServiceError: The proxy is of a kind that is not spoken here.
    """
    parts = urlsplit(url)
    if parts.hostname in LOOPBACK or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    named = getproxies()
    value = named.get(parts.scheme) or named.get("all")
    return parse_proxy(value) if value else None


def parse_proxy(value: str) -> Proxy:
    """Read a proxy as the environment writes it, such as `http://ann:pw@host:3128`.

    Raises:
        ServiceError: It is of a kind that is not spoken here.
    """
    parts = urlsplit(value if "://" in value else f"http://{value}")
    if parts.scheme != "http" or not parts.hostname:
        raise ServiceError(
            f"The environment names a proxy of the kind {parts.scheme!r}, and files "
            "go through http:// proxies alone. Set HTTPS_PROXY to such a one, or "
            "NO_PROXY to the service's hosts."
        )
    authorization = None
    if parts.username is not None:
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = f"Basic {b64encode(user.encode()).decode()}"
    return Proxy(parts.hostname, parts.port or HTTP_PORT, authorization)
