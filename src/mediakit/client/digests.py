"""A hash that is made beside the transfer, not in its way."""

from __future__ import annotations

from hashlib import sha256
from queue import Queue
from threading import Thread

WAITING_PIECES = 6


class Digest:
    """The SHA-256 of the pieces that it is given, made in a thread of its own.

    A pair of cores receives and hashes at once: a download is then about as quick as
    without the hash.
    """

    def __init__(self) -> None:
        self._hash = sha256()
        self._pieces: Queue[bytes] = Queue(WAITING_PIECES)
        self._thread: Thread | None = None

    def update(self, piece: bytes) -> None:
        """Take the next piece, which must not change any more."""
        if self._thread is None:
            self._thread = Thread(target=self._run, name="mediakit-hash", daemon=True)
            self._thread.start()
        self._pieces.put(piece)

    def _run(self) -> None:
        while piece := self._pieces.get():
            self._hash.update(piece)

    def hexdigest(self) -> str:
        """Return the hash of all that was given, in hex, and end the thread."""
        self.close()
        return self._hash.hexdigest()

    def close(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._pieces.put(b"")
            self._thread.join()
            self._thread = None
