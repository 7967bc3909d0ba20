"""Regions of a frame, found by words or by a mask, and their overlays."""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter

from mediakit.sandbox.render.frames.planes import Planes, Stamp
from mediakit.sandbox.render.protocol import RenderError
from mediakit.sandbox.render.sizes import Size

# Shares of the frame; the first match is used.
_Span = tuple[float, float]
_ALL: _Span = (0.0, 1.0)
_MIDDLE: _Span = (0.3, 0.7)
_ACROSS: tuple[tuple[str, _Span], ...] = (
    (r"left", (0.0, 0.4)),
    (r"right", (0.6, 1.0)),
)
_DOWN: tuple[tuple[str, _Span], ...] = (
    (r"sky|ceiling|clouds?", (0.0, 1 / 3)),
    (r"ground|floor|grass|road|street|water|sea|lake", (2 / 3, 1.0)),
    (r"top|upper|above", (0.0, 0.4)),
    (r"bottom|lower|below", (0.6, 1.0)),
)
_BEHIND = r"background|surroundings|backdrop"
_MIDST = r"cent(?:er|re)|middle|subject|foreground|person|man|woman|face|head"
_EVERYTHING = r"everything|whole|entire|all"

# A mask may be soft; darker pixels count as black.
_FAINT = 8
_SOFT_EDGE = 0.012


class Box(NamedTuple):
    """A part of a frame in pixels; all four numbers are even."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def size(self) -> Size:
        """Width and height."""
        return Size(self.right - self.left, self.bottom - self.top)


@dataclass(frozen=True)
class Region:
    """The part of a frame that is changed.

    Attributes:
        box: What holds all of it.
        mask: How much is changed in the box: 255 is all, 0 is nothing.
    """

    box: Box
    mask: Image.Image


class Patch:
    """A picture laid over a region, the same one in every frame.

    Args:
        region: Its region.
        picture: What is laid there, in the size of the region's box.
    """

    def __init__(self, region: Region, picture: Image.Image) -> None:
        over = picture.convert("RGBA")
        over.putalpha(ImageChops.multiply(over.getchannel("A"), region.mask))
        self._stamp = Stamp(over)
        self._box = region.box

    def draw(self, planes: Planes) -> None:
        """Lay the picture on a frame."""
        self._stamp.draw(planes, self._box.left, self._box.top)


def region_of_mask(mask: Image.Image, size: Size, field: str) -> Region:
    """Read a region from a mask, in which white is changed (spec 4.16).

    Args:
        mask: A picture in mode RGB or RGBA; what is transparent counts as black.
        size: The frame, to which the mask is stretched.
        field: Where the body names the mask.

    Raises:
        RenderError: `invalid_input` when nothing is white.
    """
    paper = Image.new("RGBA", mask.size, "black")
    paper.alpha_composite(mask.convert("RGBA"))
    region = _cut(paper.convert("L").resize(size, Image.Resampling.BILINEAR))
    if region is None:
        raise RenderError.invalid(
            f"{field}: the mask is black all over; accepted is a mask whose white part "
            "is the region to change."
        )
    return region


def region_of_words(words: str, size: Size) -> Region:
    """Guess a region from words such as "the sky on the left".

    Args:
        words: The words; without a known place they give an arbitrary fixed one.
        size: The frame.
    """
    mask = Image.new("L", size, 0)
    _shape(words)(ImageDraw.Draw(mask), size)
    soft = mask.filter(ImageFilter.GaussianBlur(_SOFT_EDGE * min(size)))
    return _cut(soft) or Region(Box(0, 0, *size), Image.new("L", size, 255))


def _shape(words: str) -> Callable[[ImageDraw.ImageDraw, Size], None]:
    across, down = _first(_ACROSS, words), _first(_DOWN, words)
    if across or down:
        return _drawn("rectangle", across or _ALL, down or _ALL)
    if _has(_BEHIND, words):
        return _drawn("ellipse", _MIDDLE, (0.15, 1.0), inverted=True)
    if _has(_MIDST, words):
        return _drawn("ellipse", _MIDDLE, (0.2, 0.8))
    if _has(_EVERYTHING, words):
        return _drawn("rectangle", _ALL, _ALL)
    digest = hashlib.sha256(words.encode("utf-8", "replace")).digest()
    left, top = (0.05 + 0.5 * byte / 255 for byte in digest[:2])
    return _drawn("ellipse", (left, left + 0.4), (top, top + 0.4))


def _first(places: tuple[tuple[str, _Span], ...], words: str) -> _Span | None:
    return next((span for pattern, span in places if _has(pattern, words)), None)


def _has(pattern: str, words: str) -> bool:
    return re.search(rf"\b(?:{pattern})\b", words, re.IGNORECASE) is not None


def _drawn(
    form: str, across: _Span, down: _Span, *, inverted: bool = False
) -> Callable[[ImageDraw.ImageDraw, Size], None]:
    def draw(mask: ImageDraw.ImageDraw, size: Size) -> None:
        corners = [
            (share_x * size.width, share_y * size.height)
            for share_x, share_y in zip(across, down, strict=True)
        ]
        if inverted:
            mask.rectangle([(0, 0), size], fill=255)
        paint = mask.ellipse if form == "ellipse" else mask.rectangle
        paint(corners, fill=0 if inverted else 255)

    return draw


def _cut(mask: Image.Image) -> Region | None:
    """Crop a mask of the whole frame to the marked region."""
    marked = np.asarray(mask) >= _FAINT
    rows, columns = (np.flatnonzero(marked.any(axis=axis)) for axis in (1, 0))
    if not rows.size:
        return None
    box = Box(
        left=_down(int(columns[0])),
        top=_down(int(rows[0])),
        right=_down(int(columns[-1]) + 2),
        bottom=_down(int(rows[-1]) + 2),
    )
    return Region(box, mask.crop(box))


def _down(length: int) -> int:
    return length - length % 2
