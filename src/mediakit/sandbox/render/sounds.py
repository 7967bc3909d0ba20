"""Reference sounds, and the sound tracks of clips, as samples."""

from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import av
import numpy as np
from av.container import InputContainer

from mediakit.sandbox.render.containers import (
    Deadline,
    Kind,
    check_codec,
    opened_container,
)
from mediakit.sandbox.render.melody import SAMPLE_RATE_HZ
from mediakit.sandbox.render.orders import RenderError
from mediakit.sandbox.render.planes import Floats

_SLACK_S = 0.1


@dataclass(frozen=True)
class SoundLimits:
    """What a family accepts as a reference sound.

    Attributes:
        shortest_s: Length of the shortest sound.
        longest_s: Length of the longest sound.
        total_s: Length of all sounds together.
        max_size_bytes: Of one file.
    """

    shortest_s: float
    longest_s: float
    total_s: float
    max_size_bytes: int


def read_sounds(files: list[tuple[Path, str]], limits: SoundLimits) -> Floats:
    """Decode sounds one after the other.

    Args:
        files: Path and field of each.
        limits: What is accepted.

    Returns:
        Samples at 48 kHz, shape (2, samples), float32.

    Raises:
        RenderError: `invalid_input` when one cannot be decoded or breaks a limit.
    """
    sounds: list[Floats] = []
    room_s = limits.total_s
    for path, field in files:
        sound = _read_limited(path, field, limits)
        room_s -= sound.shape[1] / SAMPLE_RATE_HZ
        if room_s < -_SLACK_S:
            raise RenderError.invalid(
                f"{field}: with this sound they last longer than "
                f"{limits.total_s:g} s together, which is the most that is accepted."
            )
        sounds.append(sound)
    return np.concatenate(sounds, axis=1)


def read_sound(path: Path, field: str, most_s: float, kind: Kind = "sound") -> Floats:
    """Decode one file's sound, at most `most_s` seconds of it.

    Returns:
        Samples at 48 kHz, shape (2, samples), float32.
    """
    with opened_container(path, field, kind) as container:
        if not container.streams.audio:
            raise RenderError.invalid(f"{field}: the file has no sound.")
        check_codec(container.streams.audio[0], field, kind)
        return _samples(container, field, round(most_s * SAMPLE_RATE_HZ))


def fitted_sound(sound: Floats, samples: int) -> Floats:
    """Bring a sound to a length: cut, or begun again as often as needed."""
    if sound.shape[1] == 0:
        return np.zeros((2, samples), dtype=np.float32)
    times = -(-samples // sound.shape[1])
    return np.tile(sound, times)[:, :samples]


def _read_limited(path: Path, field: str, limits: SoundLimits) -> Floats:
    size_bytes = path.stat().st_size
    if size_bytes > limits.max_size_bytes:
        raise RenderError.invalid(
            f"{field}: the sound has {size_bytes / 1e6:.1f} MB, accepted are at most "
            f"{limits.max_size_bytes / 1e6:g} MB."
        )
    sound = read_sound(path, field, limits.longest_s + 1)
    seconds = sound.shape[1] / SAMPLE_RATE_HZ
    if not limits.shortest_s - _SLACK_S <= seconds <= limits.longest_s + _SLACK_S:
        least = "at least " if seconds > limits.longest_s else ""
        raise RenderError.invalid(
            f"{field}: the sound lasts {least}{seconds:.2f} s, accepted are "
            f"{limits.shortest_s:g} to {limits.longest_s:g} s."
        )
    return sound


def _samples(container: InputContainer, field: str, most: int) -> Floats:
    resampler = av.AudioResampler("fltp", "stereo", SAMPLE_RATE_HZ)
    deadline = Deadline(field)
    parts: list[Floats] = []
    count = 0
    for frame in chain(container.decode(audio=0), [None]):  # None: what is held back
        deadline.check()
        for part in resampler.resample(frame):
            parts.append(part.to_ndarray().astype(np.float32, copy=False))
            count += part.samples
        if count >= most:
            break
    if not parts:
        raise RenderError.invalid(f"{field}: the file has no sound.")
    return np.nan_to_num(np.concatenate(parts, axis=1)[:, :most]).clip(-1, 1)
