"""Words on frames: captions, notes and labels."""

import hashlib
import json
import math
import sys
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

from mediakit.sandbox.render.film import Layer, still
from mediakit.sandbox.render.protocol import RenderError, RenderRequest, Size

MARK = "mediakit sandbox"

Font = ImageFont.FreeTypeFont

# Searched in the system's font folders when a prompt needs other scripts.
_WIDE_FONTS = (
    "NotoSansCJK-Regular.ttc",
    "PingFang.ttc",
    "msyh.ttc",
    "Arial Unicode.ttf",
)
_NO_SUCH_CHARACTER = "\uffff"
_LEADING = 1.32
_CAPTION, _SMALL = 0.044, 0.028
_OVER_SCENERY, _OVER_MEDIA = 150, 240
_LONGEST_VALUE = 48
_ALWAYS = range(sys.maxsize)
_SHADOW = [round(min(level * 1.2, 190)) for level in range(256)]
_INK = [round(255 * (level / 255) ** 0.5) for level in range(256)]


def words_over(
    request: RenderRequest,
    size: Size,
    *,
    caption: str = "",
    corner: str = "",
    span: range = _ALWAYS,
) -> list[Layer]:
    """Return the words over a film: its caption, and its parameters below."""
    # Given media may bring a caption of their own.
    over = _OVER_MEDIA if request.inputs else _OVER_SCENERY
    block = _text_block(caption, note_of(request, caption), size, over, corner)
    if block is None:
        return []
    return [Layer(still(block), start=span.start, stop=span.stop)]


def write_over(picture: Image.Image, request: RenderRequest) -> None:
    """Write the parameters on a picture."""
    block = _text_block("", note_of(request), Size(*picture.size))
    if block is not None:
        picture.paste(block, (0, 0), block)


def note_of(request: RenderRequest, caption: str = "") -> list[str]:
    """Return a line for each field that is not a default, nor the caption."""
    return [
        f"{name} {_shown(request.body[name], request.inputs)}"
        for name in request.changed
        if request.body.get(name) not in (None, caption or None)
    ]


def _shown(value: object, files: Mapping[str, Path]) -> str:
    """Shorten a value; a checksum then tells it from others with the same start."""
    text = _plain(value, files)
    if len(text) <= _LONGEST_VALUE:
        return text
    return text[: _LONGEST_VALUE - 6].rstrip() + _ending(text)


