"""Reference-to-video family R6 (spec 4.10)."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from mediakit.estimates import MS_PER_S, Line, Per, per_piece, per_second
from mediakit.rules import Cites
from mediakit.schema import (
    ImageReference,
    InputFacts,
    MediaRequest,
    Prompt,
    Purpose,
    Unit,
)

OUTPUT_MICRO_USD_PER_S = {"480p": 53_000, "720p": 74_000}
IMAGE_MICRO_USD = 2_100


class ReferenceToVideoR6(
    MediaRequest,
    kind="r6",
    function="reference-to-video",
    spec="4.10",
    closed=False,
    priced_by=("duration", "resolution", "reference_image_urls"),
    purpose=Purpose.REFERENCES,
    choose="One to three pictures, for a single subject.",
):
    """Make a video from one to three reference pictures."""

    prompt: Annotated[str, Prompt()]
    """What the video shows; cite pictures as @Image1 and so on."""
    reference_image_urls: Annotated[
        list[ImageReference], Field(min_length=1, max_length=3)
    ]
    """Reference pictures; each is billed."""
    duration: Annotated[int, Field(ge=1, le=15), Unit("s")] = 8
    """Length of the video."""
    aspect_ratio: Literal["1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3"] = "16:9"
    """Shape of the picture."""
    resolution: Literal["480p", "720p"] = "480p"
    """Size of the short side."""

    rules = (Cites("prompt", (("Image", "reference_image_urls"),)),)

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Price the output's seconds and the reference pictures (spec 8)."""
        rate = OUTPUT_MICRO_USD_PER_S[self.resolution]
        ms = self.duration * MS_PER_S
        yield per_second(f"video output, {self.resolution}", ms, ms, rate)
        images = len(self.reference_image_urls)
        yield per_piece("reference images", images, IMAGE_MICRO_USD, Per.IMAGE)
