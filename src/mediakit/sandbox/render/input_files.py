"""Input files, which are untrusted until they are decoded."""

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

import av
from av.container import InputContainer
from PIL import Image, ImageOps

from mediakit.decoding import (
    Display,
    Steps,
    as_bt709,
    decoded_frames,
    decoder_errors,
    display_of,
    eight_bits,
    has_moving_pictures,
    holds,
    in_srgb,
    is_high_range,
    opened,
    opened_picture,
    picture_info,
    picture_track,
    recording_info,
    sound_track,
)
from mediakit.media_limits import MediaInfo, MediaName
from mediakit.rules import Problem
from mediakit.sandbox.render.protocol import RenderError, RenderRequest, Size

Recorded = Literal["video", "audio"]

MAX_SIZE_BYTES = 100_000_000

_LARGE_PIXELS = 4_000_000
_MAX_DECODED_PIXELS = 8_400_000
# Toning takes a fifth of a second for each frame of this size.
_MAX_TONED_PIXELS = 1920 * 1080
_SAME_RATE = 0.1
_ACCEPTED = {
    "image": "JPEG, PNG, WebP, GIF, BMP, AVIF or TIFF",
    "video": "mp4, mov, webm, mkv, avi or ts",
    "audio": "wav, mp3, m4a, ogg, flac, aac or webm",
}
_NAMES = {"image": "picture", "video": "video", "audio": "sound"}

Image.init()  # Pillow loads its WebP and AVIF readers only here.


class InputFile(NamedTuple):
    """A file in a body, and the name of its field."""

    path: Path
    field: str


# Pictures


def read_picture(source: InputFile, *, enough: Size | None = None) -> Image.Image:
    """Decode a picture and rotate it by its EXIF orientation."""
    with _picture_file(source) as file, opened_picture(file) as picture:
        if enough is not None:
            picture.draft("RGB", (max(enough), max(enough)))
        picture.load()
        # A copy would double the memory.
        ImageOps.exif_transpose(picture, in_place=True)
        plain = eight_bits(in_srgb(picture))
        return plain.convert("RGB") if plain.mode == "L" else plain


def picture_size(source: InputFile) -> Size:
    """Read the displayed size of a picture without decoding it."""
    with _picture_file(source) as file:
        info = picture_info(file, source.path.stat().st_size)
    assert info.width is not None
    assert info.height is not None
    return Size(info.width, info.height)


def is_picture(source: InputFile) -> bool:
    """Return whether a file is a picture, complete or not."""
    try:
        with _picture_file(source) as file, opened_picture(file):
            return True
    except RenderError:
        return False


@contextmanager
def _picture_file(source: InputFile) -> Iterator[BinaryIO]:
    """Open the file of a picture; errors become `invalid_input`."""
    try:
        size_bytes = source.path.stat().st_size
        file = source.path.open("rb")
    except OSError as problem:
        raise RenderError.internal(
            f"{source.field}: the file cannot be read from disk ({problem.strerror})."
        ) from problem
    with file:
        if size_bytes > MAX_SIZE_BYTES:
            raise RenderError.invalid(
                f"{source.field}: the file has {size_bytes / 1e6:.1f} MB; the limit is "
                f"{MAX_SIZE_BYTES / 1e6:g} MB."
            )
        with _invalid(source, "image"), decoder_errors():
            yield file


@contextmanager
def _invalid(source: InputFile, medium: MediaName) -> Iterator[None]:
    """Convert the errors of a file to `invalid_input`."""
    try:
        yield
    except (OSError, ValueError, OverflowError) as problem:
        # A plain ValueError is ours.
        why = f" ({problem})" if type(problem) is ValueError else ""
        words = f"the file cannot be decoded as a {_NAMES[medium]}{why}"
        raise RenderError.invalid(
            f"{source.field}: {words}; accepted: {_ACCEPTED[medium]}."
        ) from problem


@contextmanager
def opened_container(source: InputFile, medium: Recorded) -> Iterator[InputContainer]:
    """Open a file of a known format; errors become `invalid_input`."""
    with (
        source.path.open("rb") as file,
        _invalid(source, medium),
        decoder_errors(),
        opened(file) as container,
    ):
        # Any clip may be opened for its sound.
        if medium == "video" and not holds(container, medium):
            raise ValueError("it is not a clip")
        yield container


def recorded_info(source: InputFile, medium: Recorded) -> MediaInfo:
    """Measure a clip or a sound like the client before pricing."""
    with source.path.open("rb") as file, _invalid(source, medium), decoder_errors():
        return recording_info(file, medium, source.path.stat().st_size)


# Clips


@dataclass(frozen=True)
class Clip:
    """A checked clip.

    Attributes:
        source: The file.
        stored: The size of its frames in the file.
        decoded: Their size once they are decoded; those of high dynamic range shrink.
        display: How they are shown: mirrored, turned, and with which pixel shape.
        start_s: The time of its first frame: the sound may begin before or after it.
        duration_s: Its length.
        rate: Its frames per second; 0 when the file does not tell.
        info: Its properties, for limits.
    """

    source: InputFile
    stored: Size
    decoded: Size
    display: Display
    start_s: float
    duration_s: float
    rate: Fraction
    info: MediaInfo

    @property
    def size(self) -> Size:
        """The size at which it is shown."""
        return Size(*self.display.size(*self.stored))

    @property
    def has_sound(self) -> bool:
        """Whether there is a sound track."""
        return self.info.has_audio is True


