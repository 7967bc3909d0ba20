"""Tiny clips and sounds with known measurements."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

SIZE = 64
FPS = 8
RATE_HZ = 48_000

Grey = NDArray[np.uint8]


def flat(level: int, size: int = SIZE) -> Grey:
    """Return a frame of one grey level."""
    return np.full((size, size), level, np.uint8)


def noise(seed: int, size: int = SIZE, cell_px: int = 1) -> Grey:
    """Return a frame of noise in squares of `cell_px` pixels."""
    random = np.random.default_rng(seed)
    small = random.integers(0, 256, (size // cell_px, size // cell_px), np.uint8)
    return small.repeat(cell_px, axis=0).repeat(cell_px, axis=1)


def write_clip(
    path: Path,
    frames: Iterable[Grey],
    *,
    fps: int = FPS,
    crf: int = 12,
    sound: NDArray[np.float32] | None = None,
) -> Path:
    """Write grey frames as an mp4 file, with a sound if given; return its path."""
    with av.open(str(path), "w", format="mp4") as file:
        video = file.add_stream("libx264", rate=fps)
        assert isinstance(video, av.VideoStream)
        video.pix_fmt = "yuv420p"
        video.options = {"preset": "ultrafast", "crf": str(crf)}
        video.codec_context.thread_count = 1
        track = None
        if sound is not None:
            track = file.add_stream("aac", rate=RATE_HZ, layout="mono")
        for index, grey in enumerate(frames):
            if index == 0:
                video.height, video.width = grey.shape
            frame = av.VideoFrame.from_ndarray(grey, "gray")
            file.mux(video.encode(frame.reformat(format="yuv420p")))
        file.mux(video.encode(None))
        if track is not None and sound is not None:
            file.mux(track.encode(_audio_frame(sound)))
            file.mux(track.encode(None))
    return path


def write_sound(path: Path, samples: NDArray[np.float32]) -> Path:
    """Write one channel of samples from -1 to 1 as a wav file; return its path."""
    with av.open(str(path), "w", format="wav") as file:
        stream = file.add_stream("pcm_f32le", rate=RATE_HZ, layout="mono")
        frame = _audio_frame(samples, "flt")
        file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return path


def tone(amplitude: float, duration_s: float = 1.0) -> NDArray[np.float32]:
    """Return a sine whose period is no whole number of samples."""
    time_s = np.arange(round(duration_s * RATE_HZ)) / RATE_HZ
    return (amplitude * np.sin(2 * np.pi * 997 * time_s)).astype(np.float32)


def _audio_frame(samples: NDArray[np.float32], fmt: str = "fltp") -> av.AudioFrame:
    frame = av.AudioFrame.from_ndarray(samples.reshape(1, -1), fmt, "mono")
    frame.sample_rate = RATE_HZ
    frame.time_base = Fraction(1, RATE_HZ)
    frame.pts = 0
    return frame
