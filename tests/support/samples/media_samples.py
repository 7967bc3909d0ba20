"""Tiny pictures, clips and sounds, generated on demand."""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Literal

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image

SAMPLE_RATE_HZ = 48_000

Pattern = Literal["plain", "gradient", "disc", "stripes"]
Colour = str | tuple[int, int, int] | tuple[int, int, int, int]


def make_picture(
    size: tuple[int, int] = (320, 180),
    colour: Colour = "teal",
    pattern: Pattern = "disc",
) -> Image.Image:
    """Draw an RGB picture, or RGBA when the colour has four parts.

    Args:
        size: Width and height in pixels.
        colour: The main colour.
        pattern: `plain` is the colour alone; the others are recognisable when they
            are moved, mirrored or turned.
    """
    mode = "RGBA" if isinstance(colour, tuple) and len(colour) == 4 else "RGB"
    plain = Image.new(mode, size, colour)
    if pattern == "plain":
        return plain
    width, height = size
    x = np.linspace(0, 1, width)[None, :]
    y = np.linspace(0, 1, height)[:, None]
    shape = {
        "gradient": 0.7 * x + 0.3 * y,
        "disc": 0.25 * x + 0.75 * (np.hypot(x - 0.35, y - 0.4) < 0.22),
        "stripes": 0.5 + 0.5 * np.sin(18 * x + 7 * y),
    }[pattern]
    light = Image.new(mode, size, (255, 240, 200, 255)[: len(mode)])
    mask = Image.fromarray(np.rint(200 * shape).astype(np.uint8))
    return Image.composite(light, plain, mask)


def make_png(
    path: Path,
    size: tuple[int, int] = (320, 180),
    colour: Colour = "teal",
    pattern: Pattern = "disc",
) -> Path:
    """Write a png file and return its path."""
    make_picture(size, colour, pattern).save(path, "PNG")
    return path


def make_jpeg(
    path: Path,
    size: tuple[int, int] = (320, 180),
    colour: Colour = "teal",
    pattern: Pattern = "disc",
    *,
    orientation: int = 1,
) -> Path:
    """Write a jpeg file, with an EXIF orientation, and return its path."""
    picture = make_picture(size, colour, pattern)
    exif = Image.Exif()
    exif[274] = orientation
    picture.save(path, "JPEG", quality=95, exif=exif)
    return path


def make_sound(duration_s: float, frequency_hz: float = 440) -> NDArray[np.float32]:
    """Make a steady tone: two channels of samples at 48 kHz."""
    time_s = np.arange(round(duration_s * SAMPLE_RATE_HZ)) / SAMPLE_RATE_HZ
    tone = 0.4 * np.sin(2 * math.pi * frequency_hz * time_s)
    return np.stack([tone, tone]).astype(np.float32)


def make_wav(path: Path, duration_s: float = 2.0, frequency_hz: float = 440) -> Path:
    """Write a wav file and return its path."""
    return _make_audio(path, "wav", "pcm_s16le", duration_s, frequency_hz)


def make_mp3(path: Path, duration_s: float = 2.0, frequency_hz: float = 440) -> Path:
    """Write an mp3 file and return its path."""
    return _make_audio(path, "mp3", "libmp3lame", duration_s, frequency_hz)


def make_mp4(
    path: Path,
    size: tuple[int, int] = (854, 480),
    duration_s: float = 2.0,
    fps: int = 24,
    codec: str = "libx264",
    *,
    audio: bool = False,
    sound_s: float | None = None,
    container: Literal["mp4", "mov"] = "mp4",
    rotation_degrees: int = 0,
    colour: Colour = "teal",
) -> Path:
    """Write a clip in which a bright bar moves from left to right.

    Args:
        path: The file.
        size: Width and height in pixels, both even.
        duration_s: Length in seconds.
        fps: Frames per second.
        codec: An encoder's name, such as `libx264` or `libx265`.
        audio: Whether there is a tone of 440 Hz.
        sound_s: Length of the tone in seconds; that of the clip unless given.
        container: The file format.
        rotation_degrees: The rotation by players, counter-clockwise.
        colour: Of the background.
    """
    heard_s = (duration_s if sound_s is None else sound_s) if audio else None
    look = (size, duration_s, fps, codec, rotation_degrees, colour)
    path.write_bytes(_clip(container, heard_s, *look))
    return path


# Most tests ask for one of a few clips, and coding one takes longer than most tests.
@cache
def _clip(
    container: str,
    heard_s: float | None,
    size: tuple[int, int],
    duration_s: float,
    fps: int,
    codec: str,
    rotation_degrees: int,
    colour: Colour,
) -> bytes:
    content = BytesIO()
    with av.open(content, "w", format=container) as file:
        video = file.add_stream(codec, rate=fps)
        assert isinstance(video, av.VideoStream)
        video.width, video.height = size
        video.pix_fmt = "yuv420p"
        video.options = {"preset": "ultrafast", "crf": "18"}
        video.codec_context.thread_count = 2
        if rotation_degrees:
            video.set_display_rotation(rotation_degrees)
        sound = None
        if heard_s is not None:
            sound = file.add_stream("aac", rate=SAMPLE_RATE_HZ)
        for picture in _moving_bar(size, round(duration_s * fps), colour):
            frame = av.VideoFrame.from_ndarray(picture, "rgb24")
            file.mux(video.encode(frame))
        file.mux(video.encode(None))
        if sound is not None and heard_s is not None:
            file.mux(sound.encode(_audio_frame(make_sound(heard_s), "fltp")))
            file.mux(sound.encode(None))
    return content.getvalue()


def _moving_bar(
    size: tuple[int, int], frames: int, colour: Colour
) -> Iterator[NDArray[np.uint8]]:
    width, height = size
    background = np.asarray(make_picture(size, colour, "gradient").convert("RGB"))
    for index in range(frames):
        picture = background.copy()
        left = round((width - width // 8) * index / max(frames - 1, 1))
        picture[height // 3 : height // 2, left : left + width // 8] = 250
        yield picture


def _make_audio(
    path: Path, container: str, codec: str, duration_s: float, frequency_hz: float
) -> Path:
    path.write_bytes(_sound(container, codec, duration_s, frequency_hz))
    return path


@cache
def _sound(container: str, codec: str, duration_s: float, frequency_hz: float) -> bytes:
    content = BytesIO()
    with av.open(content, "w", format=container) as file:
        stream = file.add_stream(codec, rate=SAMPLE_RATE_HZ, layout="stereo")
        assert isinstance(stream, av.AudioStream)
        samples = make_sound(duration_s, frequency_hz)
        if container == "wav":
            whole = np.rint(samples * 32767).astype(np.int16)
            frame = _audio_frame(whole.T.reshape(1, -1), "s16")
        else:
            frame = _audio_frame(samples, "fltp")
        file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return content.getvalue()


def _audio_frame(
    samples: NDArray[np.float32] | NDArray[np.int16], sample_format: str
) -> av.AudioFrame:
    frame = av.AudioFrame.from_ndarray(samples, sample_format, "stereo")
    frame.sample_rate = SAMPLE_RATE_HZ
    frame.time_base = Fraction(1, SAMPLE_RATE_HZ)
    frame.pts = 0
    return frame
