"""Sample the content of a file: a few frames, their brightness, the sound."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, cast

from mediakit.media.decoding import (
    decoder_errors,
    opened,
    picture_track,
    quarter_turns,
)
from mediakit.media.probing import duration_s

if TYPE_CHECKING:
    import numpy as np
    from av import AudioFrame, VideoFrame
    from av.container import InputContainer
    from av.video.stream import VideoStream
    from numpy.typing import NDArray

    Luma = NDArray[np.uint8]
    Colours = NDArray[np.uint8]

MAX_PX = 640
SMALL_PX = 64
SHORT_S = 30.0
WHITE = 255


def sampled_lumas(path: Path, count: int) -> list[Luma]:
    """Return evenly spaced grey frames of a clip, at most `MAX_PX` on the longer side.

    Frames of the same size are comparable, whatever the clip's resolution.

    Args:
        path: A clip, a picture or a sound.
        count: The number of frames; a picture has one, a sound has none.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not a clip, a picture or a sound.
    """
    if _is_picture(path):
        return [_picture(path, "L")]
    with _container(path) as container:
        if not container.streams.video:
            return []
        return [_luma(frame) for frame in _spread(container, count)]


def sampled_colours(path: Path, count: int) -> list[Colours]:
    """Return the same frames in colour: height x width x red, green and blue.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not a clip, a picture or a sound.
    """
    if _is_picture(path):
        return [_picture(path, "RGB")]
    with _container(path) as container:
        if not container.streams.video:
            return []
        return [_pixels(frame, "rgb24") for frame in _spread(container, count)]


def brightness(path: Path, count: int) -> list[float]:
    """Return the mean brightness of the first frames, from 0 (black) to 1 (white).

    Args:
        path: A clip; the result for a picture or a sound is empty.
        count: The number of consecutive frames.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not a clip, a picture or a sound.
    """
    if _is_picture(path):
        return []
    with _container(path) as container:
        if not container.streams.video:
            return []
        frames = islice(container.decode(picture_track(container)), count)
        small = (_luma(frame, SMALL_PX) for frame in frames)
        return [float(luma.mean()) / WHITE for luma in small]


def sound_blocks(path: Path, most_s: float) -> Iterator[NDArray[np.float32]]:
    """Yield the samples of a clip or a sound, channels x samples; full scale is 1.

    Args:
        path: A clip or a sound; a picture yields nothing.
        most_s: The position to stop at, in seconds.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not a clip, a picture or a sound.
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
            yield from (_samples(each) for each in resampler.resample(frame))


@contextmanager
def _container(path: Path) -> Iterator[InputContainer]:
    with path.open("rb") as file, decoder_errors(), opened(file) as container:
        yield container


def _samples(frame: AudioFrame) -> NDArray[np.float32]:
    return cast("NDArray[np.float32]", frame.to_ndarray())


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


def _luma(frame: VideoFrame, max_px: int = MAX_PX) -> Luma:
    return _pixels(frame, "gray", max_px)


def _pixels(
    frame: VideoFrame, pixel_format: str, max_px: int = MAX_PX
) -> NDArray[np.uint8]:
    import numpy as np

    scale = min(1, max_px / max(frame.width, frame.height))
    width, height = (
        max(1, round(side * scale)) for side in (frame.width, frame.height)
    )
    small = frame.reformat(width, height, format=pixel_format, interpolation="AREA")
    return cast("Luma", np.rot90(small.to_ndarray(), quarter_turns(frame)))


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
