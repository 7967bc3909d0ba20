"""Outlines of dunes, mountains, woods and shores, as periodic curves."""

import math

import numpy as np
from numpy.typing import NDArray

from mediakit.sandbox.render.frames.planes import Floats
from mediakit.sandbox.render.landscapes.palettes import Terrain
from mediakit.sandbox.render.sizes import Size

Curve = NDArray[np.float64]


def ridge_tile(
    terrain: Terrain,
    number: int,
    layers: int,
    size: Size,
    random: np.random.Generator,
) -> Floats:
    """Make the outline of one layer of land.

    Args:
        terrain: What the land looks like.
        number: Which layer, 0 being the farthest.
        layers: How many layers there are.
        size: The frame's size.
        random: The source of chance.

    Returns:
        Heights around 0, about -1 to 1, one per pixel, float32; the end leads into
        the beginning.
    """
    length = 2 * max(size)
    x = np.linspace(0, 2 * math.pi, length, endpoint=False)
    front = number == layers - 1
    match terrain:
        case "dunes":
            heights = _dunes(x, random)
        case "mountains":
            heights = _hills(x, random) if front else _peaks(x, random)
        case "forest":
            heights = _hills(x, random) + _trees(x, size, random, number / layers)
        case "lake":
            heights = _reeds(x, random) if front else _peaks(x, random)
        case "sea":
            heights = _hills(x, random)
    return heights.astype(np.float32)


def _waves(
    x: Curve, random: np.random.Generator, counts: tuple[int, ...], roughness: float
) -> Curve:
    total = np.zeros_like(x)
    for count in counts:
        phase = random.uniform(0, 2 * math.pi)
        total += np.sin(count * x + phase) * count**-roughness
    waves: Curve = total / np.abs(total).max()
    return waves


def _hills(x: Curve, random: np.random.Generator) -> Curve:
    return _waves(x, random, (2, 3, 5, 8), 0.9)


def _dunes(x: Curve, random: np.random.Generator) -> Curve:
    """Long gentle backs that end in a crest."""
    total = np.zeros_like(x)
    for count in (3, 5, 8):
        phase = random.uniform(0, 2 * math.pi)
        bent = x + 0.55 / count * np.sin(count * x + phase)
        total += (1 - np.abs(np.sin(count * bent / 2 + phase))) ** 1.2 / count**0.8
    return _spread(_smoothed(total, 40))


def _peaks(x: Curve, random: np.random.Generator) -> Curve:
    total = np.zeros_like(x)
    for count in (4, 6, 14, 30, 62, 120):
        phase = random.uniform(0, 2 * math.pi)
        total += (1 - np.abs(np.sin(count * x / 2 + phase))) / count**0.95
    return _spread(total)


def _trees(x: Curve, size: Size, random: np.random.Generator, nearness: float) -> Curve:
    """Conifers: triangles with stepped sides, larger towards the front."""
    length = len(x)
    half = size.height * (0.010 + 0.035 * nearness)
    heights = np.zeros(length)
    for _ in range(round(length / half * 1.5)):
        middle, tall = random.uniform(0, length), random.uniform(0.5, 1.0)
        reach = np.arange(math.ceil(-half), math.floor(half) + 1)
        away = np.abs(reach) / half
        shape = (1 - away) * tall + 0.06 * np.abs(np.sin(away * 9 * math.pi)) * tall
        at = (round(middle) + reach) % length
        heights[at] = np.maximum(heights[at], shape)
    return heights * (0.9 + 1.6 * nearness)


def _smoothed(heights: Curve, waves: int) -> Curve:
    """Round off everything finer than about `waves` waves around the tile."""
    spectrum = np.fft.rfft(heights)
    spectrum *= np.exp(-((np.arange(len(spectrum)) / waves) ** 2))
    return np.fft.irfft(spectrum, len(heights))


def _spread(heights: Curve) -> Curve:
    low, high = heights.min(), heights.max()
    spread: Curve = 2 * (heights - low) / (high - low) - 1
    return spread


def _reeds(x: Curve, random: np.random.Generator) -> Curve:
    return 0.6 * _waves(x, random, (1, 2, 3), 0.8)
