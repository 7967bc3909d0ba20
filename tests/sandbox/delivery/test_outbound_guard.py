"""The guarded way out: which addresses are reached, and what is fetched."""

import asyncio
import tracemalloc
from ipaddress import ip_address
from pathlib import Path

import pytest

from mediakit.sandbox.outbound import (
    BlockedError,
    Outbound,
    is_allowed,
    parsed,
    resolve,
)

FORBIDDEN = """
0.0.0.0 10.0.0.1 100.64.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8
192.0.2.1 192.88.99.3 192.168.1.1 198.18.0.1 198.51.100.1 203.0.113.1 224.1.2.3
240.0.0.1 255.255.255.255 :: fe80::1 fc00::1 fd12::1 fec0::1 ff02::1 2001::1
2001:db8::1 2002:7f00:1:: 3fff::1 5f00::1 64:ff9b::7f00:1 64:ff9b:1::1 100::1
::ffff:10.0.0.1 ::ffff:169.254.169.254
"""
LOOPBACK = "127.0.0.1 127.255.0.1 ::1 ::ffff:127.0.0.1"
PUBLIC = "93.184.216.34 1.1.1.1 2606:4700:4700::1111 ::ffff:1.1.1.1"


@pytest.mark.parametrize(
    ("texts", "usually", "where_loopback_is_allowed"),
    [(FORBIDDEN, False, False), (LOOPBACK, False, True), (PUBLIC, True, True)],
    ids=["special", "loopback", "public"],
)
def test_special_addresses_are_never_reached_and_loopback_only_when_allowed(
    texts: str, *, usually: bool, where_loopback_is_allowed: bool
) -> None:
    for text in texts.split():
        found = [
            is_allowed(ip_address(text), allow_loopback=loopback)
            for loopback in (False, True)
        ]
        assert found == [usually, where_loopback_is_allowed], text


@pytest.mark.parametrize(
    "host", ["2130706433", "0x7f.1", "127.1", "0177.0.0.1", "localhost"]
)
def test_other_spellings_of_loopback_are_judged_as_what_they_resolve_to(
    host: str,
) -> None:
    addresses = asyncio.run(resolve(host, 80))

    assert addresses
    assert all(address.is_loopback for address in addresses)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/a",
        "file:///etc/passwd",
        "http://user:pass@example.com/",
        "http://example.com:0/",
        "http://example.com:99999/",
        "http://[::1",
        "example.com",
        "http://exa\nmple.com/",
    ],
)
def test_a_url_that_is_not_plain_http_is_rejected(url: str) -> None:
    with pytest.raises(BlockedError):
        parsed(url)


def test_checking_a_url_does_not_list_all_ports() -> None:
    url = "https://93.184.216.34:65535/hook"
    tracemalloc.start()
    parsed(url)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak_bytes < 100_000


def test_a_request_is_guarded_also_for_literal_addresses(tmp_path: Path) -> None:
    fetch = Outbound(allow_loopback=False).fetch

    with pytest.raises(BlockedError):
        asyncio.run(
            fetch("http://127.0.0.1/", tmp_path / "a", max_bytes=1, max_seconds=1)
        )
