"""A film: layers over each other, drawn by libavfilter, and the file it becomes."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, repeat
from pathlib import Path
from typing import Literal

import av
import av.filter
import numpy as np
from av.filter.context import FilterContext
from av.video.frame import PictureType
from av.video.reformatter import Colorspace
from numpy.typing import NDArray
from PIL import Image

from mediakit.sandbox.render.protocol import Rendered
from mediakit.sandbox.render.sizes import Size

FPS = 24
SAMPLE_RATE_HZ = 48_000
STANDARD_CRF = 21
HIGH_CRF = 14
_SKETCH_CRF = 40
_GOP_S = 2
_BT709 = 1
_LIMITED_RANGE = 1
_UNSPECIFIED = 2

Container = Literal["mp4", "mov"]
Codec = Literal["h264", "hevc"]
Filters = Sequence[tuple[str, str]]
Frames = Iterator[av.VideoFrame]
Floats = NDArray[np.float32]

_CONTENT_TYPES = {"mp4": "video/mp4", "mov": "video/quicktime"}
_ENCODERS: Mapping[Codec, str] = {"h264": "libx264", "hevc": "libx265"}
# One frame at a time: x265 needs twelve bytes a pixel for each frame in flight.
_X265 = "log-level=none:frame-threads=1:pools={threads}"


@dataclass(frozen=True, eq=False)
class Layer:
    """Frames that are shown in a part of a film.

    Attributes:
        frames: Opens them: one for each frame of the film; the last one is held.
        filters: FFmpeg's filters for each frame, such as ("scale", "1280:720").
        x: The left edge in pixels, an expression of the overlay filter.
        y: The top edge in pixels, an expression of the overlay filter.
        start: The first frame of the film that shows it.
        stop: The frame of the film that no longer shows it.
        moves: Whether a filter or the place changes with time.
        fills: Whether it covers the frame, so that nothing below it is seen.
    """

    frames: Callable[[], Frames]
    filters: Filters = ()
    x: str = "0"
    y: str = "0"
    start: int = 0
    stop: int = sys.maxsize
    moves: bool = False
    fills: bool = False


@dataclass(frozen=True)
class Film:
    """A film to write.

    Attributes:
        size: The frame's size.
        layers: What is seen, the lowest first; black where there is nothing.
        frames: The length in frames.
        sound: Samples at 48 kHz in pieces of shape (2, n), as long as the film. None
            for a film without a sound track.
        container: The file format.
        crf: Constant rate factor: less is better and larger.
        codec: How the frames are coded.
        fps: Frames per second.
    """

    size: Size
    layers: Sequence[Layer]
    frames: int
    sound: Iterator[Floats] | None = None
    container: Container = "mp4"
    crf: int = STANDARD_CRF
    codec: Codec = "h264"
    fps: Fraction = Fraction(FPS)


def frame_of(picture: Image.Image) -> av.VideoFrame:
    """Convert a picture, with its transparency, to video levels."""
    mode, pixels = ("rgb24", "yuv420p")
    if picture.mode == "RGBA":
        mode, pixels = ("rgba", "yuva420p")
    frame = av.VideoFrame.from_ndarray(np.asarray(picture), mode)
    return frame.reformat(format=pixels, dst_colorspace=Colorspace.ITU709, threads=1)


def still(picture: Image.Image) -> Callable[[], Frames]:
    """Return the frames of a picture, which is converted once."""
    frame = frame_of(picture)
    return lambda: repeat(frame)


def drawn(
    layers: Sequence[Layer],
    size: Size,
    frames: int,
    fps: Fraction = Fraction(FPS),
    *,
    sketch: bool = False,
) -> Frames:
    """Draw the frames of a film; a layer is open only while it is shown.

    Args:
        layers: What is seen, the lowest first.
        size: The frame's size.
        frames: The length in frames.
        fps: Frames per second.
        sketch: Draw a frame only where a layer appears or disappears.
    """
    cuts = {edge for layer in layers for edge in (layer.start, layer.stop)}
    inside = {cut for cut in cuts if 0 < cut < frames}
    playing: dict[Layer, _Playing] = {}
    for first, stop in pairwise(sorted({0, frames, *inside})):
        seen = [layer for layer in layers if layer.start <= first < layer.stop]
        # What is over is closed before more is opened.
        playing = {layer: playing[layer] for layer in seen if layer in playing}
        playing = {layer: playing.get(layer) or _Playing(layer) for layer in seen}
        span = range(first, stop)
        yield from _drawn_together([*playing.values()], size, span, fps, sketch=sketch)


class _Playing:
    """A layer that is shown, and its frame."""

    def __init__(self, layer: Layer) -> None:
        self.layer = layer
        self._frames = layer.frames()
        self.shown = next(self._frames)

    def play(self, index: int) -> av.VideoFrame:
        if index > self.layer.start:
            self.shown = next(self._frames, self.shown)
        return self.shown


def _drawn_together(
    playing: Sequence[_Playing], size: Size, span: range, fps: Fraction, *, sketch: bool
) -> Frames:
    """Draw the frames in which the same layers are seen."""
    graph, buffers = _graph([(p.layer, p.shown) for p in playing], size, fps)
    below = [] if playing and playing[0].layer.fills else [_black(size)]
    moves = any(each.layer.moves for each in playing)
    before: list[av.VideoFrame] = []
    picture: av.VideoFrame | None = None
    for index in span:
        if picture is None or not sketch:
            shown = [each.play(index) for each in playing]
            same = len(shown) == len(before) and all(map(_is, shown, before))
            if picture is None or moves or not same:
                picture = None  # at 4K each frame that is kept has 12 MB
                for buffer, frame in zip(buffers, (*below, *shown), strict=True):
                    frame.pts, frame.time_base = index, 1 / fps
                    # All have the same colours; FFmpeg would convert some of them.
                    frame.colorspace, frame.color_range = _UNSPECIFIED, 0
                    buffer.push(frame)
                picture = graph.vpull()
            before = shown
        yield picture


def _black(size: Size) -> av.VideoFrame:
    return frame_of(Image.new("RGB", size))


def _is(one: av.VideoFrame, other: av.VideoFrame) -> bool:
    return one is other


def _graph(
    layers: Sequence[tuple[Layer, av.VideoFrame]], size: Size, fps: Fraction
) -> tuple[av.filter.Graph, list[FilterContext]]:
    graph = av.filter.Graph()
    # More threads would wait for each other more than they work; PyAV 17 cannot say so.
    if hasattr(graph, "threads"):
        graph.threads = 1

    def source(width: int, height: int, pixels: str) -> FilterContext:
        return graph.add_buffer(
            width=width,
            height=height,
            format=av.VideoFormat(pixels),
            time_base=1 / fps,
        )

    def linked(name: str, options: str, *inputs: FilterContext) -> FilterContext:
        made = graph.add(name, options or None)
        for pad, given in enumerate(inputs):
            given.link_to(made, 0, pad)
        return made

    buffers, top = [], None
    if not (layers and layers[0][0].fills):
        top = source(*size, "yuv420p")
        buffers = [top]
    for layer, frame in layers:
        last = source(frame.width, frame.height, frame.format.name)
        buffers.append(last)
        for name, options in layer.filters:
            last = linked(name, options, last)
        place = f"x='{layer.x}':y='{layer.y}':format=yuv420"
        top = linked("overlay", place, top, last) if top else last
    assert top is not None
    linked("buffersink", "", linked("format", "yuv420p", top))
    graph.configure()
    return graph, buffers


def write_film(film: Film, path: Path, *, sketch: bool = False) -> Rendered:
    """Draw a film and write the file.

    Args:
        film: What to draw.
        path: The file to write; its name does not matter.
        sketch: Draw only where a layer appears or disappears, and encode coarsely.
    """
    options = {"movflags": "+faststart"}
    frames = drawn(film.layers, film.size, film.frames, film.fps, sketch=sketch)
    with av.open(str(path), "w", format=film.container, options=options) as file:
        video = _video_stream(file, film, _SKETCH_CRF if sketch else film.crf)
        audio = None
        if film.sound is not None:
            audio = file.add_stream("aac", rate=SAMPLE_RATE_HZ, layout="stereo")
            audio.bit_rate = 160_000
        sound, heard = film.sound or iter(()), 0
        for index, frame in enumerate(frames):
            frame.pts, frame.time_base = index, 1 / film.fps
            frame.pict_type = PictureType.NONE
            file.mux(video.encode(frame))
            # Both streams are interleaved.
            while audio and heard <= index / film.fps * SAMPLE_RATE_HZ:
                samples = next(sound, None)
                if samples is None:
                    break
                file.mux(audio.encode(_sound_frame(samples, heard)))
                heard += samples.shape[1]
            del frame  # before the next one is drawn
        file.mux(video.encode(None))
        if audio is not None:
            file.mux(audio.encode(None))
    seconds = film.frames / film.fps
    return Rendered(
        content_type=_CONTENT_TYPES[film.container],
        width=film.size.width,
        height=film.size.height,
        duration_ms=round(seconds * 1000),
        frames=film.frames,
        output_seconds=round(float(seconds), 3),
    )


def _video_stream(
    file: av.container.OutputContainer, film: Film, crf: int
) -> av.VideoStream:
    threads = min(os.cpu_count() or 1, 4)
    stream = file.add_stream(_ENCODERS[film.codec], rate=film.fps)
    # PyAV's types list only a few encoders.
    assert isinstance(stream, av.VideoStream)
    stream.width, stream.height = film.size
    stream.pix_fmt = "yuv420p"
    stream.gop_size = max(round(_GOP_S * film.fps), 1)
    stream.codec_context.time_base = 1 / film.fps
    stream.codec_context.thread_count = threads
    stream.color_range = _LIMITED_RANGE
    stream.colorspace = stream.color_primaries = stream.color_trc = _BT709
    stream.options = {
        "preset": "ultrafast",
        "tune": "zerolatency",
        "crf": str(crf),
    }
    if film.codec == "hevc":
        stream.codec_context.codec_tag = "hvc1"  # the only one Apple's players take
        stream.options |= {"x265-params": _X265.format(threads=threads)}
    return stream


def _sound_frame(samples: Floats, at: int) -> av.AudioFrame:
    frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples), "fltp", "stereo")
    frame.sample_rate, frame.pts = SAMPLE_RATE_HZ, at
    frame.time_base = Fraction(1, SAMPLE_RATE_HZ)
    return frame
