"""Landscapes in colours that a prompt suggests: drifting stills, and a figure."""

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple, TypeVar

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from mediakit.sandbox.render.film import (
    FPS,
    Floats,
    Frames,
    Layer,
    frame_of,
    plane_view,
    render_frames,
    still,
    striped,
)
from mediakit.sandbox.render.protocol import Size

T = TypeVar("T")
Bytes = NDArray[np.uint8]
Curve = NDArray[np.float64]
Random = np.random.Generator
Point = tuple[float, float]

# A sketch is painted smaller and scaled, which takes a third of the time.
_SKETCH_PIXELS = 640 * 360
# Soft shapes are painted at 1/8 of the size.
_SOFT = 8
_GRAIN_PX = 128


class SceneColours(NamedTuple):
    """The colours of one time of day, as `#rrggbb`, selected by a word of the prompt.

    The sky has colours for its top, middle and horizon; the land, for the farthest and
    the nearest ridge. The sun's height is a share of the frame, from the top.
    """

    words: str
    sky: str
    sun: str
    far: str
    near: str
    sun_height: float = 0.42
    stars: bool = False


# Words, sky, sun, far, near and the sun's height. The times of day come first: in a
# prompt for a boat at sunset, the sunset decides.
_PALETTES = """
dusk sunset evening twilight neon lantern | #23245c #8d4f8f #ff9f78 | #ffdcae | #8a5590 | #170f2e | .5
night midnight moon moonlit stars space dark | #060b20 #16294f #45659a | #f6f1df | #31497a | #050914 | .26
morning dawn sunrise mist misty fog | #31467e #b78fb3 #ffdcb4 | #fff2d4 | #b587a5 | #1f1a35 | .46
dune dunes desert sand golden camel savanna | #4a7fa5 #e9b98d #ffe3b3 | #fff4d8 | #e3a673 | #4d2413 | .42
sea ocean wave waves beach coast island reef | #1c5c7a #66b3b8 #f3efd2 | #fffbe8 | #5a9ba0 | #0a2c38 | .38
snow snowy ice winter glacier frost alpine | #5d8fbb #add0e6 #fdf1e6 | #ffffff | #a3c1d8 | #1d3855 | .36
forest wood woods tree trees jungle fox rain | #5f9488 #b4cfa4 #fbf4cd | #fffbe2 | #93b88c | #12291d | .36
flower flowers rose blossom love dream | #5d4c86 #d78fb0 #ffe4d6 | #fff4ea | #c487a6 | #35193a | .42
"""  # noqa: E501


def _palettes() -> Iterator[SceneColours]:
    for line in _PALETTES.strip().splitlines():
        words, sky, sun, far, near, height = line.split(" | ")
        yield SceneColours(words, sky, sun, far, near, float(height), "stars" in words)


PALETTES = tuple(_palettes())


class Terrain(NamedTuple):
    """A land: the middle height and the amplitude of each ridge, farthest first.

    They are shares of the frame's height, as is the waterline.
    """

    words: str
    ridges: tuple[tuple[float, float], ...]
    waterline: float | None = None


TERRAINS: Mapping[str, Terrain] = {
    "dunes": Terrain(
        "dune dunes desert sand sahara camel savanna savannah",
        ((0.60, 0.045), (0.67, 0.06), (0.76, 0.08), (0.90, 0.09)),
    ),
    "sea": Terrain(
        "sea ocean wave waves beach coast island whale reef",
        ((0.60, 0.02), (0.985, 0.04)),
        0.615,
    ),
    "lake": Terrain(
        "lake river water reflection pond fjord harbour harbor swan",
        ((0.55, 0.12), (0.60, 0.07), (0.97, 0.05)),
        0.66,
    ),
    "forest": Terrain(
        "forest wood woods tree trees jungle fox deer pine pines owl",
        ((0.56, 0.06), (0.66, 0.07), (0.78, 0.07), (0.93, 0.06)),
    ),
    "mountains": Terrain(
        "mountain mountains alps alpine peak glacier snow valley hill",
        ((0.52, 0.11), (0.62, 0.12), (0.74, 0.12), (0.90, 0.07)),
    ),
}


