"""Regions of a frame, found by words or by a mask."""

import re
from collections.abc import Mapping

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from mediakit.sandbox.render.protocol import RenderError
from mediakit.sandbox.render.sizes import Size

# What words name, as shares of the frame; without one, an oval in the middle.
_ACROSS = {"left": (0.0, 0.4), "right": (0.6, 1.0)}
_DOWN = {
    "sky|ceiling|clouds?|top|above": (0.0, 0.4),
    "ground|floor|road|street|water|sea|bottom|below": (0.6, 1.0),
    "background|everything|all": (0.0, 1.0),
}
# A mask may be soft; darker pixels count as black.
_FAINT = 8


def region_of_mask(mask: Image.Image, size: Size, field: str) -> Image.Image:
    """Read how much of each pixel of a frame is changed: white is all (spec 4.16)."""
    paper = Image.new("RGBA", mask.size, "black")
    paper.alpha_composite(mask.convert("RGBA"))
    region = paper.convert("L").resize(size, Image.Resampling.BILINEAR)
    if not np.any(np.asarray(region) >= _FAINT):
        raise RenderError.invalid(
            f"{field}: the mask is black all over; accepted is a mask whose white part "
            "is the region to change."
        )
    return region.point(lambda level: level if level >= _FAINT else 0)


def region_of_words(words: str, size: Size) -> Image.Image:
    """Guess a region with a soft edge from words such as "the sky on the left"."""
    across, down = _first(_ACROSS, words), _first(_DOWN, words)
    left, right = across or ((0, 1) if down else (0.3, 0.7))
    top, bottom = down or ((0, 1) if across else (0.2, 0.8))
    box = [left * size.width, top * size.height]
    box += [right * size.width, bottom * size.height]
    region = Image.new("L", size)
    pen = ImageDraw.Draw(region)
    (pen.rectangle if across or down else pen.ellipse)(box, 255)
    return region.filter(ImageFilter.GaussianBlur(0.012 * min(size)))


def _first(
    places: Mapping[str, tuple[float, float]], words: str
) -> tuple[float, float] | None:
    for names, place in places.items():
        if re.search(rf"\b(?:{names})\b", words, re.IGNORECASE):
            return place
    return None
