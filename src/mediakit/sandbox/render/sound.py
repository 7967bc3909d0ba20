"""The sound of a film: a generated melody, given sounds, or a mix.

A film may last 20 minutes, whose samples would fill 460 MB at once, so sounds are read
and mixed in pieces.
"""

import sys
import wave
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import chain, cycle
from pathlib import Path
from typing import NamedTuple

import av
import numpy as np

from mediakit.decoding import decoded_frames, has_moving_pictures, sound_track
from mediakit.media_limits import MediaInfo, MediaLimits
from mediakit.sandbox.render.film import FPS, SAMPLE_RATE_HZ, Floats
from mediakit.sandbox.render.input_files import (
    InputFile,
    opened_container,
    recorded_info,
)
from mediakit.sandbox.render.protocol import Rendered, RenderError

# A whole number of AAC frames, which have 1,024 samples.
_PIECE_SAMPLES = 48 * 1024

# Up to this level a mix is unchanged; louder samples are compressed to below 1.
_KNEE = np.float32(0.8)

_PENTATONIC = (0, 2, 4, 7, 9, 12, 14, 16)
_BASS = (0, -3, -7, -5)
_BEAT_S = 0.4
_NOTE_S = 1.9
_PEAK = 0.5


class Voice:
    """A sound in a part of a film, and silence after it."""

    def __init__(
        self, pieces: Iterator[Floats], start: int = 0, stop: int = sys.maxsize
    ) -> None:
        self._pieces = pieces
        self._start = start
        self._stop = stop
        self._rest = np.zeros((2, 0), np.float32)

    def add_to(self, mixed: Floats, first: int) -> None:
        """Add the sound to the piece of the film that begins at sample `first`."""
        at = max(self._start - first, 0)
        stop = min(self._stop - first, mixed.shape[1])
        while at < stop:
            if self._rest.shape[1] == 0:
                piece = next(self._pieces, None)
                if piece is None:
                    return
                self._rest = piece
            part = self._rest[:, : stop - at]
            mixed[:, at : at + part.shape[1]] += part
            self._rest = self._rest[:, part.shape[1] :]
            at += part.shape[1]


class Recording(NamedTuple):
    """A sound to write: samples at 48 kHz in pieces, and its length in frames."""

    pieces: Iterator[Floats]
    frames: int


