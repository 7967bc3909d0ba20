"""Reference-to-video family R2 (spec 4.5)."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from mediakit.estimates import CHARGED_ON_TOKENS, MS_PER_S, Line, Metered, metered
from mediakit.media_limits import MediaLimits
from mediakit.rules import Cites
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
        "480p": (7_350_000, 10_000),
        "720p": (7_350_000, 21_600),
        "1080p": (8_085_000, 48_600),
        "4k": (4_200_000, 194_400),
    }
)
WITH_VIDEO_INPUT = metered(
    {
        "480p": (4_515_000, 20_000),
        "720p": (4_515_000, 43_200),
        "1080p": (4_935_000, 97_200),
        "4k": (2_520_000, 388_800),
    }
)
SHORTEST_S, LONGEST_S = 4, 15
CLIPS = MediaLimits(
    formats=("mp4", "mov"),
    min_s=2,
    max_s=15,
    total_s=15,
    max_size_bytes=200_000_000,
    min_fps=24,
    max_fps=60,
)
SOUNDS = MediaLimits(
    formats=("wav", "mp3"), min_s=2, max_s=15, total_s=15, max_size_bytes=15_000_000
)


class ReferenceToVideoR2(
    MediaRequest,
    kind="r2",
    function="reference-to-video",
    spec="4.5",
    closed=False,
    priced_by=("duration", "resolution", "video_urls"),
    purpose=Purpose.REFERENCES,
    choose="Pictures, clips and sounds as references, up to 4K.",
):
    """Make a video of up to 4k from reference pictures, clips and sounds."""

    prompt: Annotated[str, Prompt()]
    """What the video shows; cite references as @Image1, @Video1, @Audio1."""
    duration: Annotated[
        Literal["auto"] | Annotated[int, Field(ge=SHORTEST_S, le=LONGEST_S)], Unit("s")
    ]
    """Length of the video; auto leaves it to the model."""
    resolution: Literal["480p", "720p", "1080p", "4k"]
    """Size of the short side."""
    ratio: Omittable[
        Literal["1:1", "4:3", "3:4", "16:9", "9:16", "21:9", "adaptive"]
    ] = None
    """Shape of the picture; adaptive follows the references."""
    generate_audio: bool = True
    """Make sound with the video."""
    image_urls: Omittable[Annotated[list[ImageReference], Field(max_length=9)]] = None
    """Reference pictures, cited as @Image1 and so on."""
    video_urls: Omittable[
        Annotated[list[VideoReference], Field(max_length=3), CLIPS]
    ] = None
    """Reference clips, cited as @Video1 and so on."""
    audio_urls: Omittable[
        Annotated[list[AudioReference], Field(max_length=3), SOUNDS]
    ] = None
    """Reference sounds, cited as @Audio1 and so on."""
    bitrate_mode: Literal["standard", "high"] = "standard"
    """high makes a larger file."""
    watermark: bool = False
    """Mark the video as generated."""

    rules = (
        Cites(
            "prompt",
            (("Image", "image_urls"), ("Video", "video_urls"), ("Audio", "audio_urls")),
        ),
    )

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Price the output's tokens by resolution and video input (spec 8)."""
        what = f"video output, {self.resolution}"
        if self.video_urls:
            what += ", with video input"
        low_s, high_s = SHORTEST_S, LONGEST_S
        if self.duration != "auto":
            low_s = high_s = self.duration
        low_ms, high_ms = low_s * MS_PER_S, high_s * MS_PER_S
        return self._metered().lines(what, low_ms, high_ms, facts)

    def nominal_tokens(self, output_ms: int) -> int:
        """Count the tokens of an output by resolution and video input (spec 8)."""
        return self._metered().tokens(output_ms)

    def _metered(self) -> Metered:
        rates = WITH_VIDEO_INPUT if self.video_urls else WITHOUT_VIDEO_INPUT
        return rates[self.resolution]

    def notes(self) -> Iterator[str]:
        """Say that tokens are metered, and what `auto` means for the price."""
        yield CHARGED_ON_TOKENS
        if self.duration == "auto":
            yield f"The model chooses a length of up to {LONGEST_S} s."
