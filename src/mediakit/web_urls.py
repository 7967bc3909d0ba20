"""Parses untrusted URLs without raising."""

from __future__ import annotations

from contextlib import suppress
from ipaddress import IPv4Address, ip_address
from urllib.parse import SplitResult, urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}
LAST_PLACE = 3  # of the four numbers of an address
IPV4 = 4
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")


def parts_of(url: str) -> SplitResult:
    """Return the parts of a URL; all are empty if it cannot be parsed."""
    try:
        parts = urlsplit(url)
        # `port` is parsed when it is first read.
        return parts if parts.port is None or parts.port > 0 else _NO_PARTS
    except ValueError:
        return _NO_PARTS


_NO_PARTS = urlsplit("")


def without_white_space(url: str) -> str:
    """Return an http(s) URL without white space, as browsers read it."""
    plain = url.strip(_CONTROLS_AND_SPACE).translate(_WHITE_SPACE)
    return plain if is_http(plain) else url


_CONTROLS_AND_SPACE = "".join(map(chr, range(0x21)))
_WHITE_SPACE = str.maketrans({"\t": "", "\n": "", "\r": "", " ": "%20"})


def web_url(url: str) -> str | None:
    """Return an http(s) URL that a page may open; None for anything else."""
    if any(character.isspace() or not character.isprintable() for character in url):
        return None
    return url if is_http(url) else None


def is_http(url: str) -> bool:
    """Return whether a URL has a host and the scheme http(s)."""
    parts = parts_of(url)
    return parts.scheme in DEFAULT_PORTS and bool(parts.hostname)


def is_on_this_machine(url: str) -> bool:
    """Return whether a URL refers to this machine, over loopback."""
    return is_loopback(parts_of(url).hostname)


def is_loopback(host: str | None) -> bool:
    """Return whether a host is this machine, in any form: 127.1, ::1, localhost."""
    if not host:
        return False
    name = plain_host(host)
    try:
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


def plain_host(host: str) -> str:
    """Return a host in its usual form: 127.0.0.1 for 127.1, in lower case.

    A connection to 0.0.0.0 or ::, at which servers listen, reaches this machine.
    """
    name = host.strip("[]").rstrip(".").lower()
    with suppress(ValueError):
        address = _short_address(name)
        if address.is_loopback:
            return str(address)
    try:
        whole = ip_address(name)
    except ValueError:
        return name
    mapped = getattr(whole, "ipv4_mapped", None) or whole
    if mapped.is_unspecified:
        return "127.0.0.1" if mapped.version == IPV4 else "::1"
    return str(mapped)


def _short_address(name: str) -> IPv4Address:
    """Parse an address as resolvers do: the last number fills all missing ones."""
    *leading, last = (int(part, 0) for part in name.split("."))
    if len(leading) > LAST_PLACE:
        raise ValueError("too many numbers")
    shifted = (n << 8 * (LAST_PLACE - place) for place, n in enumerate(leading))
    return IPv4Address(sum(shifted, last))


def loopback_spellings(url: str) -> tuple[str, ...]:
    """Return a loopback URL with each usual host name; others unchanged."""
    parts = parts_of(url)
    if parts.hostname is None or plain_host(parts.hostname) not in LOOPBACK_NAMES:
        return (url,)
    return tuple(with_host(url, name) for name in LOOPBACK_NAMES)


def with_host(url: str, host: str) -> str:
    """Return a URL with another host and the same port."""
    parts = parts_of(url)
    name = f"[{host}]" if ":" in host else host
    netloc = name if parts.port is None else f"{name}:{parts.port}"
    return parts._replace(netloc=netloc).geturl()
