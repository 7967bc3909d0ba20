"""The SHA-256 of received bytes, for files that are small enough."""

from __future__ import annotations

from hashlib import sha256

# Hashing a gigabyte takes about as long as fetching it from the same machine.
MOST_BYTES = 100_000_000


class Checksum:
    """The SHA-256 of a file that arrives in pieces; unknown for a large one.

    Args:
        size_bytes: The length of the file; None if unknown.
    """

    def __init__(self, size_bytes: int | None = None) -> None:
        self._hash = sha256()
        self._left_bytes = MOST_BYTES if (size_bytes or 0) <= MOST_BYTES else -1

    def update(self, piece: bytes) -> None:
        """Add the next piece."""
        self._left_bytes -= len(piece)
        if self._left_bytes >= 0:
            self._hash.update(piece)

    def hexdigest(self) -> str | None:
        """Return the hash of all pieces, in hex; None for a large file."""
        return self._hash.hexdigest() if self._left_bytes >= 0 else None
