"""A TCP proxy that loses responses: the request arrives, but its response does not."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

PIECE_BYTES = 65_536


class LossyProxy:
    """Forwards to a server, and drops the first responses to a method."""

    def __init__(
        self, base_url: str, method: str, losses: int, *, port: int = 0
    ) -> None:
        parts = urlsplit(base_url)
        self._target = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._method = method.encode()
        self._lock = threading.Lock()
        self.left = losses
        self.requests: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", port))
        self.base_url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

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
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        # Headers and body may come in two pieces: the last header piece counts.
        asked: list[bytes] = []
        with near, socket.create_connection(self._target) as far:
            back = threading.Thread(
                target=self._answer, args=(far, near, asked), daemon=True
            )
            back.start()
            try:
                while piece := near.recv(PIECE_BYTES):
                    if b" HTTP/1.1\r\n" in piece[:2_000]:
                        asked.append(piece)
                        self.requests.append(piece)
                    far.sendall(piece)
            except OSError:
                return
            back.join()

    def _answer(
        self, far: socket.socket, near: socket.socket, asked: list[bytes]
    ) -> None:
        try:
            while piece := far.recv(PIECE_BYTES):
                if self._loses(asked[-1]):
                    return
                near.sendall(piece)
        except OSError:
            return
        finally:
            # The end of a connection is passed on, too.
            with suppress(OSError):
                near.shutdown(socket.SHUT_RDWR)

    def _loses(self, request: bytes) -> bool:
        with self._lock:
            if self.left == 0 or not request.startswith(self._method):
                return False
            self.left -= 1
            return True
