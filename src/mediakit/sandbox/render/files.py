"""Files from outside, which are untrusted until they are decoded."""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Literal, NamedTuple

import av
import numpy as np
from av.container import InputContainer
from av.stream import Disposition
from av.video.reformatter import ColorRange
from PIL import ExifTags, Image, ImageOps

from mediakit.decoding import (
    decoder_errors,
    displayed_size,
    opened,
    picture_track,
    quarter_turns,
)
from mediakit.media_limits import MediaInfo
from mediakit.rules import Problem
from mediakit.sandbox.render.protocol import RenderError, RenderRequest, Size

Recorded = Literal["video", "audio"]

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "AVIF")
MAX_PIXELS = 50_000_000
MAX_SIZE_BYTES = 100_000_000

# The EXIF orientations of upright pictures.
_LYING = (5, 6, 7, 8)
_LARGE_PIXELS = 4_000_000
_MAX_DECODED_PIXELS = 8_400_000
_UNSPECIFIED = 2
# The scale filter's names of colour spaces other than BT.709, by FFmpeg's numbers.
_COLOURS = {4: "fcc", 5: "bt470", 6: "smpte170m", 7: "smpte240m", 9: "bt2020"}
_ACCEPTED = {"video": "mp4 or mov", "audio": "wav, mp3 or m4a"}
_NAMES = {"video": "video", "audio": "sound"}
# FFmpeg's names; the first one is also that of mp4 and m4a.
_CONTAINERS = {"video": "mov", "audio": "mov,mp3,wav"}
_UPRIGHT = {
    0: [],
    1: [("transpose", "cclock")],
    2: [("hflip", ""), ("vflip", "")],
    3: [("transpose", "clock")],
}

Image.init()  # Pillow loads its WebP and AVIF readers only here.


class Given(NamedTuple):
    """A file that the body names, and where it names it."""

    path: Path
    field: str


# Pictures


def read_picture(given: Given, *, enough: Size | None = None) -> Image.Image:
    """Decode a picture and rotate it by its EXIF orientation."""
    with opened_picture(given) as picture:
        size = Size(*picture.size)
        if size.pixels > MAX_PIXELS:
            raise RenderError.invalid(
                f"{given.field}: the picture has {size} pixels "
                f"({size.pixels / 1e6:.1f} megapixels), accepted are at most "
                f"{MAX_PIXELS / 1e6:g} megapixels."
            )
        if enough is not None:
            picture.draft("RGB", (max(enough), max(enough)))
        picture.load()
        # A copy would double the memory.
        ImageOps.exif_transpose(picture, in_place=True)
        if picture.mode.startswith("I;16"):
            picture = Image.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
        mode = "RGBA" if picture.has_transparency_data else "RGB"
        return picture if picture.mode == mode else picture.convert(mode)


def picture_size(given: Given) -> Size:
    """Read the displayed size of a picture without decoding it."""
    with opened_picture(given) as picture:
        width, height = picture.size
        orientation = picture.getexif().get(ExifTags.Base.Orientation, 1)
        return Size(height, width) if orientation in _LYING else Size(width, height)


def is_picture(given: Given) -> bool:
    """Return whether a file is a picture, complete or not."""
    try:
        with opened_picture(given):
            return True
    except RenderError:
        return False


@contextmanager
def opened_picture(given: Given) -> Iterator[Image.Image]:
    """Open a picture without decoding it; failures inside become `invalid_input`."""
    try:
        size_bytes = given.path.stat().st_size
        file = given.path.open("rb")
    except OSError as problem:
        raise RenderError.internal(
            f"{given.field}: the file cannot be read from disk ({problem.strerror})."
        ) from problem
    with file, warnings.catch_warnings():
        if size_bytes > MAX_SIZE_BYTES:
            raise RenderError.invalid(
                f"{given.field}: the file has {size_bytes / 1e6:.1f} MB, accepted are "
                f"at most {MAX_SIZE_BYTES / 1e6:g} MB."
            )
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with decoder_errors(), Image.open(file, formats=FORMATS) as picture:
                yield picture
        except (OSError, ValueError) as problem:
            raise RenderError.invalid(
                f"{given.field}: the file cannot be decoded as a picture; accepted are "
                "JPEG, PNG, WebP, GIF, BMP or AVIF."
            ) from problem


def on_white(picture: Image.Image) -> Image.Image:
    """Lay a picture with transparency on white."""
    if picture.mode != "RGBA":
        return picture
    paper = Image.new("RGBA", picture.size, "white")
    return Image.alpha_composite(paper, picture).convert("RGB")


# Clips and sounds


@contextmanager
def opened_container(given: Given, medium: Recorded) -> Iterator[InputContainer]:
    """Open a file of a known format; failures inside become `invalid_input`.

    In other formats a file may name further files and addresses to be read.
    """
    with given.path.open("rb") as file:
        try:
            with (
                decoder_errors(),
                opened(file, formats=_CONTAINERS[medium]) as container,
            ):
                yield container
        except (OSError, ValueError, OverflowError) as problem:
            raise RenderError.invalid(
                f"{given.field}: the file cannot be decoded as a {_NAMES[medium]}; "
                f"accepted are {_ACCEPTED[medium]}."
            ) from problem


def has_pictures(container: InputContainer) -> bool:
    """Return whether there are moving pictures, and not just the cover of an album."""
    return any(
        Disposition.attached_pic not in stream.disposition
        for stream in container.streams.video
    )


# Clips


