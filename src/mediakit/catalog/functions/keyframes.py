"""Video that moves between ordered pictures (spec 4.15)."""

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field

from mediakit.clock import MS_PER_S
from mediakit.estimates import Line, per_second
from mediakit.rules import Check, Problem, Values
from mediakit.schema import (
    ImageUrl,
    InputFacts,
    MediaRequest,
    Prompt,
    Purpose,
    Seed,
    Title,
    Unit,
)

OUTPUT_MICRO_USD_PER_S = {"720p": 40_000, "1080p": 60_000}
SEVERAL_TRANSITIONS_MAX_S = 5


def _count(values: Values) -> int | None:
    """Count the transitions, including the closing one; None if there is no picture."""
    images = values.get("images")
    if not isinstance(images, list) or not images:
        return None
    return len(images) - 1 + (values.get("loop") is True)


def _at_least_one(values: Values) -> Iterator[Problem]:
    if _count(values) == 0:
        accepted = "true when there is a single image"
        yield Problem("loop", got=False, accepted=accepted)


def _one_for_each(field: str) -> Callable[[Values], Iterator[Problem]]:
    def find(values: Values) -> Iterator[Problem]:
        each, needed = values.get(field), _count(values)
        if needed and isinstance(each, list) and len(each) not in (0, needed):
            yield Problem(field, each, f"a list of {needed}, one for each transition")

    return find


def _short_when_several(values: Values) -> Iterator[Problem]:
    if (_count(values) or 0) < 2:
        return
    limit = f"at most {SEVERAL_TRANSITIONS_MAX_S} s when there are several transitions"
    each = values.get("transition_durations_s")
    every = values.get("transition_duration_s")
    if isinstance(each, list) and each:
        for index, length_s in enumerate(each):
            if length_s > SEVERAL_TRANSITIONS_MAX_S:
                yield Problem(f"transition_durations_s[{index}]", length_s, limit)
    elif isinstance(every, int) and every > SEVERAL_TRANSITIONS_MAX_S:
        yield Problem("transition_duration_s", every, limit)


class Keyframes(
    MediaRequest,
    kind="keyframes",
    function="image-to-video",
    result="Transition",
    spec="4.15",
    priced_by=(
        "images",
        "resolution",
        "transition_duration_s",
        "loop",
        "transition_durations_s",
    ),
    replaces=(
        ("transition_durations_s", "transition_duration_s"),
        ("transition_prompts", "prompt"),
    ),
    purpose=Purpose.PICTURES,
    choose="Move through one to five of your pictures.",
    colours=("#cc6677", "#e0808e"),
):
    """Make a video that moves through one to five ordered pictures."""

    images: Annotated[list[ImageUrl], Field(min_length=1, max_length=5)]
    """The pictures, in order. A single picture needs `loop`."""
    resolution: Literal["720p", "1080p"] = "1080p"
    """Size of the short side."""
    seed: Annotated[int | None, Seed()] = None
    """Makes the result repeatable; random when omitted."""
    prompt: Annotated[str | None, Prompt()] = None
    """How the picture moves, for all transitions."""
    transition_duration_s: Annotated[int, Field(ge=1, le=10), Unit("s")] = 5
    """Length of every transition; at most 5 s when there are several."""
    loop: bool = False
    """Add a closing transition from the last picture to the first."""
    transition_durations_s: Annotated[
        list[Annotated[int, Field(ge=1, le=10), Unit("s")]] | None,
        Field(min_length=1, max_length=5),
        Title("Duration of each transition"),
    ] = None
    """Length of each transition; replaces `transition_duration_s`."""
    transition_prompts: Annotated[
        list[Annotated[str, Prompt()]] | None,
        Field(min_length=1, max_length=5),
        Title("Prompt for each transition"),
    ] = None
    """How the picture moves in each transition; replaces `prompt`."""
    negative_prompt: Annotated[str | None, Prompt()] = None
    """What the video should not show."""

    rules = (
        Check(
            "A single image requires loop = true",
            ("images", "loop"),
            _at_least_one,
        ),
        *(
            Check(
                f"{field} has one item for each transition, including the closing one "
                "that loop adds",
                ("images", "loop", field),
                _one_for_each(field),
            )
            for field in ("transition_durations_s", "transition_prompts")
        ),
        Check(
            "When there are several transitions, each takes at most "
            f"{SEVERAL_TRANSITIONS_MAX_S} s",
            ("images", "loop", "transition_durations_s", "transition_duration_s"),
            _short_when_several,
        ),
    )

    @classmethod
    def item_counts(cls, values: Values) -> Mapping[str, int]:
        """Return one item for each transition."""
        lists = ("transition_durations_s", "transition_prompts")
        return dict.fromkeys(lists, _count(values) or 0)

    def total_s(self) -> int:
        """Return the length of all transitions together, in seconds."""
        if self.transition_durations_s:
            return sum(self.transition_durations_s)
        transitions = len(self.images) - 1 + self.loop
        return transitions * self.transition_duration_s

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Price the seconds of all transitions by resolution (spec 8)."""
        ms = self.total_s() * MS_PER_S
        rate = OUTPUT_MICRO_USD_PER_S[self.resolution]
        yield per_second(f"video output, {self.resolution}", ms, ms, rate)
