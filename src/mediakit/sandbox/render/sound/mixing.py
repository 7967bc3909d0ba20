"""Sounds that are read in chunks, and mixing several into one.

A film may last 20 minutes, whose samples would fill 460 MB at once.
"""

from collections.abc import Generator, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Protocol

import av
import numpy as np
from av.stream import Disposition, Stream

from mediakit.sandbox.render.frames.planes import Floats
from mediakit.sandbox.render.inputs.containers import (
    Deadline,
    Kind,
    check_codec,
    kind_of,
    opened_container,
)
from mediakit.sandbox.render.protocol import RenderError
from mediakit.sandbox.render.sound.melody import SAMPLE_RATE_HZ

# Up to this level a mix is unchanged; louder samples are compressed to below 1.
_KNEE = np.float32(0.8)

# Silence before a sound, however long a file says it is, is made in such pieces.
_SILENCE_PIECES_HZ = 100


class SoundSource(Protocol):
    """A sound at 48 kHz that is read once, from its beginning to its end."""

    def read(self, samples: int) -> Floats:
        """Return the next samples, shape (2, `samples`); fewer once it is over."""


class Recording:
    """A sound in memory.

    Args:
        sound: Samples at 48 kHz, shape (2, samples).
    """

    def __init__(self, sound: Floats) -> None:
        self._sound = sound
        self._heard = 0

    def read(self, samples: int) -> Floats:
        """Return the next samples; fewer once the sound is over."""
        part = self._sound[:, self._heard : self._heard + samples]
        self._heard += part.shape[1]
        return part


class SoundFile:
    """The sound of a file, decoded as it is read; nothing is open before that.

    Args:
        path: The file.
        field: Where the body names it.
        kind: Whether it is a video or a sound.
    """

    def __init__(self, path: Path, field: str, kind: Kind) -> None:
        self._parts = _decoded(path, field, kind)
        self._rest = np.zeros((2, 0), dtype=np.float32)

    def read(self, samples: int) -> Floats:
        """Return the next samples; fewer once the sound is over.

        Raises:
            RenderError: `invalid_input` when it cannot be decoded.
        """
        parts, count = [self._rest], self._rest.shape[1]
        while count < samples and (part := next(self._parts, None)) is not None:
            parts.append(part)
            count += part.shape[1]
        whole = np.concatenate(parts, axis=1)
        self._rest = whole[:, samples:]
        return whole[:, :samples]

    def close(self) -> None:
        """Close the file."""
        self._parts.close()


class Voice:
    """A sound in a part of a mix, and silence after it.

    Args:
        span: The samples of the mix during which it is heard.
        sound: What is heard.
    """

    def __init__(self, span: range, sound: SoundFile) -> None:
        self._span = span
        self._sound = sound

    def add_to(self, mixed: Floats, first: int) -> None:
        """Add what is heard of it to the piece that begins with sample `first`."""
        start = max(self._span.start, first)
        stop = min(self._span.stop, first + mixed.shape[1])
        if stop <= start:
            return
        part = self._sound.read(stop - start)
        mixed[:, start - first : start - first + part.shape[1]] += part
        if stop == self._span.stop:
            self._sound.close()


class Mix:
    """Voices that sound together; silence without voices.

    Args:
        voices: In any order.
    """

    def __init__(self, voices: Sequence[Voice]) -> None:
        self._voices = voices
        self._heard = 0

    def read(self, samples: int) -> Floats:
        """Return the next samples; a mix continues with silence without end."""
        mixed = np.zeros((2, samples), dtype=np.float32)
        for voice in self._voices:
            voice.add_to(mixed, self._heard)
        self._heard += samples
        return softened(mixed)


def sound_kind(path: Path, field: str) -> Kind:
    """Check that a file is a sound, and return how to open it.

    An m4a file is an mp4 file without moving pictures.

    Raises:
        RenderError: `invalid_input` when it is no sound, or holds none.
    """
    kind = kind_of(path) or "sound"
    with opened_container(path, field, kind) as container:
        if any(not _is_cover(stream) for stream in container.streams.video):
            raise RenderError.invalid(
                f"{field}: the file is a video; an audio track takes sounds (wav, mp3 "
                "or m4a)."
            )
    sound = SoundFile(path, field, kind)
    if sound.read(1).shape[1] == 0:
        raise RenderError.invalid(f"{field}: the file has no sound.")
    sound.close()
    return kind


def softened(mixed: Floats) -> Floats:
    """Compress loud samples to below 1, because clipping would distort them.

    Args:
        mixed: Samples of any height; those up to 0.8 stay as they are.
    """
    height = np.abs(mixed)
    room = 1 - _KNEE
    bent = _KNEE + room * np.tanh((height - _KNEE) / room)
    soft: Floats = np.where(height > _KNEE, np.copysign(bent, mixed), mixed)
    return soft


def _decoded(path: Path, field: str, kind: Kind) -> Generator[Floats, None, None]:
    with opened_container(path, field, kind) as container:
        if not container.streams.audio:
            raise RenderError.invalid(f"{field}: the file has no sound.")
        stream = container.streams.audio[0]
        check_codec(stream, field, kind)
        deadline = Deadline(field)
        frames = container.decode(stream)
        first = next(frames, None)
        if first is None:
            return
        if kind == "video":  # In a clip the sound may begin after the picture.
            yield from _silence(first.time or 0.0)
        for part in _resampled(chain([first], frames)):
            deadline.check()
            with deadline.paused():
                yield part


def _silence(length_s: float) -> Iterator[Floats]:
    for _ in range(round(length_s * _SILENCE_PIECES_HZ)):
        yield np.zeros((2, SAMPLE_RATE_HZ // _SILENCE_PIECES_HZ), dtype=np.float32)


def _resampled(frames: Iterator[av.AudioFrame | None]) -> Iterator[Floats]:
    resampler = av.AudioResampler("fltp", "stereo", SAMPLE_RATE_HZ)
    for frame in chain(frames, [None]):  # None: what is held back
        for part in resampler.resample(frame):
            samples = part.to_ndarray().astype(np.float32, copy=False)
            yield np.nan_to_num(samples).clip(-1, 1)


def _is_cover(stream: Stream) -> bool:
    return Disposition.attached_pic in stream.disposition
