"""Samples a file: a poster, a few frames, their brightness, the sound."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, cast

from mediakit.decoding import (
    Display,
    counted,
    decoded_frames,
    decoder_errors,
    display_of,
    has_moving_pictures,
    is_picture,
    opened,
    picture_track,
    small_picture,
)

if TYPE_CHECKING:
    import numpy as np
    from av import VideoFrame
    from av.container import InputContainer
    from av.video.stream import VideoStream
    from numpy.typing import NDArray
    from PIL.Image import Image as PILImage

    Luma = NDArray[np.uint8]
    Colours = NDArray[np.uint8]

MAX_PX = 640
SMALL_PX = 64
SHORT_S = 30.0
WHITE = 255
MICROSECONDS = 1_000_000
POSTER_AT_S = 1.0
POSTER_MAX_PX = 320
THUMBNAIL_MAX_PX = 160
JPEG_QUALITY = 78


def poster_jpeg(
    source: Path | BinaryIO, max_px: int = POSTER_MAX_PX, at_s: float | None = None
) -> bytes:
    """Make a small JPEG of a picture, or of a clip's frame at about one second."""
    from PIL import Image, UnidentifiedImageError

    if isinstance(source, Path):
        with source.open("rb") as file:
            return poster_jpeg(file, max_px, at_s)
    with decoder_errors():
        try:
            return _jpeg(small_picture(source, max_px))
        except UnidentifiedImageError:
            source.seek(0)
        for seeks in (True, False):
            with opened(source) as container:
                stream = picture_track(container)
                if at_s is None:
                    frame = _poster_frame(container, stream)
                else:
                    frame = _frame_at(container, stream, at_s, seeks=seeks)
                if frame is not None:
                    pixels = _pixels(frame, display_of(stream, frame), "rgb24", max_px)
                    return _jpeg(Image.fromarray(pixels))
            source.seek(0)
        raise ValueError("it has no frame")


def _poster_frame(container: InputContainer, stream: VideoStream) -> VideoFrame | None:
    # If the header's duration is too long, the last frame is used.
    at_s = min(POSTER_AT_S, (container.duration or 0) / MICROSECONDS / 2)
    start_s, chosen = None, None
    for frame in decoded_frames(container, stream):
        chosen = frame
        if frame.pts is None:
            break
        start_s = frame.time if start_s is None else start_s
        if frame.time - start_s >= at_s:
            break
    return chosen


def _frame_at(
    container: InputContainer, stream: VideoStream, at_s: float, *, seeks: bool
) -> VideoFrame | None:
    """Return the frame that is displayed at a time.

    Seeking in a short transport stream may miss it; decoding from the start does not.
    """
    if stream.time_base is None:
        return _poster_frame(container, stream)
    # Rounded down, except for rounding errors of the division: the next frame is not
    # shown yet.
    offset = int(at_s / stream.time_base + 1e-6) + (stream.start_time or 0)
    if seeks:
        container.seek(offset, stream=stream)
    chosen = None
    for frame in decoded_frames(container, stream):
        is_later = frame.pts is None or frame.pts > offset
        if is_later and (seeks or chosen is not None):
            break
        chosen = frame
    return chosen


def _jpeg(image: PILImage) -> bytes:
    out = BytesIO()
    image.save(out, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return out.getvalue()


def sampled_lumas(path: Path, count: int) -> list[Luma]:
    """Return evenly spaced grey frames of a clip, at most `MAX_PX` on the longer side.

    Frames of the same size are comparable, whatever the clip's resolution. A picture
    has one frame, a sound has none. Raises OSError and ValueError like `poster_jpeg`.
    """
    return _sampled(path, count, "L")


def sampled_colours(path: Path, count: int) -> list[Colours]:
    """Return the same frames in colour: height x width x red, green and blue."""
    return _sampled(path, count, "RGB")


def _sampled(path: Path, count: int, mode: Literal["L", "RGB"]) -> list[Colours]:
    import numpy as np

    if _is_picture(path):
        with path.open("rb") as file:
            return [np.asarray(small_picture(file, MAX_PX, mode))]
    pixel_format = {"L": "gray", "RGB": "rgb24"}[mode]
    with _container(path) as container:
        if not has_moving_pictures(container):
            return []
        stream = picture_track(container)
        return [
            _pixels(frame, display_of(stream, frame), pixel_format)
            for frame in _spread(path, container, stream, count)
        ]


def brightness(path: Path, count: int) -> list[float]:
    """Return the mean brightness of a clip's first frames, from 0 (black) to 1 (white).

    Pictures and sounds have none.
    """
    if _is_picture(path):
        return []
    with _container(path) as container:
        if not has_moving_pictures(container):
            return []
        frames = islice(decoded_frames(container, picture_track(container)), count)
        small = (_pixels(frame, Display(), "gray", SMALL_PX) for frame in frames)
        return [float(luma.mean()) / WHITE for luma in small]


def sound_blocks(path: Path, most_s: float) -> Iterator[NDArray[np.float32]]:
    """Yield the first seconds of a sound track, in blocks.

    A block is channels x samples; full scale is 1. A picture has none.
    """
    import av

    if _is_picture(path):
        return
    with _container(path) as container:
        if not container.streams.audio:
            return
        resampler = av.AudioResampler(format="fltp")
        for frame in container.decode(audio=0):
            if (frame.time or 0) >= most_s:
                return
            for each in resampler.resample(frame):
                yield cast("NDArray[np.float32]", each.to_ndarray())


@contextmanager
def _container(path: Path) -> Iterator[InputContainer]:
    with path.open("rb") as file, decoder_errors(), opened(file) as container:
        yield container


def _is_picture(path: Path) -> bool:
    with path.open("rb") as file:
        return is_picture(file)


def _pixels(
    frame: VideoFrame, display: Display, pixel_format: str, max_px: int = MAX_PX
) -> NDArray[np.uint8]:
    width, height = display.size(frame.width, frame.height)
    scale = min(1, max_px / max(width, height))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return display.pixels(frame, size, pixel_format)


def _spread(
    path: Path, container: InputContainer, stream: VideoStream, count: int
) -> Iterator[VideoFrame]:
    with _container(path) as whole:
        length_s = counted(whole, picture_track(whole)).seconds or 0
    due_s = [length_s * (index + 0.5) / count for index in range(count)]
    if length_s > SHORT_S and stream.time_base:
        return _sought(container, stream, due_s)
    return _passed(decoded_frames(container, stream), due_s, _shown_s(stream))


def _shown_s(stream: VideoStream) -> float:
    """Return the duration of one frame."""
    return float(1 / stream.average_rate) if stream.average_rate else 0.0


def _passed(
    frames: Iterator[VideoFrame], due_s: list[float], shown_s: float
) -> Iterator[VideoFrame]:
    """Yield the frame displayed at each time, each frame at most once."""
    start_s = None
    for frame in frames:
        at_s = frame.time or 0
        start_s = at_s if start_s is None else start_s
        if at_s - start_s + shown_s > due_s[0]:
            yield frame
            due_s = due_s[1:]
        if not due_s:
            return


def _sought(
    container: InputContainer, stream: VideoStream, due_s: list[float]
) -> Iterator[VideoFrame]:
    """Yield the same frames by seeking, because decoding a long clip is slow."""
    assert stream.time_base is not None
    frame_ticks = round(_shown_s(stream) / stream.time_base)
    for at_s in due_s:
        offset = round(at_s / stream.time_base) + (stream.start_time or 0)
        container.seek(offset, stream=stream)
        for frame in container.decode(stream):
            if frame.pts is None or frame.pts + frame_ticks > offset:
                yield frame
                break
