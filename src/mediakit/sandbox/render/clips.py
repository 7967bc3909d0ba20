"""Reference clips: what they are, and their frames at the size that is rendered."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
from av.container import InputContainer
from av.video.reformatter import ColorRange, Colorspace

from mediakit.sandbox.render.containers import Deadline, check_codec, opened_container
from mediakit.sandbox.render.orders import RenderError
from mediakit.sandbox.render.planes import Planes
from mediakit.sandbox.render.sizes import Size, cover_size

# Files round their lengths and rates: 23.976 frames a second are meant as 24, and a
# clip of 30 s often lasts 30.03.
_SLACK_S = 0.1
_SLACK_FPS = 0.05

_MAX_DECODED_PIXELS = 8_400_000
_UNSPECIFIED = 2


@dataclass(frozen=True)
class ClipLimits:
    """What a family accepts as a reference clip.

    Attributes:
        shortest_s: Length of the shortest clip.
        longest_s: Length of the longest clip.
        total_s: Length of all clips together.
        max_size_bytes: Of one file.
        min_fps: Lowest frame rate.
        max_fps: Highest frame rate.
        min_pixels: Smallest frame area.
        max_pixels: Largest frame area.
    """

    shortest_s: float
    longest_s: float
    total_s: float
    max_size_bytes: int
    min_fps: float
    max_fps: float
    min_pixels: int
    max_pixels: int


@dataclass(frozen=True)
class Clip:
    """A reference clip that was looked at.

    Attributes:
        path: The file.
        field: Where the body names it.
        size: The size it is shown at, turned the way its camera was held.
        seconds: Its length.
        fps: Its frame rate.
        has_sound: Whether there is a sound track.
    """

    path: Path
    field: str
    size: Size
    seconds: float
    fps: float
    has_sound: bool


def read_clip(path: Path, field: str, limits: ClipLimits) -> Clip:
    """Look at a clip and decode its first frame.

    Raises:
        RenderError: `invalid_input` when it cannot be decoded or breaks a limit.
    """
    with opened_container(path, field, "video") as container:
        frame = next(_decoded(container, field), None)
        if frame is None:
            raise RenderError.invalid(f"{field}: the file has no video frames.")
        stream = container.streams.video[0]
        clip = Clip(
            path=path,
            field=field,
            size=_shown_size(frame),
            seconds=_length_s(container),
            fps=float(stream.average_rate or 0),
            has_sound=bool(container.streams.audio),
        )
    _check(clip, limits)
    return clip


def check_total(clips: list[Clip], field: str, limits: ClipLimits) -> None:
    """Refuse clips that are too long together."""
    total_s = sum(clip.seconds for clip in clips)
    if total_s > limits.total_s + _SLACK_S:
        raise RenderError.invalid(
            f"{field}: the clips last {total_s:.1f} s together, accepted are at most "
            f"{limits.total_s:g} s."
        )


def clip_frames(clip: Clip, size: Size, fps: int) -> Iterator[Planes]:
    """Decode a clip at another size and frame rate, cut to fill the frame.

    Args:
        clip: The clip.
        size: The frame that is filled.
        fps: Frames per second that are wanted; source frames are left out or
            repeated.

    Yields:
        Frames; each may be changed until the next one is asked for.
    """
    with opened_container(clip.path, clip.field, "video") as container:
        wanted, shown = 0, None
        for frame in _decoded(container, clip.field):
            start_s = (frame.time or 0.0) - 0.5 / max(clip.fps, 1)
            while shown is not None and wanted / fps < start_s:
                yield _fitted(shown, size)
                wanted += 1
            shown = frame
        while shown is not None and wanted < round(clip.seconds * fps):
            yield _fitted(shown, size)
            wanted += 1


def last_frame(clip: Clip, size: Size) -> Planes:
    """Decode the frame that a clip ends with."""
    with opened_container(clip.path, clip.field, "video") as container:
        container.seek(max(int((clip.seconds - 1) * 1e6), 0))
        last = None
        for frame in _decoded(container, clip.field):
            last = frame
        if last is None:
            raise RenderError.invalid(f"{clip.field}: the last frame is missing.")
        return _fitted(last, size)


def _decoded(container: InputContainer, field: str) -> Iterator[av.VideoFrame]:
    if not container.streams.video:
        raise RenderError.invalid(f"{field}: the file has no video track.")
    stream = container.streams.video[0]
    check_codec(stream, field, "video")
    stream.thread_type = "AUTO"
    stream.codec_context.thread_count = 2
    # Refuses a frame that is larger than the file's header says, too.
    stream.codec_context.options = {"max_pixels": str(_MAX_DECODED_PIXELS)}
    deadline = Deadline(field)
    for frame in container.decode(stream):
        deadline.check()
        yield frame


def _length_s(container: InputContainer) -> float:
    stream = container.streams.video[0]
    if stream.duration is not None and stream.time_base is not None:
        return float(stream.duration * stream.time_base)
    return (container.duration or 0) / 1e6


def _shown_size(frame: av.VideoFrame) -> Size:
    size = Size(frame.width, frame.height)
    return Size(size.height, size.width) if frame.rotation % 180 else size


def _fitted(frame: av.VideoFrame, size: Size) -> Planes:
    """Scale a frame to cover `size`, turn it upright and cut what sticks out."""
    turns = frame.rotation // 90 % 4
    covering = cover_size(_shown_size(frame), size)
    width, height = reversed(covering) if turns % 2 else covering
    scaled = frame.reformat(
        width=width,
        height=height,
        format="yuv420p",
        src_colorspace=_colorspace(frame),
        dst_colorspace=Colorspace.ITU709,
        dst_color_range=ColorRange.MPEG,
    )
    planes = Planes(*(np.rot90(plane, turns) for plane in Planes.of(scaled)))
    left = (covering.width - size.width) // 4 * 2
    top = (covering.height - size.height) // 4 * 2
    return planes.crop(left, top, size)


def _colorspace(frame: av.VideoFrame) -> int:
    """Guess as players do where the file does not say: small means old."""
    if frame.colorspace != _UNSPECIFIED:
        return frame.colorspace
    return Colorspace.ITU709 if frame.height >= 720 else Colorspace.ITU601


def _check(clip: Clip, limits: ClipLimits) -> None:
    size_bytes = clip.path.stat().st_size
    _within(
        clip.field,
        "lasts",
        clip.seconds,
        (limits.shortest_s, limits.longest_s),
        "s",
        _SLACK_S,
    )
    _within(
        clip.field,
        "has",
        clip.fps,
        (limits.min_fps, limits.max_fps),
        "frames per second",
        _SLACK_FPS,
    )
    if size_bytes > limits.max_size_bytes:
        raise RenderError.invalid(
            f"{clip.field}: the clip has {size_bytes / 1e6:.1f} MB, accepted are at "
            f"most {limits.max_size_bytes / 1e6:g} MB."
        )
    if not limits.min_pixels <= clip.size.pixels <= limits.max_pixels:
        raise RenderError.invalid(
            f"{clip.field}: the clip's frame has {clip.size} = {clip.size.pixels:,} "
            f"pixels, accepted are {limits.min_pixels:,} to {limits.max_pixels:,}."
        )


def _within(
    field: str,
    verb: str,
    value: float,
    bounds: tuple[float, float],
    unit: str,
    slack: float,
) -> None:
    low, high = bounds
    if not low - slack <= value <= high + slack:
        raise RenderError.invalid(
            f"{field}: the clip {verb} {value:.2f} {unit}, accepted are {low:g} to "
            f"{high:g} {unit}."
        )