def read_clips(request: RenderRequest, sources: Sequence[InputFile]) -> list[Clip]:
    """Check clips, including the limits of their fields."""
    clips = [read_clip(each) for each in sources]
    check_limits(request, [(clip.source, clip.info) for clip in clips])
    return clips


def field_of(source: InputFile) -> str:
    """Return the field of the body that contains a file."""
    return re.split(r"[.\[]", source.field)[0]


def check_limits(
    request: RenderRequest, media: Sequence[tuple[InputFile, MediaInfo]]
) -> None:
    """Check media against the limits of their fields."""
    problems: list[Problem] = []
    for field, group in groupby(
        media, lambda pair: re.split(r"[.\[]", pair[0].field)[0]
    ):
        limits = request.limits_of(field)
        together = [*group]
        for source, info in together:
            problems += limits.problems(source.field, info)
        if total := limits.total_problem(field, [info for _, info in together]):
            problems.append(total)
    if problems:
        raise RenderError.of(problems)


def read_clip(source: InputFile) -> Clip:
    """Check a clip and decode its first frame."""
    with opened_container(source, "video") as container:
        if not has_moving_pictures(container):
            raise RenderError.invalid(f"{source.field}: the file has no video track.")
        stream = picture_track(container)
        if container.streams.audio:
            sound_track(container)
        frame = next(_decoded(container), None)
        if frame is None:
            raise RenderError.invalid(f"{source.field}: the file has no video frames.")
        nominal = Fraction(stream.guessed_rate or stream.average_rate or 0)
        display = display_of(stream, frame)
    info = recorded_info(source, "video")
    if not info.duration_s:
        raise RenderError.invalid(f"{source.field}: its length is unknown.")
    rate = _rate(info, nominal)
    stored = decoded = Size(frame.width, frame.height)
    if is_high_range(frame) and stored.pixels > _MAX_TONED_PIXELS:
        decoded = stored.scaled(math.sqrt(_MAX_TONED_PIXELS / stored.pixels))
    start_s = frame.time or 0.0
    return Clip(source, stored, decoded, display, start_s, info.duration_s, rate, info)


def _rate(info: MediaInfo, nominal: Fraction) -> Fraction:
    """Return the rate of most frames, which a held frame does not lower."""
    if info.fps is None or (nominal and abs(info.fps / nominal - 1) < _SAME_RATE):
        return nominal
    return Fraction(info.fps).limit_denominator(1001)


def clip_frames(
    clip: Clip, fps: Fraction, *, loop: bool = False
) -> Iterator[av.VideoFrame]:
    """Decode a clip at another frame rate; frames are dropped or repeated."""
    while True:
        with opened_container(clip.source, "video") as container:
            wanted, picture = 0, None
            for frame, at_s in _timed(container, clip):
                start_s = at_s - 0.5 / max(float(clip.rate), 1)
                while picture is not None and wanted / fps < start_s:
                    yield picture
                    wanted += 1
                picture = as_bt709(frame, *clip.decoded)
            # Frames beyond the file's length are not shown.
            while picture is not None and wanted < max(round(clip.duration_s * fps), 1):
                yield picture
                wanted += 1
        if picture is None:
            raise RenderError.invalid(f"{clip.source.field}: no frame to show.")
        if not loop:
            return


def _timed(
    container: InputContainer, clip: Clip
) -> Iterator[tuple[av.VideoFrame, float]]:
    """Decode frames with the time since the first one, across joined recordings.

    A video track may begin later than its file, and in a file of joined recordings the
    clock begins again.
    """
    steps, offset_s = Steps.of(container), 0.0
    for frame in _decoded(container):
        time_s = frame.time or 0.0
        if steps.last_s is None:
            offset_s = -time_s
        elif steps.is_jump(time_s):
            next_s = steps.last_s + 1 / max(float(clip.rate), 1)
            offset_s += float(next_s) - time_s
        steps.last_s = time_s
        yield frame, time_s + offset_s


def last_frame(clip: Clip) -> av.VideoFrame:
    """Decode the last frame of a clip, neither rotated nor mirrored."""
    last = None
    with opened_container(clip.source, "video") as container:
        for frame in _decoded(container):
            last = frame
    if last is None:
        raise RenderError.invalid(f"{clip.source.field}: the last frame is missing.")
    return as_bt709(last, *clip.decoded)


def _decoded(container: InputContainer) -> Iterator[av.VideoFrame]:
    stream = picture_track(container)
    stream.thread_type = "AUTO"
    # Each thread keeps frames of its own, which at 4K use most of the memory.
    large = stream.width * stream.height > _LARGE_PIXELS
    stream.codec_context.thread_count = 1 if large else 2
    # Also rejects a frame that is larger than the file's header says.
    stream.codec_context.options = {"max_pixels": str(_MAX_DECODED_PIXELS)}
    yield from decoded_frames(container, stream)


def measured_s(source: InputFile, medium: Recorded) -> float:
    """Measure the length of a clip or a sound in seconds, as the client does."""
    seconds = recorded_info(source, medium).duration_s
    if not seconds:
        raise RenderError.invalid(f"{source.field}: its length is unknown.")
    return seconds
