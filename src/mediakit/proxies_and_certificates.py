"""The environment's proxies and certificates, for URLs that need them."""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from ipaddress import ip_address, ip_network
from typing import Any
from urllib.parse import SplitResult
from urllib.request import getproxies

import httpx

from mediakit.errors import ServiceError
from mediakit.extras import install_command
from mediakit.web_urls import DEFAULT_PORTS, is_loopback, parts_of, plain_host

CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")
_WITH_PORT = re.compile(r"(\[[^\]]*\]|[^:]*):(\d+)")


class UnusableProxyError(ServiceError):
    """The environment names a proxy that cannot be used; nothing was sent."""


class UnusableCertificatesError(ServiceError):
    """The environment names certificates that cannot be used; nothing was sent."""


# -- proxies --------------------------------------------------------------------------


@dataclass(frozen=True)
class ProxySetting:
    """A proxy, and the variable that sets it."""

    variable: str
    url: str

    def __str__(self) -> str:
        scheme, _, rest = self.url.partition("://")
        credentials, _, host = rest.rpartition("@")
        return f"{self.variable}={scheme}://{'…@' if credentials else ''}{host}"

    __repr__ = __str__

    def checked_url(self) -> str:
        """Return the URL; an error names the variable if it is unusable."""
        try:
            with httpx.HTTPTransport(proxy=httpx.Proxy(self.url), verify=False):
                return self.url
        except ImportError:
            why = f"is a SOCKS proxy, which needs: {install_command('socks')}"
        except (ValueError, httpx.InvalidURL):
            why = "is not supported: its URL must start with http, https or socks5"
        raise UnusableProxyError(
            f"The proxy set in the environment, {self}, {why}. Alternatively, set "
            "another proxy, or list the service's host in NO_PROXY. Nothing was sent."
        )


@dataclass(frozen=True)
class Proxies:
    """The environment's proxies by scheme, and their exceptions."""

    by_scheme: Mapping[str, str]
    exceptions: tuple[str, ...]

    @classmethod
    def read(cls) -> Proxies:
        """Read the environment, and the settings of Windows and macOS."""
        by_scheme = getproxies()
        # Some programs use semicolons or bars as separators, or keep quotes.
        exceptions = re.split(r"[\s,;|\"']+", by_scheme.pop("no", ""))
        return cls(by_scheme, tuple(filter(None, exceptions)))

    def proxy_for(self, url: str) -> ProxySetting | None:
        """Return the proxy for a URL; None for a direct connection."""
        parts = parts_of(url)
        for scheme in (parts.scheme, "all"):
            value = self.by_scheme.get(scheme, "").strip()
            if value:
                break
        else:
            return None
        if not parts.hostname or is_loopback(parts.hostname):
            return None
        if any(_is_exception(entry.lower(), parts) for entry in self.exceptions):
            return None
        variable = f"{scheme}_proxy"
        if variable not in os.environ:
            variable = variable.upper()
        return ProxySetting(variable, value if "://" in value else f"http://{value}")


def _is_exception(entry: str, parts: SplitResult) -> bool:
    """Return whether an entry of NO_PROXY matches a URL; unreadable ones do not."""
    scheme, _, name = entry.rpartition("://")
    if scheme not in ("", "all", parts.scheme):
        return False
    if matched := _WITH_PORT.fullmatch(name.rstrip("/")):
        name, port = matched.groups()
        if int(port) != (parts.port or DEFAULT_PORTS.get(parts.scheme)):
            return False
    if name == "*":
        return True
    host = _ascii(plain_host(parts.hostname or ""))
    with suppress(ValueError):
        network = re.sub(r"[\[\]]|%[^/]*", "", name)
        return ip_address(host) in ip_network(network, strict=False)
    domain = _ascii(name.lstrip("*.").rstrip("./"))
    if "*" in domain:
        return fnmatchcase(host, domain)
    return bool(domain) and f".{host}".endswith(f".{domain}")


def _ascii(host: str) -> str:
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return host


# -- certificates ---------------------------------------------------------------------


def needs_certificates(url: str, proxy: ProxySetting | None) -> bool:
    """Return whether any connection on the way to a URL is encrypted."""
    urls = (url, proxy.url if proxy else "")
    return any(parts_of(each).scheme == "https" for each in urls)


def checked_ssl_context() -> ssl.SSLContext:
    """Return the SSL context; an error names the variable if it is unusable."""
    try:
        return _ssl_context(*map(os.environ.get, CERTIFICATES))
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        file = error.filename
    named = [
        f"{name}={os.environ[name]}"
        for name in CERTIFICATES
        if name in os.environ and file in (None, os.environ[name])
    ]
    raise UnusableCertificatesError(
        f"The certificates set in the environment cannot be used ({reason}): "
        f"{', '.join(named) or 'those of the system'}. Correct or unset the variable. "
        "Nothing was sent."
    )


@cache
def _ssl_context(*_: str | None) -> ssl.SSLContext:
    """Return the SSL context; cached by the certificate environment variables."""
    return httpx.create_ssl_context()


# -- a client -------------------------------------------------------------------------


def http_client(url: str, **settings: Any) -> httpx.Client:
    """Return an HTTP client with the proxy and certificates that a URL needs.

    It must not follow redirects, which may need another proxy.

    Raises:
        UnusableProxyError: The proxy that the URL needs cannot be used.
        UnusableCertificatesError: The certificates cannot be used.
    """
    proxy = Proxies.read().proxy_for(url)
    return httpx.Client(
        proxy=proxy.checked_url() if proxy else None,
        trust_env=False,
        verify=checked_ssl_context() if needs_certificates(url, proxy) else False,
        **settings,
    )
