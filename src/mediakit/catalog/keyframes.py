"""Video that moves between ordered pictures (spec 4.15)."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from mediakit.rates import MS_PER_S, Line, per_second
from mediakit.rules import Check, Problem, Values
from mediakit.schema import ImageUrl, InputFacts, MediaRequest, Prompt, Seed, Unit

OUTPUT_MICRO_USD_PER_S = {"720p": 40_000, "1080p": 60_000}
SEVERAL_TRANSITIONS_MAX_S = 5


def transition_count(images: int, *, loop: bool) -> int:
    """Count the transitions, the closing edge of a loop included (spec 4.15)."""
    return images - 1 + (1 if loop else 0)


def _transitions(values: Values) -> int | None:
    images = values.get("images")
    if not isinstance(images, list) or not images:
        return None
    return transition_count(len(images), loop=bool(values.get("loop")))


def _single_image_loops(values: Values) -> Iterator[Problem]:
    if _transitions(values) == 0:
        yield Problem("loop", False, "true when there is a single image")


def _one_each(name: str) -> Check:
    def find(values: Values) -> Iterator[Problem]:
        each, needed = values.get(name), _transitions(values)
        if isinstance(each, list) and each and needed and len(each) != needed:
            accepted = f"one for each of the {needed} transitions"
            yield Problem(name, each, accepted)

    return Check(
        f"{name} has one item for each transition, the closing one of a loop included",
        frozenset({name, "images", "loop"}),
        find,
    )


def _several_are_short(values: Values) -> Iterator[Problem]:
    if (_transitions(values) or 0) < 2:
        return
    limit = f"at most {SEVERAL_TRANSITIONS_MAX_S} s when there are several transitions"
    each = values.get("transition_durations_s")
    if isinstance(each, list) and each:
        for index, seconds in enumerate(each):
            if seconds > SEVERAL_TRANSITIONS_MAX_S:
                yield Problem(f"transition_durations_s[{index}]", seconds, limit)
        return
    seconds = values.get("transition_duration_s")
    if isinstance(seconds, int) and seconds > SEVERAL_TRANSITIONS_MAX_S:
        yield Problem("transition_duration_s", seconds, limit)


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
):
    """Make a video that moves between one to five ordered pictures."""

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
        Check(
            "A single image requires loop to be true",
            frozenset({"images", "loop"}),
            _single_image_loops,
        ),
        _one_each("transition_durations_s"),
        _one_each("transition_prompts"),
        Check(
            "Several transitions are at most 5 s each",
            frozenset(
                {"images", "loop", "transition_duration_s", "transition_durations_s"}
            ),
            _several_are_short,
        ),
    )

    def total_s(self) -> int:
        """Return the length of all transitions together, seconds."""
        if self.transition_durations_s:
            return sum(self.transition_durations_s)
        count = transition_count(len(self.images), loop=self.loop)
        return count * self.transition_duration_s

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Price the seconds of all transitions by resolution (spec 8)."""
        ms = self.total_s() * MS_PER_S
        rate = OUTPUT_MICRO_USD_PER_S[self.resolution]
        yield per_second(f"video output, {self.resolution}", ms, ms, rate)
