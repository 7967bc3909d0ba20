"""Draws the strokes of a user as a mask; pure.

A stroke is what the browser sends: the name of a tool and some numbers, in pixels of
the clip. What is no stroke changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from io import BytesIO
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

Stroke = Mapping[str, Any]
Point = tuple[float, float]

PAINTED, FREE = 255, 0
MOST_STROKES = 10_000
FARTHEST_PX = 100_000


def mask_png(
    size: tuple[int, int], strokes: Iterable[Stroke], base: bytes | None = None
) -> bytes:
    """Return a mask as a PNG: white is the region, black is everything else.

    Args:
        size: Width and height of the clip, pixels.
        strokes: What was painted, in order.
        base: The picture of an earlier mask to continue with.

    Raises:
        OSError: The earlier mask cannot be read.
    """
    from PIL import Image

    mask = Image.new("L", size, FREE) if base is None else _read(base, size)
    for stroke in islice(strokes, MOST_STROKES):
        tool = _TOOLS.get(str(stroke.get("tool")))
        if tool is not None:
            mask = tool(mask, stroke)
    return _png(mask)


def is_empty(png: bytes) -> bool:
    """Tell whether nothing of a mask is white."""
    from PIL import Image

    with Image.open(BytesIO(png)) as mask:
        return not mask.convert("L").getbbox()


def smaller_png(png: bytes, max_px: int) -> bytes:
    """Return a mask with at most a number of pixels on its longer side.

    Raises:
        OSError: It cannot be read.
    """
    from PIL import Image

    with Image.open(BytesIO(png)) as image:
        small = _on_black(image)
    small.thumbnail((max_px, max_px))
    return _png(small)


def _png(mask: PILImage) -> bytes:
    out = BytesIO()
    mask.save(out, "PNG")
    return out.getvalue()


def _read(base: bytes, size: tuple[int, int]) -> PILImage:
    from PIL import Image

    with Image.open(BytesIO(base)) as image:
        return _on_black(image).resize(size, Image.Resampling.BILINEAR)


def _on_black(image: PILImage) -> PILImage:
    """Return a mask in grey; what is transparent counts as black."""
    from PIL import Image

    paper = Image.new("RGBA", image.size, "black")
    paper.alpha_composite(image.convert("RGBA"))
    return paper.convert("L")


def _rectangle(mask: PILImage, stroke: Stroke) -> PILImage:
    from PIL import ImageDraw

    corners = _points(stroke)
    if len(corners) != 2:
        return mask
    (x0, y0), (x1, y1) = corners
    left, right = sorted((round(x0), round(x1)))
    top, bottom = sorted((round(y0), round(y1)))
    if right > left and bottom > top:
        box = (left, top, right - 1, bottom - 1)
        ImageDraw.Draw(mask).rectangle(box, fill=PAINTED)
    return mask


def _brush(mask: PILImage, stroke: Stroke, tone: int = PAINTED) -> PILImage:
    from PIL import ImageDraw

    points = _points(stroke)
    radius = _number(stroke.get("size")) / 2
    if radius <= 0:
        return mask
    draw = ImageDraw.Draw(mask)
    for x, y in points:
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=tone)
    for start, end in pairwise(points):
        draw.polygon(_band(start, end, radius), fill=tone)
    return mask


def _band(start: Point, end: Point, radius: float) -> list[Point]:
    """Return the corners of what lies between two dabs."""
    (x0, y0), (x1, y1) = start, end
    length = math.dist(start, end) or 1.0
    dx, dy = radius * (y1 - y0) / length, radius * (x0 - x1) / length
    near = [(x0 - dx, y0 - dy), (x0 + dx, y0 + dy)]
    return [*near, (x1 + dx, y1 + dy), (x1 - dx, y1 - dy)]


def _erase(mask: PILImage, stroke: Stroke) -> PILImage:
    return _brush(mask, stroke, FREE)


def _clear(mask: PILImage, _: Stroke) -> PILImage:
    from PIL import Image

    return Image.new("L", mask.size, FREE)


def _invert(mask: PILImage, _: Stroke) -> PILImage:
    from PIL import ImageChops

    return ImageChops.invert(mask)


def _points(stroke: Stroke) -> list[Point]:
    numbers = stroke.get("points")
    if not isinstance(numbers, list):
        return []
    plain = [_number(each) for each in numbers]
    return list(zip(plain[::2], plain[1::2], strict=False))


def _number(value: object) -> float:
    """Return a number of the browser; 0 for what is none, the edge for too far."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    if not math.isfinite(value):
        return 0.0
    return max(-FARTHEST_PX, min(FARTHEST_PX, float(value)))


_TOOLS: Mapping[str, Callable[[PILImage, Stroke], PILImage]] = {
    "rectangle": _rectangle,
    "brush": _brush,
    "erase": _erase,
    "clear": _clear,
    "invert": _invert,
}