@dataclass(frozen=True)
class Look:
    """Everything about a scene that follows from its prompt."""

    palette: SceneColours
    terrain: str
    motif: str
    random: Random


def look_of(prompt: str, seed: int) -> Look:
    """Choose colours, land and a small figure from the prompt, else from the seed."""
    digest = hashlib.sha256(f"{seed}\n{prompt}".encode("utf-8", "replace")).digest()
    random = np.random.default_rng(int.from_bytes(digest[:16]))
    words = set(re.findall(r"[a-z]+", prompt.lower()))

    def named(hints: Mapping[str, str]) -> list[str]:
        return [name for name, hint in hints.items() if words & set(hint.split())]

    palettes = [each for each in PALETTES if words & set(each.words.split())]
    terrains = named({name: terrain.words for name, terrain in TERRAINS.items()})
    motif = _pick(
        random, named({name: m.words for name, m in MOTIFS.items()}) or ["birds"]
    )
    if motif == "boat":
        terrains = [name for name in terrains if TERRAINS[name].waterline] or ["sea"]
    return Look(
        palette=palettes[0] if palettes else _pick(random, PALETTES),
        terrain=_pick(random, terrains or [*TERRAINS]),
        motif=motif,
        random=random,
    )


def _pick(random: Random, choices: "tuple[T, ...] | list[T]") -> T:
    return choices[int(random.integers(len(choices)))]


def landscape(look: Look, size: Size, frames: int) -> Callable[[], Frames]:
    """Return the frames of a landscape, which is painted on demand."""

    def painted() -> Frames:
        terrain = TERRAINS[look.terrain]
        layers = [Layer(still(_sky(look, size)), fills=True), _clouds(look, size)]
        ridges = [
            _ridge(look, number, size, frames) for number in range(len(terrain.ridges))
        ]
        if terrain.waterline is None:
            layers += ridges
        else:
            back = render_frames([*layers, *ridges[:-1]], size, frames)
            water = _Water(look.palette, size, terrain.waterline)
            layers = [Layer(lambda: water.mirrored(back), fills=True), ridges[-1]]
        return render_frames([*layers, _figure(look, size)], size, frames)

    return painted


def scene(look: Look, size: Size, span: range, *, sketch: bool = False) -> Layer:
    """Return the layer of a landscape that fills the frame in a part of a film."""
    small, filters = size, []
    if sketch and size.pixels > _SKETCH_PIXELS:
        small = size.scaled(math.sqrt(_SKETCH_PIXELS / size.pixels))
        filters = [("scale", f"{size.width}:{size.height}")]
    frames = landscape(look, small, len(span))
    return Layer(frames, filters, start=span.start, stop=span.stop, fills=True)


def rgb_of(hexadecimal: str) -> Floats:
    """Return the colour `#rrggbb` as three numbers from 0 to 255."""
    channels = bytes.fromhex(hexadecimal.removeprefix("#"))
    return np.frombuffer(channels, np.uint8).astype(np.float32)