def _ending(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    return f"... {digest[:4]}"


def _plain(value: object, files: Mapping[str, Path]) -> str:
    match value:
        case str() if value in files:
            return value.partition("?")[0].rstrip("/").rpartition("/")[2] or value
        case str():
            return " ".join(value.split())
        case list():
            return ", ".join(_plain(item, files) for item in value)
        case _:
            return json.dumps(value, ensure_ascii=False)


def _text_block(
    caption: str, note: Sequence[str], frame: Size, shade: int = 0, corner: str = ""
) -> Image.Image | None:
    """Write a caption over a shade, a note below, and a corner, at a frame's top."""
    margin, width = round(min(frame) * 0.05), round(frame.width * 0.72)
    text = " ".join(caption.split())
    large = font_for(text, max(round(min(frame) * _CAPTION), 14))
    most = 4 if frame.height > frame.width else 2
    lines = [(line, large) for line in wrap(drawable(text, large), large, width, most)]
    room = frame.height - 2 * margin - sum(_leading(font) for _, font in lines)
    small_px = min(max(frame.height * _SMALL, 10), room / _LEADING / max(len(note), 1))
    if note and small_px >= 4:
        small = font_for(" ".join(note), round(min(small_px, min(frame) * 0.05)))
        for line in note:
            lines += [
                (row, small) for row in wrap(drawable(line, small), small, width, 1)
            ]
    if not (lines or corner):
        return None
    beside = font_for(corner, max(round(min(frame) * _SMALL), 10))
    text_px = margin + max(sum(_leading(font) for _, font in lines), _leading(beside))
    width, height = frame.width, min(text_px * 1.3 + 4, frame.height)
    ink = Image.new("L", (width + width % 2, 2 * math.ceil(height / 2)))
    y = margin
    pen = ImageDraw.Draw(ink)
    pen.text((width - margin, margin), corner, 205, beside, anchor="ra")
    for line, font in lines:
        pen.text((margin, y), line, 255 if font is large else 215, font)
        y += _leading(font)
    shadow = None
    if caption:
        rows = np.linspace(1, 0, ink.height)
        rows = np.minimum(2 * rows, 1) if shade == _OVER_MEDIA else rows**1.4
        rows = (shade * rows).astype(np.uint8)
        shadow = Image.fromarray(rows[:, None]).resize(ink.size)
    return _shadowed(ink, large if caption else beside, shadow)


def _leading(font: Font) -> int:
    return round(font.size * _LEADING)


def _shadowed(
    ink: Image.Image, font: Font, shade: Image.Image | None = None
) -> Image.Image:
    """Paint white ink on a soft shadow, and both on a shade."""
    radius = max(font.size * 0.08, 1)
    shadow = ink.filter(ImageFilter.GaussianBlur(radius))
    alpha = ImageChops.screen(ink, shadow.point(_SHADOW))
    if shade is not None:
        alpha = ImageChops.screen(alpha, shade)
    # Where ink covers a part of a pixel, the shadow covers the rest.
    white = ink.point(_INK)
    return Image.merge("RGBA", (white, white, white, alpha))


@lru_cache(maxsize=32)
def font_for(text: str, height_px: int) -> Font:
    """Return the first font that has every character of `text`, or the fullest."""
    best, fewest = None, 0
    for font in _fonts(height_px):
        lacking = sum(not _has(font, character) for character in set(text))
        if best is None or lacking < fewest:
            best, fewest = font, lacking
        if fewest == 0:
            break
    if best is None:
        raise RenderError.internal("There is no font to write with.")
    return best


def wrap(text: str, font: Font, width_px: int, max_lines: int) -> list[str]:
    """Break `text` into lines of at most `width_px`; words longer than that too.

    What does not fit is replaced by a checksum of the whole text.
    """
    lines: list[str] = []
    ending = _ending(text)
    while text and len(lines) < max_lines:
        ends = range(1, len(text) + 1)
        fits = bisect_right(
            ends, width_px, key=lambda n: math.ceil(font.getlength(text[:n]))
        )
        fits = max(fits, 1)
        if fits < len(text) and text[fits] != " ":
            fits = max(text.rfind(" ", 0, fits), 0) or fits
        lines.append(text[:fits].rstrip())
        text = text[fits:].lstrip()
    if text:
        while len(lines[-1]) > 1 and font.getlength(lines[-1] + ending) > width_px:
            lines[-1] = lines[-1][:-1]
        lines[-1] = lines[-1].rstrip() + ending
    return lines


def _fonts(height_px: int) -> Iterator[Font]:
    default = ImageFont.load_default(height_px)
    if isinstance(default, ImageFont.FreeTypeFont):
        yield default
    matplotlib = find_spec("matplotlib")
    if matplotlib is not None and matplotlib.origin is not None:
        folder = Path(matplotlib.origin).parent / "mpl-data" / "fonts" / "ttf"
        yield ImageFont.truetype(folder / "DejaVuSans.ttf", height_px)
    for name in _WIDE_FONTS:
        try:
            yield ImageFont.truetype(name, height_px)
        except OSError:
            continue


def _has(font: Font, character: str) -> bool:
    if character.isspace():
        return True
    return bytes(font.getmask(character)) != bytes(font.getmask(_NO_SUCH_CHARACTER))


def drawable(text: str, font: Font) -> str:
    """Leave out what no font at hand has."""
    kept = {character for character in set(text) if _has(font, character)}
    return "".join(character for character in text if character in kept)
