"""Reads the body of any function by common field names."""

import math
import re
from collections.abc import Iterator
from fractions import Fraction

from mediakit.decoding import has_moving_pictures
from mediakit.media_limits import MediaName
from mediakit.sandbox.render.input_files import (
    InputFile,
    is_picture,
    opened_container,
)
from mediakit.sandbox.render.protocol import (
    SHORT_SIDES_PX,
    RenderError,
    RenderRequest,
    Size,
)

LONGEST_S = 60
LONGEST_SIDE_PX = 4096
SHORTEST_SIDE_PX = 64

_SHORTEST_S = 0.5
_RATIO = re.compile(r"([1-9]\d{0,3}):([1-9]\d{0,3})", re.ASCII)
_PAIR = re.compile(r"([1-9]\d{0,4}) ?[x*] ?([1-9]\d{0,4})", re.ASCII)
_SPAN = re.compile(r"(\d{1,4}(?:\.\d{1,3})?) ?s?", re.ASCII)
_SIDES_PX = {name.lower(): side_px for name, side_px in SHORT_SIDES_PX.items()}
# A picture size is named after the side of a square with as many pixels.
_SQUARES_PX = {"1k": 1024, "2k": 2048, "4k": 4096}


class OpenBody:
    """Reads a body by common field names; values of unexpected types are ignored."""

    def __init__(self, request: RenderRequest) -> None:
        self._request = request

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
        """Width over height; None if it follows from the given media."""
        if pair := self._pair():
            return Fraction(*pair)
        ratio = _RATIO.fullmatch(self._text("aspect_ratio") or self._text("ratio"))
        return Fraction(int(ratio[1]), int(ratio[2])) if ratio else None

    @property
    def seconds(self) -> float | None:
        """The length, limited to the longest that is rendered; None if not given."""
        for name in ("duration", "duration_s", "seconds"):
            span = _SPAN.fullmatch(str(self._request.body.get(name))[:12])
            if span and float(span[1]):
                return min(max(float(span[1]), _SHORTEST_S), LONGEST_S)
        return None

    @property
    def automatic(self) -> bool:
        """Whether the model chooses the length: R4 says 0 (spec 4.8)."""
        return self._request.body.get("duration") in ("auto", 0)

    @property
    def watermark(self) -> bool:
        """Whether the output gets a watermark."""
        names = ("watermark", "aigc_watermark")
        return any(self._request.body.get(name) is True for name in names)

    @property
    def high_bitrate(self) -> bool:
        """Whether a larger and better file is requested."""
        return self._text("bitrate_mode") == "high"

    @property
    def output_format(self) -> str:
        """The last part of the requested format, such as `jpeg` of `image/jpeg`."""
        return self._text("output_format").lower().rpartition("/")[2]

    def audible(self, *, default: bool) -> bool:
        """Return whether sound is requested."""
        for value in map(self._request.body.get, ("generate_audio", "audio")):
            if isinstance(value, bool) or value in ("native", "on", "off", "none"):
                return value in (True, "native", "on")
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

    def media(self) -> Iterator[tuple[MediaName, InputFile]]:
        """Yield the media in a body at any depth, in order.

        Declared media types are used; other files are inspected.
        """
        rest: list[tuple[str, object]] = [("", self._request.body)]
        while rest:
            label, value = rest.pop()
            items: list[tuple[str, object]] = []
            match value:
                case str() if value in self._request.inputs:
                    source = InputFile(self._request.file(value), label)
                    yield self._request.media.get(label) or _medium(source), source
                case list():
                    items = [(f"{label}[{n}]", item) for n, item in enumerate(value)]
                case dict():
                    inside = f"{label}." if label else ""
                    items = [(f"{inside}{name}", item) for name, item in value.items()]
            rest += reversed(items)

    def _text(self, name: str) -> str:
        value = self._request.body.get(name)
        return value if isinstance(value, str) else ""

    def _pair(self) -> tuple[int, int] | None:
        """Return width and height if both are given, in one text or two fields."""
        sides = [self._request.body.get(name) for name in ("width", "height")]
        if all(type(side) is int for side in sides):
            texts = [f"{sides[0]}x{sides[1]}"]
        else:
            texts = [*map(self._text, ("size", "image_size", "resolution"))]
        pairs = (_PAIR.fullmatch(text.lower()) for text in texts)
        return next(((int(p[1]), int(p[2])) for p in pairs if p), None)


def _bounded(width: float, height: float) -> Size:
    """Shrink a size to the allowed longest side; each side keeps a few pixels."""
    scale = min(LONGEST_SIDE_PX / max(width, height), 1)
    sides = (max(round(side * scale), SHORTEST_SIDE_PX) for side in (width, height))
    return Size(*sides)


def _medium(source: InputFile) -> MediaName:
    if is_picture(source):
        return "image"
    try:
        with opened_container(source, "audio") as container:
            return "video" if has_moving_pictures(container) else "audio"
    except RenderError:
        raise RenderError.invalid(
            f"{source.field}: the file is not readable media; accepted: pictures (PNG, "
            "JPEG, WebP, GIF, BMP, AVIF), clips (mp4, mov) and sounds (wav, mp3, m4a)."
        ) from None
