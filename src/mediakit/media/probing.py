"""Read the properties of a file from its header."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from mediakit.decoding import (
    CONTAINERS,
    BrokenFileError,
    decoder_errors,
    displayed_size,
    opened,
    picture_track,
)
from mediakit.errors import InputError
from mediakit.media_limits import MediaInfo, MediaName

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.stream import VideoStream

PROBE_BYTES = 5_000_000
MAX_PIXELS = 200_000_000
EXIF_ORIENTATION = 0x0112
EXIF_TURNED = (5, 6, 7, 8)

_NAME = {"image": "a picture", "video": "a clip", "audio": "a sound"}
_WHAT = {
    "image": "a picture that can be read (png, jpeg, webp, ...)",
    "video": "a clip that can be read (mp4 or mov)",
    "audio": "a sound that can be read (wav or mp3)",
}


def probe(path: Path, expected: MediaName, label: str) -> MediaInfo:
    """Read the properties of a local file from its header."""
    _refuse_what_is_no_file(path, expected, label)
    try:
        with path.open("rb") as file:
            # Read first: a change while the header is read makes it another file.
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
    """Read the properties of an open, seekable file from its header.

    After `probe_bytes`, what is known by then has to do.
    """
    if expected == "image":
        return _probe_image(file, size_bytes)
    return _probe_av(file, expected, size_bytes, {"probesize": str(probe_bytes)})


def _reason(error: Exception, expected: MediaName) -> str:
    if type(error) is ValueError:  # raised by this module, so its text can be shown
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
    except (OSError, ValueError):  # the name is too long or has invalid characters
        return False


def _probe_image(file: BinaryIO, size_bytes: int) -> MediaInfo:
    from PIL import Image

    try:
        with decoder_errors():
            with Image.open(file) as image:
                width, height = image.size
                if width * height > MAX_PIXELS:
                    raise ValueError(f"{width} x {height} pixels are too many")
                content_type = Image.MIME.get(
                    image.format or "", "application/octet-stream"
                )
                image.verify()
            file.seek(0)
            with Image.open(file) as image:  # verify() leaves the image unusable
                turned = image.getexif().get(EXIF_ORIENTATION) in EXIF_TURNED
    except BrokenFileError as error:
        if isinstance(error.__cause__, Image.DecompressionBombError):
            raise ValueError("its pixels are too many") from None
        raise
    if turned:
        width, height = height, width
    return MediaInfo("image", content_type, size_bytes, width, height)


def _probe_av(
    file: BinaryIO, expected: MediaName, size_bytes: int, options: dict[str, str]
) -> MediaInfo:
    import av

    try:
        with decoder_errors(), opened(file, options) as container:
            return _info(container, expected, size_bytes)
    except av.ArgumentError:
        raise ValueError(f"it is not {_NAME[expected]}") from None


def _info(container: InputContainer, expected: MediaName, size_bytes: int) -> MediaInfo:
    if CONTAINERS[expected].isdisjoint(container.format.name.split(",")):
        raise ValueError(f"it is not {_NAME[expected]}")
    sounds = container.streams.audio
    stream = picture_track(container) if expected == "video" else None
    if expected == "audio" and not sounds:
        raise ValueError("it has no sound")
    # A track with an unknown codec has no context, although PyAV's types declare one.
    context = getattr(stream or sounds[0], "codec_context", None)
    if context is None:
        raise ValueError("its codec is not known")
    width, height = _size(container, stream) if stream else (None, None)
    rate = stream.average_rate if stream else None
    return MediaInfo(
        kind=expected,
        content_type=_content_type(container, expected),
        size_bytes=size_bytes,
        width=width,
        height=height,
        duration_s=duration_s(container, stream),
        fps=float(rate) if rate else None,
        codec=context.name,
        has_audio=bool(sounds),
    )


def _size(container: InputContainer, stream: VideoStream) -> tuple[int, int]:
    """Return the size as displayed; as stored if no frame can be decoded.

    PyAV gives the rotation only with a decoded frame.
    """
    with suppress(OSError, ValueError), decoder_errors():
        for frame in container.decode(stream):
            return displayed_size(frame)
    return stream.width, stream.height


def duration_s(
    container: InputContainer, stream: VideoStream | None = None
) -> float | None:
    """Return the duration of the picture, which is billed, else of the file."""
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
