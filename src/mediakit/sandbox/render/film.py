"""A film: layers composited by libavfilter, and the file that it becomes."""

import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, repeat
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import av
import av.filter
import numpy as np
from av.filter.context import FilterContext
from av.video.frame import PictureType
from av.video.plane import VideoPlane
from av.video.reformatter import Colorspace
from numpy.typing import NDArray
from PIL import Image

from mediakit.sandbox.render.protocol import Rendered, Size

FPS = 24
SAMPLE_RATE_HZ = 48_000
STANDARD_CRF = 21
HIGH_CRF = 14
_SKETCH_CRF = 40
_GOP_S = 2
_SKETCH_GOP_FRAMES = 12
# AAC takes a third of the time that it would take at 160 kbit/s.
_SOUND_BPS = 96_000
# Larger frames are drawn smaller and enlarged, which saves memory and half of the time.
_MOST_DRAWN_PIXELS, _LARGE_DRAWN_PIXELS = 1920 * 1080, 1600 * 900
_BT709 = 1
_LIMITED_RANGE = 1
_UNSPECIFIED = 2

Container = Literal["mp4", "mov"]
Codec = Literal["h264", "hevc"]
Filters = Sequence[tuple[str, str]]
Frames = Iterator[av.VideoFrame]
Packet: TypeAlias = "av.Packet[av.VideoStream]"
# A picture, and the number of frames that show it.
Run = tuple[av.VideoFrame, int]
Floats = NDArray[np.float32]

