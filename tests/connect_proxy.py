"""A proxy on loopback that tunnels, wherever it is asked to, to one port."""

from __future__ import annotations

import socket
import threading
from types import TracebackType
from typing import Self

PIECE_BYTES = 65_536


class ConnectProxy:
    """Answers CONNECT, notes what was asked for, and passes bytes on.

    Args:
        port: Where all tunnels lead.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.tunnels: list[str] = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._tunnel, args=(near,), daemon=True).start()

    def _tunnel(self, near: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += near.recv(PIECE_BYTES)
        self.tunnels.append(head.split()[1].decode())
        with near, socket.create_connection(("127.0.0.1", self._port)) as far:
            near.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
            back = threading.Thread(target=_pass_on, args=(far, near), daemon=True)
            back.start()
            _pass_on(near, far)
            back.join(timeout=5)


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    try:
        while piece := source.recv(PIECE_BYTES):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return
