"""Reference-to-video family R3, and R3b, its earlier release (spec 4.6, 4.7)."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from mediakit.estimates import MS_PER_S, Line, per_second
from mediakit.rules import Cites
from mediakit.schema import (
    ImageReference,
    InputFacts,
    MediaRequest,
    Omittable,
    Prompt,
    Purpose,
    Seed,
    Unit,
)

OUTPUT_MICRO_USD_PER_S = {"720P": 98_000, "1080P": 126_000}


class ReferenceToVideoR3(
    MediaRequest,
    kind="r3",
    function="reference-to-video",
    spec="4.6",
    closed=False,
    priced_by=("resolution", "duration"),
    purpose=Purpose.REFERENCES,
    choose="One to nine pictures, priced by the second.",
):
    """Make a video from one to nine reference pictures."""

    prompt: Annotated[str, Prompt()]
    """What the video shows; cite pictures as @Image1 and so on."""
    reference_image_urls: Annotated[
        list[ImageReference], Field(min_length=1, max_length=9)
    ]
    """Reference pictures, cited as @Image1 and so on."""
    duration: Annotated[int, Field(ge=3, le=15), Unit("s")] = 5
    """Length of the video."""
    resolution: Literal["720P", "1080P"] = "1080P"
    """Size of the short side; written with a capital P."""
    ratio: Omittable[
        Literal["16:9", "9:16", "1:1", "4:3", "3:4", "4:5", "5:4", "9:21", "21:9"]
    ] = None
    """Shape of the picture."""
    watermark: bool = False
    """Mark the video as generated."""
    seed: Omittable[Annotated[int, Seed()]] = None
    """Makes the draw repeatable; random when omitted."""

    rules = (Cites("prompt", (("Image", "reference_image_urls"),)),)

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Price the output's seconds by resolution (spec 8)."""
        rate = OUTPUT_MICRO_USD_PER_S[self.resolution]
        ms = self.duration * MS_PER_S
        yield per_second(f"video output, {self.resolution}", ms, ms, rate)


class ReferenceToVideoR3b(
    MediaRequest,
    kind="r3b",
    function="reference-to-video",
    spec="4.7",
    closed=False,
    purpose=Purpose.REFERENCES,
    choose="The release before R3. Choose R3 for new work.",
):
    """Make a video from reference pictures, with the release before R3.

    The interface names its fields and their types. It gives no bounds, no accepted
    words, no required fields and no rate, so none is checked or priced here.
    """

    prompt: Omittable[Annotated[str, Prompt()]] = None
    """What the video shows; cite pictures as @Image1 and so on."""
    reference_image_urls: Omittable[list[ImageReference]] = None
    """Reference pictures, cited as @Image1 and so on."""
    duration: Omittable[Annotated[int, Unit("s")]] = None
    """Length of the video."""
    resolution: Omittable[str] = None
    """Size of the picture, such as 1080P."""
    ratio: Omittable[str] = None
    """Shape of the picture, such as 16:9."""
    watermark: Omittable[bool] = None
    """Mark the video as generated."""

    rules = (Cites("prompt", (("Image", "reference_image_urls"),)),)
