"""Text on frames: captions, notes and labels."""

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

# Fonts to search for in the system's font folders when a prompt needs other scripts.
_WIDE_FONTS = (
    "NotoSansCJK-Regular.ttc",
    "PingFang.ttc",
    "msyh.ttc",
    "Arial Unicode.ttf",
)
_NO_SUCH_CHARACTER = "\uffff"
_LEADING = 1.32
_CAPTION, _SMALL = 0.044, 0.028
_SHADE = 150
_DARK = 240
_FAINT = 205
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
    """Return the text layers of a film: its caption and its parameters."""
    note = note_of(request, caption)
    places = []
    if request.inputs and not caption:
        places.append(_plate_on(size, note))
        note = []
    hides = bool(request.inputs)
    places.append((_text_block(caption, note, size, corner, hides=hides), 0))
    return [
        Layer(still(block), y=str(top), start=span.start, stop=span.stop)
        for block, top in places
        if block is not None
    ]


def write_over(
    picture: Image.Image, request: RenderRequest, *, caption: str = ""
) -> None:
    """Write the caption and the parameters on a given picture."""
    plate, top = _plate_on(Size(*picture.size), note_of(request, caption), caption)
    if plate is not None:
        picture.paste(plate, (0, top), plate)


def note_of(request: RenderRequest, caption: str = "") -> list[str]:
    """Return a line for each field that is neither a default nor the caption."""
    return [
        f"{name} {_shown(request.body[name], request.inputs)}"
        for name in request.changed
        if request.body.get(name) not in (None, caption or None)
    ]


def _shown(value: object, files: Mapping[str, Path]) -> str:
    """Shorten a value; a checksum distinguishes values with the same start."""
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
            name = value.partition("?")[0].rstrip("/").rpartition("/")[2] or value
            return name if len(name) <= 20 else name[:8] + _ending(name)
        case str():
            return " ".join(value.split())
        case list():
            return ", ".join(_plain(item, files) for item in value)
        case _:
            return json.dumps(value, ensure_ascii=False)


def _text_block(
    caption: str, note: Sequence[str], frame: Size, corner: str, *, hides: bool
) -> Image.Image | None:
    """Draw a caption over a shade, a note below, and a corner, at a frame's top.

    Given media may have text of their own at the top, which the shade hides.
    """
    margin = round(min(frame) * 0.05)
    lines = _lines(caption, note, frame, margin)
    if not (lines or corner):
        return None
    beside = font_for(corner, max(round(min(frame) * _SMALL), 10))
    text_px = margin + max(_height(lines), _leading(beside))
    width, height = frame.width, min(text_px * 1.3 + 4, frame.height)
    ink = _ink(lines, margin, width, height)
    pen = ImageDraw.Draw(ink)
    pen.text((width - margin, margin), corner, _FAINT, beside, anchor="ra")
    shade = None
    if caption:
        rows = np.linspace(1, 0, ink.height)
        rows = _DARK * np.minimum(2 * rows, 1) if hides else _SHADE * rows**1.4
        shade = Image.fromarray(rows.astype(np.uint8)[:, None]).resize(ink.size)
    return _shadowed(ink, lines[0][1] if caption else beside, shade)


def _plate_on(
    frame: Size, note: Sequence[str], caption: str = ""
) -> tuple[Image.Image | None, int]:
    """Draw text on a dark plate; return it, and its distance from the top.

    Given media may have text at the top, and players have controls at the bottom, so
    the plate is between them.
    """
    plate = _plate(caption, note, frame)
    height = 0 if plate is None else plate.height
    return plate, min(frame.height // 10 * 2, frame.height - height)


def _plate(caption: str, note: Sequence[str], frame: Size) -> Image.Image | None:
    margin = round(min(frame) * 0.025)
    lines = _lines(caption, note, frame, margin)
    if not lines:
        return None
    width = 2 * margin + max(font.getlength(row) for row, font in lines)
    ink = _ink(lines, margin, width, min(2 * margin + _height(lines), frame.height))
    return _shadowed(ink, lines[0][1], Image.new("L", ink.size, _DARK))


Line = tuple[str, Font]


def _lines(caption: str, note: Sequence[str], frame: Size, margin: int) -> list[Line]:
    """Wrap a caption and a note; the note is shrunk as needed."""
    width = round(frame.width * 0.72)
    text = " ".join(caption.split())
    large = font_for(text, max(round(min(frame) * _CAPTION), 14))
    most = 4 if frame.height > frame.width else 2
    lines = [(line, large) for line in wrap(drawable(text, large), large, width, most)]
    room = frame.height - 2 * margin - _height(lines)
    small_px = min(max(frame.height * _SMALL, 10), room / _LEADING / max(len(note), 1))
    if note and small_px >= 4:
        small = font_for(" ".join(note), round(min(small_px, min(frame) * 0.05)))
        for line in note:
            lines += [
                (row, small) for row in wrap(drawable(line, small), small, width, 1)
            ]
    return lines


def _height(lines: Sequence[Line]) -> int:
    return sum(_leading(font) for _, font in lines)


def _ink(
    lines: Sequence[Line], margin: int, width: float, height: float
) -> Image.Image:
    """Draw lines, the largest ones in full white, on a picture with even sides."""
    ink = Image.new("L", (2 * math.ceil(width / 2), 2 * math.ceil(height / 2)))
    pen = ImageDraw.Draw(ink)
    y = margin
    for line, font in lines:
        pen.text((margin, y), line, 255 if font is lines[0][1] else 215, font)
        y += _leading(font)
    return ink


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
    """Return the first font with every character of `text`, else the best one."""
    best, fewest = None, 0
    for font in _fonts(max(height_px, 1)):
        lacking = sum(not _has(font, character) for character in set(text))
        if best is None or lacking < fewest:
            best, fewest = font, lacking
        if fewest == 0:
            break
    if best is None:
        raise RenderError.internal("No usable font was found.")
    return best


def wrap(text: str, font: Font, width_px: int, max_lines: int) -> list[str]:
    """Wrap `text` to lines of at most `width_px`, breaking long words if needed.

    A checksum of the whole text replaces what does not fit.
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
    """Remove the characters that no available font has."""
    characters = {character for character in set(text) if _has(font, character)}
    return "".join(character for character in text if character in characters)
