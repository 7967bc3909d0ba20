"""Video that moves between ordered pictures (spec 4.15)."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from mediakit.list_rules import Gaps, NeedsGap, OnePerGap, ShortWhenSeveral
from mediakit.rates import MS_PER_S, Line, per_second
from mediakit.schema import (
    ImageUrl,
    InputFacts,
    MediaRequest,
    Prompt,
    Purpose,
    Seed,
    Unit,
)

OUTPUT_MICRO_USD_PER_S = {"720p": 40_000, "1080p": 60_000}
SEVERAL_TRANSITIONS_MAX_S = 5


GAPS = Gaps("images", "loop", "transition")


class Keyframes(
    MediaRequest,
    kind="keyframes",
    function="image-to-video",
    spec="4.15",
    priced_by=(
        "images",
        "resolution",
        "transition_duration_s",
        "loop",
        "transition_durations_s",
    ),
    purpose=Purpose.PICTURES,
    choose="Move through one to five of your pictures.",
):
    """Make a video that moves through one to five ordered pictures."""

    images: Annotated[list[ImageUrl], Field(min_length=1, max_length=5)]
    """The pictures, in order. A single picture needs `loop`."""
    resolution: Literal["720p", "1080p"] = "1080p"
    """Size of the short side."""
    seed: Annotated[int | None, Seed()] = None
    """Makes the draw repeatable; random when omitted."""
    prompt: Annotated[str | None, Prompt()] = None
    """How the picture moves, for all transitions."""
    transition_duration_s: Annotated[int, Field(ge=1, le=10), Unit("s")] = 5
    """Length of every transition; at most 5 s when there are several."""
    loop: bool = False
    """Add a closing transition from the last picture to the first."""
    transition_durations_s: Annotated[
        list[Annotated[int, Field(ge=1, le=10), Unit("s")]] | None,
        Field(min_length=1, max_length=5),
    ] = None
    """Length of each transition; replaces `transition_duration_s`."""
    transition_prompts: Annotated[
        list[str] | None, Field(min_length=1, max_length=5)
    ] = None
    """How the picture moves in each transition; replaces `prompt`."""
    negative_prompt: Annotated[str | None, Prompt()] = None
    """What the video should not show."""

    rules = (
        NeedsGap(GAPS),
        OnePerGap("transition_durations_s", GAPS),
        OnePerGap("transition_prompts", GAPS),
        ShortWhenSeveral(
            each="transition_durations_s",
            every="transition_duration_s",
            most=SEVERAL_TRANSITIONS_MAX_S,
            unit="s",
            gaps=GAPS,
        ),
    )

    def total_s(self) -> int:
        """Return the length of all transitions together, seconds."""
        if self.transition_durations_s:
            return sum(self.transition_durations_s)
        transitions = len(self.images) - 1 + self.loop
        return transitions * self.transition_duration_s

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Price the seconds of all transitions by resolution (spec 8)."""
        ms = self.total_s() * MS_PER_S
        rate = OUTPUT_MICRO_USD_PER_S[self.resolution]
        yield per_second(f"video output, {self.resolution}", ms, ms, rate)
