"""Reference-to-video families charged by the second: R3, R3b, R5, R6 (spec 4.6 on)."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from mediakit.clock import MS_PER_S
from mediakit.estimates import EstimateKind, Line, PriceUnit, per_piece, per_second
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
    Title,
    Unit,
    VideoReference,
)

CITES_PICTURES = Cites("prompt", (("Image", "reference_image_urls"),))
R3_MICRO_USD_PER_S = {"720P": 98_000, "1080P": 126_000}


class ReferenceToVideoR3(
    MediaRequest,
    kind="r3",
    function="reference-to-video",
    spec="4.6",
    closed=False,
    priced_by=("resolution", "duration"),
    purpose=Purpose.REFERENCES,
    choose="One to nine pictures, priced by the second.",
    colours=("#bbcc33", "#cbdb4d"),
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
    ratio: Annotated[
        Omittable[
            Literal["16:9", "9:16", "1:1", "4:3", "3:4", "4:5", "5:4", "9:21", "21:9"]
        ],
        Title("Aspect ratio"),
    ] = None
    """Shape of the picture."""
    watermark: bool = False
    """Mark the video as generated."""
    seed: Omittable[Annotated[int, Seed()]] = None
    """Makes the result repeatable; random when omitted."""

    rules = (CITES_PICTURES,)

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Price the output's seconds by resolution (spec 8)."""
        rate = R3_MICRO_USD_PER_S[self.resolution]
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
    colours=("#663333", "#a86b6b"),
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
    ratio: Annotated[Omittable[str], Title("Aspect ratio")] = None
    """Shape of the picture, such as 16:9."""
    watermark: Omittable[bool] = None
    """Mark the video as generated."""

    rules = (CITES_PICTURES,)


R5_MICRO_USD_PER_S = {"768P": 80_000, "2K": 130_000}
R5_IMAGE_MICRO_USD = 40_000
R5_FREE_IMAGES = 5
R5_MAX_FILES = 12
R5_VIDEO_INPUT_MAX_S = 15


class ReferenceToVideoR5(
    MediaRequest,
    kind="r5",
    function="reference-to-video",
    spec="4.9",
    closed=False,
    priced_by=("duration", "resolution", "image_urls", "video_urls"),
    purpose=Purpose.REFERENCES,
    choose="Pictures, clips and sounds, or sounds alone, at 768p or 2K.",
    colours=("#aa4499", "#cc6cbc"),
):
    """Make a video from reference sounds, clips and pictures."""

    prompt: Annotated[str, Prompt()]
    """What the video shows; cite references as "Image 1", "Video 1", "Audio 1"."""
    duration: Annotated[int, Field(ge=4, le=15), Unit("s")] = 5
    """Length of the video."""
    resolution: Literal["768P", "2K"] = "2K"
    """Size of the picture."""
    ratio: Annotated[
        Literal["adaptive", "21:9", "16:9", "4:3", "1:1", "3:4", "9:16"],
        Title("Aspect ratio"),
    ] = "adaptive"
    """Shape of the picture; adaptive follows the references."""
    image_urls: Omittable[
        Annotated[list[ImageReference], Field(max_length=9), Title("Reference images")]
    ] = None
    """Reference pictures; the first five are free, each further one is billed."""
    video_urls: Omittable[
        Annotated[
            list[VideoReference],
            Field(max_length=3),
            MediaLimits(total_s=R5_VIDEO_INPUT_MAX_S),
            Title("Reference videos"),
        ]
    ] = None
    """Reference clips, billed by the second."""
    audio_urls: Omittable[
        Annotated[list[AudioReference], Field(max_length=3), Title("Reference audio")]
    ] = None
    """Reference sounds; they may be the only references."""
    seed: Omittable[Annotated[int, Field(ge=-1, le=4_294_967_295), Seed()]] = None
    """Makes the result repeatable."""
    aigc_watermark: Annotated[Omittable[bool], Title("AI-content watermark")] = None
    """Mark the video as generated."""

    rules = (
        MostTogether(("image_urls", "video_urls", "audio_urls"), R5_MAX_FILES, "files"),
        Cites(
            "prompt",
            (("Image", "image_urls"), ("Video", "video_urls"), ("Audio", "audio_urls")),
            bare=True,
        ),
    )

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Price the output, the clips and the pictures beyond five (spec 8)."""
        rate = R5_MICRO_USD_PER_S[self.resolution]
        ms = self.duration * MS_PER_S
        yield per_second(f"video output, {self.resolution}", ms, ms, rate)
        if self.video_urls:
            yield self._video_input(rate, facts)
        billed = len(self.image_urls or ()) - R5_FREE_IMAGES
        if billed > 0:
            label = f"reference images after the first {R5_FREE_IMAGES}"
            yield per_piece(label, billed, R5_IMAGE_MICRO_USD, PriceUnit.IMAGE)

    def _video_input(self, rate: int, facts: InputFacts) -> Line:
        label = f"video input, {self.resolution}"
        total_ms, complete = facts.total_ms(self.video_urls)
        # A length that is over the limit by rounding alone is billed at the limit.
        most_ms = R5_VIDEO_INPUT_MAX_S * MS_PER_S
        known_ms = min(total_ms, most_ms)
        if complete:
            return per_second(label, known_ms, known_ms, rate)
        return per_second(label, known_ms, most_ms, rate, EstimateKind.UPPER_BOUND)


R6_MICRO_USD_PER_S = {"480p": 53_000, "720p": 74_000}
R6_IMAGE_MICRO_USD = 2_100


class ReferenceToVideoR6(
    MediaRequest,
    kind="r6",
    function="reference-to-video",
    spec="4.10",
    closed=False,
    priced_by=("duration", "resolution", "reference_image_urls"),
    purpose=Purpose.REFERENCES,
    choose="One to three pictures, for a single subject.",
    colours=("#666633", "#98985a"),
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

    rules = (CITES_PICTURES,)

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Price the output's seconds and the reference pictures (spec 8)."""
        rate = R6_MICRO_USD_PER_S[self.resolution]
        ms = self.duration * MS_PER_S
        yield per_second(f"video output, {self.resolution}", ms, ms, rate)
        images = len(self.reference_image_urls)
        yield per_piece("reference images", images, R6_IMAGE_MICRO_USD, PriceUnit.IMAGE)
