"""Ready-made scorers, to filter bad results before a person reviews them.

Each takes the path of a clip, a picture or a sound and returns numbers by name. They
read a sample: `SAMPLED_FRAMES` frames spread over the clip, in grey and at most 640
pixels wide or high, the first `SUCCESSIVE_FRAMES` frames for flicker, and the first
minute of the sound. NaN means unknown: pictures have no motion, and silent films no
loudness.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from mediakit.errors import InputError
from mediakit.media.samples import WHITE, brightness, sampled_lumas, sound_blocks
from mediakit.rules import ValueDescription

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

SAMPLED_FRAMES = 16
SUCCESSIVE_FRAMES = 121
SOUND_S = 60.0
BLACK_LEVEL = 26  # a tenth of white
BLACK_SHARE = 0.98  # share of the pixels in a black frame
FROZEN_CHANGE = 0.004  # one grey level: an encoder's noise on a still picture
FULL_SCALE = 0.999
SILENCE_DBFS = -120.0
HASH_WIDTH, HASH_HEIGHT = 8, 8
HASH_CONTRAST = 0.5  # grey levels: less is noise, which would distinguish flat pictures
HASH_BITS = 64
HASH_COLUMNS = ("dhash_high", "dhash_low")
NEAR_BITS = 6

Numbers = dict[str, float]


def sharpness(path: Path) -> Numbers:
    """Measure the sharpness of the sampled frames.

    `sharpness` is the variance of the Laplacian of the grey values, as the median over
    the frames, in squared grey levels of 255, from 0. A blurred picture is below about
    50; noise counts as sharp.
    """
    return _sharpness(sampled_lumas(path, SAMPLED_FRAMES))


def motion(path: Path) -> Numbers:
    """Measure how much the picture changes.

    `motion` is the mean absolute difference between consecutive sampled frames, from 0
    (nothing moves) to 1 (alternating black and white).
    """
    return _motion(sampled_lumas(path, SAMPLED_FRAMES))


def black_frames(path: Path) -> Numbers:
    """Measure how much of a clip is black.

    `black_frames` is the share of sampled frames in which 98% of the pixels are darker
    than a tenth of white, from 0 to 1.
    """
    return _black(sampled_lumas(path, SAMPLED_FRAMES))


def frozen_frames(path: Path) -> Numbers:
    """Measure how much of a clip does not move.

    `frozen_frames` is the share of sampled frames that equal the one before, apart from
    encoder noise, from 0 to 1.
    """
    return _frozen(sampled_lumas(path, SAMPLED_FRAMES))


def flicker(path: Path) -> Numbers:
    """Measure how unsteady the brightness is.

    `flicker` is the average difference between the mean brightness of a frame and that
    of its two neighbours, from 0 to 1 (alternating black and white). A steady picture
    and an even fade have 0.
    """
    levels = brightness(path, SUCCESSIVE_FRAMES)
    triples = zip(levels, levels[1:], levels[2:], strict=False)
    jumps = [abs(at - (before + after) / 2) for before, at, after in triples]
    return {"flicker": _mean(jumps)}


def loudness(path: Path) -> Numbers:
    """Measure how loud the sound is.

    `loudness_dbfs` is the root mean square of all channels in decibels of full scale:
    0 is the loudest square wave, -3 the loudest sine, -120 silence. It is not LUFS:
    all frequencies have the same weight.
    """
    return {"loudness_dbfs": _levels(path)["loudness_dbfs"]}


def clipping(path: Path) -> Numbers:
    """Measure how much of the sound is clipped.

    `clipping` is the share of samples at full scale, from 0 to 1; above about 0.001 it
    is audible.
    """
    return {"clipping": _levels(path)["clipping"]}


def perceptual_hash(path: Path) -> Numbers:
    """Compute a perceptual hash; similar pictures have similar hashes.

    It is a 64-bit difference hash of the mean of the sampled frames. A float column
    holds only 53 bits exactly, so `dhash_high` and `dhash_low` have 32 bits each;
    `near_duplicates` combines them.
    """
    return _hash(sampled_lumas(path, SAMPLED_FRAMES))


def quality(path: Path) -> Numbers:
    """Compute the values of all other scorers, decoding the sample once."""
    lumas = sampled_lumas(path, SAMPLED_FRAMES)
    numbers: Numbers = {}
    for measure in (_sharpness, _motion, _black, _frozen, _hash):
        numbers |= measure(lumas)
    return {**numbers, **flicker(path), **_levels(path)}


def near_duplicates(scores: pd.DataFrame) -> list[list[Hashable]]:
    """Group outputs that look alike: at most 6 of the 64 bits of their hashes differ.

    Groups are chains, so their ends may differ more.

    Args:
        scores: A frame of scores with job_id, dhash_high and dhash_low. Rows without a
            hash are in no group.

    Returns:
        The jobs of each group of two or more, in the given order.

    Raises:
        InputError: The frame has no hashes.
    """
    import numpy as np

    if missing := [name for name in ("job_id", *HASH_COLUMNS) if name not in scores]:
        accepted = "a frame from perceptual_hash or quality"
        got = ValueDescription(f"a frame without {', '.join(missing)}")
        raise InputError("scores", got=got, accepted=accepted)
    hashed = scores.dropna(subset=["job_id", *HASH_COLUMNS])
    halves = np.ascontiguousarray(hashed[[*HASH_COLUMNS]], dtype=">u4")
    bits = np.unpackbits(halves.view(np.uint8), axis=1)
    signs = 2 * bits.astype(np.float32) - 1
    group = np.arange(len(hashed))
    for index in range(1, len(hashed)):
        # Each bit that differs takes 2 from the product; NumPy 1 cannot count bits.
        near = signs[:index] @ signs[index] >= HASH_BITS - 2 * NEAR_BITS
        met = np.unique(group[:index][near])
        if met.size:
            group[: index + 1][np.isin(group[: index + 1], met)] = met[0]
            group[index] = met[0]
    jobs = hashed["job_id"].groupby(group).agg(list)
    return [members for members in jobs if len(members) > 1]


def _sharpness(lumas: Sequence[NDArray[np.uint8]]) -> Numbers:
    import numpy as np

    large = [luma.astype(np.float32) for luma in lumas if min(luma.shape) >= 3]
    variances = [float(_laplacian(luma).var()) for luma in large]
    return {"sharpness": float(np.median(variances)) if variances else math.nan}


def _laplacian(luma: NDArray[np.float32]) -> NDArray[np.float32]:
    beside = luma[1:-1, :-2] + luma[1:-1, 2:]
    return luma[:-2, 1:-1] + luma[2:, 1:-1] + beside - 4 * luma[1:-1, 1:-1]


def _motion(lumas: Sequence[NDArray[np.uint8]]) -> Numbers:
    return {"motion": _mean(_changes(lumas))}


def _frozen(lumas: Sequence[NDArray[np.uint8]]) -> Numbers:
    changes = _changes(lumas)
    return {"frozen_frames": _mean([change < FROZEN_CHANGE for change in changes])}


def _changes(lumas: Sequence[NDArray[np.uint8]]) -> list[float]:
    import numpy as np

    wide = [luma.astype(np.int16) for luma in lumas]
    pairs = pairwise(wide)
    return [float(np.abs(b - a).mean()) / WHITE for a, b in pairs if a.shape == b.shape]


def _black(lumas: Sequence[NDArray[np.uint8]]) -> Numbers:
    shares = [float((luma < BLACK_LEVEL).mean()) for luma in lumas]
    return {"black_frames": _mean([share >= BLACK_SHARE for share in shares])}


def _hash(lumas: Sequence[NDArray[np.uint8]]) -> Numbers:
    import numpy as np
    from PIL import Image

    if not lumas:
        return dict.fromkeys(HASH_COLUMNS, math.nan)
    same = [luma for luma in lumas if luma.shape == lumas[0].shape]
    mean = np.mean(same, axis=0, dtype=np.float32)
    size = (HASH_WIDTH + 1, HASH_HEIGHT)
    small = np.asarray(Image.fromarray(mean).resize(size, Image.Resampling.BOX))
    rises = (small[:, 1:] - small[:, :-1] > HASH_CONTRAST).flatten()
    halves = np.packbits(rises).view(">u4")
    return dict(zip(HASH_COLUMNS, map(float, halves), strict=True))


def _levels(path: Path) -> Numbers:
    import numpy as np

    squares, clipped, samples = 0.0, 0, 0
    for block in sound_blocks(path, SOUND_S):
        squares += float(np.square(block, dtype=np.float64).sum())
        clipped += int((np.abs(block) >= FULL_SCALE).sum())
        samples += block.size
    if not samples:
        return {"loudness_dbfs": math.nan, "clipping": math.nan}
    power = max(squares / samples, 10 ** (SILENCE_DBFS / 10))
    return {"loudness_dbfs": 10 * math.log10(power), "clipping": clipped / samples}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan
