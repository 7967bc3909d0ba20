"""Forty small clips and sounds as cameras, phones, editors and recorders write them.

Each clip shows four colours: red, green, blue and white, from left to right and from
top to bottom, as they are stored. Each sound is a tone of 440 Hz. The facts of each are
in `tests/media/assorted_files.toml`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from tests.support.samples.high_range import HLG, PQ, high_range_frame
from tests.support.samples.media_samples import make_sound
from tests.support.samples.odd_clips import FRAGMENTED, ONE, Matrix, with_matrix

COLOURS = {"r": (200, 30, 30), "g": (30, 160, 40), "b": (30, 40, 200), "w": (230,) * 3}
STORED = (96, 64)
PITCH_HZ = 440
# FFmpeg's numbers of matrices, primaries and transfer functions (ITU-T H.273).
BT709, BT601, UNSPECIFIED = 1, 6, 2
LIMITED, FULL = 1, 2


def four_corners(width: int, height: int) -> NDArray[np.uint8]:
    picture = np.empty((height, width, 3), np.uint8)
    for index, colour in enumerate(COLOURS.values()):
        down, across = divmod(index, 2)
        rows = slice(down * height // 2, (down + 1) * height // 2)
        columns = slice(across * width // 2, (across + 1) * width // 2)
        picture[rows, columns] = colour
    return picture


def clip(
    codec: str = "libx264",
    container: str = "mp4",
    pixels: str = "yuv420p",
    *,
    size: tuple[int, int] = STORED,
    frames: int = 12,
    fps: int | Fraction = 24,
    matrix: int = BT709,
    color_range: int = LIMITED,
    is_tagged: bool = True,
    transfer: int | None = None,
    pixel_ratio: Fraction | None = None,
    codec_options: Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
    sound: str | None = None,
) -> bytes:
    """Write a clip.

    Args:
        codec: An encoder's name.
        container: FFmpeg's name of the format.
        pixels: FFmpeg's name of the format of pixels.
        size: Width and height of the frames, as stored.
        frames: How many.
        fps: Frames per second.
        matrix: From RGB to the stored levels.
        color_range: Of the stored levels.
        is_tagged: Whether the file names its matrix and range.
        transfer: `PQ` or `HLG`, for a clip of high dynamic range.
        pixel_ratio: The width of a pixel over its height.
        codec_options: Of the encoder.
        options: Of the format.
        sound: The encoder of a tone that lasts as long.
    """
    content = BytesIO()
    with av.open(content, "w", format=container, options=dict(options or {})) as file:
        stream = file.add_stream(codec, rate=fps, options=dict(codec_options or {}))
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height = size
        stream.pix_fmt = pixels
        if pixel_ratio is not None:
            stream.codec_context.sample_aspect_ratio = pixel_ratio
        if transfer is not None:
            stream.color_range = LIMITED
            stream.color_trc = transfer
            stream.colorspace = stream.color_primaries = 9
        elif is_tagged:
            stream.color_range, stream.colorspace = color_range, matrix
            stream.color_primaries = stream.color_trc = matrix
        heard = file.add_stream(sound, rate=48_000) if sound else None
        picture = four_corners(*size)
        if transfer is not None:
            frame = high_range_frame(picture, transfer)
        else:
            frame = av.VideoFrame.from_ndarray(picture, "rgb24").reformat(
                format=pixels, dst_colorspace=matrix, dst_color_range=color_range
            )
        for index in range(frames):
            frame.pts, frame.time_base = index, 1 / Fraction(fps)
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
        if heard is not None:
            _write_tone(file, heard, float(frames / fps))
    return content.getvalue()


def sound(
    codec: str,
    container: str,
    sample_format: str | None = None,
    *,
    seconds: float = 1.0,
    rate_hz: int = 48_000,
    layout: str = "stereo",
    codec_options: Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
    silent_s: float = 0,
) -> bytes:
    """Write a sound, silent at first; the arguments are like those of a clip."""
    content = BytesIO()
    with av.open(content, "w", format=container, options=dict(options or {})) as file:
        more: Any = {"layout": layout, "options": dict(codec_options or {})}
        stream: Any = file.add_stream(codec, rate=rate_hz, **more)
        if sample_format is not None:
            stream.codec_context.format = sample_format
        _write_tone(file, stream, seconds, silent_s)
    return content.getvalue()


def _write_tone(file: Any, stream: Any, seconds: float, silent_s: float = 0) -> None:
    samples = make_sound(seconds, PITCH_HZ)
    samples[:, : round(silent_s * 48_000)] = 0
    frame = av.AudioFrame.from_ndarray(samples, "fltp", "stereo")
    frame.sample_rate, frame.time_base, frame.pts = 48_000, Fraction(1, 48_000), 0
    context = stream.codec_context
    resampler = av.AudioResampler(
        context.format, context.layout, context.sample_rate, context.frame_size or None
    )
    for part in [*resampler.resample(frame), *resampler.resample(None)]:
        file.mux(stream.encode(part))
    file.mux(stream.encode(None))


def turned(matrix: Matrix, **more: Any) -> Callable[[], bytes]:
    return lambda: with_matrix(clip(**H264, **more), matrix)


H264: Mapping[str, Any] = {"codec_options": {"preset": "ultrafast", "crf": "8"}}
HEVC: Mapping[str, Any] = {
    "codec_options": {"preset": "ultrafast", "x265-params": "log-level=none:crf=4"}
}
CLOCKWISE = (0, ONE, -ONE, 0)
QUALITY: Mapping[str, Any] = {"codec_options": {"qmin": "1", "qmax": "2"}}

CLIPS: dict[str, Callable[[], bytes]] = {
    # Turns and mirrors: the display matrix of the track.
    "upright": turned((ONE, 0, 0, ONE)),
    "clockwise": turned(CLOCKWISE),
    "half a turn": turned((-ONE, 0, 0, -ONE)),
    "counterclockwise": turned((0, -ONE, ONE, 0)),
    "mirrored": turned((-ONE, 0, 0, ONE)),
    "upside down": turned((ONE, 0, 0, -ONE)),
    "clockwise, mirrored": turned((0, ONE, ONE, 0)),
    "counterclockwise, mirrored": turned((0, -ONE, -ONE, 0)),
    "matrix of zeros": turned((0, 0, 0, 0)),
    "matrix of a line": turned((ONE, 0, 0, 0)),
    # Shapes of pixels.
    "PAL wide": lambda: clip(pixel_ratio=Fraction(64, 45), **H264),
    "HDV": lambda: clip(pixel_ratio=Fraction(4, 3), **H264),
    "narrow pixels": lambda: clip(pixel_ratio=Fraction(2, 3), **H264),
    "wide pixels, clockwise": turned(CLOCKWISE, pixel_ratio=Fraction(16, 9)),
    "NTSC, clockwise": turned(CLOCKWISE, pixel_ratio=Fraction(10, 11)),
    # Colours.
    "BT.601": lambda: clip(matrix=BT601, **H264),
    "full range": lambda: clip(pixels="yuvj420p", color_range=FULL, **H264),
    "4:4:4": lambda: clip(pixels="yuv444p", **H264),
    "untagged, small": lambda: clip(matrix=BT601, is_tagged=False, **H264),
    "untagged, 720 lines": lambda: clip(
        size=(1280, 720), frames=3, is_tagged=False, **H264
    ),
    "PQ": lambda: clip("libx265", pixels="yuv420p10le", transfer=PQ, **HEVC),
    "HLG": lambda: clip("libx265", "mov", "yuv420p10le", transfer=HLG, **HEVC),
    # Containers and codecs.
    "MPEG-4, 720 lines": lambda: clip(
        "mpeg4", size=(1280, 720), frames=3, is_tagged=False, **QUALITY
    ),
    "ProRes": lambda: clip("prores_ks", "mov", "yuv422p10le", fps=25),
    "PNG in mov": lambda: clip("png", "mov", "rgb24", is_tagged=False),
    "Motion JPEG": lambda: clip(
        "mjpeg",
        "avi",
        "yuvj420p",
        fps=15,
        matrix=BT601,
        color_range=FULL,
        is_tagged=False,
        **QUALITY,
    ),
    "Matroska": lambda: clip(container="matroska", fps=Fraction(30_000, 1001), **H264),
    "WebM": lambda: clip(
        "libvpx-vp9", "webm", fps=30, codec_options={"crf": "4", "b": "0"}
    ),
    "transport stream": lambda: clip(
        "mpeg2video", "mpegts", fps=25, matrix=BT601, sound="mp2", **QUALITY
    ),
    "fragmented AV1": lambda: clip(
        "libsvtav1", options=FRAGMENTED, codec_options={"preset": "12", "crf": "4"}
    ),
}

SOUNDS: dict[str, Callable[[], bytes]] = {
    "wav, 24 bits": lambda: sound("pcm_s24le", "wav"),
    "wav, 8 kHz A-law": lambda: sound("pcm_alaw", "wav", rate_hz=8_000, layout="mono"),
    "wav, ADPCM": lambda: sound("adpcm_ima_wav", "wav", rate_hz=22_050),
    "mp3": lambda: sound("libmp3lame", "mp3", seconds=2.5),
    "mp3, variable, no header": lambda: sound(
        "libmp3lame",
        "mp3",
        seconds=3,
        silent_s=2,
        codec_options={"global_quality": "236", "flags": "+qscale"},
        options={"write_xing": "0"},
    ),
    "m4a": lambda: sound("aac", "ipod"),
    "m4a, lossless": lambda: sound("alac", "ipod", rate_hz=44_100),
    "ogg": lambda: sound("libopus", "ogg"),
    "flac, 5.1": lambda: sound("flac", "flac", layout="5.1"),
    "aac": lambda: sound("aac", "adts", seconds=2),
}

FILES = {**CLIPS, **SOUNDS}


def write_file(folder: Path, name: str) -> Path:
    """Write one of the files; its name does not reveal its format."""
    path = folder / "medium"
    path.write_bytes(FILES[name]())
    return path
