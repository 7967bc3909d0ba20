"""Decompresses downloads from servers that compress although not asked to."""

from __future__ import annotations

import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator

from mediakit.client.responses import NoAnswerError

# Values of Content-Encoding that storage services send although the bytes are not
# encoded; so are media types and the names of character sets.
LABELS = {"", "7bit", "8bit", "aws-chunked", "base64", "binary", "chunked", "identity"}
LABELS |= {"none", "null"}
UNPACKED = {"deflate", "gzip", "x-gzip"}
PIECE_BYTES = 1 << 20
# Media hardly compresses; a high ratio is an attempt to fill the disk.
ALWAYS_ALLOWED_BYTES = 256 << 20
LARGEST_RATIO = 20
# Accepts the headers of gzip and of zlib.
_ANY_HEADER = zlib.MAX_WBITS | 32
_GZIP_START = b"\x1f\x8b"


def compressions_in(content_encoding: str | None) -> list[str]:
    """Return the encodings in a header, without labels that change no byte."""
    labels = [each.strip().lower() for each in (content_encoding or "").split(",")]
    return [label for label in labels if not _changes_no_byte(label)]


def _changes_no_byte(label: str) -> bool:
    if label in LABELS or "/" in label:
        return True
    try:
        "".encode(label)  # the name of a character set
    except LookupError:
        return False
    return True


async def unpacked(blocks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield the content of compressed blocks, in pieces of up to a megabyte."""
    unpacker = _Unpacker()
    async for block in blocks:
        try:
            for piece in unpacker.pieces(block):
                yield piece
        except zlib.error:
            raise NoAnswerError("its compressed data is damaged", sent=True) from None
    if not unpacker.is_complete:
        raise NoAnswerError("the compressed file ended early", sent=True)


class _Unpacker:
    """Decompresses gzip, even with several members, and zlib's deflate."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_ANY_HEADER)
        self._received_bytes = self._unpacked_bytes = 0

    @property
    def is_complete(self) -> bool:
        """Return whether the last member has ended."""
        return self._member.eof

    def pieces(self, block: bytes) -> Iterator[bytes]:
        """Yield the decompressed content of a block."""
        self._received_bytes += len(block)
        while block:
            if self._member.eof:
                if not block.startswith(_GZIP_START):
                    return  # padding after the last member
                self._member = zlib.decompressobj(_ANY_HEADER)
            piece = self._member.decompress(block, PIECE_BYTES)
            block = self._member.unconsumed_tail or self._member.unused_data
            self._check_size(len(piece))
            if piece:
                yield piece

    def _check_size(self, more_bytes: int) -> None:
        self._unpacked_bytes += more_bytes
        allowed_bytes = max(ALWAYS_ALLOWED_BYTES, LARGEST_RATIO * self._received_bytes)
        if self._unpacked_bytes > allowed_bytes:
            raise NoAnswerError(
                f"it unpacks to more than {LARGEST_RATIO} times its size",
                sent=True,
                is_final=True,
            )
