"""A raw-socket server with scripted faults."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

PIECE_BYTES = 65_536


def page(
    body: bytes = b"{}", *headers: str, status: str = "200 OK", says_bytes: int = -1
) -> bytes:
    """Write an answer.

    Args:
        body: Its body.
        headers: More headers, whole lines.
        status: Its status.
        says_bytes: The length that it claims; the body's own when negative.
    """
    length = len(body) if says_bytes < 0 else says_bytes
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {length}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def json_page(value: object, *headers: str, status: str = "200 OK") -> bytes:
    """Write an answer of JSON."""
    return page(json.dumps(value).encode(), *headers, status=status)


class Visit:
    """One connection to the server."""

    def __init__(self, near: socket.socket, seen: list[bytes]) -> None:
        self._near = near
        self._seen = seen

    def request(self) -> bytes:
        """Read one whole request; nothing once the other end has closed."""
        received = b""
        while True:
            head, found, body = received.partition(b"\r\n\r\n")
            if found and len(body) >= _length(head):
                self._seen.append(received)
                return received
            piece = self._near.recv(PIECE_BYTES)
            if not piece:
                return b""
            received += piece

    def say(self, data: bytes) -> None:
        """Send bytes."""
        self._near.sendall(data)

    def reset(self) -> None:
        """Reset the connection."""
        linger_none = struct.pack("ii", 1, 0)
        self._near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_none)
        self._near.close()

    def wait(self) -> None:
        """Keep silent until the other end has closed."""
        while self._near.recv(PIECE_BYTES):
            continue


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


Script = Callable[[Visit], None]


class ScriptedServer:
    """Plays one script per connection, and repeats the last one."""

    def __init__(self, *scripts: Script, tls: ssl.SSLContext | None = None) -> None:
        self._scripts = list(scripts)
        self._tls = tls
        self._open: list[socket.socket] = []
        self.visits = 0
        self.requests: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        scheme = "http" if tls is None else "https"
        self.base_url = f"{scheme}://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(near)
            script = self._scripts[min(self.visits, len(self._scripts) - 1)]
            self.visits += 1
            visit = threading.Thread(target=self._play, args=(near, script))
            self._threads.append(visit)
            visit.start()

    def _play(self, near: socket.socket, script: Script) -> None:
        with near, contextlib.suppress(OSError):
            if self._tls is None:
                script(Visit(near, self.requests))
            else:
                with self._tls.wrap_socket(near, server_side=True) as secure:
                    script(Visit(secure, self.requests))


def answers(*pages: bytes) -> Script:
    """Answer a number of requests on a connection, then close it."""

    def play(visit: Visit) -> None:
        for each in pages:
            if not visit.request():
                return
            visit.say(each)

    return play


def answers_always(each: bytes) -> Script:
    """Answer every request of a connection."""

    def play(visit: Visit) -> None:
        while visit.request():
            visit.say(each)

    return play


def is_silent(visit: Visit) -> None:
    """Read a request and never respond."""
    visit.request()
    visit.wait()


def hangs_up(visit: Visit) -> None:
    """Read a request and close the connection properly."""
    visit.request()


def breaks_off(visit: Visit) -> None:
    """Read a request and reset the connection."""
    visit.request()
    visit.reset()
