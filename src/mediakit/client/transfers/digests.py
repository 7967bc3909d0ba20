"""The hash of what arrives, as far as it costs next to nothing."""

from __future__ import annotations

from hashlib import sha256

# To hash a gigabyte takes about as long as to fetch it from the same machine.
MOST_BYTES = 100_000_000


class Digest:
    """The SHA-256 of a file that arrives in pieces; of a large one it is not known.

    Args:
        size_bytes: How long the file is; None is unknown.
    """

    def __init__(self, size_bytes: int | None = None) -> None:
        self._hash = sha256()
        self._left_bytes = MOST_BYTES if (size_bytes or 0) <= MOST_BYTES else -1

    def update(self, piece: bytes) -> None:
        """Take the next piece."""
        self._left_bytes -= len(piece)
        if self._left_bytes >= 0:
            self._hash.update(piece)

    def hexdigest(self) -> str | None:
        """Return the hash of all that was given, in hex; None of a large file."""
        return self._hash.hexdigest() if self._left_bytes >= 0 else None
