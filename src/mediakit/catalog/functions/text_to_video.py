"""Text-to-video with optional native audio (spec 4.17)."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from mediakit.clock import MS_PER_S
from mediakit.estimates import Line, per_second
from mediakit.schema import (
    InputFacts,
    MediaRequest,
    Prompt,
    Purpose,
    Title,
    Unit,
)

# The price list has one rate for 4k, with or without audio (spec 8).
OUTPUT_MICRO_USD_PER_S = {
    ("720p", "off"): 68_000,
    ("720p", "native"): 101_000,
    ("1080p", "off"): 90_000,
    ("1080p", "native"): 135_000,
    ("4k", "off"): 336_000,
    ("4k", "native"): 336_000,
}


class TextToVideo(
    MediaRequest,
    kind="text-to-video",
    function="text-to-video",
    spec="4.17",
    priced_by=("duration", "resolution", "audio"),
    purpose=Purpose.WORDS,
    choose="From words alone, with optional sound. Start here.",
    colours=("#332288", "#7468e0"),
):
    """Make a video from a prompt, with or without sound."""

    prompt: Annotated[str, Field(min_length=1, max_length=3072), Prompt()]
    """What the video shows, such as "a paper boat on a canal at dawn, slow pan"."""
    duration: Annotated[int, Field(ge=3, le=15), Unit("s")] = 5
    """Length of the video."""
    resolution: Literal["720p", "1080p", "4k"] = "720p"
    """Size of the short side."""
    aspect_ratio: Literal["16:9", "9:16", "1:1"] = "16:9"
    """Shape of the picture."""
    audio: Annotated[Literal["native", "off"], Title("Audio")] = "off"
    """Audio made with the video."""
    multi_shot: Annotated[bool | None, Title("Multiple shots")] = None
    """Allow several shots from a prompt written as a shot script."""

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Price the output's seconds by resolution and audio (spec 8)."""
        rate = OUTPUT_MICRO_USD_PER_S[self.resolution, self.audio]
        ms = self.duration * MS_PER_S
        audio = "with audio" if self.audio == "native" else "no audio"
        yield per_second(f"video output, {self.resolution}, {audio}", ms, ms, rate)
