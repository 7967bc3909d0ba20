import pytest

from mediakit.list_rules import (
    EndsBy,
    Gaps,
    MostInAll,
    NeedsGap,
    NoOverlap,
    OnePerGap,
    ShortWhenSeveral,
    SomeIn,
    Spans,
    UniqueIn,
)
from mediakit.rules import (
    Cites,
    LimitedWhen,
    MostTogether,
    NeededWhen,
    NeedsAny,
    OnlyWhen,
    Problem,
    unless,
    when,
)

ONLY = OnlyWhen(("creativity", "texture"), when("model", "wonder", "redefine"))
NEEDED = NeededWhen(("detail_strength",), when("detail", True))
LIMITED = LimitedWhen(when("ratio", "adaptive"), "adaptive", when("task", "e"))


def test_a_field_that_does_not_apply_is_a_problem_and_is_disabled_with_the_reason() -> (
    None
):
    values = {"model": "cgi", "creativity": 3}

    assert ONLY.problems(values) == [
        Problem("creativity", 3, "left out unless model is wonder or redefine")
    ]
    reason = "applies only when model is wonder or redefine"
    assert ONLY.disables("texture", values) == reason
    assert ONLY.disables("texture", {"model": "wonder"}) is None
    assert ONLY.disables("model", values) is None
    assert not ONLY.requires("texture", values)


def test_a_field_becomes_required_under_its_condition() -> None:
    assert NEEDED.requires("detail_strength", {"detail": True})
    assert not NEEDED.requires("detail_strength", {"detail": False})
    assert NEEDED.problems({"detail": True, "detail_strength": 0}) == []
    [problem] = NEEDED.problems({"detail": True, "detail_strength": None})
    assert problem.sentence == ("detail_strength is required when detail is true")


def test_a_field_accepts_less_under_a_condition() -> None:
    most = LimitedWhen(unless("ratio", "1:1"), "no square", unless("draft", True))

    assert LIMITED.problems({"task": "x", "ratio": "1:1"}) == []
    assert LIMITED.problems({"task": "e", "ratio": None}) == []
    [problem] = LIMITED.problems({"task": "e", "ratio": "1:1"})
    assert problem.accepted == "adaptive when task is e"
    assert most.problems({"ratio": "1:1", "draft": True}) == []
    [problem] = most.problems({"ratio": "1:1"})
    assert problem.accepted == "no square when draft is not true"


def test_rules_read_as_sentences() -> None:
    assert ONLY.sentence == (
        "creativity and texture apply only when model is wonder or redefine"
    )
    assert NEEDED.sentence == "detail_strength is required when detail is true"
    assert LIMITED.sentence == "ratio accepts adaptive when task is e"


def test_one_of_some_fields_is_needed_and_the_first_is_marked_until_one_is_given() -> (
    None
):
    rule = NeedsAny(("roi", "mask"))

    [problem] = rule.problems({})
    assert problem.sentence == "roi is required, or else mask"
    assert rule.requires("roi", {})
    assert not rule.requires("mask", {})
    for values in ({"roi": "sky"}, {"mask": "https://a.test/m.png"}):
        assert rule.problems(values) == []
        assert not rule.requires("roi", values)


def test_lists_share_a_maximum_and_the_last_given_one_exceeds_it() -> None:
    rule = MostTogether(("a", "b", "c"), 3, "files")

    assert rule.problems({"a": [1, 2], "b": [3], "c": None}) == []
    [problem] = rule.problems({"a": [1, 2], "b": [3, 4], "c": []})
    assert problem.sentence == "b is too long: at most 3 files in a, b and c together"


@pytest.mark.parametrize(
    ("text", "bare", "cited"),
    [
        ("@Image1 beside @Image2", False, []),
        ("@Image3", False, ["@Image3"]),
        ("@Image0 and @Image12", False, ["@Image0", "@Image12"]),
        ("mail@Image3x, x@Image3, Image 3, @Images3", False, []),
        ("@Video1", False, ["@Video1"]),
        ("Image 1, Image 3, @Image3", True, ["Image 3", "@Image3"]),
    ],
)
def test_a_citation_of_a_missing_reference_is_a_warning_and_not_a_problem(
    text: str, *, bare: bool, cited: list[str]
) -> None:
    rule = Cites("prompt", (("Image", "images"), ("Video", "videos")), bare)
    values: dict[str, object] = {"prompt": text, "images": ["a", "b"]}

    assert [warning.got for warning in rule.warnings(values)] == cited
    assert rule.problems(values) == []


