"""A soft generated melody, so that `audio` is audible."""

import numpy as np

from mediakit.sandbox.render.frames.planes import Floats

SAMPLE_RATE_HZ = 48_000

_PENTATONIC = (0, 2, 4, 7, 9, 12, 14, 16)
_CHORDS = ((0, 7, 16), (-3, 4, 12), (-7, 0, 9), (-5, 2, 11))
_BEAT_S = 0.4
_CHORD_BEATS = 8
_NOTE_S = 1.9
_PEAK = 0.5


def melody(seconds: float, random: np.random.Generator) -> Floats:
    """Compose plucked notes over slow chords.

    Args:
        seconds: Length of the piece.
        random: Chooses key and notes.

    Returns:
        Samples between -1 and 1 at 48 kHz, shape (2, samples), float32; faded in
        and out.
    """
    sound = np.zeros((2, round(seconds * SAMPLE_RATE_HZ)), dtype=np.float32)
    root_hz = 220 * 2 ** (int(random.integers(-4, 5)) / 12)
    beats = int(seconds / _BEAT_S) + 1
    for beat in range(0, beats, _CHORD_BEATS):
        for voice, step in enumerate(_CHORDS[beat // _CHORD_BEATS % len(_CHORDS)]):
            chord = _swell(root_hz / 2 * 2 ** (step / 12), _CHORD_BEATS * _BEAT_S)
            _mix(sound, chord, beat * _BEAT_S, 0.35 + 0.15 * voice, 0.16)
    for beat in range(beats):
        if beat % 4 == 0 or random.random() < 0.55:
            step = _PENTATONIC[int(random.integers(len(_PENTATONIC)))]
            note = _pluck(root_hz * 2 ** (step / 12))
            _mix(sound, note, beat * _BEAT_S, float(random.uniform(0.25, 0.75)), 0.5)
    return _finished(sound)


def _pluck(frequency_hz: float) -> Floats:
    time_s = _seconds(_NOTE_S)
    tone = np.zeros_like(time_s)
    for overtone, level in ((1, 1.0), (2, 0.32), (3, 0.11), (4.01, 0.05)):
        turns = np.sin(np.float32(2 * np.pi * frequency_hz * overtone) * time_s)
        tone += np.float32(level) * turns * np.exp(np.float32(-2.4 * overtone) * time_s)
    plucked: Floats = tone * (time_s / np.float32(0.012)).clip(0, 1)
    return plucked


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


def _mix(sound: Floats, tone: Floats, start_s: float, pan: float, gain: float) -> None:
    """Add a tone to both channels, cut at the end."""
    start = round(start_s * SAMPLE_RATE_HZ)
    room = sound[:, start : start + len(tone)]
    weights = np.array([[np.sqrt(1 - pan)], [np.sqrt(pan)]], dtype=np.float32)
    room += np.float32(gain) * weights * tone[: room.shape[1]]


def _finished(sound: Floats) -> Floats:
    samples = sound.shape[1]
    peak = float(max(sound.max(initial=0.0), -sound.min(initial=0.0)))
    sound *= np.float32(_PEAK / peak if peak else 0)
    fade = min(samples, SAMPLE_RATE_HZ // 2)
    sound[:, samples - fade :] *= np.linspace(1, 0, fade, dtype=np.float32)
    fade = min(samples, SAMPLE_RATE_HZ // 50)
    sound[:, :fade] *= np.linspace(0, 1, fade, dtype=np.float32)
    return sound
