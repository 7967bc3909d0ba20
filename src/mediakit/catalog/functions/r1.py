"""Reference-to-video family R1 (spec 4.4)."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from mediakit.estimates import CHARGED_ON_TOKENS, MS_PER_S, Line, Metered, metered
from mediakit.media_limits import MediaLimits
from mediakit.rules import Cites, LimitedWhen, NeededWhen, unless, when
from mediakit.schema import (
    AudioReference,
    ImageReference,
    InputFacts,
    MediaRequest,
    Omittable,
    Prompt,
    Purpose,
    Unit,
    VideoReference,
)

# By resolution: micro-USD per 1M tokens, and nominal tokens per second (spec 8).
WITHOUT_VIDEO_INPUT = metered(
    {
        "480p": (11_235_000, 10_000),
        "720p": (11_235_000, 21_600),
        "1080p": (12_285_000, 48_600),
    }
)
WITH_VIDEO_INPUT = metered(
    {
        "480p": (6_720_000, 20_000),
        "720p": (6_720_000, 43_200),
        "1080p": (7_350_000, 97_200),
    }
)
SHORTEST_S, LONGEST_S = 4, 30
SHORTEST_REFERENCE_S = 2
CLIPS = MediaLimits(
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
SOUNDS = MediaLimits(
    formats=("wav", "mp3"), min_s=2, max_s=30, total_s=30, max_size_bytes=15_000_000
)

Ratio = Literal["1:1", "4:3", "3:4", "16:9", "9:16", "21:9", "adaptive"]


class ReferenceToVideoR1(
    MediaRequest,
    kind="r1",
    function="reference-to-video",
    spec="4.4",
    closed=False,
    priced_by=(
        "draft",
        "duration",
        "resolution",
        "video_urls",
        "omni_reference_task_type",
    ),
    purpose=Purpose.REFERENCES,
    choose="Keep people, products and places across shots. Drafts at 480p prices.",
):
    """Make, edit or extend a video from reference pictures, clips and sounds."""

    prompt: Annotated[str, Prompt()]
    """What the video shows; cite references as @Image1, @Video1, @Audio1."""
    duration: Annotated[
        Literal["auto"] | Annotated[int, Field(ge=SHORTEST_S, le=LONGEST_S)], Unit("s")
    ]
    """Length of the video; auto leaves it to the model."""
    resolution: Literal["480p", "720p", "1080p"] = "720p"
    """Size of the short side."""
    ratio: Omittable[Ratio] = None
    """Shape of the picture; adaptive follows the references."""
    draft: bool = False
    """Render a 480p preview, priced as 480p."""
    generate_audio: bool = True
    """Make sound with the video."""
    image_urls: Omittable[Annotated[list[ImageReference], Field(max_length=30)]] = None
    """Reference pictures, cited as @Image1 and so on."""
    video_urls: Omittable[
        Annotated[list[VideoReference], Field(max_length=10), CLIPS]
    ] = None
    """Reference clips, cited as @Video1 and so on."""
    audio_urls: Omittable[
        Annotated[list[AudioReference], Field(max_length=10), SOUNDS]
    ] = None
    """Reference sounds, cited as @Audio1 and so on."""
    omni_reference_task_type: Literal["auto", "reference", "edit", "extend"] = "auto"
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
            f"a whole number from {SHORTEST_S} to {LONGEST_S} s, the continuation,",
            when("omni_reference_task_type", "extend"),
        ),
        LimitedWhen(
            when("ratio", "adaptive"),
            "adaptive or nothing",
            when("omni_reference_task_type", "edit", "extend"),
        ),
        Cites(
            "prompt",
            (("Image", "image_urls"), ("Video", "video_urls"), ("Audio", "audio_urls")),
        ),
    )

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Price the output's tokens by resolution and video input (spec 8)."""
        what = f"video output, {self._rendered_at()}"
        if self.video_urls:
            what += ", with video input"
        return self._metered().lines(what, *self._output_ms(facts), facts)

    def nominal_tokens(self, output_ms: int) -> int:
        """Count the tokens of an output by resolution and video input (spec 8)."""
        return self._metered().tokens(output_ms)

    def _rendered_at(self) -> str:
        return "480p" if self.draft else self.resolution

    def _metered(self) -> Metered:
        rates = WITH_VIDEO_INPUT if self.video_urls else WITHOUT_VIDEO_INPUT
        return rates[self._rendered_at()]

    def _output_ms(self, facts: InputFacts) -> tuple[int, int]:
        if self.duration != "auto":
            ms = self.duration * MS_PER_S
            return ms, ms
        shortest_s = SHORTEST_REFERENCE_S if self.video_urls else SHORTEST_S
        shortest_ms, longest_ms = shortest_s * MS_PER_S, LONGEST_S * MS_PER_S
        if self.omni_reference_task_type == "edit" and len(self.video_urls or ()) == 1:
            # An edit keeps the length of its source. A length that is over a limit by
            # rounding alone is billed at the limit.
            source_ms = facts.ms((self.video_urls or [""])[0])
            if source_ms is not None:
                ms = min(max(source_ms, shortest_ms), longest_ms)
                return ms, ms
        return shortest_ms, longest_ms

    def notes(self) -> Iterator[str]:
        """Say that tokens are metered, and what `auto` means for the price."""
        yield CHARGED_ON_TOKENS
        if self.duration == "auto":
            yield f"The model chooses a length of up to {LONGEST_S} s."