def _sky(look: Look, size: Size) -> Image.Image:
    """Paint the gradient, the glow, the disc and the stars."""
    palette, random = look.palette, look.random
    stops = np.array([rgb_of(colour) for colour in palette.sky.split()])
    sun = rgb_of(palette.sun)
    halo = sun * 0.45 + stops[2] * 0.55
    sun_x, sun_y = (
        random.uniform(0.3, 0.7) * size.width,
        palette.sun_height * size.height,
    )
    y, x = (
        (np.arange(0, side, _SOFT, dtype=np.float32) + _SOFT / 2) * side / even_side
        for side, even_side in (
            (length, -(-length // _SOFT) * _SOFT) for length in reversed(size)
        )
    )
    away = np.hypot(x[None, :] - sun_x, y[:, None] - sun_y) / min(size)
    glow = np.exp(away / np.float32(-0.24)) * np.float32(0.7)
    # Noise hides the bands of an eight-bit gradient.
    tile = random.random((_GRAIN_PX, _GRAIN_PX), np.float32)
    columns, rows = (np.arange(side) % _GRAIN_PX for side in size)
    grain = tile[:, columns][rows]
    channels = []
    for stop, shine in zip(stops.T, halo, strict=True):
        gradient = np.interp(y / size.height, (0, 0.36, 0.64), stop)[:, None]
        lit = (gradient * (1 - glow) + shine * glow).astype(np.float32)
        levels = np.array(Image.fromarray(lit).resize(size, Image.Resampling.BICUBIC))
        levels += grain
        channels.append(Image.fromarray(levels.clip(0, 255).astype(np.uint8)))
    sky = Image.merge("RGB", channels)
    _disc(sky, palette.sun, (sun_x, sun_y), 0.062 * min(size))
    if palette.stars:
        pen, side = ImageDraw.Draw(sky, "RGBA"), max(size.width // 900, 1) - 1
        for _ in range(260):
            x0, y0 = random.random() * size.width, random.random() * 0.55 * size.height
            level = round(255 * random.uniform(0.1, 0.8) ** 2)
            pen.rectangle((x0, y0, x0 + side, y0 + side), (255, 255, 255, level))
    return sky


def _disc(sky: Image.Image, colour: str, middle: Point, radius: float) -> None:
    """Draw the sun with a soft edge by downscaling a larger disc."""
    scale, half = 4, math.ceil(radius) + 1
    left, top = (math.floor(at) - half for at in middle)
    mask = Image.new("L", (2 * half * scale, 2 * half * scale))
    x, y = (scale * (at - edge) for at, edge in zip(middle, (left, top), strict=True))
    ImageDraw.Draw(mask).circle((x, y), scale * radius, 255)
    sky.paste(colour, (left, top), mask.reduce(scale))


def _clouds(look: Look, size: Size) -> Layer:
    """Paint soft streaks of light on a strip that is wider than the frame."""
    height, width = 2 * round(size.height * 0.275), 2 * round(size.width * 0.75)
    bells = 9

    def curves(length: int, end: float, middles: Curve, widths: Curve) -> Floats:
        away = np.linspace(0, end, length)[None, :] - middles[:, None]
        return np.exp(-((away / widths[:, None]) ** 2)).astype(np.float32)

    random = look.random
    across = curves(
        width // _SOFT,
        1.5,
        random.uniform(0, 1.5, bells),
        random.uniform(0.06, 0.22, bells),
    )
    down = curves(
        height, 1, random.uniform(0.25, 0.95, bells), random.uniform(0.008, 0.03, bells)
    )
    light = Image.fromarray((down.T @ across).clip(0, 1) * 26)
    light = light.resize((width, height), Image.Resampling.BILINEAR)
    strip = striped(Image.new("RGB", (2, height), "white"), np.asarray(light))
    spare = width - size.width
    x = f"-mod({spare / 2:.1f}+t*{size.width * 0.006:.3f},{spare})"
    return Layer(lambda: iter([strip]), x=x, moves=True)


def _ridge(look: Look, number: int, size: Size, frames: int) -> Layer:
    """Paint one ridge on a strip that is as much wider than the frame as it drifts."""
    ridges = TERRAINS[look.terrain].ridges
    middle, amplitude = ridges[number]
    speed_px = size.width * 0.012 * (1 + 3.5 * number / len(ridges))
    tile = _outline(look.terrain, number, len(ridges), size, look.random)
    width = size.width + min(math.ceil(speed_px * frames / FPS), len(tile)) + 2
    heights = tile[np.arange(width) % len(tile)]
    outline = (middle - amplitude * heights) * size.height
    top = max(2 * math.floor(outline.min() / 2), 0)
    rows = np.arange(top, size.height, dtype=np.float32)

    palette = look.palette
    near, far = rgb_of(palette.near), rgb_of(palette.far)
    depth = (number + 1) / len(ridges) if number else 0.0
    colour, haze = far * (1 - depth) + near * depth, rgb_of(palette.sky.split()[2])
    misty = colour * (0.62 + 0.3 * depth) + haze * (0.38 - 0.3 * depth)
    share = ((rows - top) / (size.height * 0.3)).clip(0, 1)[:, None]
    colours = np.rint(colour * (1 - share) + misty * share).astype(np.uint8)
    alpha = (rows[:, None] - outline.astype(np.float32) + 1).clip(0, 1) * 255
    strip = striped(Image.fromarray(np.stack([colours, colours], axis=1)), alpha)
    x = f"-mod(t*{speed_px:.3f},{len(tile)})"
    return Layer(lambda: iter([strip]), x=x, y=str(top), moves=True)


def _outline(
    terrain: str, number: int, ridges: int, size: Size, random: Random
) -> Curve:
    """Return the heights of a ridge, about -1 to 1; the end leads into the start."""
    x = np.linspace(0, 2 * math.pi, 2 * max(size), endpoint=False)
    front = number == ridges - 1
    match terrain:
        case "dunes":
            return _dunes(x, random)
        case "forest":
            trees = _trees(x, size, random, number / ridges)
            return _waves(x, random, (2, 3, 5, 8), 0.9) + trees
        case "mountains" | "lake" if not front:
            return _peaks(x, random)
        case "lake":
            return 0.6 * _waves(x, random, (1, 2, 3), 0.8)
        case _:
            return _waves(x, random, (2, 3, 5, 8), 0.9)


def _waves(
    x: Curve, random: Random, counts: tuple[int, ...], roughness: float
) -> Curve:
    total = np.zeros_like(x)
    for number in counts:
        phase = random.uniform(0, 2 * math.pi)
        total += np.sin(number * x + phase) * number**-roughness
    waves: Curve = total / np.abs(total).max()
    return waves


def _dunes(x: Curve, random: Random) -> Curve:
    """Long gentle backs that end in a crest."""
    total = np.zeros_like(x)
    for number in (3, 5, 8):
        phase = random.uniform(0, 2 * math.pi)
        bent = x + 0.55 / number * np.sin(number * x + phase)
        total += (1 - np.abs(np.sin(number * bent / 2 + phase))) ** 1.2 / number**0.8
    spectrum = np.fft.rfft(total)
    spectrum *= np.exp(-((np.arange(len(spectrum)) / 40) ** 2))  # rounds the crests
    return _spread(np.fft.irfft(spectrum, len(x)))


def _peaks(x: Curve, random: Random) -> Curve:
    total = np.zeros_like(x)
    for number in (4, 6, 14, 30, 62, 120):
        phase = random.uniform(0, 2 * math.pi)
        total += (1 - np.abs(np.sin(number * x / 2 + phase))) / number**0.95
    return _spread(total)


def _trees(x: Curve, size: Size, random: Random, nearness: float) -> Curve:
    """Conifers: triangles with stepped sides, larger towards the front."""
    length, half = len(x), size.height * (0.010 + 0.035 * nearness)
    heights = np.zeros(length)
    reach = np.arange(math.ceil(-half), math.floor(half) + 1)
    away = np.abs(reach) / half
    shape = 1 - away + 0.06 * np.abs(np.sin(away * 9 * math.pi))
    for _ in range(round(length / half * 1.5)):
        at = (int(random.integers(length)) + reach) % length
        heights[at] = np.maximum(heights[at], shape * random.uniform(0.5, 1.0))
    return heights * (0.9 + 1.6 * nearness)


def _spread(heights: Curve) -> Curve:
    spread: Curve = 2 * (heights - heights.min()) / np.ptp(heights) - 1
    return spread


class _Water:
    """A surface that mirrors the scene above it, in moving ripples."""

    def __init__(self, palette: SceneColours, size: Size, waterline: float) -> None:
        self._top = 2 * round(size.height * waterline / 2)
        self._below = np.arange(size.height - self._top)
        depth = self._below / max(len(self._below), 1)
        self._ripple = depth**0.7
        self._waves = 46 * (1 - np.exp(-2.2 * depth)) * math.pi
        tint = frame_of(Image.new("RGB", (2, 2), palette.near))
        self._tint = [np.uint16(plane_view(plane)[0, 0]) for plane in tint.planes]
        self._reach = size.height * 0.02

    def mirrored(self, frames: Frames) -> Frames:
        for index, frame in enumerate(frames):
            phase = 2 * math.pi * 0.22 * index / FPS
            wobble = np.sin(self._waves - phase * 3)
            wobble += 0.6 * np.sin(self._waves * 2.3 + phase * 5)
            mirrored = self._top - 1 - self._below * 0.9
            mirrored -= wobble * self._ripple * self._reach
            rows = mirrored.clip(0, self._top - 1).astype(np.intp)
            shade = (28 + 84 * self._ripple).astype(np.uint16)[:, None]
            for plane, tint, step in zip(
                frame.planes, self._tint, (1, 2, 2), strict=True
            ):
                levels, weight = plane_view(plane), shade[::step]
                picked = levels[rows[::step] // step] * (256 - weight) + tint * weight
                levels[self._top // step :] = picked >> 8
            yield frame


_CREAM, _RED, _AMBER = "#fff3da", "#e4572e", "#f3a712"


class Shape(NamedTuple):
    """A filled outline in the unit square of its figure."""

    colour: str
    points: Iterable[Point]


class Motif(NamedTuple):
    """A figure and its slow swings around a place, in shares of the frame."""

    words: str
    shapes: Callable[[str, float], Iterator[Shape]]
    place: Point
    reach: Point
    tilt_radians: float
    side: float


def _figure(look: Look, size: Size) -> Layer:
    """Draw the figure in a box that covers its whole path."""
    motif = MOTIFS[look.motif]
    side = round(min(size) * motif.side)
    reach = [share * length for share, length in zip(motif.reach, size, strict=True)]
    box = Size(*(2 * math.ceil((side * 1.1 + 2 * way) / 2) for way in reach))
    left, top = (
        2 * round((share * length - inner / 2) / 2)
        for share, length, inner in zip(motif.place, size, box, strict=True)
    )

    def poses() -> Iterator[av.VideoFrame]:
        for index in count():
            turn = 2 * math.pi * index / FPS
            x = box.width / 2 + reach[0] * math.sin(0.07 * turn)
            y = box.height / 2 + reach[1] * math.sin(0.16 * turn)
            tilt = motif.tilt_radians * math.sin(0.16 * turn + 0.8)
            shapes = motif.shapes(look.palette.near, 0.9 * turn)
            yield frame_of(_drawn(shapes, side, box, (x, y), tilt))

    return Layer(poses, x=str(left), y=str(top))


def _drawn(
    shapes: Iterable[Shape], side: int, box: Size, middle: Point, tilt: float
) -> Image.Image:
    """Draw shapes with soft edges by downscaling larger ones."""
    scale = 2
    # Transparent pixels need a colour, too, because edges are mixed with it.
    shapes = [*shapes]
    large = (box.width * scale, box.height * scale)
    colours, mask = Image.new("RGB", large, shapes[-1].colour), Image.new("L", large)
    colour_pen, mask_pen = ImageDraw.Draw(colours), ImageDraw.Draw(mask)
    cosine, sine = side * math.cos(tilt), side * math.sin(tilt)
    for shape in shapes:
        outline = [
            (
                scale * (middle[0] + (x - 0.5) * cosine - (y - 0.5) * sine),
                scale * (middle[1] + (x - 0.5) * sine + (y - 0.5) * cosine),
            )
            for x, y in shape.points
        ]
        colour_pen.polygon(outline, fill=shape.colour)
        mask_pen.polygon(outline, fill=255)
    picture = colours.reduce(scale)
    picture.putalpha(mask.reduce(scale))
    return picture


def _kite(ink: str, phase: float) -> Iterator[Shape]:
    ribbon = [
        (
            0.56 - 0.36 * step / 24 + 0.025 * math.sin(step * 0.6 - phase),
            0.50 + 0.40 * step / 24 + 0.025 * math.cos(step * 0.6 - phase),
        )
        for step in range(25)
    ]
    yield _line(_CREAM, ribbon, 0.008)
    for x, y in (ribbon[8], ribbon[15], ribbon[22]):
        yield Shape(_RED, ((x - 0.035, y - 0.02), (x, y), (x - 0.03, y + 0.02)))
        yield Shape(_AMBER, ((x + 0.035, y - 0.02), (x, y), (x + 0.03, y + 0.02)))
    top, left, right, tail = (0.66, 0.04), (0.40, 0.22), (0.84, 0.26), (0.54, 0.54)
    middle = (0.62, 0.24)
    yield Shape(_RED, (top, left, middle))
    yield Shape(_CREAM, (left, tail, middle))
    yield Shape("#c8431f", (tail, right, middle))
    yield Shape(_AMBER, (right, top, middle))


def _balloon(ink: str, phase: float) -> Iterator[Shape]:
    angles = [2 * math.pi * step / 48 for step in range(48)]
    for number, half in enumerate((0.30, 0.205, 0.10)):
        colour = _CREAM if number == 1 else _RED
        skirt = ((0.5 + half * 0.86, 0.54), (0.56, 0.76), (0.44, 0.76))
        yield Shape(colour, (*skirt, (0.5 - half * 0.86, 0.54)))
        yield Shape(
            colour,
            [(0.5 + half * math.cos(a), 0.38 + 0.32 * math.sin(a)) for a in angles],
        )
    for x, lean in ((0.452, 0.01), (0.548, -0.01)):
        yield _line(ink, [(x, 0.75), (x + lean, 0.86)], 0.006)
    yield Shape(ink, ((0.45, 0.85), (0.55, 0.85), (0.54, 0.93), (0.46, 0.93)))


def _boat(ink: str, phase: float) -> Iterator[Shape]:
    yield _line(ink, [(0.48, 0.08), (0.48, 0.78)], 0.012)
    yield Shape(_CREAM, ((0.50, 0.10), (0.62, 0.40), (0.86, 0.72), (0.50, 0.72)))
    yield Shape("#ecd2b4", ((0.46, 0.20), (0.34, 0.50), (0.20, 0.72), (0.46, 0.72)))
    yield Shape(ink, ((0.12, 0.77), (0.92, 0.77), (0.78, 0.93), (0.24, 0.93)))


def _birds(ink: str, phase: float) -> Iterator[Shape]:
    flock = ((0.16, 0.66, 0.8), (0.40, 0.42, 1.0), (0.62, 0.62, 0.7), (0.84, 0.30, 0.8))
    for number, (x, y, scale) in enumerate(flock):
        lift = 0.06 * scale * (0.5 + math.sin(2 * phase + 1.3 * number))
        reach, body = 0.11 * scale, 0.014 * scale
        bend = y - lift * 0.8 - 0.02 * scale
        above = [(-1.0, y - lift), (-0.5, bend), (0.0, y - body), (0.5, bend)]
        below = [(1.0, y - lift), (0.5, bend + 1.6 * body), (0.0, y + body)]
        wings = [*above, *below, (-0.5, bend + 1.6 * body)]
        yield Shape(ink, [(x + reach * share, height) for share, height in wings])


def _line(colour: str, points: list[Point], width: float) -> Shape:
    """Convert a line to an outline that can be filled."""
    left = [(x - width / 2, y - width / 2) for x, y in points]
    right = [(x + width / 2, y + width / 2) for x, y in reversed(points)]
    return Shape(colour, [*left, *right])


MOTIFS: Mapping[str, Motif] = {
    "kite": Motif("kite kites", _kite, (0.70, 0.27), (0.05, 0.05), 0.15, 0.28),
    "balloon": Motif(
        "balloon balloons airship zeppelin",
        _balloon,
        (0.72, 0.30),
        (0.03, 0.04),
        0.03,
        0.26,
    ),
    "boat": Motif(
        "boat boats ship ships sail sailboat sailing yacht",
        _boat,
        (0.70, 0.635),
        (0.04, 0.003),
        0.035,
        0.15,
    ),
    "birds": Motif(
        "bird birds gull gulls seagull swan geese goose eagle crow heron",
        _birds,
        (0.24, 0.22),
        (0.07, 0.03),
        0.05,
        0.16,
    ),
}
