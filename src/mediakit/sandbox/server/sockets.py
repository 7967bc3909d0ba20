"""Listening sockets: the same port again where it is free."""

import logging
import os
import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

from mediakit.errors import ServiceError

logger = logging.getLogger(__name__)

BACKLOG = 512

_listening: list[socket.socket] = []


def _close_in_child() -> None:
    # A forked child must not hold the port of a dead parent without serving.
    for listening in _listening:
        listening.close()
    _listening.clear()


os.register_at_fork(after_in_child=_close_in_child)


def listen(host: str, port: int, previous_url: str | None) -> socket.socket:
    """Listen on the given port, or on the previous one, which old media URLs contain.

    Args:
        host: The address.
        port: The port; 0 takes the previous one, or any when that is taken.
        previous_url: The last URL of the server.

    Raises:
        ServiceError: The address cannot be listened on.
    """
    previous = urlsplit(previous_url or "").port
    if not port and previous is not None:
        try:
            return _listen(host, previous)
        except ServiceError:
            logger.info("port %d is taken; the sandbox moves to another", previous)
    return _listen(host, port)


def close(listening: socket.socket) -> None:
    """Release a port; a second call does nothing."""
    if listening in _listening:
        _listening.remove(listening)
    listening.close()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is explicit because asyncio sets TCP_NODELAY only on sockets that
    # name it. Without it each small response waits 40 ms for an ACK.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as problem:
        listening.close()
        raise ServiceError(
            f"The sandbox cannot listen on {host}, port {port}: {problem.strerror}. "
            "Choose another --port or --host."
        ) from None
    listening.setblocking(False)  # noqa: FBT003 - its only parameter
    _listening.append(listening)
    return listening


def base_url_of(listening: socket.socket) -> str:
    """Return the URL of a listening socket on this machine."""
    host, port = listening.getsockname()[:2]
    address = ip_address(host)
    if address.is_unspecified:
        host = "127.0.0.1" if address.version == 4 else "::1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
