"""Refuses every host but this machine, in whatever Python process imports it first."""

from __future__ import annotations

import os
import socket
import sys
from ipaddress import ip_address
from pathlib import Path
from typing import Any

LOG = os.environ.get("MEDIAKIT_TEST_CONNECTIONS")
WITH_ADDRESS = ("socket.connect", "socket.sendto", "socket.sendmsg")
WITH_NAME = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")


def is_here(host: str) -> bool:
    """Tell whether a host is this machine."""
    if host in ("", "localhost", socket.gethostname()):
        return True
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Record the target of a socket, and refuse other machines."""
    place = _place(event, arguments)
    if place is None:
        return
    host, port = place
    assert LOG is not None
    with Path(LOG).open("a", encoding="utf-8") as file:
        file.write(f"{host} {port}\n")
    if not is_here(host):
        raise PermissionError(f"There is no network here: {host} was refused.")


def _place(event: str, arguments: tuple[Any, ...]) -> tuple[str, object] | None:
    if event in WITH_ADDRESS and isinstance(arguments[1], tuple):
        host, port, *_ = arguments[1]
        return _text(host), port
    if event in WITH_NAME:
        return _text(arguments[0]), "name"
    return None


def _text(host: object) -> str:
    return host.decode() if isinstance(host, bytes) else str(host or "")


if LOG is not None and __name__ == "sitecustomize":
    sys.addaudithook(watch)
