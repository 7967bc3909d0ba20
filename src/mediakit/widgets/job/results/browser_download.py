"""Streams a result from the service through the kernel to the browser."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from mediakit.client.downloads import Piece
from mediakit.errors import ServiceError

PIECE_BYTES = 1_000_000
MOST_UNDER_WAY = 4
PATIENCE_S = 60.0

Send = Callable[[dict[str, Any], list[bytes]], object]


class PageSink:
    """Passes the bytes of one file on, never more at once than a few pieces.

    Args:
        stream: Names the file's way for the page.
        send: Sends a message with buffers to the page.
        patience_s: After how many seconds without an answer the page is given up.
    """

    def __init__(
        self, stream: int, send: Send, *, patience_s: float = PATIENCE_S
    ) -> None:
        self.stream = stream
        self._send = send
        self._patience_s = patience_s
        self._room = threading.Semaphore(MOST_UNDER_WAY)
        self._is_stopped = False

    def take(self, piece: Piece) -> None:
        """Pass bytes on; waits while the page has not taken the ones before.

        Raises:
            ServiceError: The page does not want them any more.
        """
        if not piece.at_bytes:
            self._tell("start", bytes=piece.total_bytes or 0)
        for first in range(0, len(piece.content), PIECE_BYTES):
            has_room = self._room.acquire(timeout=self._patience_s)
            if self._is_stopped or not has_room:
                raise ServiceError("The browser did not take the file. Try again.")
            part = piece.content[first : first + PIECE_BYTES]
            self._tell("piece", part)

    def end(self) -> None:
        """Tell the page that it has the whole file."""
        self._tell("end")

    def fail(self, why: str) -> None:
        """Tell the page that there will be no file, and why."""
        self._tell("failed", why=why)

    def took(self) -> None:
        """Note that the page has taken a piece."""
        self._room.release()

    def stop(self) -> None:
        """End it; a write that is under way fails."""
        self._is_stopped = True
        self._room.release()

    def _tell(self, what: str, *buffers: bytes, **more: object) -> None:
        self._send({"stream": self.stream, "what": what, **more}, list(buffers))
