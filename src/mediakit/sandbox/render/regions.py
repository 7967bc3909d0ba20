"""Regions of a frame, found by words or by a mask."""

import hashlib
import re
from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from mediakit.sandbox.render.protocol import RenderError
from mediakit.sandbox.render.sizes import Size

T = TypeVar("T")
Span = tuple[float, float]

# What words name, as shares of the frame across and down; the first match of each
# counts. Without one, an oval in the middle, or all but that.
_ACROSS = {"left": (0.0, 0.4), "right": (0.6, 1.0)}
_DOWN = {
    "sky|ceiling|clouds?|top|upper|above": (0.0, 0.4),
    "ground|floor|grass|road|street|water|sea|lake|bottom|lower|below": (0.6, 1.0),
    "everything|whole|entire|all": (0.0, 1.0),
}
_MIDST = {
    "background|surroundings|backdrop": 0,
    "cent(?:er|re)|middle|subject|foreground|person|man|woman|face|head": 255,
}

# A mask may be soft; darker pixels count as black.
_FAINT = 8
_SOFT_EDGE = 0.012


def region_of_mask(mask: Image.Image, size: Size, field: str) -> Image.Image:
    """Read a region from a mask, in which white is changed (spec 4.16).

    Args:
        mask: A picture in mode RGB or RGBA; what is transparent counts as black.
        size: The frame, to which the mask is stretched.
        field: Where the body names the mask.

    Returns:
        How much of each pixel is changed: 255 is all, 0 is nothing.

    Raises:
        RenderError: `invalid_input` when nothing is white.
    """
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
    """Guess a region from words such as "the sky on the left".

    Args:
        words: The words; without a known place they give an arbitrary fixed one.
        size: The frame.

    Returns:
        How much of each pixel is changed, with a soft edge.
    """
    across, down = _first(_ACROSS, words), _first(_DOWN, words)
    inside = _first(_MIDST, words)
    region = Image.new("L", size, 255 if inside == 0 else 0)
    pen = ImageDraw.Draw(region)

    def corners(across: Span, down: Span) -> list[float]:
        return [
            share * side
            for edge in zip(across, down, strict=True)
            for share, side in zip(edge, size, strict=True)
        ]

    if across or down:
        pen.rectangle(corners(across or (0, 1), down or (0, 1)), 255)
    elif inside is not None:
        pen.ellipse(corners((0.3, 0.7), (0.2, 0.8)), inside)
    else:
        digest = hashlib.sha256(words.encode("utf-8", "replace")).digest()
        left, top = (0.05 + 0.5 * byte / 255 for byte in digest[:2])
        pen.ellipse(corners((left, left + 0.4), (top, top + 0.4)), 255)
    return region.filter(ImageFilter.GaussianBlur(_SOFT_EDGE * min(size)))


def _first(places: Mapping[str, T], words: str) -> T | None:
    found = (
        place
        for names, place in places.items()
        if re.search(rf"\b(?:{names})\b", words, re.IGNORECASE)
    )
    return next(found, None)
