"""Writes a film, made of shots and sound, to an mp4 or mov file."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol

import av
import numpy as np
from av.video.frame import PictureType

from mediakit.sandbox.render.frames.planes import Floats, Planes
from mediakit.sandbox.render.protocol import Rendered
from mediakit.sandbox.render.sizes import Size
from mediakit.sandbox.render.sound.melody import SAMPLE_RATE_HZ
from mediakit.sandbox.render.sound.mixing import Recording, SoundSource

FPS = 24
STANDARD_CRF = 21
HIGH_CRF = 14
_SKETCH_CRF = 40

Container = Literal["mp4", "mov"]
Codec = Literal["h264", "hevc"]

_CONTENT_TYPES = {"mp4": "video/mp4", "mov": "video/quicktime"}
_GOP_S = 2
_ENCODERS: Mapping[Codec, str] = {"h264": "libx264", "hevc": "libx265"}
# One frame at a time: x265 needs twelve bytes a pixel for each frame in flight.
_X265 = "log-level=none:frame-threads=1:pools={threads}"
_AAC_FRAME_SAMPLES = 1024
_BT709 = 1
_LIMITED_RANGE = 1


class Shot(Protocol):
    """A run of frames without a cut."""

    @property
    def frames(self) -> int:
        """The number of frames in the shot."""

    @property
    def unit(self) -> int:
        """The number of rendered frames; after these the shot repeats."""

    def draw(self, planes: Planes, index: int) -> None:
        """Draw frame `index` of the shot; asked for in order, once each."""


@dataclass(frozen=True)
class Film:
    """A film to write.

    Attributes:
        size: The frame's size.
        shots: One after the other, joined by cuts.
        sound: Samples at 48 kHz, shape (2, samples), or a source that is asked for
            them piece by piece; cut to the shots' length. None for a film without a
            sound track.
        container: The file format.
        crf: Constant rate factor: less is better and larger.
        codec: How the frames are coded.
        fps: Frames per second.
    """

    size: Size
    shots: Sequence[Shot]
    sound: Floats | SoundSource | None = None
    container: Container = "mp4"
    crf: int = STANDARD_CRF
    codec: Codec = "h264"
    fps: Fraction = Fraction(FPS)

    @property
    def frames(self) -> int:
        """The number of frames of all shots."""
        return sum(shot.frames for shot in self.shots)

    @property
    def seconds(self) -> Fraction:
        """The exact length."""
        return self.frames / self.fps


def write_film(film: Film, path: Path, *, sketch: bool = False) -> Rendered:
    """Render every shot and write the file to disk.

    Args:
        film: What to render.
        path: The file to write; its name does not matter.
        sketch: Only draw the first frame of each shot, and coarsely.
    """
    if sketch:
        shots = [_FirstFrame(shot) for shot in film.shots]
        film = replace(film, shots=shots, crf=_SKETCH_CRF)
    with _Writer(film, path) as writer:
        for shot in film.shots:
            writer.write_shot(shot)
    sync(path)
    return Rendered(
        content_type=_CONTENT_TYPES[film.container],
        width=film.size.width,
        height=film.size.height,
        duration_ms=round(film.seconds * 1000),
        frames=film.frames,
        output_seconds=round(float(film.seconds), 3),
    )


def sync(path: Path) -> None:
    """Wait until the file's bytes are on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


@dataclass(frozen=True)
class _FirstFrame:
    """A shot that shows its first frame all the time."""

    shot: Shot
    unit: int = 1

    @property
    def frames(self) -> int:
        return self.shot.frames

    def draw(self, planes: Planes, index: int) -> None:
        self.shot.draw(planes, index)


@dataclass(frozen=True)
class _Coded:
    """An encoded frame that can be written again at another time."""

    data: bytes
    key: bool