_CONTENT_TYPES = {"mp4": "video/mp4", "mov": "video/quicktime"}
_ENCODERS: Mapping[Codec, str] = {"h264": "libx264", "hevc": "libx265"}
# One frame at a time: x265 needs twelve bytes a pixel for each frame in flight. One
# thread: several wait for each other row by row, six times as long on a busy machine.
_X265 = "log-level=none:open-gop=0:frame-threads=1:pools=none:wpp=0"


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
        size: The size at which it is drawn.
        layers: The layers of the picture, the lowest first; black where there is none.
        frames: The length in frames.
        sound: Samples at 48 kHz in pieces of shape (2, n), as long as the film. None
            for a film without a sound track.
        container: The file format.
        crf: Constant rate factor: lower means better quality and a larger file.
        codec: The codec of the frames.
        fps: Frames per second.
        enlarged: The size of the written frames, if they are drawn smaller.
    """

    size: Size
    layers: Sequence[Layer]
    frames: int
    sound: Iterator[Floats] | None = None
    container: Container = "mp4"
    crf: int = STANDARD_CRF
    codec: Codec = "h264"
    fps: Fraction = Fraction(FPS)
    enlarged: Size | None = None


def frame_of(picture: Image.Image) -> av.VideoFrame:
    """Convert a picture, with its transparency, to a video frame."""
    mode, pixels = ("rgb24", "yuv420p")
    if picture.mode == "RGBA":
        mode, pixels = ("rgba", "yuva420p")
    frame = av.VideoFrame.from_ndarray(np.asarray(picture), mode)
    return frame.reformat(format=pixels, dst_colorspace=Colorspace.ITU709, threads=1)


def still(picture: Image.Image) -> Callable[[], Frames]:
    """Return the frames of a picture, which is converted once."""
    frame = frame_of(picture)
    return lambda: iter([frame])


def striped(colours: Image.Image, alpha: NDArray[Any]) -> av.VideoFrame:
    """Return a frame whose rows have one colour each."""
    height, width = alpha.shape
    frame, column = av.VideoFrame(width, height, "yuva420p"), frame_of(colours)
    for plane, rows in zip(frame.planes[:3], column.planes, strict=True):
        plane_view(plane)[:] = plane_view(rows)[:, :1]
    plane_view(frame.planes[3])[:] = alpha
    return frame


def plane_view(plane: VideoPlane) -> NDArray[np.uint8]:
    """Return a writable view of the levels of a plane."""
    rows = np.frombuffer(memoryview(plane), dtype=np.uint8)
    return rows.reshape(-1, plane.line_size)[: plane.height, : plane.width]


def drawn_size(size: Size) -> Size:
    """Return the size at which the layers of a film are drawn."""
    if size.pixels <= _MOST_DRAWN_PIXELS:
        return size
    return size.scaled(math.sqrt(_LARGE_DRAWN_PIXELS / size.pixels))


def render_frames(
    layers: Sequence[Layer], size: Size, frames: int, fps: Fraction = Fraction(FPS)
) -> Frames:
    """Draw each frame of a film; `runs` explains the arguments."""
    for picture, times in runs(layers, size, frames, fps):
        yield from repeat(picture, times)


def runs(
    layers: Sequence[Layer],
    size: Size,
    frames: int,
    fps: Fraction = Fraction(FPS),
    *,
    sketch: bool = False,
    enlarged: Size | None = None,
) -> Iterator[Run]:
    """Draw the pictures of a film; a layer is open only while it is visible."""
    cuts = {edge for layer in layers for edge in (layer.start, layer.stop)}
    inside = {cut for cut in cuts if 0 < cut < frames}
    playing: dict[Layer, _Playing] = {}
    for first, stop in pairwise(sorted({0, frames, *inside})):
        visible = [layer for layer in layers if layer.start <= first < layer.stop]
        # Close finished layers before opening new layers.
        playing = {layer: playing[layer] for layer in visible if layer in playing}
        playing = {layer: playing.get(layer) or _Playing(layer) for layer in visible}
        graph = _Graph([*playing.values()], size, fps, enlarged or size)
        yield from graph.runs(range(first, stop), sketch=sketch)


class _Playing:
    """A visible layer, and its current frame."""

    def __init__(self, layer: Layer) -> None:
        self.layer = layer
        self._frames = layer.frames()
        self.shown = next(self._frames)
        self.changes = True

    def play(self, index: int) -> bool:
        """Advance to a frame of the film; return whether the picture changed."""
        if index == self.layer.start:
            return True
        previous, frame = self.shown, next(self._frames, None)
        self.changes, self.shown = frame is not None, frame or previous
        return self.shown is not previous


class _Graph:
    """Draws the frames in which the same layers are visible."""

    def __init__(
        self, playing: Sequence[_Playing], size: Size, fps: Fraction, enlarged: Size
    ) -> None:
        self._playing = playing
        self._fps = fps
        self._moves = any(each.layer.moves for each in playing)
        self._graph = av.filter.Graph()
        # More threads would wait for each other more than they work; PyAV 17 has no
        # such setting.
        if hasattr(self._graph, "threads"):
            self._graph.threads = 1
        self._below: list[av.VideoFrame] = []
        self._sources: list[FilterContext] = []
        top = None
        if not (playing and playing[0].layer.fills):
            self._below = [frame_of(Image.new("RGB", size))]
            top = self._source(self._below[0])
        for each in playing:
            layer, last = each.layer, self._source(each.shown)
            for name, options in layer.filters:
                last = self._linked(name, options, last)
            place = f"x='{layer.x}':y='{layer.y}':format=yuv420"
            top = self._linked("overlay", place, top, last) if top else last
        assert top is not None
        if enlarged != size:
            top = self._linked("scale", f"{enlarged.width}:{enlarged.height}", top)
        self._linked("buffersink", "", self._linked("format", "yuv420p", top))
        self._graph.configure()

    def runs(self, span: range, *, sketch: bool) -> Iterator[Run]:
        """Draw a part of the film; once nothing changes, one run covers the rest."""
        picture: av.VideoFrame | None = None
        for index in span:
            changed = [each.play(index) for each in self._playing]
            if picture is None or self._moves or any(changed):
                picture = None  # free the last picture first: 12 MB at 4K
                picture = self._drawn(index)
            changes = self._moves or any(each.changes for each in self._playing)
            if sketch or not changes:
                yield picture, span.stop - index
                return
            yield picture, 1

    def _drawn(self, index: int) -> av.VideoFrame:
        frames = [*self._below, *(each.shown for each in self._playing)]
        for source, frame in zip(self._sources, frames, strict=True):
            frame.pts, frame.time_base = index, 1 / self._fps
            # All inputs have the same colours, but FFmpeg would convert some of them.
            frame.colorspace, frame.color_range = _UNSPECIFIED, 0
            source.push(frame)
        return self._graph.vpull()

    def _source(self, frame: av.VideoFrame) -> FilterContext:
        pixels, time_base = av.VideoFormat(frame.format.name), 1 / self._fps
        self._sources.append(
            self._graph.add_buffer(
                width=frame.width,
                height=frame.height,
                format=pixels,
                time_base=time_base,
            )
        )
        return self._sources[-1]

    def _linked(self, name: str, options: str, *inputs: FilterContext) -> FilterContext:
        node = self._graph.add(name, options or None)
        for pad, source in enumerate(inputs):
            source.link_to(node, 0, pad)
        return node


def write_film(film: Film, path: Path, *, sketch: bool = False) -> Rendered:
    """Draw a film and write the file."""
    options = {"movflags": "+faststart"}
    with av.open(str(path), "w", format=film.container, options=options) as file:
        video = _video_stream(file, film, sketch=sketch)
        audio = None
        if film.sound is not None:
            coder = {"aac_coder": "fast"}
            audio = file.add_stream("aac", SAMPLE_RATE_HZ, coder, layout="stereo")
            audio.bit_rate = _SOUND_BPS
        sound, position = film.sound or iter(()), 0
        for index, packets in enumerate(_coded(video, film, sketch=sketch)):
            file.mux(packets)
            # Interleave both streams.
            while audio and position <= index / film.fps * SAMPLE_RATE_HZ:
                samples = next(sound, None)
                if samples is None:
                    break
                file.mux(audio.encode(_sound_frame(samples, position)))
                position += samples.shape[1]
        file.mux(video.encode(None))
        if audio is not None:
            file.mux(audio.encode(None))
    duration_ms = round(film.frames / film.fps * 1000)
    return Rendered(_CONTENT_TYPES[film.container], duration_ms)


def _coded(
    video: av.VideoStream, film: Film, *, sketch: bool
) -> Iterator[Sequence[Packet]]:
    """Encode the frames in order.

    A still picture is encoded for one group of frames, which begins with a keyframe;
    then the group's packets are repeated.
    """
    time_base, group = 1 / film.fps, video.gop_size
    first, is_apart = 0, False
    pictures = runs(
        film.layers,
        film.size,
        film.frames,
        film.fps,
        sketch=sketch,
        enlarged=film.enlarged,
    )
    for picture, times in pictures:
        repeats = times > group > 1
        coded: list[Packet] = []
        for number in range(times):
            index = first + number
            if repeats and number >= group:
                packet = coded[number % group]
                yield [_repeated(packet, video, index, time_base)]
                continue
            picture.pts, picture.time_base = index, time_base
            begins = number == 0 and (repeats or is_apart)
            picture.pict_type = PictureType.I if begins else PictureType.NONE
            packets = video.encode(picture)
            coded += packets if repeats else []
            yield packets
        first, is_apart = first + times, repeats
        del picture  # free the picture before the next is drawn


def _repeated(
    packet: Packet, video: av.VideoStream, index: int, time_base: Fraction
) -> Packet:
    """Copy a packet for another frame of the film."""
    copy = cast(Packet, av.Packet(bytes(packet)))
    copy.stream, copy.is_keyframe = video, packet.is_keyframe
    copy.pts = copy.dts = index
    copy.duration, copy.time_base = 1, time_base
    return copy


def _video_stream(
    file: av.container.OutputContainer, film: Film, *, sketch: bool
) -> av.VideoStream:
    threads = min(os.cpu_count() or 1, 4)
    stream = file.add_stream(_ENCODERS[film.codec], rate=film.fps)
    # PyAV's types list only a few encoders.
    assert isinstance(stream, av.VideoStream)
    stream.width, stream.height = film.enlarged or film.size
    stream.pix_fmt = "yuv420p"
    group = _SKETCH_GOP_FRAMES if sketch else max(round(_GOP_S * film.fps), 1)
    stream.gop_size = group
    stream.codec_context.time_base = 1 / film.fps
    stream.codec_context.thread_count = threads
    stream.color_range = _LIMITED_RANGE
    stream.colorspace = stream.color_primaries = stream.color_trc = _BT709
    stream.options = {
        "preset": "ultrafast",
        "tune": "zerolatency",
        "crf": str(_SKETCH_CRF if sketch else film.crf),
    }
    if film.codec == "hevc":
        stream.codec_context.codec_tag = "hvc1"  # Apple's players take no other
        stream.options |= {"forced-idr": "1", "x265-params": _X265}
    return stream


def _sound_frame(samples: Floats, at: int) -> av.AudioFrame:
    frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples), "fltp", "stereo")
    frame.sample_rate, frame.pts = SAMPLE_RATE_HZ, at
    frame.time_base = Fraction(1, SAMPLE_RATE_HZ)
    return frame
