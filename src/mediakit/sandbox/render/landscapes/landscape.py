"""A calm landscape whose ridges drift past, drawn straight into video planes."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mediakit.sandbox.render.frames.planes import Bytes, Floats, Planes, rgb_of, to_yuv
from mediakit.sandbox.render.landscapes.palettes import Look, Terrain
from mediakit.sandbox.render.landscapes.ridges import ridge_tile
from mediakit.sandbox.render.sizes import Size

_BAND_ROWS = 16

# The ridges of each terrain, farthest first: middle height and amplitude as
# shares of the frame's height.
_LAYERS: dict[Terrain, tuple[tuple[float, float], ...]] = {
    "dunes": ((0.60, 0.045), (0.67, 0.06), (0.76, 0.08), (0.90, 0.09)),
    "mountains": ((0.52, 0.11), (0.62, 0.12), (0.74, 0.12), (0.90, 0.07)),
    "forest": ((0.56, 0.06), (0.66, 0.07), (0.78, 0.07), (0.93, 0.06)),
    "lake": ((0.55, 0.12), (0.60, 0.07), (0.97, 0.05)),
    "sea": ((0.60, 0.02), (0.985, 0.04)),
}
_WATERLINES: dict[Terrain, float] = {"lake": 0.66, "sea": 0.615}


@dataclass(frozen=True)
class Motion:
    """How the scene moves: drifting on, or swaying so that it can repeat.

    Attributes:
        loop_s: Length after which the last frame leads into the first one; None for
            a scene that never repeats.
    """

    loop_s: float | None = None

    def drift(self, time_s: float, speed: float) -> float:
        """Return the distance after `time_s` at `speed` per second."""
        if self.loop_s is None:
            return speed * time_s
        turn = 2 * math.pi / self.loop_s
        return speed / turn * math.sin(turn * time_s)

    def phase(self, time_s: float, turns_per_s: float) -> float:
        """Return an angle that has gone round about `turns_per_s` each second."""
        if self.loop_s is not None:
            turns_per_s = max(round(turns_per_s * self.loop_s), 1) / self.loop_s
        return 2 * math.pi * turns_per_s * time_s


class Landscape:
    """Sky, sun, clouds, ridges and water of one look.

    Args:
        look: The colours, the land and the source of chance.
        size: The frame's size.
        motion: Whether the scene has to repeat.
    """

    def __init__(self, look: Look, size: Size, motion: Motion) -> None:
        self._size = size
        self._motion = motion
        self._sky = _sky(look, size)
        self._clouds = _clouds(look, size)
        self._ridges = _ridges(look, size)
        waterline = _WATERLINES.get(look.terrain)
        self._water = None if waterline is None else _Water(look, size, waterline)
        self._scratch = np.empty((size.height, size.width), dtype=np.uint8)
        self._mask = np.empty((size.height, size.width), dtype=np.bool_)

    def draw(self, planes: Planes, time_s: float) -> None:
        """Draw the scene at a moment into a frame."""
        self._draw_sky(planes, time_s)
        behind = self._ridges if self._water is None else self._ridges[:-1]
        for ridge in behind:
            self._draw_ridge(planes, ridge, time_s)
        if self._water is not None:
            self._water.draw(planes, self._motion.phase(time_s, 0.22))
            self._draw_ridge(planes, self._ridges[-1], time_s)

    def _draw_sky(self, planes: Planes, time_s: float) -> None:
        planes.copy_from(self._sky)
        height, reach = self._clouds.shape
        spare = reach - self._size.width
        drift = self._motion.drift(time_s, self._size.width * 0.006)
        offset = round(spare / 2 + drift) % spare
        clouds = self._clouds[:, offset : offset + self._size.width]
        np.add(planes.y[:height], clouds, out=planes.y[:height])

    def _draw_ridge(self, planes: Planes, ridge: "_Ridge", time_s: float) -> None:
        tops = ridge.tops(self._motion.drift(time_s, ridge.speed_px), self._size.width)
        for plane, levels, step in zip(planes, ridge.levels, (1, 2, 2), strict=True):
            self._fill_below(plane, levels, tops[::step] / np.float32(step))

    def _fill_below(self, plane: Bytes, levels: Bytes, heights: Floats) -> None:
        """Fill each column below its height with the level of the row."""
        rows = heights.astype(np.int16)
        top, bottom = max(int(rows.min()), 0), min(int(rows.max()) + 1, len(plane))
        columns = np.arange(plane.shape[1])
        edge = plane[rows.clip(0, len(plane) - 1), columns]
        self._fill_mixed(plane[top:bottom], levels[top:bottom], rows - np.int16(top))
        plane[bottom:] = levels[bottom:]
        _soften(plane, levels, edge, heights, rows)

    def _fill_mixed(
        self, region: Bytes, levels: Bytes, rows: NDArray[np.int16]
    ) -> None:
        height, width = region.shape
        mask, scratch = self._mask[:height, :width], self._scratch[:height, :width]
        np.greater_equal(np.arange(height, dtype=np.int16)[:, None], rows, out=mask)
        chosen = mask.view(np.uint8)
        np.negative(chosen, out=chosen)  # 0 and 255
        np.bitwise_xor(region, levels, out=scratch)
        np.bitwise_and(scratch, chosen, out=scratch)
        np.bitwise_xor(region, scratch, out=region)


def _soften(
    plane: Bytes,
    levels: Bytes,
    edge: Bytes,
    heights: Floats,
    rows: NDArray[np.int16],
) -> None:
    """Mix the topmost pixel of each column by how much of it is covered."""
    inside = np.flatnonzero((rows >= 0) & (rows < len(plane)))
    covered = (1 - (heights - rows))[inside]
    at = rows[inside]
    new = levels[at, 0].astype(np.float32)
    old = edge[inside].astype(np.float32)
    plane[at, inside] = (old + (new - old) * covered + np.float32(0.5)).astype(np.uint8)


@dataclass(frozen=True)
class _Ridge:
    """One layer of land: its outline, its colour per row, and its speed."""

    outline: Floats
    levels: tuple[Bytes, Bytes, Bytes]
    speed_px: float

    def tops(self, offset_px: float, width: int) -> Floats:
        """Return the outline's row for each column, between pixels."""
        whole = math.floor(offset_px)
        part = np.float32(offset_px - whole)
        columns = np.arange(whole, whole + width + 1) % len(self.outline)
        outline = self.outline[columns]
        return outline[:-1] * (1 - part) + outline[1:] * part