@pytest.mark.parametrize(
    ("images", "said"),
    [
        (None, "images is empty"),
        (["a"], "images has 1 item"),
        (["a", "b"], "images has 2 items"),
    ],
)
def test_a_citation_of_a_missing_reference_lists_the_references(
    images: list[str] | None, said: str
) -> None:
    rule = Cites("prompt", (("Image", "images"),))

    [warning] = rule.warnings({"prompt": "@Image3", "images": images})

    assert warning.sentence == f"prompt cites @Image3, but {said}"


GAPS = Gaps("images", "loop", "transition")


def test_rules_about_gaps_name_the_field_that_is_wrong() -> None:
    three = {"images": ["a", "b", "c"], "loop": False}

    assert NeedsGap(GAPS).problems({"images": ["a"], "loop": True}) == []
    [lone] = NeedsGap(GAPS).problems({"images": ["a"], "loop": False})
    assert lone.sentence == (
        "loop must be true when images has a single item (got False)"
    )
    [one_each] = OnePerGap("prompts", GAPS).problems(three | {"prompts": ["x"]})
    assert one_each.accepted == "a list of 2, one for each transition"
    assert OnePerGap("prompts", GAPS).problems(three | {"prompts": ["x", "y"]}) == []
    short = ShortWhenSeveral("each", "every", 5, "s", GAPS)
    assert short.problems(three | {"every": 5}) == []
    assert [p.field for p in short.problems(three | {"every": 6})] == ["every"]
    long = short.problems(three | {"every": 6, "each": [5, 6]})
    assert [p.field for p in long] == ["each[1]"]
    assert short.problems({"images": ["a", "b"], "every": 10}) == []


SPANS = Spans("tracks", "keyframes", "at", "long", "ms")


def track(name: str, *spans: tuple[float, float], kind: str = "video") -> object:
    keyframes = [{"at": at, "long": length} for at, length in spans]
    return {"id": name, "type": kind, "keyframes": keyframes}


def test_intervals_of_one_item_must_not_overlap_in_any_order() -> None:
    touching = {"tracks": [track("a", (5, 5), (0, 5)), track("b", (0, 10))]}
    over = {"tracks": [track("a", (0, 5)), track("b", (5, 5), (0, 5.5), (20, 1))]}
    inside = {"tracks": [track("a", (0, 100), (10, 1), (50, 1))]}

    assert NoOverlap(SPANS).problems(touching) == []
    [problem] = NoOverlap(SPANS).problems(over)
    assert problem.sentence == (
        "tracks[1].keyframes[0].at must be at least 5.5 ms, where "
        "tracks[1].keyframes[1] ends (got 5)"
    )
    assert [p.field for p in NoOverlap(SPANS).problems(inside)] == [
        "tracks[0].keyframes[1].at",
        "tracks[0].keyframes[2].at",
    ]


def test_everything_on_a_timeline_ends_in_time() -> None:
    rule = EndsBy(SPANS, 1_000)

    assert rule.problems({"tracks": [track("a", (0, 1_000))]}) == []
    [problem] = rule.problems({"tracks": [track("a", (0, 1), (999.5, 1))]})
    assert problem.sentence == (
        "tracks[0].keyframes[1].long must be short enough to end by 1,000 ms "
        "(got an end at 1000.5 ms)"
    )


def test_rules_about_lists_of_objects_name_the_place() -> None:
    twice = {"tracks": [track("a"), track("b"), track("a")]}
    sounds = {"tracks": [track("a", kind="audio")]}
    full = {"tracks": [track("a", *[(n, 1) for n in range(3)]), track("b", (0, 1))]}

    assert [p.field for p in UniqueIn("tracks", "id").problems(twice)] == [
        "tracks[2].id"
    ]
    some = SomeIn("tracks", "type", ("video", "image"))
    assert some.problems(twice) == []
    assert [p.field for p in some.problems(sounds)] == ["tracks"]
    assert MostInAll("tracks", "keyframes", 4).problems(full) == []
    [problem] = MostInAll("tracks", "keyframes", 3).problems(full)
    assert (problem.field, problem.got) == ("tracks", "4 keyframes")
