"""Reads the body of any function by the names that fields commonly have."""

import math
import re
from collections.abc import Iterator
from fractions import Fraction

from mediakit.media_limits import MediaName
from mediakit.sandbox.render.files import (
    Given,
    has_pictures,
    is_picture,
    opened_container,
)
from mediakit.sandbox.render.protocol import RenderError, RenderRequest
from mediakit.sandbox.render.sizes import SHORT_SIDES_PX, Size

LONGEST_S = 60
LONGEST_SIDE_PX = 4096
SHORTEST_SIDE_PX = 64

_SHORTEST_S = 0.5
_RATIOS = ("aspect_ratio", "ratio")
_SIZES = ("size", "image_size", "resolution")
_SECONDS = ("duration", "duration_s", "seconds")
# R1 and R2 say `auto`, R4 says 0 (spec 4.8).
_AUTOMATIC = ("auto", 0)
_SOUND_WORDS = {"native": True, "on": True, "off": False, "none": False}
_RATIO = re.compile(r"0*([1-9]\d{0,4}):0*([1-9]\d{0,4})", re.ASCII)
_PAIR = re.compile(r"(\d{1,5}) ?[x*] ?(\d{1,5})")
_SPAN = re.compile(r"(\d{1,4}(?:\.\d{1,3})?) ?s?")
_SIDES_PX = {name.lower(): side_px for name, side_px in SHORT_SIDES_PX.items()}
# Pictures are named by the side of a square with as many pixels.
_SQUARES_PX = {"1k": 1024, "2k": 2048, "4k": 4096}


class OpenBody:
    """Reads a body by common field names; a value of another type is ignored.

    Args:
        request: The request; fields of objects inside its body count like its own.
    """

    def __init__(self, request: RenderRequest) -> None:
        self._request = request
        self._fields: dict[str, object] = {}
        level = [request.body]
        while level:  # An outer field hides an inner one.
            for each in level:
                self._fields = {**each, **self._fields}
            values = [value for each in level for value in each.values()]
            level = [value for value in values if isinstance(value, dict)]

    @property
    def prompt(self) -> str:
        """The prompt; empty if there is none."""
        return self._text("prompt")

    @property
    def short_side_px(self) -> int | None:
        """The short side of a video's frame."""
        if pair := self._pair():
            return min(max(min(pair), SHORTEST_SIDE_PX), max(SHORT_SIDES_PX.values()))
        return _SIDES_PX.get(self._text("resolution").lower())

    @property
    def ratio(self) -> Fraction | None:
        """Width over height; None when it follows from the given media."""
        if pair := self._pair():
            return Fraction(*pair)
        ratios = map(_RATIO.fullmatch, map(self._text, _RATIOS))  # or `adaptive`
        return next((Fraction(int(r[1]), int(r[2])) for r in ratios if r), None)

    @property
    def seconds(self) -> float | None:
        """The length, limited to what the sandbox renders; None when not given."""
        for value in map(self._fields.get, _SECONDS):
            match value:
                case bool():
                    continue
                case int() | float() if value > 0:
                    return float(min(max(value, _SHORTEST_S), LONGEST_S))
                case str() if span := _SPAN.fullmatch(value):
                    return min(max(float(span[1]), _SHORTEST_S), LONGEST_S)
        return None

    @property
    def automatic(self) -> bool:
        """Whether the length is left to the model."""
        return any(self._fields.get(name) in _AUTOMATIC for name in _SECONDS)

    @property
    def watermark(self) -> bool:
        """Whether the output gets a watermark."""
        names = ("watermark", "aigc_watermark")
        return any(self._fields.get(name) is True for name in names)

    @property
    def high_bitrate(self) -> bool:
        """Whether a larger and better file is requested."""
        return self._text("bitrate_mode") == "high"

    @property
    def output_format(self) -> str:
        """The last part of the requested format, such as `jpeg` of `image/jpeg`."""
        named = self._text("output_format") or self._text("format")
        return named.lower().rpartition("/")[2]

    def audible(self, *, default: bool) -> bool:
        """Return whether sound is requested."""
        for value in map(self._fields.get, ("generate_audio", "audio")):
            if isinstance(value, bool):
                return value
            if isinstance(value, str) and value in _SOUND_WORDS:
                return _SOUND_WORDS[value]
        return default

    def picture_size(self) -> Size:
        """Return the requested size of a picture, within limits."""
        if pair := self._pair():
            return _bounded(*pair)
        ratio = float(self.ratio or 1)
        named = self._text("resolution").lower()
        if named in _SIDES_PX and named not in _SQUARES_PX:
            short = _SIDES_PX[named]
            return _bounded(short * max(ratio, 1), short / min(ratio, 1))
        side = _SQUARES_PX.get(named, _SQUARES_PX["1k"])
        return _bounded(side * math.sqrt(ratio), side / math.sqrt(ratio))

    def media(self) -> Iterator[tuple[MediaName, Given]]:
        """Find the media that the body names at any depth, in order.

        What a field declares is believed; other files are looked at.

        Raises:
            RenderError: `invalid_input` when a file is no medium that can be read.
        """
        rest: list[tuple[str, object]] = [("", self._request.body)]
        while rest:
            label, value = rest.pop()
            items: list[tuple[str, object]] = []
            match value:
                case str() if value in self._request.inputs:
                    given = Given(self._request.file(value), label)
                    yield self._request.media.get(label) or _medium(given), given
                case list():
                    items = [(f"{label}[{n}]", item) for n, item in enumerate(value)]
                case dict():
                    inside = f"{label}." if label else ""
                    items = [(f"{inside}{name}", item) for name, item in value.items()]
            rest += reversed(items)

    def _text(self, name: str) -> str:
        value = self._fields.get(name)
        return value if isinstance(value, str) else ""

    def _pair(self) -> tuple[int, int] | None:
        """Return width and height when both are given, in one text or in two fields."""
        for name in _SIZES:
            if pair := _PAIR.fullmatch(self._text(name).lower()):
                width, height = int(pair[1]), int(pair[2])
                return (width, height) if width and height else None
        width, height = map(self._side_px, ("width", "height"))
        return (width, height) if width and height else None

    def _side_px(self, name: str) -> int:
        value = self._fields.get(name)
        if isinstance(value, bool) or not isinstance(value, int):
            return 0
        return min(max(value, 0), 16 * LONGEST_SIDE_PX)


def _bounded(width: float, height: float) -> Size:
    """Shrink to the longest side that is allowed; each side keeps a few pixels."""
    scale = min(LONGEST_SIDE_PX / max(width, height), 1)
    sides = (max(round(side * scale), SHORTEST_SIDE_PX) for side in (width, height))
    return Size(*sides)


def _medium(given: Given) -> MediaName:
    if is_picture(given):
        return "image"
    try:
        with opened_container(given, "audio") as container:
            return "video" if has_pictures(container) else "audio"
    except RenderError:
        raise RenderError.invalid(
            f"{given.field}: the file is not readable media; accepted are "
            "pictures (PNG, JPEG, WebP, GIF, BMP, AVIF), clips (mp4, mov) and sounds "
            "(wav, mp3, m4a)."
        ) from None
