"""The properties of media files, and the limits of a model family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from mediakit.rules import Problem, ValueDescription, any_of

# Files round durations and frame rates: 23.976 frames per second means 24, and a
# 30 s clip often lasts 30.03 s.
SLACK_S = 0.1
SLACK_FPS = 0.05
# A larger picture would take most of a small kernel's memory.
MAX_PICTURE_PIXELS = 50_000_000

MediaName = Literal["image", "video", "audio"]
Format = Literal["mp4", "mov", "wav", "mp3", "png", "jpeg", "webp"]
CONTENT_TYPES: Mapping[Format, tuple[str, ...]] = {
    "mp4": ("video/mp4", "audio/mp4"),
    "mov": ("video/quicktime",),
    "wav": ("audio/wav",),
    "mp3": ("audio/mpeg",),
    "png": ("image/png",),
    "jpeg": ("image/jpeg",),
    "webp": ("image/webp",),
}

EXTENSION = "x-mediakit"
"""Our keyword for facts that JSON Schema has no keyword for."""


@dataclass(frozen=True)
class MediaInfo:
    """The properties of a file, from its header; None means unknown."""

    kind: MediaName
    content_type: str
    size_bytes: int
    width: int | None = None  # as displayed
    height: int | None = None
    duration_s: float | None = None
    fps: float | None = None  # on average
    codec: str | None = None  # of the picture, if there is one
    has_audio: bool | None = None
    nominal_fps: float | None = None  # as the track declares it
    changed_ns: int | None = field(default=None, repr=False, compare=False)

    @property
    def pixels(self) -> int | None:
        """Return the frame area."""
        if self.width is None or self.height is None:
            return None
        return self.width * self.height


@dataclass(frozen=True)
class MediaLimits:
    """The limits of a field, per file and in total; None means no limit."""

    formats: tuple[Format, ...] = ()
    min_s: float | None = None
    max_s: float | None = None
    total_s: float | None = None
    max_size_bytes: int | None = None
    min_fps: float | None = None
    max_fps: float | None = None
    min_pixels: int | None = None
    max_pixels: int | None = None

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> Any:
        """Add the limits to the JSON Schema of a field that they mark."""
        schema = handler(core_schema)
        limits = {"limits": self.written()}
        return {**schema, EXTENSION: {**schema.get(EXTENSION, {}), **limits}}

    def written(self) -> dict[str, object]:
        """Return the given limits as they stand under `x-mediakit`."""
        return {k: v for k, v in asdict(self).items() if v not in (None, ())}

    @property
    def words(self) -> str:
        """Format the limits for display: "MP4 or MOV · at most 30 s each · ..."."""
        return " \N{MIDDLE DOT} ".join(filter(None, self._words()))

    def _words(self) -> Iterator[str]:
        if self.formats:
            yield any_of(name.upper() for name in self.formats)
        lengths = [_span_words(self.min_s, self.max_s, " s each")]
        if self.total_s is not None:
            lengths.append(f"{self.total_s:g} s in total")
        yield ", ".join(filter(None, lengths))
        yield _span_words(self.min_fps, self.max_fps, " fps")
        yield _pixel_words(self.min_pixels, self.max_pixels)
        if self.max_size_bytes is not None:
            yield f"up to {self.max_size_bytes / 1e6:g} MB"

    def problems(self, label: str, found: MediaInfo) -> list[Problem]:
        """Check a file against the limits; unknown properties pass."""
        return list(self._problems(label, found))

    def _problems(self, label: str, found: MediaInfo) -> Iterator[Problem]:
        accepted = {kind for name in self.formats for kind in CONTENT_TYPES[name]}
        if accepted and found.content_type not in accepted:
            yield Problem(
                label, ValueDescription(found.content_type), any_of(self.formats)
            )
        if not _within(found.duration_s, self.min_s, self.max_s, SLACK_S):
            words = _range_words(self.min_s, self.max_s, " s")
            yield Problem(label, ValueDescription(f"{found.duration_s:.4g} s"), words)
        yield from self.size_problems(label, found.size_bytes)
        # A held frame lowers the average frame rate of a short clip.
        rates = [found.fps, *([found.nominal_fps] if found.nominal_fps else [])]
        if not any(
            _within(fps, self.min_fps, self.max_fps, SLACK_FPS) for fps in rates
        ):
            words = _range_words(self.min_fps, self.max_fps, " frames per second")
            yield Problem(
                label, ValueDescription(f"{found.fps:.4g} frames per second"), words
            )
        pixels = found.pixels
        if not _within(pixels, self.min_pixels, self.max_pixels):
            words = _range_words(self.min_pixels, self.max_pixels, " pixels")
            got = ValueDescription(f"{found.width}x{found.height} = {pixels:,} pixels")
            yield Problem(label, got, words)

    def size_problems(self, label: str, size_bytes: int | None) -> list[Problem]:
        """Check a file's size against the limit, before the file is opened."""
        if _within(size_bytes, None, self.max_size_bytes):
            return []
        accepted = f"at most {(self.max_size_bytes or 0) / 1e6:g} MB"
        return [
            Problem(
                label, ValueDescription(f"{(size_bytes or 0) / 1e6:.4g} MB"), accepted
            )
        ]

    def total_problem(self, field: str, found: Sequence[MediaInfo]) -> Problem | None:
        """Check the total duration of a field's files against the limit."""
        if self.total_s is None:
            return None
        total_s = sum(each.duration_s or 0 for each in found)
        if total_s <= self.total_s + SLACK_S:
            return None
        accepted = f"at most {self.total_s:g} s in total"
        return Problem(field, ValueDescription(f"{total_s:.4g} s together"), accepted)


def _within(
    value: float | None, low: float | None, high: float | None, slack: float = 0
) -> bool:
    if value is None:
        return True
    above = low is None or value >= low - slack
    below = high is None or value <= high + slack
    return above and below


def _range_words(low: float | None, high: float | None, unit: str) -> str:
    match low, high:
        case None, None:
            return ""
        case low, None:
            return f"at least {low:,g}{unit}"
        case None, high:
            return f"at most {high:,.12g}{unit}"
        case low, high:
            return f"{low:,.12g} to {high:,.12g}{unit}"


def _span_words(
    low: float | None, high: float | None, unit: str, about: str = ""
) -> str:
    match low, high:
        case None, None:
            return ""
        case low, None:
            return f"at least {about}{low:,g}{unit}"
        case None, high:
            return f"up to {about}{high:,.12g}{unit}"
        case low, high:
            return f"{about}{low:,.12g}\N{EN DASH}{high:,.12g}{unit}"


def _pixel_words(low: int | None, high: int | None) -> str:
    """Format a range of pixels for display: "about 0.4\N{EN DASH}8.3 megapixels"."""
    least, most = _megapixels(low), _megapixels(high)
    if 0 in (least, most):
        return _span_words(low, high, " pixels")
    is_exact = all(pixels is None or pixels % 100_000 == 0 for pixels in (low, high))
    return _span_words(least, most, " megapixels", "" if is_exact else "about ")


def _megapixels(pixels: int | None) -> float | None:
    return None if pixels is None else round(pixels / 1e6, 1)
