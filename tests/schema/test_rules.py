"""Rules between fields: their checks, their messages and their effect on forms."""

import pytest

from mediakit.rules import (
    Cites,
    EndsBy,
    LimitedWhen,
    MostTogether,
    NeededWhen,
    NeedsAny,
    NoOverlap,
    OnlyWhen,
    Rule,
    Spans,
    UniqueIn,
    unless,
    when,
)
from tests.support.rows import assert_each

Values = dict[str, object]

ONLY = OnlyWhen(("creativity", "texture"), when("model", "wonder", "redefine"))
NEEDED = NeededWhen(("detail_strength",), when("detail", True))
LIMITED = LimitedWhen(when("ratio", "adaptive"), "adaptive", when("task", "e"))
NO_SQUARE = LimitedWhen(unless("ratio", "1:1"), "no square", unless("draft", True))
ANY = NeedsAny(("roi", "mask"))
TOGETHER = MostTogether(("a", "b", "c"), 3, "files")
SPANS = Spans("tracks", "keyframes", "at", "long", "ms")


def track(name: str, *spans: tuple[float, float]) -> object:
    return {"id": name, "keyframes": [{"at": a, "long": b} for a, b in spans]}


def tracks(*each: object) -> Values:
    return {"tracks": list(each)}


ACCEPTED: list[tuple[Rule, Values]] = [
    (ONLY, {"model": "wonder", "creativity": 3}),
    (NEEDED, {"detail": True, "detail_strength": 0}),
    (LIMITED, {"task": "x", "ratio": "1:1"}),
    (LIMITED, {"task": "e", "ratio": None}),
    (NO_SQUARE, {"ratio": "1:1", "draft": True}),
    (ANY, {"roi": "sky"}),
    (ANY, {"mask": "https://a.test/m.png"}),
    (TOGETHER, {"a": [1, 2], "b": [3], "c": None}),
    # Intervals may touch, and be given in any order.
    (NoOverlap(SPANS), tracks(track("a", (5, 5), (0, 5)), track("b", (0, 10)))),
    (EndsBy(SPANS, 1_000), tracks(track("a", (0, 1_000)))),
]
REFUSED: list[tuple[Rule, Values, str]] = [
    (
        ONLY,
        {"model": "cgi", "creativity": 3},
        "creativity must be left out unless model is wonder or redefine (got 3)",
    ),
    (
        NEEDED,
        {"detail": True, "detail_strength": None},
        "detail_strength is required when detail is true",
    ),
    (
        LIMITED,
        {"task": "e", "ratio": "1:1"},
        "ratio must be adaptive when task is e (got '1:1')",
    ),
    (
        NO_SQUARE,
        {"ratio": "1:1"},
        "ratio must be no square when draft is not true (got '1:1')",
    ),
    (ANY, {}, "roi is required unless mask is given"),
    (
        TOGETHER,
        {"a": [1, 2], "b": [3, 4], "c": []},
        "b is too long: at most 3 files in a, b and c together",
    ),
    (
        NoOverlap(SPANS),
        tracks(track("a", (0, 5)), track("b", (5, 5), (0, 5.5), (20, 1))),
        "tracks[1].keyframes[0].at must be at least 5.5 ms, where "
        "tracks[1].keyframes[1] ends (got 5)",
    ),
    (
        EndsBy(SPANS, 1_000),
        tracks(track("a", (0, 1), (999.5, 1))),
        "tracks[0].keyframes[1].long must be short enough to end by 1,000 ms "
        "(got an end at 1000.5 ms)",
    ),
    (UniqueIn("tracks", "id"), tracks(track("a"), track("a")), "tracks[1].id must be "),
]


def test_a_rule_rejects_exactly_what_its_sentence_says() -> None:
    def accepts(row: tuple[Rule, Values]) -> None:
        rule, values = row
        assert rule.problems(values) == []

    def refuses(row: tuple[Rule, Values, str]) -> None:
        rule, values, sentence = row
        [problem] = rule.problems(values)
        assert problem.sentence.startswith(sentence)

    assert_each(ACCEPTED, accepts)
    assert_each(REFUSED, refuses)


def test_an_interval_names_each_one_that_begins_inside_it() -> None:
    inside = tracks(track("a", (0, 100), (10, 1), (50, 1)))
    assert [p.field for p in NoOverlap(SPANS).problems(inside)] == [
        "tracks[0].keyframes[1].at",
        "tracks[0].keyframes[2].at",
    ]


def test_a_form_marks_what_a_rule_requires_and_disables_what_does_not_apply() -> None:
    reason = "applies only when model is wonder or redefine"
    assert ONLY.disables("texture", {"model": "cgi"}) == reason
    assert ONLY.disables("texture", {"model": "wonder"}) is None
    assert ONLY.disables("model", {"model": "cgi"}) is None
    assert not ONLY.requires("texture", {"model": "cgi"})
    assert NEEDED.requires("detail_strength", {"detail": True})
    assert not NEEDED.requires("detail_strength", {"detail": False})
    assert ANY.requires("roi", {})
    assert not ANY.requires("mask", {})
    assert not ANY.requires("roi", {"mask": "https://a.test/m.png"})
    assert [rule.sentence for rule in (ONLY, LIMITED)] == [
        "creativity and texture apply only when model is wonder or redefine",
        "ratio accepts adaptive when task is e",
    ]


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
