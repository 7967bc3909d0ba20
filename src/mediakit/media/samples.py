"""Sample the content of a file: a poster, a few frames, their brightness, the sound."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from mediakit.decoding import (
    decoder_errors,
    displayed_size,
    opened,
    picture_track,
    upright_pixels,
)
from mediakit.media.probing import duration_s

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
POSTER_AT_S = 1.0
POSTER_MAX_PX = 320
THUMBNAIL_MAX_PX = 160
JPEG_QUALITY = 78


def poster_jpeg(source: Path | BinaryIO, max_px: int = POSTER_MAX_PX) -> bytes:
    """Make a small JPEG of a picture, or of a clip's frame at about one second."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    if isinstance(source, Path):
        with source.open("rb") as file:
            return poster_jpeg(file, max_px)
    with decoder_errors():
        try:
            with Image.open(source) as image:
                image.draft("RGB", (max_px, max_px))
                return _jpeg(ImageOps.exif_transpose(image), max_px)
        except UnidentifiedImageError:
            source.seek(0)
        with opened(source) as container:
            frame = _poster_frame(container)
            return _jpeg(Image.fromarray(_pixels(frame, "rgb24", max_px)), max_px)


def _poster_frame(container: InputContainer) -> VideoFrame:
    stream = picture_track(container)
    at_s = min(POSTER_AT_S, (duration_s(container) or 0) / 2)
    chosen = None
    for frame in container.decode(stream):
        chosen = frame
        if frame.pts is None or frame.time >= at_s:
            break
    if chosen is None:
        raise ValueError("it has no frame")
    return chosen


def _jpeg(image: PILImage, max_px: int) -> bytes:
    small = image.convert("RGB")
    small.thumbnail((max_px, max_px))
    out = BytesIO()
    small.save(out, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return out.getvalue()


def sampled_lumas(path: Path, count: int) -> list[Luma]:
    """Return evenly spaced grey frames of a clip, at most `MAX_PX` on the longer side.

    Frames of the same size are comparable, whatever the clip's resolution. A picture
    has one, a sound has none. Raises OSError and ValueError as `poster_jpeg` does.
    """
    return _sampled(path, count, "L")


def sampled_colours(path: Path, count: int) -> list[Colours]:
    """Return the same frames in colour: height x width x red, green and blue."""
    return _sampled(path, count, "RGB")


def _sampled(path: Path, count: int, mode: str) -> list[NDArray[np.uint8]]:
    if _is_picture(path):
        return [_picture(path, mode)]
    pixel_format = {"L": "gray", "RGB": "rgb24"}[mode]
    with _container(path) as container:
        if not container.streams.video:
            return []
        return [_pixels(frame, pixel_format) for frame in _spread(container, count)]


def brightness(path: Path, count: int) -> list[float]:
    """Return the mean brightness of a clip's first frames, from 0 (black) to 1 (white).

    A picture and a sound have none.
    """
    if _is_picture(path):
        return []
    with _container(path) as container:
        if not container.streams.video:
            return []
        frames = islice(container.decode(picture_track(container)), count)
        small = (_pixels(frame, "gray", SMALL_PX) for frame in frames)
        return [float(luma.mean()) / WHITE for luma in small]


def sound_blocks(path: Path, most_s: float) -> Iterator[NDArray[np.float32]]:
    """Yield the first seconds of a clip's or a sound's samples, in blocks.

    A block has channels x samples; full scale is 1. A picture has none.
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
    from PIL import Image, UnidentifiedImageError

    try:
        with decoder_errors(), Image.open(path):
            return True
    except UnidentifiedImageError:
        return False


def _picture(path: Path, mode: str) -> NDArray[np.uint8]:
    import numpy as np
    from PIL import Image, ImageOps

    with decoder_errors(), Image.open(path) as image:
        image.draft(mode, (MAX_PX, MAX_PX))
        upright = ImageOps.exif_transpose(image).convert(mode)
    upright.thumbnail((MAX_PX, MAX_PX), Image.Resampling.BOX)
    return np.asarray(upright)


def _pixels(
    frame: VideoFrame, pixel_format: str, max_px: int = MAX_PX
) -> NDArray[np.uint8]:
    width, height = displayed_size(frame)
    scale = min(1, max_px / max(width, height))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return upright_pixels(frame, size, pixel_format)


def _spread(container: InputContainer, count: int) -> Iterator[VideoFrame]:
    stream = picture_track(container)
    length_s = duration_s(container, stream) or 0
    due_s = [length_s * (index + 0.5) / count for index in range(count)]
    if length_s > SHORT_S and stream.time_base:
        return _sought(container, stream, due_s)
    return _passed(container.decode(stream), due_s, _shown_s(stream))


def _shown_s(stream: VideoStream) -> float:
    """Return the duration of one frame."""
    return float(1 / stream.average_rate) if stream.average_rate else 0.0


def _passed(
    frames: Iterator[VideoFrame], due_s: list[float], shown_s: float
) -> Iterator[VideoFrame]:
    """Yield the frame that is displayed at each time, every frame at most once."""
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
    """Yield the same by seeking, because decoding all of a long clip is slow."""
    assert stream.time_base is not None
    shown = round(_shown_s(stream) / stream.time_base)
    for at_s in due_s:
        offset = round(at_s / stream.time_base) + (stream.start_time or 0)
        container.seek(offset, stream=stream)
        for frame in container.decode(stream):
            if frame.pts is None or frame.pts + shown > offset:
                yield frame
                break