def write_recording(recording: Recording, path: Path) -> Rendered:
    """Write a wav file of 16 bits."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(SAMPLE_RATE_HZ)
        for piece in recording.pieces:
            file.writeframes(np.rint(piece * 32767).astype("<i2").T.tobytes())
    return Rendered("audio/wav", round(recording.frames / FPS * 1000))


def mixed(
    voices: Sequence[Voice], frames: int, fps: Fraction = Fraction(FPS)
) -> Iterator[Floats]:
    """Mix voices to the length of a film, piece by piece."""
    samples = int(frames * SAMPLE_RATE_HZ / fps)
    for first in range(0, samples, _PIECE_SAMPLES):
        piece = np.zeros((2, min(_PIECE_SAMPLES, samples - first)), np.float32)
        for voice in voices:
            voice.add_to(piece, first)
        yield _softened(piece) if len(voices) > 1 else piece


def repeated(sound: Floats) -> Voice:
    """Return a sound that repeats whenever it ends."""
    return Voice(cycle([sound]) if sound.shape[1] else iter(()))


def decoded(
    source: InputFile, picture_start_s: float | None = None
) -> Iterator[Floats]:
    """Decode a file's sound at 48 kHz, in pieces of shape (2, n).

    The sound of a clip is aligned with its first frame: earlier sound is dropped, and a
    gap becomes silence.
    """
    with opened_container(source, "audio") as container:
        stream = sound_track(container)
        resampler = av.AudioResampler("fltp", "stereo", SAMPLE_RATE_HZ)
        frames: Iterable[av.AudioFrame | None] = decoded_frames(container, stream)
        early = 0
        # A sound in an mp4 file may begin with a pause.
        if picture_start_s is None and "mov" in container.format.name:
            picture_start_s = 0.0
        for frame in chain(frames, [None]):  # None flushes the resampler
            if frame is not None and picture_start_s is not None:
                late_s = (frame.time or 0.0) - picture_start_s
                for _ in range(round(late_s * 100)):
                    yield np.zeros((2, SAMPLE_RATE_HZ // 100), np.float32)
                early = max(round(-late_s * SAMPLE_RATE_HZ), 0)
                picture_start_s = None
            for part in resampler.resample(frame):
                samples = part.to_ndarray().astype(np.float32, copy=False)
                rest = samples[:, early:]
                early = max(early - samples.shape[1], 0)
                if rest.shape[1]:
                    yield np.nan_to_num(rest).clip(-1, 1)


def sound_info(source: InputFile, limits: MediaLimits) -> MediaInfo:
    """Read the properties of a sound, for limits."""
    size_bytes = source.path.stat().st_size
    # Check the size before opening the file, because FFmpeg searches its padding for
    # chunks.
    if too_large := limits.size_problems(source.field, size_bytes):
        raise RenderError.of(too_large)
    check_sound(source)
    return recorded_info(source, "audio")


def check_sound(source: InputFile) -> None:
    """Check that a file is a sound.

    An m4a file is an mp4 file without moving pictures.
    """
    with opened_container(source, "audio") as container:
        if has_moving_pictures(container):
            raise RenderError.invalid(
                f"{source.field}: the file is a video; an audio track takes sounds "
                "(wav, mp3, m4a, ogg, flac or aac)."
            )
    if next(decoded(source), None) is None:
        raise RenderError.invalid(f"{source.field}: the file has no sound.")


def _softened(mixed: Floats) -> Floats:
    """Compress loud samples to below 1, because clipping would distort them."""
    height = np.abs(mixed)
    room = 1 - _KNEE
    bent = _KNEE + room * np.tanh((height - _KNEE) / room)
    soft: Floats = np.where(height > _KNEE, np.copysign(bent, mixed), mixed)
    return soft


def melody(frames: int, random: np.random.Generator) -> Floats:
    """Compose plucked notes, faded in and out: samples at 48 kHz, shape (2, n)."""
    sound = np.zeros((2, frames * SAMPLE_RATE_HZ // FPS), dtype=np.float32)
    root_hz = 110 * 2 ** (int(random.integers(-4, 5)) / 12)
    time_s = np.arange(round(_NOTE_S * SAMPLE_RATE_HZ), dtype=np.float32)
    time_s /= SAMPLE_RATE_HZ
    for beat in range(int(frames / FPS / _BEAT_S) + 1):
        steps = [_BASS[beat // 8 % len(_BASS)]] if beat % 4 == 0 else []
        if beat % 2 == 0 or random.random() < 0.5:
            steps.append(12 + _PENTATONIC[int(random.integers(len(_PENTATONIC)))])
        for step in steps:
            hz = np.float32(2 * np.pi * root_hz * 2 ** (step / 12))
            note = sum(
                np.sin(hz * n * time_s) * np.exp(-2.4 * n * time_s) / n**1.6
                for n in (1, 2, 3)
            )
            start = beat * round(_BEAT_S * SAMPLE_RATE_HZ)
            room = sound[:, start : start + len(time_s)]
            pan = random.uniform(0.35, 0.65)
            room += np.outer((1 - pan, pan), note)[:, : room.shape[1]]
    sound *= np.float32(_PEAK / max(float(np.abs(sound).max(initial=0)), _PEAK))
    for fade_s, ends in ((0.02, slice(None)), (0.5, slice(None, None, -1))):
        fade = min(sound.shape[1], round(fade_s * SAMPLE_RATE_HZ))
        sound[:, ends][:, :fade] *= np.linspace(0, 1, fade, dtype=np.float32)
    return sound
