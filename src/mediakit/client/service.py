"""The service that a client uses, and the account there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from urllib.parse import urlsplit

import httpx

from mediakit.catalog import Catalog
from mediakit.client.blocking import ProcessBound
from mediakit.errors import InputError
from mediakit.forks import cached_property
from mediakit.history import History
from mediakit.rules import ValueDescription
from mediakit.web_urls import (
    is_loopback,
    is_on_this_machine,
    loopback_spellings,
    parts_of,
    plain_host,
    with_host,
)

QUOTES = ("'", '"', "`")
# The paths that mediakit itself adds to a base URL.
OWN_PATHS = ("/v1/media", "/v1")


def normal_url(url: str) -> str:
    """Return a URL in lower case, without its default port and final slash.

    A URL with a user or a password is rejected, because it would be shown and stored.
    """
    got: object = url
    try:
        parts = urlsplit(url.strip())
        if parts.username is not None or parts.password is not None:
            got = ValueDescription("a URL with a user name or password")
        elif parts.query or parts.fragment:
            # The query may contain a key, so the URL is not shown.
            got = ValueDescription("a URL with a query or a fragment")
        elif parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            plain = str(httpx.URL(parts.geturl())).rstrip("/")
            host = parts_of(plain).hostname or ""
            return with_host(plain, plain_host(host)) if is_loopback(host) else plain
    except (ValueError, httpx.InvalidURL):
        if "@" in url:
            got = ValueDescription("a URL with a user name or password")
    if "://" not in url:
        # The value may be a key that was meant for `api_key`.
        got = ValueDescription("a value that is not shown, because it may be a key")
    raise InputError(
        "base_url",
        got=got,
        accepted="an http(s) URL such as https://api.example.com, without a user name, "
        "password, query or fragment; pass the API key as api_key=, or set "
        "MEDIAKIT_API_KEY",
    )


def checked_key(api_key: str) -> str:
    """Reject a key that no HTTP header can contain, such as one with a line break."""
    if api_key[:1] in QUOTES or api_key[-1:] in QUOTES:
        raise InputError(
            "api_key",
            got=ValueDescription("a key in quotes"),
            accepted="the key alone, without quotes; check MEDIAKIT_API_KEY or "
            "api_key=",
        )
    if re.fullmatch(r"[!-~]+", api_key):
        return api_key
    raise InputError(
        "api_key",
        got=ValueDescription(
            "a key with a space, a line break or a non-ASCII character"
        ),
        accepted="the key alone, in printable ASCII; check MEDIAKIT_API_KEY or "
        "api_key=",
    )


@dataclass(frozen=True)
class Service(ProcessBound):
    """A service and an account.

    Args:
        base_url: The URL; all spellings of a URL are the same service.
        api_key: The organization's key; never shown.
        identity: A name that stays the same when the URL changes; the URL by default.
        label: The service's name in messages.
        also: Further identities of the service's jobs in the history.
    """

    base_url: str
    api_key: str = field(repr=False)
    identity: str = ""
    label: str = ""
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        checked_key(self.api_key)
        base_url = normal_url(self.base_url)
        object.__setattr__(self, "base_url", base_url)
        object.__setattr__(self, "identity", self.identity or base_url)
        object.__setattr__(self, "label", self.label or parts_of(base_url).netloc)

    def known_to(self, history: History) -> Service:
        """Return the service under the identity that a history has for it.

        All names of the loopback interface are one host.
        """
        names = loopback_spellings(self.base_url)
        if self.identity != self.base_url or len(names) == 1:
            return self
        identities = history.services(names)
        identity = (
            self.base_url if self.base_url in identities else (identities or names)[0]
        )
        also = tuple(name for name in identities if name != identity)
        return replace(self, identity=identity, also=also)

    @property
    def base_url_hint(self) -> str:
        """Return a sentence on a likely mistake in the base URL."""
        for path in OWN_PATHS:
            if self.base_url.endswith(path):
                base_url = self.base_url.removesuffix(path)
                return f"Is the base URL {base_url}, without {path}?"
        return (
            f"Check the base URL, {self.base_url}: is a path prefix missing or wrong?"
        )

    @property
    def on_this_machine(self) -> bool:
        """Return whether the service is reached over loopback, without a proxy."""
        return is_on_this_machine(self.base_url)

    @cached_property
    def account(self) -> str:
        """Return a name of the account that does not reveal the key."""
        return sha256(self.api_key.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Backend:
    """A service and its functions."""

    service: Service
    catalog: Catalog
    is_sandbox: bool = False
    reports: Mapping[str, str] = field(default_factory=dict)
    """The name of the charge in the service's reports, by `charge` or `charge_usd`."""
