"""Replaces characters that the fonts of a plot cannot draw.

Without this, matplotlib warns of each such character and draws a box.
"""

from __future__ import annotations

import unicodedata
from contextlib import suppress
from functools import lru_cache
from itertools import accumulate
from typing import Any

BOX = "\N{WHITE SQUARE}"
NOTE = f'{BOX}: not in the font; set plt.rcParams["font.family"] to one that has it'
UNSEEN = ("Mn", "Me", "Cf", "Cc")
"""Categories of characters without a width, such as parts of an emoji."""


def drawable(text: str) -> str:
    """Replace each character that the fonts lack with a box."""
    from matplotlib import rcParams

    glyphs = _characters(tuple(rcParams["font.family"]))
    if glyphs.issuperset(text):
        return text
    return "".join(each if each in glyphs else _instead_of(each) for each in text)


def letters_wide(text: str) -> int:
    """Return the width of a text in letters; wide ones, as in Chinese, count twice."""
    return sum(map(_letters, text))


def beginning(text: str, letters: int) -> str:
    """Return the beginning of a text that is at most this many letters wide."""
    widths = accumulate(map(_letters, text))
    return text[: sum(width <= letters for width in widths)]


def _letters(character: str) -> int:
    is_wide = character == BOX or unicodedata.east_asian_width(character) in "WF"
    return 2 if is_wide else 1


def _instead_of(character: str) -> str:
    if character == "\n":
        return character
    return "" if unicodedata.category(character) in UNSEEN else BOX


@lru_cache
def _characters(families: tuple[str, ...]) -> frozenset[str]:
    """Return the characters in the fonts that are used for some families."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    paths: list[Any] = []
    for family in families:
        with suppress(ValueError):  # not installed; matplotlib warns about it
            font = FontProperties(family=family)
            paths.append(findfont(font, fallback_to_default=False))
    fonts = [get_font(path) for path in paths or [findfont(FontProperties())]]
    return frozenset(chr(code) for font in fonts for code in font.get_charmap())
