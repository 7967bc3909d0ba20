"""Decode files from outside: known formats, one kind of error, upright frames."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, BinaryIO

from mediakit.media_limits import MediaName

if TYPE_CHECKING:
    import numpy as np
    from av import VideoFrame
    from av.container import InputContainer
    from av.video.stream import VideoStream
    from numpy.typing import NDArray

# FFmpeg also reads text as a film of a terminal, and a picture as a clip.
CONTAINERS: Mapping[MediaName, frozenset[str]] = {
    "video": frozenset({"mp4", "matroska", "avi", "mpegts"}),
    "audio": frozenset({"wav", "mp3", "mp4", "ogg", "flac", "aac", "matroska"}),
}
_FORMATS = ",".join(sorted(CONTAINERS["video"] | CONTAINERS["audio"]))


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
        # Pillow's warnings, when Python is configured to raise them.
        Warning,
    )


def opened(
    file: BinaryIO, options: Mapping[str, str] | None = None, *, formats: str = _FORMATS
) -> InputContainer:
    """Open a clip or a sound of a known format.

    Other formats are not opened: a playlist makes FFmpeg read other files, and a
    session description makes it open sockets.
    """
    import av

    whitelist = {**(options or {}), "format_whitelist": formats}
    return av.open(file, mode="r", options=whitelist)


def decoder_environment() -> dict[str, str]:
    """Return the environment of a process that decodes: it needs no key."""
    return {k: v for k, v in os.environ.items() if not k.startswith("MEDIAKIT_")}


def picture_track(container: InputContainer) -> VideoStream:
    """Return the first picture track; a ValueError says why there is none."""
    if not container.streams.video:
        raise ValueError("it has no picture")
    stream = container.streams.video[0]
    # A track with an unknown codec has no context, although PyAV's types declare one.
    if getattr(stream, "codec_context", None) is None:
        raise ValueError("its codec is not known")
    return stream


def quarter_turns(frame: VideoFrame) -> int:
    """Return how often a frame is turned by 90 degrees, counterclockwise, for display.

    A phone stores the frames of a portrait clip sideways, with a rotation.
    """
    return round(frame.rotation / 90) % 4


def displayed_size(frame: VideoFrame) -> tuple[int, int]:
    """Return the width and the height at which a frame is displayed, in pixels."""
    if quarter_turns(frame) % 2:
        return frame.height, frame.width
    return frame.width, frame.height


def upright_pixels(
    frame: VideoFrame, size: tuple[int, int], pixel_format: str
) -> NDArray[np.uint8]:
    """Return a frame as it is displayed, scaled to a width and a height."""
    import numpy as np

    turns = quarter_turns(frame)
    width, height = size[::-1] if turns % 2 else size
    small = frame.reformat(width, height, pixel_format, interpolation="AREA")
    return np.rot90(small.to_ndarray(), turns)