def _ridges(look: Look, size: Size) -> list[_Ridge]:
    layers = _LAYERS[look.terrain]
    near, far = rgb_of(look.palette.near), rgb_of(look.palette.far)
    haze = rgb_of(look.palette.sky[2])
    ridges = []
    for number, (middle, amplitude) in enumerate(layers):
        depth = (number + 1) / len(layers) if number else 0.0
        colour = far * (1 - depth) + near * depth
        tile = ridge_tile(look.terrain, number, len(layers), size, look.random)
        outline = (middle - amplitude * tile) * np.float32(size.height)
        misty = colour * np.float32(0.62 + 0.3 * depth) + haze * np.float32(
            0.38 - 0.3 * depth
        )
        levels = _row_levels(colour, misty, float(outline.min()), size)
        speed = size.width * 0.012 * (1 + 3.5 * number / len(layers))
        ridges.append(_Ridge(outline.astype(np.float32), levels, speed))
    return ridges


def _row_levels(
    top: Floats, bottom: Floats, start_row: float, size: Size
) -> tuple[Bytes, Bytes, Bytes]:
    """Fade from one colour at the ridge to another further down."""
    rows = np.arange(size.height, dtype=np.float32)
    share = ((rows - start_row) / (size.height * 0.3)).clip(0, 1)[:, None]
    levels = np.rint(to_yuv(top * (1 - share) + bottom * share)).astype(np.uint8)
    return (
        np.ascontiguousarray(levels[:, 0:1]),
        np.ascontiguousarray(levels[::2, 1:2]),
        np.ascontiguousarray(levels[::2, 2:3]),
    )


