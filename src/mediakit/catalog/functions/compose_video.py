"""Timeline compose (spec 4.14)."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field

from mediakit.estimates import Line, per_second
from mediakit.money import divide_half_up
from mediakit.rules import (
    Check,
    EndsBy,
    NoOverlap,
    Problem,
    Spans,
    UniqueIn,
    ValueDescription,
    end_of,
)
from mediakit.schema import (
    AudioUrl,
    ImageUrl,
    InputFacts,
    MediaRequest,
    Part,
    Purpose,
    Title,
    Unit,
    VideoUrl,
)

OUTPUT_MICRO_USD_PER_S = 200
MAX_KEYFRAMES = 32
MAX_END_MS = 1_200_000

TrackId = Annotated[str, Field(min_length=1, max_length=64)]
UrlLength = Field(max_length=4096)
SPANS = Spans("tracks", "keyframes", "timestamp", "duration", "ms")


class Keyframe(Part):
    """A media file and when it appears."""

    timestamp: Annotated[float, Field(ge=0), Unit("ms"), Title("Start")]
    """Where it starts on the timeline."""
    duration: Annotated[float, Field(ge=1), Unit("ms")]
    """How long it stays."""


class VideoKeyframe(Keyframe):
    """A clip and when it is shown."""

    url: Annotated[VideoUrl, UrlLength]
    """The clip."""


class ImageKeyframe(Keyframe):
    """A picture and when it is shown."""

    url: Annotated[ImageUrl, UrlLength]
    """The picture."""


class AudioKeyframe(Keyframe):
    """A sound and when it is played."""

    url: Annotated[AudioUrl, UrlLength]
    """The sound."""


class VideoTrack(Part):
    """A track of clips."""

    id: TrackId
    """A name that no other track has."""
    type: Literal["video"]
    """What the track holds."""
    keyframes: Annotated[
        list[VideoKeyframe],
        Field(min_length=1, max_length=MAX_KEYFRAMES),
        Title("Clips"),
    ]
    """What is shown, and when."""


class ImageTrack(Part):
    """A track of pictures."""

    id: TrackId
    """A name that no other track has."""
    type: Literal["image"]
    """What the track holds."""
    keyframes: Annotated[
        list[ImageKeyframe],
        Field(min_length=1, max_length=MAX_KEYFRAMES),
        Title("Clips"),
    ]
    """What is shown, and when."""


class AudioTrack(Part):
    """A track of sounds."""

    id: TrackId
    """A name that no other track has."""
    type: Literal["audio"]
    """What the track holds."""
    keyframes: Annotated[
        list[AudioKeyframe],
        Field(min_length=1, max_length=MAX_KEYFRAMES),
        Title("Clips"),
    ]
    """What is heard, and when."""


Track = Annotated[VideoTrack | ImageTrack | AudioTrack, Field(discriminator="type")]


def _something_to_see(values: Any) -> Iterator[Problem]:
    tracks = values.get("tracks") or ()
    if tracks and all(track["type"] == "audio" for track in tracks):
        accepted = "a list with at least one item of type video or image"
        yield Problem("tracks", ValueDescription("only audio"), accepted)


def _few_keyframes(values: Any) -> Iterator[Problem]:
    count = sum(len(track["keyframes"]) for track in values.get("tracks") or ())
    if count > MAX_KEYFRAMES:
        accepted = f"a list of tracks with at most {MAX_KEYFRAMES} keyframes in total"
        yield Problem("tracks", ValueDescription(f"{count} keyframes"), accepted)


class ComposeVideo(
    MediaRequest,
    kind="compose-video",
    function="compose-video",
    result="Composition",
    spec="4.14",
    purpose=Purpose.CHANGE,
    choose="Clips, pictures and sounds on a timeline, as one video.",
    colours=("#117733", "#2c9150"),
):
    """Lay clips, pictures and sounds on a timeline and render one video."""

    tracks: Annotated[list[Track], Field(min_length=1, max_length=8)]
    """What is shown and heard, each track with its keyframes."""

    rules = (
        UniqueIn("tracks", "id"),
        Check(
            "At least one of tracks has type video or image",
            ("tracks",),
            _something_to_see,
        ),
        Check(
            f"All tracks together have at most {MAX_KEYFRAMES} keyframes",
            ("tracks",),
            _few_keyframes,
        ),
        NoOverlap(SPANS),
        EndsBy(SPANS, MAX_END_MS),
    )

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Price the seconds up to the last keyframe's end (spec 8)."""
        ms = self.length_ms()
        yield per_second("video output", ms, ms, OUTPUT_MICRO_USD_PER_S)

    def length_ms(self) -> int:
        """Return where the last keyframe ends, in whole milliseconds."""
        last_ms = max(
            end_of(keyframe.timestamp, keyframe.duration)
            for track in self.tracks
            for keyframe in track.keyframes
        )
        return divide_half_up(*Decimal(str(last_ms)).as_integer_ratio())
