"""Regions of a frame, found by words or by a mask."""

import hashlib
import re

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from mediakit.sandbox.render.protocol import RenderError
from mediakit.sandbox.render.sizes import Size

# What words name, as the shares left, top, right and bottom of the frame. The first
# match across and the first match down are used together.
_ACROSS = {"left": (0.0, 0.4), "right": (0.6, 1.0)}
_DOWN = {
    "sky|ceiling|clouds?": (0.0, 1 / 3),
    "ground|floor|grass|road|street|water|sea|lake": (2 / 3, 1.0),
    "top|upper|above": (0.0, 0.4),
    "bottom|lower|below": (0.6, 1.0),
}
_BEHIND = "background|surroundings|backdrop"
_MIDST = "cent(?:er|re)|middle|subject|foreground|person|man|woman|face|head"
_EVERYTHING = "everything|whole|entire|all"

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
    region = Image.new("L", size, 0)
    pen = ImageDraw.Draw(region)

    def corners(across: tuple[float, float], down: tuple[float, float]) -> list[float]:
        (left, right), (top, bottom) = across, down
        return [
            left * size.width, top * size.height,
            right * size.width, bottom * size.height,
        ]  # fmt: skip

    across, down = _first(_ACROSS, words), _first(_DOWN, words)
    if across or down:
        pen.rectangle(corners(across or (0, 1), down or (0, 1)), 255)
    elif _has(_BEHIND, words):
        pen.rectangle(((0, 0), size), 255)
        pen.ellipse(corners((0.3, 0.7), (0.15, 1.0)), 0)
    elif _has(_MIDST, words):
        pen.ellipse(corners((0.3, 0.7), (0.2, 0.8)), 255)
    elif _has(_EVERYTHING, words):
        pen.rectangle(((0, 0), size), 255)
    else:
        digest = hashlib.sha256(words.encode("utf-8", "replace")).digest()
        left, top = (0.05 + 0.5 * byte / 255 for byte in digest[:2])
        pen.ellipse(corners((left, left + 0.4), (top, top + 0.4)), 255)
    return region.filter(ImageFilter.GaussianBlur(_SOFT_EDGE * min(size)))


def _first(
    places: dict[str, tuple[float, float]], words: str
) -> tuple[float, float] | None:
    return next((span for names, span in places.items() if _has(names, words)), None)


def _has(pattern: str, words: str) -> bool:
    return re.search(rf"\b(?:{pattern})\b", words, re.IGNORECASE) is not None
