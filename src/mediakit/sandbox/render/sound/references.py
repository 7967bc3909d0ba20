"""Reference sounds, and the sound tracks of clips, as samples."""

from itertools import chain
from pathlib import Path
from typing import NamedTuple

import av
import numpy as np
from av.container import InputContainer

from mediakit.media_limits import MediaInfo, MediaLimits
from mediakit.sandbox.render.frames.planes import Floats
from mediakit.sandbox.render.inputs.containers import (
    Deadline,
    Kind,
    check_codec,
    opened_container,
)
from mediakit.sandbox.render.protocol import RenderError
from mediakit.sandbox.render.sound.melody import SAMPLE_RATE_HZ
from mediakit.sandbox.render.sound.mixing import sound_kind

# Of a sound that may have any length; no film made of references is longer.
_MOST_S = 60.0
_CONTENT_TYPES = {"wav": "audio/wav", "mp3": "audio/mpeg"}


class Heard(NamedTuple):
    """A reference sound: samples at 48 kHz, shape (2, samples), and its file."""

    samples: Floats
    info: MediaInfo


def read_sounds(files: list[tuple[Path, str]], limits: MediaLimits) -> Floats:
    """Decode sounds one after the other.

    Args:
        files: Path and field of each.
        limits: What is accepted.

    Returns:
        Samples at 48 kHz, shape (2, samples), float32.

    Raises:
        RenderError: `invalid_input` when one cannot be decoded or breaks a limit.
    """
    heard: list[Heard] = []
    for path, field in files:
        # Before it is opened, because FFmpeg searches the padding of a file for chunks.
        if too_large := limits.size_problems(field, path.stat().st_size):
            raise RenderError.of(too_large)
        sound = _heard(path, field, limits)
        heard.append(sound)
        problems = limits.problems(field, sound.info)
        if total := limits.total_problem(
            field.partition("[")[0], [each.info for each in heard]
        ):
            problems.append(total)
        if problems:
            raise RenderError.of(problems)
    return np.concatenate([sound.samples for sound in heard], axis=1)


def read_sound(path: Path, field: str, most_s: float, kind: Kind = "sound") -> Floats:
    """Decode one file's sound, at most `most_s` seconds of it.

    Returns:
        Samples at 48 kHz, shape (2, samples), float32.
    """
    with opened_container(path, field, kind) as container:
        return _sound_of(container, field, kind, most_s)


def fitted_sound(sound: Floats, samples: int) -> Floats:
    """Fit a sound to a length by cutting or repeating it."""
    if sound.shape[1] == 0:
        return np.zeros((2, samples), dtype=np.float32)
    times = -(-samples // sound.shape[1])
    return np.tile(sound, times)[:, :samples]


def _heard(path: Path, field: str, limits: MediaLimits) -> Heard:
    most_s = _MOST_S if limits.max_s is None else limits.max_s + 1
    kind = sound_kind(path, field)
    with opened_container(path, field, kind) as container:
        samples = _sound_of(container, field, kind, most_s)
        decoded_s = samples.shape[1] / SAMPLE_RATE_HZ
        # The length of a cut sound is known only from its header.
        header_s = (container.duration or 0) / 1e6 if decoded_s >= most_s else 0.0
        info = MediaInfo(
            "audio",
            _CONTENT_TYPES.get(container.format.name, "audio/mp4"),
            path.stat().st_size,
            duration_s=max(decoded_s, header_s),
        )
        return Heard(samples, info)


def _sound_of(
    container: InputContainer, field: str, kind: Kind, most_s: float
) -> Floats:
    if not container.streams.audio:
        raise RenderError.invalid(f"{field}: the file has no sound.")
    check_codec(container.streams.audio[0], field, kind)
    return _samples(container, field, round(most_s * SAMPLE_RATE_HZ))


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
