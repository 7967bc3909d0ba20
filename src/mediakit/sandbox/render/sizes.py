"""Frame sizes: resolutions and ratios in pixels."""

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

# In the spelling of the families: some with a capital letter (spec 4.6, 4.9).
SHORT_SIDES_PX: Mapping[str, int] = MappingProxyType(
    {
        "480p": 480,
        "720p": 720,
        "720P": 720,
        "768P": 768,
        "1080p": 1080,
        "1080P": 1080,
        "2K": 1440,
        "4k": 2160,
    }
)

# Otherwise a strip of 10,000 x 1 pixels would need a frame of 7,200,000 x 720.
WIDEST_RATIO = Fraction(3)


class Size(NamedTuple):
    """A width and a height in pixels."""

    width: int
    height: int

    @property
    def pixels(self) -> int:
        """The area in pixels."""
        return self.width * self.height

    @property
    def ratio(self) -> Fraction:
        """Width over height."""
        return Fraction(self.width, self.height)

    def __str__(self) -> str:
        return f"{self.width}x{self.height}"

    def scaled(self, scale: float | Fraction) -> "Size":
        """Return the nearest size with even sides."""
        width, height = (max(even(side * scale), 2) for side in self)
        return Size(width, height)

    def covering(self, frame: "Size") -> "Size":
        """Return the smallest even size of this ratio that covers a frame."""
        scale = max(
            Fraction(frame.width, self.width), Fraction(frame.height, self.height)
        )
        width, height = self.scaled(scale)
        return Size(max(width, frame.width), max(height, frame.height))

    def inside(self, frame: "Size") -> "Size":
        """Return the largest even size of this ratio inside a frame."""
        return self.scaled(
            min(Fraction(frame.width, self.width), Fraction(frame.height, self.height))
        )


def frame_size(short_side_px: int, ratio: Fraction) -> Size:
    """Return the frame whose short side is given; both sides come out even."""
    ratio = min(max(ratio, 1 / WIDEST_RATIO), WIDEST_RATIO)
    short, long = even(short_side_px), even(short_side_px * max(ratio, 1 / ratio))
    return Size(long, short) if ratio >= 1 else Size(short, long)


def even(length: float | Fraction) -> int:
    """Return the nearest even number."""
    return 2 * round(length / 2)
