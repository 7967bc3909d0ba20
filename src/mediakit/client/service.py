"""The service that a client uses, and its account there."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import sha256
from urllib.parse import urlsplit

import httpx

from mediakit.catalog import Catalog
from mediakit.client.blocking import ProcessBound
from mediakit.errors import InputError
from mediakit.forks import cached_property
from mediakit.rules import Found

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def normal_url(url: str) -> str:
    """Return a service's URL in lower case, without default port and last slash.

    A URL with a user or a password, which would be shown and stored, is refused.
    """
    got: object = url
    try:
        parts = urlsplit(url.strip())
        if parts.username is not None or parts.password is not None:
            got = Found("a URL with a user name or password")
        elif parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return str(httpx.URL(parts.geturl())).rstrip("/")
    except (ValueError, httpx.InvalidURL):
        if "@" in url:
            got = Found("a URL with a user name or password")
    if "://" not in url:
        # It may be a key that was meant for `api_key`.
        got = Found("a value that is not shown, because it may be a key")
    raise InputError(
        "base_url",
        got=got,
        accepted="an http(s) URL such as https://api.example.com, without a user name "
        "or password; pass the API key as api_key=, or set MEDIAKIT_API_KEY",
    )


def checked_key(api_key: str) -> str:
    """Reject a key that no HTTP header can hold, such as one with a line end."""
    if re.fullmatch(r"[!-~]+", api_key):
        return api_key
    raise InputError(
        "api_key",
        got=Found("a key with a space, a line break or a non-ASCII character"),
        accepted="the key alone, in printable ASCII; check MEDIAKIT_API_KEY or "
        "api_key=",
    )


@dataclass(frozen=True)
class Service(ProcessBound):
    """A service and an account there.

    Args:
        base_url: Its URL; all spellings of one URL are the same service.
        api_key: The organization's key; never shown.
        identity: A name that stays the same when the URL changes; the URL by default.
        label: Its name in messages.
    """

    base_url: str
    api_key: str = field(repr=False)
    identity: str = ""
    label: str = ""

    def __post_init__(self) -> None:
        checked_key(self.api_key)
        base_url = normal_url(self.base_url)
        object.__setattr__(self, "base_url", base_url)
        object.__setattr__(self, "identity", self.identity or base_url)
        object.__setattr__(self, "label", self.label or urlsplit(base_url).netloc)

    @property
    def on_this_machine(self) -> bool:
        """Return whether it is reached over loopback, without a proxy."""
        return urlsplit(self.base_url).hostname in LOOPBACK

    @cached_property
    def account(self) -> str:
        """Return a name for the account that does not reveal the key."""
        return sha256(self.api_key.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Backend:
    """A service that was found, and its functions."""

    service: Service
    catalog: Catalog
    is_sandbox: bool = False