class _Writer:
    """An open file with its encoders.

    One frame's planes are reused for the whole film: the encoder copies them, and
    without look-ahead or B-frames it hands out each frame's packet at once.
    """

    def __init__(self, film: Film, path: Path) -> None:
        self._film = film
        self._file = av.open(
            str(path), "w", format=film.container, options={"movflags": "+faststart"}
        )
        self._video = self._video_stream()
        self._sound = _source(film.sound)
        self._audio = self._audio_stream()
        self._frame = av.VideoFrame(*film.size, "yuv420p")
        self._planes = Planes.of(self._frame)
        self._written = 0
        self._heard = 0

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self._finish()
        finally:
            self._file.close()

    def _finish(self) -> None:
        self._file.mux(self._video.encode(None))
        self._write_sound(self._film.frames)
        if self._audio is not None:
            self._file.mux(self._audio.encode(None))

    def _video_stream(self) -> av.VideoStream:
        film, threads = self._film, min(os.cpu_count() or 1, 4)
        stream = self._file.add_stream(_ENCODERS[film.codec], rate=film.fps)
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
            "crf": str(film.crf),
            "forced-idr": "1",
        }
        if film.codec == "hevc":
            stream.codec_context.codec_tag = "hvc1"  # the only one Apple's players take
            stream.options |= {"x265-params": _X265.format(threads=threads)}
        return stream

    def _audio_stream(self) -> av.AudioStream | None:
        if self._sound is None:
            return None
        stream = self._file.add_stream("aac", rate=SAMPLE_RATE_HZ, layout="stereo")
        stream.bit_rate = 160_000
        return stream

    def write_shot(self, shot: Shot) -> None:
        """Render the shot's unit, then repeat its packets to the shot's length."""
        unit = min(shot.unit, shot.frames)
        repeats = unit < shot.frames
        kept: list[_Coded] = []
        for index in range(unit):
            for coded in self._write_frame(shot, index, keep=repeats):
                kept.append(coded)
        for index in range(unit, shot.frames):
            self._write_again(kept[index % unit])

    def _write_frame(self, shot: Shot, index: int, *, keep: bool) -> Iterator[_Coded]:
        shot.draw(self._planes, index)
        self._frame.pts = self._written
        self._frame.time_base = 1 / self._film.fps
        self._frame.pict_type = PictureType.NONE if index else PictureType.I
        for packet in self._video.encode(self._frame):
            if keep:
                yield _Coded(bytes(packet), packet.is_keyframe)
            self._file.mux(packet)
        self._next_frame()

    def _write_again(self, coded: _Coded) -> None:
        packet = av.Packet(coded.data)
        packet.stream = self._video
        packet.time_base = 1 / self._film.fps
        packet.pts = packet.dts = self._written
        packet.duration = 1
        packet.is_keyframe = coded.key
        self._file.mux(packet)
        self._next_frame()

    def _next_frame(self) -> None:
        self._written += 1
        if self._written % max(round(self._film.fps), 1) == 0:
            self._write_sound(self._written)

    def _write_sound(self, until_frame: int) -> None:
        """Write the sound up to a frame, so that both streams are interleaved."""
        if self._audio is None or self._sound is None:
            return
        until = int(until_frame * SAMPLE_RATE_HZ / self._film.fps)
        if until_frame < self._film.frames:
            until -= until % _AAC_FRAME_SAMPLES
        samples = self._sound.read(max(until - self._heard, 0))
        if samples.shape[1] == 0:
            return
        frame = av.AudioFrame.from_ndarray(samples.copy(), "fltp", "stereo")
        frame.sample_rate = SAMPLE_RATE_HZ
        frame.time_base = Fraction(1, SAMPLE_RATE_HZ)
        frame.pts = self._heard
        self._heard += samples.shape[1]
        self._file.mux(self._audio.encode(frame))


def _source(sound: Floats | SoundSource | None) -> SoundSource | None:
    return Recording(sound) if isinstance(sound, np.ndarray) else sound
