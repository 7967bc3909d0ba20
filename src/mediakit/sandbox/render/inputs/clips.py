"""Reference clips: their properties, and their frames at the output size."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.container import InputContainer
from av.video.reformatter import ColorRange, Colorspace, Interpolation

from mediakit.media.decoding import displayed_size, quarter_turns
from mediakit.media_limits import MediaInfo, MediaLimits
from mediakit.sandbox.render.frames.planes import Planes
from mediakit.sandbox.render.inputs.containers import (
    Deadline,
    check_codec,
    opened_container,
)
from mediakit.sandbox.render.protocol import RenderError
from mediakit.sandbox.render.sizes import Size, cover_size

_LARGE_PIXELS = 4_000_000
_MAX_DECODED_PIXELS = 8_400_000
_UNSPECIFIED = 2


@dataclass(frozen=True)
class Clip:
    """A checked reference clip.

    Attributes:
        path: The file.
        field: Where the body names it.
        size: The size it is shown at, turned the way its camera was held.
        seconds: Its length.
        rate: Its frames per second; 0 when the file does not tell.
        has_sound: Whether there is a sound track.
        content_type: Its media type.
        size_bytes: Of the file.
    """

    path: Path
    field: str
    size: Size
    seconds: float
    rate: Fraction
    has_sound: bool
    content_type: str
    size_bytes: int

    @property
    def fps(self) -> float:
        """The frame rate."""
        return float(self.rate)

    @property
    def info(self) -> MediaInfo:
        """Its properties, for limits."""
        return MediaInfo(
            "video",
            self.content_type,
            self.size_bytes,
            width=self.size.width,
            height=self.size.height,
            duration_s=self.seconds,
            fps=self.fps,
        )


def read_clip(path: Path, field: str, limits: MediaLimits) -> Clip:
    """Check a clip and decode its first frame.

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
            size=Size(*displayed_size(frame)),
            seconds=_length_s(container),
            rate=Fraction(stream.average_rate or 0),
            has_sound=bool(container.streams.audio),
            content_type=_content_type(container),
            size_bytes=path.stat().st_size,
        )
    if problems := limits.problems(field, clip.info):
        raise RenderError.of(problems)
    return clip


def check_total(clips: list[Clip], field: str, limits: MediaLimits) -> None:
    """Reject clips whose total length is too long."""
    if problem := limits.total_problem(field, [clip.info for clip in clips]):
        raise RenderError.of([problem])


def clip_frames(
    clip: Clip,
    size: Size,
    fps: Fraction | int,
    prepared: Callable[[av.VideoFrame], av.VideoFrame] | None = None,
) -> Iterator[Planes]:
    """Decode a clip at another size and frame rate, cut to fill the frame.

    Args:
        clip: The clip.
        size: The frame that is filled.
        fps: Frames per second that are wanted; source frames are left out or
            repeated.
        prepared: Changes each source frame before it is scaled.

    Yields:
        Frames; each may be changed until the next one is asked for.
    """
    with opened_container(clip.path, clip.field, "video") as container:
        wanted, shown = 0, None
        frames = _decoded(container, clip.field)
        first_s = None
        for frame in map(prepared, frames) if prepared else frames:
            # A video track may begin later than its file.
            first_s = frame.time or 0.0 if first_s is None else first_s
            start_s = (frame.time or 0.0) - first_s - 0.5 / max(clip.fps, 1)
            while shown is not None and wanted / fps < start_s:
                yield _fitted(shown, size)
                wanted += 1
            shown = frame
        while shown is not None and wanted < max(round(clip.seconds * fps), 1):
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
    # Each thread keeps frames of its own, which at 4K use most of the memory.
    large = stream.width * stream.height > _LARGE_PIXELS
    stream.codec_context.thread_count = 1 if large else 2
    # Also rejects a frame that is larger than the file's header says.
    stream.codec_context.options = {"max_pixels": str(_MAX_DECODED_PIXELS)}
    deadline = Deadline(field)
    for frame in container.decode(stream):
        deadline.check()
        with deadline.paused():
            yield frame


def _length_s(container: InputContainer) -> float:
    stream = container.streams.video[0]
    if stream.duration is not None and stream.time_base is not None:
        return float(stream.duration * stream.time_base)
    return (container.duration or 0) / 1e6


def _content_type(container: InputContainer) -> str:
    brand = container.metadata.get("major_brand", "").strip()
    return "video/quicktime" if brand == "qt" else "video/mp4"


def _fitted(frame: av.VideoFrame, size: Size) -> Planes:
    """Scale a frame to cover `size`, rotate it upright and crop it."""
    turns = quarter_turns(frame)
    covering = cover_size(Size(*displayed_size(frame)), size)
    width, height = reversed(covering) if turns % 2 else covering
    scaled = frame.reformat(
        width=width,
        height=height,
        format="yuv420p",
        src_colorspace=_colorspace(frame),
        dst_colorspace=Colorspace.ITU709,
        dst_color_range=ColorRange.MPEG,
        interpolation=Interpolation.LANCZOS if width > frame.width else None,
    )
    planes = Planes(*(np.rot90(plane, turns) for plane in Planes.of(scaled)))
    left = (covering.width - size.width) // 4 * 2
    top = (covering.height - size.height) // 4 * 2
    return planes.crop(left, top, size)


def _colorspace(frame: av.VideoFrame) -> int:
    """Guess the colour space of an untagged file as players do: small means old."""
    if frame.colorspace != _UNSPECIFIED:
        return frame.colorspace
    return Colorspace.ITU709 if frame.height >= 720 else Colorspace.ITU601
