"""Local media: what a file is, whether it will do, and a small picture of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import quote

from mediakit.errors import InputError
from mediakit.schema import InputFacts, MediaName

if TYPE_CHECKING:
    from av.container import InputContainer
    from PIL.Image import Image as PILImage

    from mediakit.catalog import Function

POSTER_AT_S = 1.0
POSTER_MAX_PX = 320
THUMBNAIL_MAX_PX = 160
JPEG_QUALITY = 78
MAX_PIXELS = 200_000_000
EXIF_ORIENTATION = 0x0112
EXIF_TURNED = (5, 6, 7, 8)

# FFmpeg would also read a text as a film of a terminal, and a picture as a clip.
_CONTAINERS: Mapping[MediaName, frozenset[str]] = {
    "video": frozenset({"mp4", "matroska", "avi", "mpegts"}),
    "audio": frozenset({"wav", "mp3", "mp4", "ogg", "flac", "aac", "matroska"}),
}
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


def is_url(value: str) -> bool:
    """Tell an http(s) URL from a local path."""
    return value.lower().startswith(("http://", "https://"))


def local_file(value: str) -> Path:
    """Return the file that a value names, with the user's home filled in."""
    try:
        return Path(value).expanduser()
    except RuntimeError:  # "~nobody/cat.png": there is no such home
        return Path(value)


def stand_in(value: str) -> str:
    """Return a URL that stands for a local path in checks and prices."""
    return value if is_url(value) else f"https://file.invalid/{quote(value)}"


def body_with_stand_ins(
    function: Function, body: Mapping[str, object]
) -> tuple[dict[str, object], dict[str, str]]:
    """Replace local paths by URLs that stand for them, for checking and pricing.

    Returns:
        The body, and the stand-in of each path.
    """
    paths = {
        item.value: stand_in(item.value)
        for item in function.media(body)
        if item.value and not is_url(item.value)
    }
    return function.with_media(body, paths), paths


def facts_of(
    function: Function, body: Mapping[str, object], infos: Mapping[str, MediaInfo]
) -> InputFacts:
    """Collect the known durations of a body's media, by URL or stand-in.

    Args:
        function: The function.
        body: The body, as people wrote it.
        infos: What is known of each medium, by its value in the body.
    """
    seconds = {
        stand_in(item.value): info.duration_s
        for item in function.media(body)
        if (info := infos.get(item.value)) and info.duration_s is not None
    }
    return InputFacts(seconds=seconds)


def probe(path: Path, expected: MediaName, field: str) -> MediaInfo:
    """Read what a local file is from its header.

    Args:
        path: The file.
        expected: The medium that the field wants.
        field: The field that names it, for the error.

    Raises:
        InputError: There is no such file, it is empty, cannot be read, or is another
            medium.
    """
    size_bytes = _size_bytes(path, expected, field)
    try:
        if expected == "image":
            return _probe_image(path, size_bytes)
        return _probe_av(path, expected, size_bytes)
    except (OSError, ValueError) as error:
        # PyAV's errors are OSErrors or ValueErrors; so are Pillow's.
        got = f"{path} ({_reason(error, expected)})"
        raise InputError(field, got=got, accepted=_WHAT[expected]) from None


def _reason(error: Exception, expected: MediaName) -> str:
    if type(error) is ValueError:  # one of this module's own sentences
        return str(error)
    if isinstance(error, PermissionError):
        return "it may not be read"
    return f"it cannot be read as {_NAME[expected]}"


def _size_bytes(path: Path, expected: MediaName, field: str) -> int:
    accepted = f"{_WHAT[expected]}, as a URL or an existing file"
    if not _exists(path):
        raise InputError(field, got=f"{path} (no such file)", accepted=accepted)
    if not path.is_file():
        raise InputError(field, got=f"{path} (not a file)", accepted=accepted)
    size_bytes = path.stat().st_size
    if size_bytes == 0:
        raise InputError(field, got=f"{path} (an empty file)", accepted=accepted)
    return size_bytes


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that is too long, or holds what no name may hold
        return False


def _probe_image(path: Path, size_bytes: int) -> MediaInfo:
    from PIL import Image

    with Image.open(path) as image:
        width, height = image.size
        if width * height > MAX_PIXELS:
            raise ValueError(f"{width} x {height} pixels are too many")
        content_type = Image.MIME.get(image.format or "", "application/octet-stream")
        image.verify()
    with Image.open(path) as image:  # verify() leaves nothing to read
        turned = image.getexif().get(EXIF_ORIENTATION) in EXIF_TURNED
    if turned:
        width, height = height, width
    return MediaInfo("image", content_type, size_bytes, width, height)


def _probe_av(path: Path, expected: MediaName, size_bytes: int) -> MediaInfo:
    import av

    with path.open("rb") as file, av.open(file, mode="r") as container:
        if _CONTAINERS[expected].isdisjoint(container.format.name.split(",")):
            raise ValueError(f"it is not {_NAME[expected]}")
        videos, sounds = container.streams.video, container.streams.audio
        stream = (videos or (None,))[0] if expected == "video" else None
        if expected == "video" and stream is None:
            raise ValueError("it has no picture")
        if expected == "audio" and not sounds:
            raise ValueError("it has no sound")
        codec = stream.codec_context.name if stream else sounds[0].codec_context.name
        rate = stream.average_rate if stream else None
        return MediaInfo(
            kind=expected,
            content_type=_content_type(container, expected),
            size_bytes=size_bytes,
            width=stream.width if stream else None,
            height=stream.height if stream else None,
            duration_s=_duration_s(container),
            fps=float(rate) if rate else None,
            codec=codec,
            has_audio=bool(sounds),
        )


def _duration_s(container: InputContainer) -> float | None:
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


def thumbnail_jpeg(path: Path, max_px: int = THUMBNAIL_MAX_PX) -> bytes:
    """Make a small JPEG of a picture, at most so many pixels on its longer side.

    Raises:
        OSError: The picture cannot be read.
    """
    from PIL import Image, ImageOps

    with Image.open(path) as image:
        image.draft("RGB", (max_px, max_px))
        return _jpeg(ImageOps.exif_transpose(image), max_px)


def poster_jpeg(source: Path | BinaryIO, max_px: int = POSTER_MAX_PX) -> bytes:
    """Make a small JPEG of a clip, a frame from about its first second.

    Args:
        source: A video or a picture, as a path or an open file.
        max_px: The most pixels on the longer side.

    Raises:
        OSError: It cannot be read.
        ValueError: It has no picture.
    """
    import av
    from PIL import Image, UnidentifiedImageError

    if isinstance(source, Path):
        with source.open("rb") as file:
            return poster_jpeg(file, max_px)
    try:
        with Image.open(source) as image:
            return _jpeg(image, max_px)
    except UnidentifiedImageError:
        source.seek(0)
    with av.open(source, mode="r") as container:
        return _jpeg(_frame(container), max_px)


def _frame(container: InputContainer) -> PILImage:
    from PIL import Image

    if not container.streams.video:
        raise ValueError("it has no picture")
    at_s = min(POSTER_AT_S, (_duration_s(container) or 0) / 2)
    chosen = None
    for frame in container.decode(video=0):
        chosen = frame
        if frame.pts is None or frame.time >= at_s:
            break
    if chosen is None:
        raise ValueError("it has no frame")
    return Image.fromarray(chosen.to_ndarray(format="rgb24"))


def _jpeg(image: PILImage, max_px: int) -> bytes:
    small = image.convert("RGB")
    small.thumbnail((max_px, max_px))
    out = BytesIO()
    small.save(out, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return out.getvalue()
