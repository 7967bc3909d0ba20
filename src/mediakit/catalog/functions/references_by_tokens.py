"""Reference-to-video families charged by tokens: R1, R2, R4 (spec 4.4, 4.5, 4.8)."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from mediakit.clock import MS_PER_S
from mediakit.estimates import CHARGED_ON_TOKENS, Line, Metered, metered
from mediakit.media_limits import MediaLimits
from mediakit.rules import Cites, LimitedWhen, NeededWhen, unless, when
from mediakit.schema import (
    AudioReference,
    ImageReference,
    InputFacts,
    MediaRequest,
    Omittable,
    Part,
    Prompt,
    Purpose,
    Title,
    Unit,
    VideoReference,
)

CITES = Cites(
    "prompt",
    (("Image", "image_urls"), ("Video", "video_urls"), ("Audio", "audio_urls")),
)
Ratio = Literal["1:1", "4:3", "3:4", "16:9", "9:16", "21:9", "adaptive"]


class ByTokens(Part):
    """Pricing of R1 and R2.

    With a reference video, each token costs less, but more are used.

    Args:
        rates: By resolution, first without clips among the references, then with.
        longest_s: The length of the longest video in seconds.
    """

    rates: ClassVar[tuple[Mapping[str, Metered], Mapping[str, Metered]]]
    longest_s: ClassVar[int]
    if TYPE_CHECKING:
        duration: int | Literal["auto"]
        resolution: str
        video_urls: list[str] | None

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Price the output's tokens by resolution and video input (spec 8)."""
        label = f"video output, {self._rendered_at()}"
        if self.video_urls:
            label += ", with video input"
        low_ms, high_ms = self._output_ms(facts)
        return self._metered().lines(label, low_ms, high_ms, facts)

    def nominal_tokens(self, output_ms: int) -> int:
        """Count the tokens of an output by resolution and video input (spec 8)."""
        return self._metered().tokens(output_ms)

    def notes(self) -> Iterator[str]:
        """Explain that tokens are metered, and the price of `auto`."""
        yield CHARGED_ON_TOKENS
        if self.duration == "auto":
            yield f"The model chooses a length of up to {self.longest_s} s."

    def _metered(self) -> Metered:
        return self.rates[bool(self.video_urls)][self._rendered_at()]

    def _rendered_at(self) -> str:
        return self.resolution

    def _output_ms(self, facts: InputFacts) -> tuple[int, int]:
        """Return the shortest and longest length of an output in milliseconds."""
        if self.duration == "auto":
            return SHORTEST_S * MS_PER_S, self.longest_s * MS_PER_S
        return self.duration * MS_PER_S, self.duration * MS_PER_S


SHORTEST_S, SHORTEST_REFERENCE_S = 4, 2
R1_LONGEST_S = 30
R1_CLIPS = MediaLimits(
    formats=("mp4", "mov"),
    min_s=SHORTEST_REFERENCE_S,
    max_s=30,
    total_s=30,
    max_size_bytes=200_000_000,
    min_fps=24,
    max_fps=60,
    min_pixels=407_696,
    max_pixels=8_295_044,
)
R1_SOUNDS = MediaLimits(
    formats=("wav", "mp3"), min_s=2, max_s=30, total_s=30, max_size_bytes=15_000_000
)
PICTURES = Title("Reference images")
CLIPS = Title("Reference videos")
SOUNDS = Title("Reference audio")


DRAFT_RESOLUTION = "480p"


