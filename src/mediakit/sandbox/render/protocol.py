"""The protocol between the server and a render process, and its errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from mediakit.media_limits import MediaLimits, MediaName
from mediakit.rules import Problem

# A request of this kind renders nothing: the response has the lengths of the inputs.
PROBE = "probe"


class RenderError(Exception):
    """A failed job's code (spec 7.3), and a sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @classmethod
    def invalid(cls, message: str) -> "RenderError":
        """Return an error in the caller's input."""
        return cls("invalid_input", message)

    @classmethod
    def internal(cls, message: str) -> "RenderError":
        """Return an error of the sandbox itself."""
        return cls("internal", message)

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> "RenderError":
        """Return an error that names the invalid inputs and the accepted values."""
        sentences = (
            f"{each.field}: got {each.got}, accepted: {each.accepted}."
            for each in problems
        )
        return cls.invalid(" ".join(sentences))


@dataclass(frozen=True)
class RenderRequest:
    """One job to render.

    Attributes:
        kind: The function's kind, such as `text-to-video`.
        body: The canonical body: nulls dropped, defaults filled.
        inputs: The paths of the body's media on disk, by URL.
        output: The file to write.
        seed: The same body and seed give the same output.
        limits: The limits of the function for the media of each field.
        media_type: The type of the output: "video", "image" or "audio".
        media: The declared media type of each place in the body, such as "image" for
            "images[0]".
        sketch: Draw only the first frame of each shot, and scenery coarsely.
        changed: The fields of the body that are not a default; they are written on
            the output.
    """

    kind: str
    body: Mapping[str, object]
    inputs: Mapping[str, Path]
    output: Path
    seed: int = 0
    limits: Mapping[str, MediaLimits] = field(default_factory=dict)
    media_type: str = "video"
    media: Mapping[str, MediaName] = field(default_factory=dict)
    sketch: bool = False
    changed: Sequence[str] = ()

    def file(self, url: str) -> Path:
        """Return the path of the input `url` on disk."""
        path = self.inputs.get(url)
        if path is None:
            raise RenderError.internal("An input of the job was not fetched.")
        return path

    def limits_of(self, name: str) -> MediaLimits:
        """Return the limits of a field's media; no limits by default."""
        return self.limits.get(name, MediaLimits())


class Rendered(NamedTuple):
    """The file that was written: its media type, and its length unless a picture."""

    content_type: str
    duration_ms: int | None = None


# -- Frame sizes -------------------------------------------------------------------


# Model families spell these names differently: some with a capital letter (spec 4.6,
# 4.9).
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

# Without this limit, a picture of 10,000 x 1 pixels would need a frame of 7,200,000 x
# 720.
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
    """Return the frame with the given short side; both sides are even."""
    ratio = min(max(ratio, 1 / WIDEST_RATIO), WIDEST_RATIO)
    short, long = even(short_side_px), even(short_side_px * max(ratio, 1 / ratio))
    return Size(long, short) if ratio >= 1 else Size(short, long)


def even(length: float | Fraction) -> int:
    """Return the nearest even number."""
    return 2 * round(length / 2)
