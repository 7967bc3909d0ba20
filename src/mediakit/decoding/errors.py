"""One error type for every file that a decoder rejects."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache


class BrokenFileError(OSError):
    """A file cannot be decoded; the cause is the decoder's own error."""


@contextmanager
def decoder_errors() -> Iterator[None]:
    """Replace the errors that decoders raise for broken files.

    Raises:
        BrokenFileError: The decoder raised neither an OSError nor a ValueError.
    """
    try:
        yield
    except (OSError, ValueError):
        raise
    except _broken() as error:
        raise BrokenFileError("it is broken") from error


@cache
def _broken() -> tuple[type[Exception], ...]:
    import av
    from PIL import Image

    return (
        av.FFmpegError,
        Image.DecompressionBombError,
        SyntaxError,
        RuntimeError,
        EOFError,
        ArithmeticError,
        LookupError,
        TypeError,
        MemoryError,
        struct.error,
        zlib.error,
        # Pillow's warnings are exceptions if Python is configured so.
        Warning,
    )
