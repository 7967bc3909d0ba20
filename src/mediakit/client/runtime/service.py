"""Which service a client talks to, and as whom."""

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from urllib.parse import urlsplit

import httpx

from mediakit.client.runtime.process_bound import ProcessBound
from mediakit.errors import InputError

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def normal_url(url: str) -> str:
    """Write the URL of a service in one way only.

    Scheme and host in small letters, without the port that the scheme implies, without
    a slash at the end.

    Raises:
        ValueError: It is no URL.
    """
    try:
        parts = urlsplit(url.strip())
        return str(httpx.URL(parts.geturl())).rstrip("/")
    except httpx.InvalidURL as error:
        raise ValueError(str(error)) from None


def refuse_credentials(base_url: str) -> None:
    """Refuse a URL with a user or a password, which would be shown and stored.

    Raises:
        InputError: It has one; what came is not repeated.
    """
    try:
        parts = urlsplit(base_url.strip())
        has_any = parts.username is not None or parts.password is not None
    except ValueError:
        has_any = "@" in base_url
    if has_any:
        raise InputError(
            "base_url",
            got="a URL with a user or a password",
            accepted="a URL without them; the API key belongs in MEDIAKIT_API_KEY, or "
            "in api_key=",
        )


@dataclass(frozen=True)
class Service(ProcessBound):
    """A service and an account there.

    Args:
        base_url: Where it is; however it is spelled, it is one service.
        api_key: The organization's key; never shown.
        identity: What stays the same when the address changes; the address itself
            unless given.
        label: What people call it.
    """

    base_url: str
    api_key: str = field(repr=False)
    identity: str = ""
    label: str = ""

    def __post_init__(self) -> None:
        refuse_credentials(self.base_url)
        base_url = normal_url(self.base_url)
        object.__setattr__(self, "base_url", base_url)
        object.__setattr__(self, "identity", self.identity or base_url)
        object.__setattr__(self, "label", self.label or urlsplit(base_url).netloc)

    @property
    def on_this_machine(self) -> bool:
        """Tell whether it is reached over loopback, where no proxy belongs."""
        return urlsplit(self.base_url).hostname in LOOPBACK

    @cached_property
    def account(self) -> str:
        """Return a name for the account that does not tell the key."""
        return sha256(self.api_key.encode()).hexdigest()[:16]
