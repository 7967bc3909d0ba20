"""What a file is, read from its header."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from mediakit.errors import InputError
from mediakit.schema import MediaName

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.stream import VideoStream

PROBE_BYTES = 5_000_000
MAX_PIXELS = 200_000_000
UNKNOWN_TYPE = "application/octet-stream"
EXIF_ORIENTATION = 0x0112
EXIF_TURNED = (5, 6, 7, 8)

# FFmpeg would also read a text as a film of a terminal, and a picture as a clip.
_CONTAINERS: Mapping[MediaName, frozenset[str]] = {
    "video": frozenset({"mp4", "matroska", "avi", "mpegts"}),
    "audio": frozenset({"wav", "mp3", "mp4", "ogg", "flac", "aac", "matroska"}),
}
# Other formats are not even opened: a playlist would have further files read.
FORMATS = ",".join(sorted(_CONTAINERS["video"] | _CONTAINERS["audio"]))
# What Pillow raises about broken pictures, beside OSError and ValueError; its warnings
# too, where Python was told to raise them.
_BROKEN = (
    SyntaxError,
    RuntimeError,
    EOFError,
    IndexError,
    TypeError,
    struct.error,
    UserWarning,
)
_NAME = {"image": "a picture", "video": "a clip", "audio": "a sound"}
_WHAT = {
    "image": "a picture that can be read (png, jpeg, webp, ...)",
    "video": "a clip that can be read (mp4 or mov)",
    "audio": "a sound that can be read (wav or mp3)",
}


@dataclass(frozen=True)
class MediaInfo:
    """What a file is, as read from its header; None is unknown.

    Args:
        kind: Which medium it is.
        content_type: Its media type, such as "video/mp4".
        size_bytes: Its length.
        width: Pixels across, as shown.
        height: Pixels down, as shown.
        duration_s: Seconds.
        fps: Frames per second.
        codec: The codec of the picture, or of the sound where there is no picture.
        has_audio: Whether it has sound.
        changed_ns: When a local file was last changed.
    """

    kind: MediaName
    content_type: str
    size_bytes: int
    width: int | None = None
    height: int | None = None
    duration_s: float | None = None
    fps: float | None = None
    codec: str | None = None
    has_audio: bool | None = None
    changed_ns: int | None = field(default=None, repr=False, compare=False)


def probe(path: Path, expected: MediaName, label: str) -> MediaInfo:
    """Read what a local file is from its header.

    Args:
        path: The file.
        expected: The medium that the field wants.
        label: The field that names it, for the error.

    Raises:
        InputError: There is no such file, it is empty, cannot be read, or is another
            medium.
    """
    _refuse_what_is_no_file(path, expected, label)
    try:
        with path.open("rb") as file:
            # Before it is read: what is written meanwhile makes it another file.
            stat = os.fstat(file.fileno())
            info = probe_file(file, expected, stat.st_size)
    except (OSError, ValueError) as error:
        got = f"{path} ({_reason(error, expected)})"
        raise InputError(label, got=got, accepted=_WHAT[expected]) from None
    return replace(info, changed_ns=stat.st_mtime_ns)


def probe_file(
    file: BinaryIO,
    expected: MediaName,
    size_bytes: int,
    *,
    probe_bytes: int = PROBE_BYTES,
) -> MediaInfo:
    """Read what an open file is from its header.

    Args:
        file: The file, at its beginning; it must be seekable.
        expected: The medium that is wanted.
        size_bytes: Its length.
        probe_bytes: After how many bytes of content what is known by then will do.

    Raises:
        OSError: It cannot be read as such a medium.
        ValueError: It is another medium; the message says what it is not.
    """
    if expected == "image":
        return _probe_image(file, size_bytes)
    options = {"format_whitelist": FORMATS, "probesize": str(probe_bytes)}
    return _probe_av(file, expected, size_bytes, options)


def _reason(error: Exception, expected: MediaName) -> str:
    if type(error) is ValueError:  # one of this module's own sentences
        return str(error)
    if isinstance(error, PermissionError):
        return "it may not be read"
    return f"it cannot be read as {_NAME[expected]}"


def _refuse_what_is_no_file(path: Path, expected: MediaName, label: str) -> None:
    accepted = f"{_WHAT[expected]}, as an http(s) URL or an existing file"
    if not _exists(path):
        raise InputError(label, got=f"{path} (no such file)", accepted=accepted)
    if not path.is_file():
        raise InputError(label, got=f"{path} (not a file)", accepted=accepted)
    if path.stat().st_size == 0:
        raise InputError(label, got=f"{path} (an empty file)", accepted=accepted)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long a name, or one with what no name may hold
        return False


def _probe_image(file: BinaryIO, size_bytes: int) -> MediaInfo:
    from PIL import Image

    try:
        with Image.open(file) as image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise ValueError(f"{width} x {height} pixels are too many")
            content_type = Image.MIME.get(
                image.format or "", "application/octet-stream"
            )
            image.verify()
        file.seek(0)
        with Image.open(file) as image:  # verify() leaves nothing to read
            turned = image.getexif().get(EXIF_ORIENTATION) in EXIF_TURNED
    except Image.DecompressionBombError:
        raise ValueError("its pixels are too many") from None
    except _BROKEN as error:
        raise OSError("it is broken") from error
    if turned:
        width, height = height, width
    return MediaInfo("image", content_type, size_bytes, width, height)


def _probe_av(
    file: BinaryIO, expected: MediaName, size_bytes: int, options: dict[str, str]
) -> MediaInfo:
    import av

    try:
        with av.open(file, mode="r", options=options) as container:
            return _info(container, expected, size_bytes)
    except av.ArgumentError:
        raise ValueError(f"it is not {_NAME[expected]}") from None
    except av.FFmpegError as error:  # not all of them are OSErrors or ValueErrors
        raise OSError("it is broken") from error


def _info(container: InputContainer, expected: MediaName, size_bytes: int) -> MediaInfo:
    if _CONTAINERS[expected].isdisjoint(container.format.name.split(",")):
        raise ValueError(f"it is not {_NAME[expected]}")
    videos, sounds = container.streams.video, container.streams.audio
    stream = (videos or (None,))[0] if expected == "video" else None
    if expected == "video" and stream is None:
        raise ValueError("it has no picture")
    if expected == "audio" and not sounds:
        raise ValueError("it has no sound")
    # A track of an unknown codec has no context, although PyAV's types promise one.
    context = getattr(stream or sounds[0], "codec_context", None)
    if context is None:
        raise ValueError("its codec is not known")
    rate = stream.average_rate if stream else None
    return MediaInfo(
        kind=expected,
        content_type=_content_type(container, expected),
        size_bytes=size_bytes,
        width=stream.width if stream else None,
        height=stream.height if stream else None,
        duration_s=duration_s(container, stream),
        fps=float(rate) if rate else None,
        codec=context.name,
        has_audio=bool(sounds),
    )


def duration_s(
    container: InputContainer, stream: VideoStream | None = None
) -> float | None:
    """Return the length of the picture, which is what is billed, else of the file."""
    if stream is not None and stream.duration and stream.time_base:
        return float(stream.duration * stream.time_base)
    if container.duration is None:
        return None
    return float(Fraction(container.duration, 1_000_000))


def _content_type(container: InputContainer, expected: MediaName) -> str:
    names = container.format.name.split(",")
    if "mp4" in names:
        brand = container.metadata.get("major_brand", "").strip()
        suffix = "quicktime" if brand == "qt" and expected == "video" else "mp4"
        return f"{expected}/{suffix}"
    known = {"mp3": "audio/mpeg", "wav": "audio/wav", "matroska": f"{expected}/webm"}
    return next((known[n] for n in names if n in known), f"{expected}/{names[0]}")
