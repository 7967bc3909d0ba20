"""Timelines: the keyframes of each track and their times (spec 4.14)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

from mediakit.sandbox.render.film.film_file import FPS
from mediakit.sandbox.render.protocol import RenderError, RenderRequest
from mediakit.sandbox.render.sound.melody import SAMPLE_RATE_HZ

LATEST_END_MS = 1_200_000
MOST_KEYFRAMES = 32

TrackKind = Literal["video", "image", "audio"]


@dataclass(frozen=True)
class Keyframe:
    """A file's place on the timeline.

    Attributes:
        kind: What its track holds.
        path: The file.
        field: Where the body names the file.
        start_ms: When it begins.
        end_ms: When it is over.
    """

    kind: TrackKind
    path: Path
    field: str
    start_ms: Fraction
    end_ms: Fraction

    @property
    def visual(self) -> bool:
        """Whether it is visible."""
        return self.kind != "audio"

    @property
    def samples(self) -> range:
        """The samples of the film in which it is audible."""
        return range(
            round(self.start_ms * SAMPLE_RATE_HZ / 1000),
            round(self.end_ms * SAMPLE_RATE_HZ / 1000),
        )

    def span(self, frames: int) -> range:
        """Its visible frames in a film of `frames` frames.

        Both ends go to the nearest frame, so that what touches on the timeline
        touches in the film; however short, a keyframe has one frame.
        """
        first = min(_frame_at(self.start_ms), frames - 1)
        return range(first, max(_frame_at(self.end_ms), first + 1))


def read_keyframes(request: RenderRequest) -> list[Keyframe]:
    """Read all tracks: the lowest layer first, each track in the order of time.

    Raises:
        RenderError: `invalid_input` when they are not what spec 4.14 describes, as
            far as the film's length and size depend on it.
    """
    keyframes = [
        keyframe
        for number, track in enumerate(_items(request.body.get("tracks"), "tracks"))
        for keyframe in sorted(
            _track(request, track, f"tracks[{number}]"), key=_start_ms
        )
    ]
    if len(keyframes) > MOST_KEYFRAMES:
        raise RenderError.invalid(
            f"tracks: got {len(keyframes)} keyframes in all, accepted are at most "
            f"{MOST_KEYFRAMES}."
        )
    if not any(keyframe.visual for keyframe in keyframes):
        raise RenderError.invalid(
            "tracks: nothing is to be seen; a video or image track is needed."
        )
    return keyframes


def film_frames(keyframes: Sequence[Keyframe]) -> int:
    """Return the length of the film: up to the latest end of all keyframes."""
    return max(1, *(_frame_at(keyframe.end_ms) for keyframe in keyframes))


def _track(
    request: RenderRequest, track: Mapping[str, object], label: str
) -> Iterator[Keyframe]:
    kind = _kind(track.get("type"), f"{label}.type")
    items = _items(track.get("keyframes"), f"{label}.keyframes")
    for number, item in enumerate(items):
        yield _keyframe(request, kind, item, f"{label}.keyframes[{number}]")


def _kind(value: object, label: str) -> TrackKind:
    match value:
        case "video" | "image" | "audio":
            return value
        case _:
            raise RenderError.invalid(
                f"{label}: got {value!r}, accepted are video, image and audio."
            )


def _keyframe(
    request: RenderRequest, kind: TrackKind, item: Mapping[str, object], label: str
) -> Keyframe:
    url = item.get("url")
    if not isinstance(url, str):
        raise RenderError.invalid(f"{label}.url: got {url!r}, accepted is a URL.")
    start_ms = _milliseconds(item.get("timestamp"), f"{label}.timestamp", least=0)
    length_ms = _milliseconds(item.get("duration"), f"{label}.duration", least=1)
    end_ms = start_ms + length_ms
    if end_ms > LATEST_END_MS:
        raise RenderError.invalid(
            f"{label}.duration: the keyframe ends after {float(end_ms):,.12g} ms, "
            f"accepted are at most {LATEST_END_MS:,} ms."
        )
    return Keyframe(kind, request.file(url), f"{label}.url", start_ms, end_ms)


def _items(value: object, label: str) -> list[Mapping[str, object]]:
    if isinstance(value, list) and value and all(isinstance(i, dict) for i in value):
        return value
    raise RenderError.invalid(
        f"{label}: got {value!r:.80}, accepted is a list of one object or more."
    )


def _milliseconds(value: object, label: str, *, least: int) -> Fraction:
    number = value if isinstance(value, int | float) else math.nan
    # True is a number to Python; NaN lies outside every range.
    if not isinstance(value, bool) and least <= number <= LATEST_END_MS:
        return Fraction(number)
    raise RenderError.invalid(
        f"{label}: got {value!r}, accepted are {least} to {LATEST_END_MS:,} ms."
    )


def _start_ms(keyframe: Keyframe) -> Fraction:
    return keyframe.start_ms


def _frame_at(time_ms: Fraction) -> int:
    return round(time_ms * FPS / 1000)
