"""The sound of a film: a generated melody, given sounds, and both mixed.

A film may last 20 minutes, whose samples would fill 460 MB at once: sounds are read
and mixed in pieces.
"""

import sys
import wave
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import chain, cycle
from pathlib import Path
from typing import NamedTuple

import av
import numpy as np

from mediakit.sandbox.render.files import Given, has_pictures, opened_container
from mediakit.sandbox.render.film import FPS, SAMPLE_RATE_HZ, Floats
from mediakit.sandbox.render.protocol import Rendered, RenderError

# Whole frames of AAC, which have 1,024 samples.
_PIECE_SAMPLES = 48 * 1024

# Up to this level a mix is unchanged; louder samples are compressed to below 1.
_KNEE = np.float32(0.8)

_PENTATONIC = (0, 2, 4, 7, 9, 12, 14, 16)
_CHORDS = ((0, 7, 16), (-3, 4, 12), (-7, 0, 9), (-5, 2, 11))
_BEAT_S = 0.4
_CHORD_BEATS = 8
_NOTE_S = 1.9
_PEAK = 0.5


class Voice:
    """A sound in a part of a film, and silence after it.

    Args:
        pieces: What is heard.
        start: The sample of the film at which it begins.
        stop: The sample of the film before which it ends.
    """

    def __init__(
        self, pieces: Iterator[Floats], start: int = 0, stop: int = sys.maxsize
    ) -> None:
        self._pieces = pieces
        self._start, self._stop = start, stop
        self._rest = np.zeros((2, 0), np.float32)

    def add_to(self, mixed: Floats, first: int) -> None:
        """Add it to the piece of the film that begins with the sample `first`."""
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
    """A sound to write: samples at 48 kHz in pieces, as long as so many frames."""

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
    """Return a sound that begins again whenever it is over."""
    return Voice(cycle([sound]) if sound.shape[1] else iter(()))


def decoded(given: Given) -> Iterator[Floats]:
    """Decode a file's sound at 48 kHz, in pieces of shape (2, n).

    Raises:
        RenderError: `invalid_input` when it cannot be decoded.
    """
    with opened_container(given, "audio") as container:
        if not container.streams.audio:
            raise RenderError.invalid(f"{given.field}: the file has no sound.")
        stream = container.streams.audio[0]
        # A track of an unknown codec has no context, although PyAV's types declare one.
        if getattr(stream, "codec_context", None) is None:
            raise ValueError("its codec is not known")
        resampler = av.AudioResampler("fltp", "stereo", SAMPLE_RATE_HZ)
        frames: Iterable[av.AudioFrame | None] = container.decode(stream)
        # In a clip the sound may begin after the picture.
        may_be_late = "mov" in container.format.name
        for frame in chain(frames, [None]):  # None: what is held back
            if frame is not None and may_be_late:
                for _ in range(round((frame.time or 0.0) * 100)):
                    yield np.zeros((2, SAMPLE_RATE_HZ // 100), np.float32)
            may_be_late = False
            for part in resampler.resample(frame):
                samples = part.to_ndarray().astype(np.float32, copy=False)
                yield np.nan_to_num(samples).clip(-1, 1)


def check_sound(given: Given) -> None:
    """Check that a file is a sound.

    An m4a file is an mp4 file without moving pictures.

    Raises:
        RenderError: `invalid_input` when it is no sound, or holds none.
    """
    with opened_container(given, "audio") as container:
        if has_pictures(container):
            raise RenderError.invalid(
                f"{given.field}: the file is a video; an audio track takes sounds "
                "(wav, mp3 or m4a)."
            )
    if next(decoded(given), None) is None:
        raise RenderError.invalid(f"{given.field}: the file has no sound.")


def _softened(mixed: Floats) -> Floats:
    """Compress loud samples to below 1, because clipping would distort them."""
    height = np.abs(mixed)
    room = 1 - _KNEE
    bent = _KNEE + room * np.tanh((height - _KNEE) / room)
    soft: Floats = np.where(height > _KNEE, np.copysign(bent, mixed), mixed)
    return soft


def melody(frames: int, random: np.random.Generator) -> Floats:
    """Compose plucked notes over slow chords, faded in and out.

    Returns:
        Samples between -1 and 1 at 48 kHz, shape (2, samples).
    """
    sound = np.zeros((2, frames * SAMPLE_RATE_HZ // FPS), dtype=np.float32)
    root_hz = 220 * 2 ** (int(random.integers(-4, 5)) / 12)
    beats = int(frames / FPS / _BEAT_S) + 1
    for beat in range(0, beats, _CHORD_BEATS):
        for voice, step in enumerate(_CHORDS[beat // _CHORD_BEATS % len(_CHORDS)]):
            chord = _swell(root_hz / 2 * 2 ** (step / 12), _CHORD_BEATS * _BEAT_S)
            _add(sound, chord, beat * _BEAT_S, 0.35 + 0.15 * voice, 0.16)
    for beat in range(beats):
        if beat % 4 == 0 or random.random() < 0.55:
            step = _PENTATONIC[int(random.integers(len(_PENTATONIC)))]
            note = _pluck(root_hz * 2 ** (step / 12))
            _add(sound, note, beat * _BEAT_S, float(random.uniform(0.25, 0.75)), 0.5)
    peak = float(np.abs(sound).max(initial=0.0))
    sound *= np.float32(_PEAK / peak if peak else 0)
    fade = min(sound.shape[1], SAMPLE_RATE_HZ // 2)
    sound[:, sound.shape[1] - fade :] *= np.linspace(1, 0, fade, dtype=np.float32)
    fade = min(sound.shape[1], SAMPLE_RATE_HZ // 50)
    sound[:, :fade] *= np.linspace(0, 1, fade, dtype=np.float32)
    return sound


def _pluck(frequency_hz: float) -> Floats:
    time_s = _seconds(_NOTE_S)
    tone = np.zeros_like(time_s)
    for overtone, loudness in _overtones():
        turns = np.sin(np.float32(2 * np.pi * frequency_hz * overtone) * time_s)
        tone += turns * loudness
    return tone


@cache
def _overtones() -> Sequence[tuple[float, Floats]]:
    """Return the overtones of a note, and the loudness of each over its time."""
    time_s = _seconds(_NOTE_S)
    attack = (time_s / np.float32(0.012)).clip(0, 1)
    return [
        (overtone, level * attack * np.exp(np.float32(-2.4 * overtone) * time_s))
        for overtone, level in ((1, 1.0), (2, 0.32), (3, 0.11), (4.01, 0.05))
    ]


def _swell(frequency_hz: float, length_s: float) -> Floats:
    time_s = _seconds(length_s * 1.15)
    envelope = np.sin(np.linspace(0, np.pi, len(time_s), dtype=np.float32)) ** 2
    first = np.sin(np.float32(2 * np.pi * frequency_hz) * time_s)
    second = np.sin(np.float32(2 * np.pi * frequency_hz * 1.004) * time_s)
    tone: Floats = (first + second) * envelope
    return tone


def _seconds(length_s: float) -> Floats:
    samples = np.arange(round(length_s * SAMPLE_RATE_HZ), dtype=np.float32)
    return samples / np.float32(SAMPLE_RATE_HZ)


def _add(sound: Floats, tone: Floats, start_s: float, pan: float, gain: float) -> None:
    """Add a tone to both channels, cut at the end."""
    start = round(start_s * SAMPLE_RATE_HZ)
    room = sound[:, start : start + len(tone)]
    weights = np.array([[np.sqrt(1 - pan)], [np.sqrt(pan)]], dtype=np.float32)
    room += np.float32(gain) * weights * tone[: room.shape[1]]
