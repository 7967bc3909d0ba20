"""Reference-to-video family R5 (spec 4.9)."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from mediakit.estimates import MS_PER_S, EstimateKind, Line, Per, per_piece, per_second
from mediakit.media_limits import MediaLimits
from mediakit.rules import Cites, MostTogether
from mediakit.schema import (
    AudioReference,
    ImageReference,
    InputFacts,
    MediaRequest,
    Omittable,
    Prompt,
    Purpose,
    Seed,
    Unit,
    VideoReference,
)

VIDEO_MICRO_USD_PER_S = {"768P": 80_000, "2K": 130_000}
IMAGE_MICRO_USD = 40_000
FREE_IMAGES = 5
MAX_FILES = 12
VIDEO_INPUT_MAX_S = 15


class ReferenceToVideoR5(
    MediaRequest,
    kind="r5",
    function="reference-to-video",
    spec="4.9",
    closed=False,
    priced_by=("duration", "resolution", "image_urls", "video_urls"),
    purpose=Purpose.REFERENCES,
    choose="Pictures, clips and sounds, or sounds alone, at 768p or 2K.",
):
    """Make a video from reference sounds, clips and pictures."""

    prompt: Annotated[str, Prompt()]
    """What the video shows; cite references as "Image 1", "Video 1", "Audio 1"."""
    duration: Annotated[int, Field(ge=4, le=15), Unit("s")] = 5
    """Length of the video."""
    resolution: Literal["768P", "2K"] = "2K"
    """Size of the picture."""
    ratio: Literal["adaptive", "21:9", "16:9", "4:3", "1:1", "3:4", "9:16"] = "adaptive"
    """Shape of the picture; adaptive follows the references."""
    image_urls: Omittable[Annotated[list[ImageReference], Field(max_length=9)]] = None
    """Reference pictures; the first five are free, each further one is billed."""
    video_urls: Omittable[
        Annotated[
            list[VideoReference],
            Field(max_length=3),
            MediaLimits(total_s=VIDEO_INPUT_MAX_S),
        ]
    ] = None
    """Reference clips, billed by the second."""
    audio_urls: Omittable[Annotated[list[AudioReference], Field(max_length=3)]] = None
    """Reference sounds; they may be the only references."""
    seed: Omittable[Annotated[int, Field(ge=-1, le=4_294_967_295), Seed()]] = None
    """Makes the draw repeatable."""
    aigc_watermark: Omittable[bool] = None
    """Mark the video as generated."""

    rules = (
        MostTogether(("image_urls", "video_urls", "audio_urls"), MAX_FILES, "files"),
        Cites(
            "prompt",
            (("Image", "image_urls"), ("Video", "video_urls"), ("Audio", "audio_urls")),
            bare=True,
        ),
    )

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Price the output, the clips and the pictures beyond five (spec 8)."""
        rate = VIDEO_MICRO_USD_PER_S[self.resolution]
        ms = self.duration * MS_PER_S
        yield per_second(f"video output, {self.resolution}", ms, ms, rate)
        if self.video_urls:
            yield self._video_input(rate, facts)
        billed = len(self.image_urls or ()) - FREE_IMAGES
        if billed > 0:
            what = f"reference images after the first {FREE_IMAGES}"
            yield per_piece(what, billed, IMAGE_MICRO_USD, Per.IMAGE)

    def _video_input(self, rate: int, facts: InputFacts) -> Line:
        what = f"video input, {self.resolution}"
        total_ms, complete = facts.total_ms(self.video_urls)
        # A length that is over the limit by rounding alone is billed at the limit.
        most_ms = VIDEO_INPUT_MAX_S * MS_PER_S
        known_ms = min(total_ms, most_ms)
        if complete:
            return per_second(what, known_ms, known_ms, rate)
        return per_second(what, known_ms, most_ms, rate, EstimateKind.UPPER_BOUND)