class ReferenceToVideoR1(
    ByTokens,
    MediaRequest,
    kind="r1",
    function="reference-to-video",
    spec="4.4",
    closed=False,
    sets=(("draft", "resolution", DRAFT_RESOLUTION),),
    priced_by=(
        "draft",
        "duration",
        "resolution",
        "video_urls",
        "omni_reference_task_type",
    ),
    purpose=Purpose.REFERENCES,
    choose="Keep people, products and places across shots. Drafts at 480p prices.",
    colours=("#44aa99", "#4cc4b0"),
):
    """Make, edit or extend a video from reference pictures, clips and sounds."""

    prompt: Annotated[str, Prompt()]
    """What the video shows; cite references as @Image1, @Video1, @Audio1."""
    duration: Annotated[
        Literal["auto"] | Annotated[int, Field(ge=SHORTEST_S, le=R1_LONGEST_S)],
        Unit("s"),
    ]
    """Length of the video; auto leaves it to the model."""
    resolution: Literal["480p", "720p", "1080p"] = "720p"
    """Size of the short side."""
    ratio: Annotated[Omittable[Ratio], Title("Aspect ratio")] = None
    """Shape of the picture; adaptive follows the references."""
    draft: Annotated[bool, Title("Draft (480p preview)")] = False
    """Render a 480p preview, priced as 480p."""
    generate_audio: Annotated[bool, Title("Audio")] = True
    """Make audio with the video."""
    image_urls: Omittable[
        Annotated[list[ImageReference], Field(max_length=30), PICTURES]
    ] = None
    """Reference pictures, cited as @Image1 and so on."""
    video_urls: Omittable[
        Annotated[list[VideoReference], Field(max_length=10), R1_CLIPS, CLIPS]
    ] = None
    """Reference clips, cited as @Video1 and so on."""
    audio_urls: Omittable[
        Annotated[list[AudioReference], Field(max_length=10), R1_SOUNDS, SOUNDS]
    ] = None
    """Reference sounds, cited as @Audio1 and so on."""
    omni_reference_task_type: Annotated[
        Literal["auto", "reference", "edit", "extend"], Title("Reference task")
    ] = "auto"
    """What the references are for; auto reads it from the prompt."""
    output_format: Omittable[Literal["mp4", "mov"]] = None
    """The file's format."""
    bitrate_mode: Literal["standard", "high"] = "standard"
    """high makes a larger file."""
    watermark: bool = False
    """Mark the video as generated."""

    rules = (
        NeededWhen(("video_urls",), when("omni_reference_task_type", "edit", "extend")),
        LimitedWhen(
            when("duration", "auto"), "auto", when("omni_reference_task_type", "edit")
        ),
        LimitedWhen(
            unless("duration", "auto"),
            f"a whole number from {SHORTEST_S} to {R1_LONGEST_S} s, the continuation,",
            when("omni_reference_task_type", "extend"),
        ),
        LimitedWhen(
            when("ratio", "adaptive"),
            "adaptive or nothing",
            when("omni_reference_task_type", "edit", "extend"),
        ),
        CITES,
    )

    rates = (
        metered(
            {
                "480p": (11_235_000, 10_000),
                "720p": (11_235_000, 21_600),
                "1080p": (12_285_000, 48_600),
            }
        ),
        metered(
            {
                "480p": (6_720_000, 20_000),
                "720p": (6_720_000, 43_200),
                "1080p": (7_350_000, 97_200),
            }
        ),
    )
    longest_s = R1_LONGEST_S

    def _rendered_at(self) -> str:
        return DRAFT_RESOLUTION if self.draft else self.resolution

    def _output_ms(self, facts: InputFacts) -> tuple[int, int]:
        if self.duration != "auto":
            return super()._output_ms(facts)
        shortest_s = SHORTEST_REFERENCE_S if self.video_urls else SHORTEST_S
        shortest_ms, longest_ms = shortest_s * MS_PER_S, R1_LONGEST_S * MS_PER_S
        if self.omni_reference_task_type == "edit" and len(self.video_urls or ()) == 1:
            # An edit keeps the length of its source. A length that is over a limit by
            # rounding alone is billed at the limit.
            source_ms = facts.ms((self.video_urls or [""])[0])
            if source_ms is not None:
                ms = min(max(source_ms, shortest_ms), longest_ms)
                return ms, ms
        return shortest_ms, longest_ms


R2_LONGEST_S = 15
R2_CLIPS = MediaLimits(
    formats=("mp4", "mov"),
    min_s=2,
    max_s=15,
    total_s=15,
    max_size_bytes=200_000_000,
    min_fps=24,
    max_fps=60,
)
R2_SOUNDS = MediaLimits(
    formats=("wav", "mp3"), min_s=2, max_s=15, total_s=15, max_size_bytes=15_000_000
)


