"""The properties of a clip or sound: measured in a local file, read at a URL."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from mediakit.decoding.containers import (
    content_type,
    decoded_frames,
    holds,
    opened,
    picture_track,
    sound_track,
)
from mediakit.decoding.errors import decoder_errors
from mediakit.decoding.lengths import Timing, counted, listed
from mediakit.decoding.orientation import display_of
from mediakit.media_limits import MediaInfo, MediaName

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.video.stream import VideoStream

A_MEDIUM = {"image": "a picture", "video": "a clip", "audio": "a sound"}
# The maximum number of bytes of a file that are read to find its tracks.
WHOLE_PROBE_BYTES = 5_000_000
# The maximum number of bytes that are downloaded to find tracks; a single frame of a
# large clip can take all of them.
PROBE_BYTES = 500_000
# Files at a URL up to this size are downloaded to count their packets.
COUNTED_BYTES = 3_000_000


def recording_info(
    file: BinaryIO, expected: MediaName, size_bytes: int, *, whole: bool = True
) -> MediaInfo:
    """Read the properties of an open, seekable clip or sound.

    Args:
        file: The file.
        expected: "video" or "audio".
        size_bytes: Its size.
        whole: Whether the whole file may be read. If not, a length that only the header
            declares counts as unknown.

    Raises:
        ValueError: The file is not of the expected medium; the text says why.
        OSError: The file is broken.
    """
    import av

    probe_bytes = WHOLE_PROBE_BYTES if whole else PROBE_BYTES
    options = {"probesize": str(probe_bytes)}
    try:
        with decoder_errors():
            with opened(file, options) as container:
                info = _info(container, file, expected, size_bytes, whole=whole)
            file.seek(0)
            # Open the file again, because a frame has been decoded and not every
            # container can seek.
            with opened(file, options) as container:
                timing = _timing(container, expected, size_bytes, whole=whole)
    except av.ArgumentError:
        raise ValueError(f"it is not {A_MEDIUM[expected]}") from None
    return replace(info, duration_s=timing.seconds, fps=timing.fps)


def _info(
    container: InputContainer,
    file: BinaryIO,
    expected: MediaName,
    size_bytes: int,
    *,
    whole: bool,
) -> MediaInfo:
    if not holds(container, expected):
        raise ValueError(f"it is not {A_MEDIUM[expected]}")
    picture = picture_track(container) if expected == "video" else None
    track = picture or sound_track(container)
    size = None
    if picture is not None:
        size = _displayed_size(container, picture, whole=whole)
    elif whole:
        _check_sound(container, sound_track(container))
    nominal = picture.guessed_rate if picture else None
    return MediaInfo(
        kind=expected,
        content_type=content_type(container, file, expected),
        size_bytes=size_bytes,
        width=size[0] if size else None,
        height=size[1] if size else None,
        codec=track.codec_context.codec.canonical_name,
        has_audio=bool(container.streams.audio),
        nominal_fps=float(nominal) if nominal else None,
    )


def _displayed_size(
    container: InputContainer, stream: VideoStream, *, whole: bool
) -> tuple[int, int]:
    """Return the displayed size, which only a decoded frame reveals."""
    if not whole:  # the readable bytes may not include a frame
        with suppress(OSError, ValueError), decoder_errors():
            for frame in decoded_frames(container, stream):
                return display_of(stream, frame).size(frame.width, frame.height)
        return stream.width, stream.height
    for frame in decoded_frames(container, stream):
        return display_of(stream, frame).size(frame.width, frame.height)
    raise ValueError("none of its frames can be decoded")


def _check_sound(container: InputContainer, stream: AudioStream) -> None:
    if next(decoded_frames(container, stream), None) is None:
        raise ValueError("nothing in it can be decoded")


def _timing(
    container: InputContainer, expected: MediaName, size_bytes: int, *, whole: bool
) -> Timing:
    is_video = expected == "video"
    stream = picture_track(container) if is_video else sound_track(container)
    if whole or size_bytes <= COUNTED_BYTES:
        return counted(container, stream)
    return listed(container, stream, size_bytes)