@dataclass(frozen=True)
class Clip:
    """A checked clip.

    Attributes:
        given: The file.
        size: The size it is shown at, turned the way its camera was held.
        duration_s: Its length.
        rate: Its frames per second; 0 when the file does not tell.
        upright: FFmpeg's filters that turn its frames.
        colours: Their colour space, as the scale filter names it.
        info: Its properties, for limits.
    """

    given: Given
    size: Size
    duration_s: float
    rate: Fraction
    upright: Sequence[tuple[str, str]]
    colours: str
    info: MediaInfo

    @property
    def has_sound(self) -> bool:
        """Whether there is a sound track."""
        return self.info.has_audio is True


def read_clips(request: RenderRequest, given: Sequence[Given]) -> list[Clip]:
    """Check clips, also against the limits of their fields."""
    clips = [read_clip(each) for each in given]
    check_limits(request, [(clip.given, clip.info) for clip in clips])
    return clips


def field_of(given: Given) -> str:
    """Return the field of the body that names a file, perhaps inside of it."""
    return re.split(r"[.\[]", given.field)[0]


def check_limits(
    request: RenderRequest, found: Sequence[tuple[Given, MediaInfo]]
) -> None:
    """Check media against the limits of the fields that name them."""
    problems: list[Problem] = []
    for field, group in groupby(
        found, lambda pair: re.split(r"[.\[]", pair[0].field)[0]
    ):
        limits = request.limits_of(field)
        together = [*group]
        for given, info in together:
            problems += limits.problems(given.field, info)
        if total := limits.total_problem(field, [info for _, info in together]):
            problems.append(total)
    if problems:
        raise RenderError.of(problems)


def read_clip(given: Given) -> Clip:
    """Check a clip and decode its first frame."""
    with opened_container(given, "video") as container:
        frame = next(_decoded(container, given.field), None)
        if frame is None:
            raise RenderError.invalid(f"{given.field}: the file has no video frames.")
        stream = container.streams.video[0]
        duration_s = (container.duration or 0) / 1e6
        if stream.duration is not None and stream.time_base is not None:
            duration_s = float(stream.duration * stream.time_base)
        brand = container.metadata.get("major_brand", "").strip()
        size, rate = Size(*displayed_size(frame)), Fraction(stream.average_rate or 0)
        info = MediaInfo(
            "video",
            "video/quicktime" if brand == "qt" else "video/mp4",
            given.path.stat().st_size,
            *size,
            duration_s,
            float(rate),
            has_audio=bool(container.streams.audio),
        )
    upright = _UPRIGHT[quarter_turns(frame)]
    return Clip(given, size, duration_s, rate, upright, _colours(frame), info)


def clip_frames(
    clip: Clip, fps: Fraction, *, loop: bool = False
) -> Iterator[av.VideoFrame]:
    """Decode a clip at another frame rate: frames are left out or repeated."""
    while True:
        with opened_container(clip.given, "video") as container:
            wanted, first_s, size, shown = 0, None, None, None
            for frame in _decoded(container, clip.given.field):
                # A video track may begin later than its file.
                first_s = frame.time or 0.0 if first_s is None else first_s
                start_s = (frame.time or 0.0) - first_s - 0.5 / max(float(clip.rate), 1)
                while shown is not None and wanted / fps < start_s:
                    yield shown
                    wanted += 1
                size = size or (frame.width, frame.height)
                shown = _uniform(frame, *size)
            # Whatever the file holds beyond the length it tells is not shown.
            while shown is not None and wanted < max(round(clip.duration_s * fps), 1):
                yield shown
                wanted += 1
        if shown is None:
            raise RenderError.invalid(f"{clip.given.field}: no frame to show.")
        if not loop:
            return


def last_frame(clip: Clip) -> av.VideoFrame:
    """Decode the frame that a clip ends with, as the file stores it."""
    with opened_container(clip.given, "video") as container:
        container.seek(max(int((clip.duration_s - 1) * 1e6), 0))
        last = None
        for frame in _decoded(container, clip.given.field):
            last = frame
        if last is None:
            raise RenderError.invalid(f"{clip.given.field}: the last frame is missing.")
        return _uniform(last, last.width, last.height)


def _decoded(container: InputContainer, field: str) -> Iterator[av.VideoFrame]:
    if not container.streams.video:
        raise RenderError.invalid(f"{field}: the file has no video track.")
    stream = picture_track(container)
    stream.thread_type = "AUTO"
    # Each thread keeps frames of its own, which at 4K use most of the memory.
    large = stream.width * stream.height > _LARGE_PIXELS
    stream.codec_context.thread_count = 1 if large else 2
    # Also rejects a frame that is larger than the file's header says.
    stream.codec_context.options = {"max_pixels": str(_MAX_DECODED_PIXELS)}
    yield from container.decode(stream)


def _colours(frame: av.VideoFrame) -> str:
    if frame.colorspace == _UNSPECIFIED:  # players guess, too: small means old
        return "bt709" if frame.height >= 720 else "bt601"
    return _COLOURS.get(frame.colorspace, "bt709")


def _uniform(frame: av.VideoFrame, width: int, height: int) -> av.VideoFrame:
    return frame.reformat(
        width, height, "yuv420p", dst_color_range=ColorRange.MPEG, threads=1
    )


def measured_s(given: Given, medium: Recorded) -> float:
    """Measure the length of a clip or a sound in seconds, as the client does."""
    # It needs 11 MB, which a worker that only renders does not need.
    from mediakit.errors import InputError
    from mediakit.media import probe

    with opened_container(given, medium):  # only safe formats
        try:
            info = probe(given.path, medium, given.field)
        except InputError as problem:
            raise RenderError.invalid(
                f"{given.field}: the file cannot be read as {medium}; accepted are "
                f"{_ACCEPTED[medium]}."
            ) from problem
    if info.duration_s is None:
        raise RenderError.invalid(
            f"{given.field}: the file does not tell how long it is."
        )
    return info.duration_s