class ReferenceToVideoR2(
    ByTokens,
    MediaRequest,
    kind="r2",
    function="reference-to-video",
    spec="4.5",
    closed=False,
    priced_by=("duration", "resolution", "video_urls"),
    purpose=Purpose.REFERENCES,
    choose="Pictures, clips and sounds as references, up to 4K.",
    colours=("#4477aa", "#6ba0d6"),
):
    """Make a video of up to 4k from reference pictures, clips and sounds."""

    prompt: Annotated[str, Prompt()]
    """What the video shows; cite references as @Image1, @Video1, @Audio1."""
    duration: Annotated[
        Literal["auto"] | Annotated[int, Field(ge=SHORTEST_S, le=R2_LONGEST_S)],
        Unit("s"),
    ]
    """Length of the video; auto leaves it to the model."""
    resolution: Literal["480p", "720p", "1080p", "4k"]
    """Size of the short side."""
    ratio: Annotated[Omittable[Ratio], Title("Aspect ratio")] = None
    """Shape of the picture; adaptive follows the references."""
    generate_audio: Annotated[bool, Title("Audio")] = True
    """Make audio with the video."""
    image_urls: Omittable[
        Annotated[list[ImageReference], Field(max_length=9), PICTURES]
    ] = None
    """Reference pictures, cited as @Image1 and so on."""
    video_urls: Omittable[
        Annotated[list[VideoReference], Field(max_length=3), R2_CLIPS, CLIPS]
    ] = None
    """Reference clips, cited as @Video1 and so on."""
    audio_urls: Omittable[
        Annotated[list[AudioReference], Field(max_length=3), R2_SOUNDS, SOUNDS]
    ] = None
    """Reference sounds, cited as @Audio1 and so on."""
    bitrate_mode: Literal["standard", "high"] = "standard"
    """high makes a larger file."""
    watermark: bool = False
    """Mark the video as generated."""

    rules = (CITES,)

    rates = (
        metered(
            {
                "480p": (7_350_000, 10_000),
                "720p": (7_350_000, 21_600),
                "1080p": (8_085_000, 48_600),
                "4k": (4_200_000, 194_400),
            }
        ),
        metered(
            {
                "480p": (4_515_000, 20_000),
                "720p": (4_515_000, 43_200),
                "1080p": (4_935_000, 97_200),
                "4k": (2_520_000, 388_800),
            }
        ),
    )
    longest_s = R2_LONGEST_S


R4_OUTPUT = Metered(17_500_000, 5_792)
R4_SHORTEST_S, R4_LONGEST_S = 3, 10


class ReferenceToVideoR4(
    MediaRequest,
    kind="r4",
    function="reference-to-video",
    spec="4.8",
    closed=False,
    priced_by=("duration",),
    purpose=Purpose.REFERENCES,
    choose="Short clips of up to 10 s from one to six pictures.",
    colours=("#225555", "#4a8f8f"),
):
    """Make a video of up to 10 s from one to six reference pictures."""

    prompt: Annotated[str, Prompt()]
    """What the video shows; cite pictures as @Image1 and so on."""
    image_urls: Annotated[
        list[ImageReference], Field(min_length=1, max_length=6), PICTURES
    ]
    """Reference pictures, cited as @Image1 and so on."""
    duration: Annotated[
        Literal[0] | Annotated[int, Field(ge=R4_SHORTEST_S, le=R4_LONGEST_S)],
        Unit("s"),
    ] = 10
    """Length of the video; 0 lets the model choose it."""
    aspect_ratio: Literal["16:9", "9:16"] = "16:9"
    """Shape of the picture."""

    rules = (Cites("prompt", (("Image", "image_urls"),)),)

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Price the tokens of the video output (spec 8)."""
        low_s, high_s = R4_SHORTEST_S, R4_LONGEST_S
        if self.duration:
            low_s = high_s = self.duration
        return R4_OUTPUT.lines(
            "video output", low_s * MS_PER_S, high_s * MS_PER_S, facts
        )

    def nominal_tokens(self, output_ms: int) -> int:
        """Count the tokens of an output (spec 8)."""
        return R4_OUTPUT.tokens(output_ms)

    def notes(self) -> Iterator[str]:
        """Yield notes on costs that the nominal price does not include."""
        yield CHARGED_ON_TOKENS
        yield (
            "Tokens of input ($1.50 per 1M) and of text output ($9.00 per 1M) are "
            "known only afterwards and are added."
        )
        if self.duration == 0:
            yield (
                f"The model chooses a length of up to {R4_LONGEST_S} s; a prompt that "
                "asks for more may fail."
            )
