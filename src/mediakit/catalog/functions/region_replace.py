"""Region replace, video-to-video (spec 4.16)."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from mediakit.estimates import Line, PriceUnit, per_piece
from mediakit.rules import NeedsAny
from mediakit.schema import (
    ImageUrl,
    InputFacts,
    MaskOf,
    MediaRequest,
    Prompt,
    Purpose,
    Seed,
    Title,
    Unit,
    VideoUrl,
)

REQUEST_MICRO_USD = 30_000


class RegionReplace(
    MediaRequest,
    kind="region-replace",
    function="video-to-video",
    compared_with="video",
    spec="4.16",
    priced_by=(),
    purpose=Purpose.CHANGE,
    choose="Change one region and keep the rest. Use words or a mask to select it.",
    colours=("#882255", "#b8508c"),
):
    """Replace a region of a clip, named in words or by a mask."""

    video: VideoUrl
    """The clip."""
    prompt: Annotated[str, Field(min_length=1), Prompt()]
    """What replaces the region."""
    modify_region_roi: Annotated[
        str | None, Field(min_length=1), Title("Region to replace")
    ] = None
    """The region in words; or give a mask."""
    modify_region_mask: Annotated[
        ImageUrl | None, MaskOf("video"), Title("Region mask")
    ] = None
    """A picture of the region; or name it in words."""
    image: ImageUrl | None = None
    """What the replacement looks like."""
    resolution: Literal["720p", "1080p"] = "1080p"
    """Size of the short side."""
    duration_s: Annotated[Literal[5, 10], Unit("s")] = 5
    """Length of the video."""
    seed: Annotated[int | None, Seed()] = None
    """Makes the result repeatable; random when omitted."""
    negative_prompt: Annotated[str | None, Prompt()] = None
    """What the video should not show."""

    rules = (NeedsAny(("modify_region_roi", "modify_region_mask")),)

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Price the request (spec 8)."""
        yield per_piece("edited video", 1, REQUEST_MICRO_USD, PriceUnit.REQUEST)
