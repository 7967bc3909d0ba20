"""Reference-to-video family R3b, an earlier release of R3 (spec 4.7)."""

from typing import Annotated

from mediakit.rules import Cites
from mediakit.schema import (
    ImageReference,
    MediaRequest,
    Omittable,
    Prompt,
    Purpose,
    Unit,
)


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