def _sky(look: Look, size: Size) -> Planes:
    """Draw gradient, glow, disc and stars, a band of rows at a time."""
    planes = Planes.blank(size)
    sun_x = float(look.random.uniform(0.3, 0.7)) * size.width
    seed = int(look.random.integers(2**32))
    stars = _stars(look, size) if look.palette.stars else np.empty((0, 3))
    for top in range(0, size.height, _BAND_ROWS):
        rows = np.arange(top, min(top + _BAND_ROWS, size.height), dtype=np.float32)
        rgb = _sky_band(look, size, rows, sun_x)
        _add_stars(rgb, stars, top)
        levels = to_yuv(rgb)
        grain = np.random.default_rng((seed, top)).random(levels.shape, np.float32)
        band = (levels + grain).astype(np.uint8)
        planes.y[top : top + len(rows)] = band[..., 0]
        planes.u[top // 2 : (top + len(rows)) // 2] = band[::2, ::2, 1]
        planes.v[top // 2 : (top + len(rows)) // 2] = band[::2, ::2, 2]
    return planes


def _sky_band(look: Look, size: Size, rows: Floats, sun_x: float) -> Floats:
    palette = look.palette
    stops = np.array([rgb_of(colour) for colour in palette.sky])
    share = rows / np.float32(size.height)
    gradient = np.stack(
        [np.interp(share, (0, 0.36, 0.64), stops[:, channel]) for channel in range(3)],
        axis=-1,
    ).astype(np.float32)
    columns = np.arange(size.width, dtype=np.float32)
    unit = np.float32(min(size))
    distance = np.hypot(
        (columns - np.float32(sun_x))[None, :],
        (rows - np.float32(palette.sun_height * size.height))[:, None],
    )
    glow = np.exp(-distance / (unit * np.float32(0.24)))[..., None] * np.float32(0.7)
    disc = (unit * np.float32(0.062) - distance + np.float32(0.5)).clip(0, 1)[..., None]
    sun = rgb_of(palette.sun)
    halo = sun * np.float32(0.45) + stops[2] * np.float32(0.55)
    lit = gradient[:, None, :] * (1 - glow) + halo * glow
    sky: Floats = lit * (1 - disc) + sun * disc
    return sky


def _stars(look: Look, size: Size) -> NDArray[np.float64]:
    count = 260
    return np.column_stack(
        [
            look.random.uniform(0, size.height * 0.55, count),
            look.random.uniform(0, size.width, count),
            look.random.uniform(0.1, 0.8, count) ** 2,
        ]
    )


def _add_stars(rgb: Floats, stars: NDArray[np.float64], top: int) -> None:
    bottom = top + len(rgb)
    for row, column, light in stars[(stars[:, 0] >= top) & (stars[:, 0] < bottom - 1)]:
        size = max(rgb.shape[1] // 900, 1)
        spot = (
            slice(int(row) - top, int(row) - top + size),
            slice(int(column), int(column) + size),
        )
        rgb[spot] = rgb[spot] * (1 - light) + light


def _clouds(look: Look, size: Size) -> Bytes:
    """Draw soft streaks of light in a strip that is wider than the frame."""
    height, width = round(size.height * 0.55), round(size.width * 1.5)
    rows = np.linspace(0, 1, height, dtype=np.float32)
    columns = np.linspace(0, 1.5, width, dtype=np.float32)
    count = 9
    x, y = look.random.uniform(0, 1.5, count), look.random.uniform(0.25, 0.95, count)
    long = look.random.uniform(0.06, 0.22, count)
    thin = look.random.uniform(0.008, 0.03, count)
    across, down = _bells(columns, x, long), _bells(rows, y, thin)
    light = np.empty((height, width), dtype=np.uint8)
    for top in range(0, height, _BAND_ROWS):
        band = down[:, top : top + _BAND_ROWS].T @ across
        light[top : top + _BAND_ROWS] = band.clip(0, 1) * np.float32(14)
    return light


def _bells(
    places: Floats, middles: NDArray[np.float64], widths: NDArray[np.float64]
) -> Floats:
    """Return one bell curve over `places` for each middle and width."""
    away = (places[None, :] - middles[:, None]) / widths[:, None]
    return np.exp(-(away**2)).astype(np.float32)


class _Water:
    """A surface that mirrors what is above it, in moving ripples."""

    def __init__(self, look: Look, size: Size, waterline: float) -> None:
        self._top = 2 * round(size.height * waterline / 2)
        below = np.arange(size.height - self._top, dtype=np.float64)
        depth = below / max(len(below), 1)
        self._below = below
        self._ripple = depth**0.7
        self._waves = 46 * (1 - np.exp(-2.2 * depth)) * math.pi
        self._tint = (to_yuv(rgb_of(look.palette.near))).astype(np.uint16)
        self._reach = size.height * 0.02

    def draw(self, planes: Planes, phase: float) -> None:
        wobble = np.sin(self._waves - phase * 3) + 0.6 * np.sin(
            self._waves * 2.3 + phase * 5
        )
        mirrored = (
            self._top - 1 - self._below * 0.9 - wobble * self._ripple * self._reach
        )
        rows = mirrored.clip(0, self._top - 1).astype(np.intp)
        shade = (28 + 84 * self._ripple).astype(np.uint16)[:, None]
        for plane, tint, step in zip(planes, self._tint, (1, 2, 2), strict=True):
            picked = plane[rows[::step] // step].astype(np.uint16)
            weight = shade[::step]
            picked *= 256 - weight
            picked += tint * weight
            picked >>= 8
            plane[self._top // step :] = picked
