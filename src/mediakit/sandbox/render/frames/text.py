"""Words on frames: captions, a running clock, a mark."""

from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from mediakit.sandbox.render.frames.planes import Planes, Stamp
from mediakit.sandbox.render.protocol import RenderError
from mediakit.sandbox.render.sizes import Size

Font = ImageFont.FreeTypeFont

# Searched in the system's font folders when a prompt needs other scripts.
_WIDE_FONTS = (
    "NotoSansCJK-Regular.ttc",
    "PingFang.ttc",
    "msyh.ttc",
    "Arial Unicode.ttf",
)
_NO_SUCH_CHARACTER = "\uffff"


class Caption:
    """A text in white at the foot of the frame, over a shade that fades upwards.

    Args:
        text: Any text; runs of white space count as one space, and characters that
            no font at hand has are left out.
        frame: The frame that the caption is made for.
        max_lines: Longer text ends in an ellipsis.
    """

    def __init__(self, text: str, frame: Size, *, max_lines: int = 2) -> None:
        words = " ".join(text.split())
        font = font_for(words, max(round(min(frame) * 0.044), 14))
        lines = wrap(_drawable(words, font), font, round(frame.width * 0.9), max_lines)
        self._margin, self._pad = round(min(frame) * 0.05), _pad(font)
        self._leading = round(font.size * 1.32)
        self._lines = [Stamp(_shadowed(line, font, 1.0)) for line in lines]
        self._above = self._margin + self._leading * len(lines)
        depth = np.linspace(0, 1, round(self._above * 1.45), dtype=np.float32)
        self._kept = np.rint(256 - 150 * depth**1.4).astype(np.uint16)[:, None]

    def draw(self, planes: Planes) -> None:
        """Write the caption on a frame."""
        if not self._lines:
            return
        for plane, black, step in zip(planes, (16, 128, 128), (1, 2, 2), strict=True):
            kept = self._kept[::step][-len(plane) :]
            region = plane[-len(kept) :]
            mixed = np.multiply(region, kept, dtype=np.uint16)
            mixed += np.uint16(black) * (256 - kept)
            mixed >>= 8
            region[...] = mixed
        x, y = self._margin - self._pad, planes.size.height - self._above - self._pad
        for line in self._lines:
            line.draw(planes, x, y)
            y += self._leading


class Label:
    """A short text, small, in one of the upper corners.

    Args:
        text: What it says.
        frame: The frame that the label is made for.
        right: Whether it lies at the right edge; otherwise at the left one.
    """

    def __init__(self, text: str, frame: Size, *, right: bool = False) -> None:
        font = font_for(text, max(round(min(frame) * 0.028), 10))
        self._stamp = Stamp(_shadowed(text, font, 0.8))
        self._y = round(min(frame) * 0.05) - _pad(font)
        self._x = frame.width - self._y - self._stamp.width if right else self._y

    def draw(self, planes: Planes) -> None:
        """Write the label on a frame."""
        self._stamp.draw(planes, self._x, self._y)


class Clock:
    """The running time of a clip, from prepared digits.

    Args:
        frame: The frame that the clock is made for.
        fps: Frames per second.
    """

    def __init__(self, frame: Size, fps: int) -> None:
        font = font_for("0", max(round(min(frame) * 0.028), 10))
        self._margin, self._pad = round(min(frame) * 0.05), _pad(font)
        self._fps = fps
        self._stamps = {
            character: Stamp(_shadowed(character, font, 0.8))
            for character in "0123456789:."
        }
        digit_px = _even_up(max(font.getlength(digit) for digit in "0123456789"))
        point_px = _even_up(font.getlength(":"))
        self._widths = dict.fromkeys("0123456789", digit_px) | dict.fromkeys(
            ":.", point_px
        )

    def draw(self, planes: Planes, index: int) -> None:
        """Write the time of frame `index` into the upper right corner."""
        seconds, frames = divmod(index, self._fps)
        text = f"{seconds // 60:02}:{seconds % 60:02}.{frames * 100 // self._fps:02}"
        width_px = sum(self._widths[character] for character in text)
        x = planes.size.width - self._margin - self._pad - width_px
        for character in text:
            self._stamps[character].draw(planes, x, self._margin - self._pad)
            x += self._widths[character]


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
    """Break `text` into lines of at most `width_px`; words longer than that too."""
    lines: list[str] = []
    rest = text
    while rest and len(lines) < max_lines:
        line = _first_line(rest, font, width_px)
        lines.append(line)
        rest = rest[len(line) :].lstrip()
    if rest:
        lines[-1] = _shortened(lines[-1], font, width_px)
    return [line.rstrip() for line in lines]


def _first_line(text: str, font: Font, width_px: int) -> str:
    fits = _longest_fit(text, font, width_px)
    if fits == len(text) or text[fits] == " ":
        return text[:fits]
    space = text.rfind(" ", 0, fits)
    return text[: space if space > 0 else fits]


def _longest_fit(text: str, font: Font, width_px: int) -> int:
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if font.getlength(text[:middle]) <= width_px:
            low = middle
        else:
            high = middle - 1
    return low


def _shortened(line: str, font: Font, width_px: int) -> str:
    while len(line) > 1 and font.getlength(line + "...") > width_px:
        line = line[:-1]
    return line.rstrip() + "..."


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


def _drawable(text: str, font: Font) -> str:
    kept = {character for character in set(text) if _has(font, character)}
    return "".join(character for character in text if character in kept)


def _shadowed(text: str, font: Font, opacity: float) -> Image.Image:
    """Draw white text on a soft shadow, its corner `_pad` away from the edges."""
    pad = _pad(font)
    ascent, descent = font.getmetrics()
    size = Size(
        _even_up(font.getlength(text) + 2 * pad), _even_up(ascent + descent + 2 * pad)
    )
    black, white = (Image.new("RGBA", size, level) for level in ("#0000", "#fff0"))
    black.putalpha(_ink(text, font, size, 150).filter(_soft(font)))
    white.putalpha(_ink(text, font, size, round(255 * opacity)))
    return Image.alpha_composite(black, white)


def _ink(text: str, font: Font, size: Size, level: int) -> Image.Image:
    mask = Image.new("L", size)
    ImageDraw.Draw(mask).text((_pad(font),) * 2, text, fill=level, font=font)
    return mask


def _soft(font: Font) -> ImageFilter.GaussianBlur:
    return ImageFilter.GaussianBlur(max(font.size * 0.08, 1))


def _pad(font: Font) -> int:
    return _even_up(max(font.size * 0.3, 2))


def _even_up(length: float) -> int:
    return 2 * -int(-length // 2)
