"""Small figures that travel through a landscape: kite, balloon, boat, birds."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from PIL import Image, ImageDraw

from mediakit.sandbox.render.frames.planes import Planes, Stamp
from mediakit.sandbox.render.landscapes.landscape import Motion
from mediakit.sandbox.render.landscapes.palettes import Look, Motif
from mediakit.sandbox.render.sizes import Size

Point = tuple[float, float]

# Soft edges: figures are drawn this much larger; big ones less so, to save memory.
_OVERSAMPLING, _BIG_OVERSAMPLING, _BIG_SIDE_PX = 3, 2, 300
_CREAM, _RED, _AMBER = "#fff3da", "#e4572e", "#f3a712"


@dataclass(frozen=True)
class Shape:
    """A filled outline in the unit square of its figure."""

    colour: str
    points: tuple[Point, ...]

    @property
    def centred(self) -> Iterator[Point]:
        """The outline around the middle of the square."""
        return ((x - 0.5, y - 0.5) for x, y in self.points)


@dataclass(frozen=True)
class Path:
    """Where a figure moves: slow swings around a point, in shares of the frame."""

    x: float
    y: float
    reach_x: float
    reach_y: float
    tilt_radians: float
    side: float


_PATHS: Mapping[Motif, Path] = {
    "kite": Path(0.70, 0.27, 0.05, 0.05, 0.15, 0.28),
    "balloon": Path(0.72, 0.30, 0.03, 0.04, 0.03, 0.26),
    "boat": Path(0.70, 0.635, 0.04, 0.003, 0.035, 0.15),
    "birds": Path(0.24, 0.22, 0.07, 0.03, 0.05, 0.16),
}


class Figure:
    """One moving figure.

    Args:
        look: Says which figure, and its colours.
        size: The frame's size.
        motion: Whether the scene has to repeat.
    """

    def __init__(self, look: Look, size: Size, motion: Motion) -> None:
        self._path = _PATHS[look.motif]
        self._shapes = _SHAPES[look.motif]
        self._ink = look.palette.near
        self._size = size
        self._motion = motion
        self._side = 2 * round(min(size) * self._path.side / 2)

    def draw(self, planes: Planes, time_s: float) -> None:
        """Draw the figure as it is at a moment."""
        path, motion = self._path, self._motion
        slow, quick = motion.phase(time_s, 0.07), motion.phase(time_s, 0.16)
        left = (path.x + path.reach_x * math.sin(slow)) * self._size.width
        top = (path.y + path.reach_y * math.sin(quick)) * self._size.height
        left, top = left - self._side / 2, top - self._side / 2
        x, y = 2 * math.floor(left / 2), 2 * math.floor(top / 2)
        tilt = path.tilt_radians * math.sin(quick + 0.8)
        shapes = self._shapes(self._ink, motion.phase(time_s, 0.9))
        picture = _drawn(shapes, self._side, tilt, (left - x, top - y))
        Stamp(picture).draw(planes, x, y)


def _drawn(
    shapes: Iterable[Shape], side: int, tilt: float, shift: Point
) -> Image.Image:
    """Draw shapes turned by `tilt` and a fraction of a pixel off, with soft edges."""
    scale = _OVERSAMPLING if side <= _BIG_SIDE_PX else _BIG_OVERSAMPLING
    large = ((side + 2) * scale,) * 2
    colours, mask = Image.new("RGB", large), Image.new("L", large)
    colour_pen, mask_pen = ImageDraw.Draw(colours), ImageDraw.Draw(mask)
    cosine, sine = math.cos(tilt), math.sin(tilt)
    for shape in shapes:
        outline = [
            (
                scale * (side * (x * cosine - y * sine + 0.5) + shift[0]),
                scale * (side * (x * sine + y * cosine + 0.5) + shift[1]),
            )
            for x, y in shape.centred
        ]
        colour_pen.polygon(outline, fill=shape.colour, outline=shape.colour, width=4)
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
    for number, half in enumerate((0.30, 0.205, 0.10)):
        envelope = _ellipse(0.5, 0.38, half, 0.32)
        skirt = ((0.5 + half * 0.86, 0.54), (0.56, 0.76), (0.44, 0.76))
        colour = _CREAM if number == 1 else _RED
        yield Shape(colour, (*skirt, (0.5 - half * 0.86, 0.54)))
        yield Shape(colour, envelope)
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
        yield Shape(
            ink,
            (
                (x - reach, y - lift),
                (x - reach * 0.5, bend),
                (x, y - body),
                (x + reach * 0.5, bend),
                (x + reach, y - lift),
                (x + reach * 0.5, bend + 1.6 * body),
                (x, y + body),
                (x - reach * 0.5, bend + 1.6 * body),
            ),
        )


_SHAPES: Mapping[Motif, Callable[[str, float], Iterator[Shape]]] = {
    "kite": _kite,
    "balloon": _balloon,
    "boat": _boat,
    "birds": _birds,
}


def _ellipse(x: float, y: float, half_x: float, half_y: float) -> tuple[Point, ...]:
    angles = [2 * math.pi * step / 48 for step in range(48)]
    return tuple(
        (x + half_x * math.cos(angle), y + half_y * math.sin(angle)) for angle in angles
    )


def _line(colour: str, points: list[Point], width: float) -> Shape:
    """Turn a line into an outline, thick enough to be filled."""
    left = [(x - width / 2, y - width / 2) for x, y in points]
    right = [(x + width / 2, y + width / 2) for x, y in reversed(points)]
    return Shape(colour, (*left, *right))
