"""Reference-to-video family R4 (spec 4.8)."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from mediakit.estimates import CHARGED_ON_TOKENS, MS_PER_S, Line, Metered
from mediakit.rules import Cites
from mediakit.schema import (
    ImageReference,
    InputFacts,
    MediaRequest,
    Prompt,
    Purpose,
    Unit,
)

OUTPUT = Metered(17_500_000, 5_792)
SHORTEST_S, LONGEST_S = 3, 10


class ReferenceToVideoR4(
    MediaRequest,
    kind="r4",
    function="reference-to-video",
    spec="4.8",
    closed=False,
    priced_by=("duration",),
    purpose=Purpose.REFERENCES,
    choose="Short clips of up to 10 s from one to six pictures.",
):
    """Make a video of up to 10 s from one to six reference pictures."""

    prompt: Annotated[str, Prompt()]
    """What the video shows; cite pictures as @Image1 and so on."""
    image_urls: Annotated[list[ImageReference], Field(min_length=1, max_length=6)]
    """Reference pictures, cited as @Image1 and so on."""
    duration: Annotated[
        Literal[0] | Annotated[int, Field(ge=SHORTEST_S, le=LONGEST_S)],
        Unit("s"),
    ] = 10
    """Length of the video; 0 lets the model choose it."""
    aspect_ratio: Literal["16:9", "9:16"] = "16:9"
    """Shape of the picture."""

    rules = (Cites("prompt", (("Image", "image_urls"),)),)

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Price the tokens of the video output (spec 8)."""
        low_s, high_s = SHORTEST_S, LONGEST_S
        if self.duration:
            low_s = high_s = self.duration
        return OUTPUT.lines("video output", low_s * MS_PER_S, high_s * MS_PER_S, facts)

    def nominal_tokens(self, output_ms: int) -> int:
        """Count the tokens of an output (spec 8)."""
        return OUTPUT.tokens(output_ms)

    def notes(self) -> Iterator[str]:
        """Say what the nominal price leaves out."""
        yield CHARGED_ON_TOKENS
        yield (
            "Tokens of input ($1.50 per 1M) and of text output ($9.00 per 1M) are "
            "known only afterwards and are added."
        )
        if self.duration == 0:
            yield (
                f"The model chooses a length of up to {LONGEST_S} s; a prompt that "
                "asks for more may fail."
            )
