"""Field paths, problems and values as text."""

from __future__ import annotations

from mediakit.catalog import Catalog, Function
from mediakit.rules import Problem
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.messages import (
    hint_of,
    inner_place,
    label_of,
    missing_text,
    problem_text,
    several_of,
    with_unit,
)

CATALOG = Catalog.default()
TRACKS = CATALOG.function("compose-video").fields["tracks"]


def test_a_rule_names_other_fields_by_their_labels() -> None:
    late = Problem(
        "tracks[0]", 400, "at least 500 ms, where tracks[0].keyframes[0] ends"
    )
    twice = Problem("tracks[1].id", "tracks[0]", "different from that of tracks[0]")

    assert problem_text(late) == ("Must be at least 0.5 s, where track 1, clip 1 ends")
    assert problem_text(twice) == ("Must be different from that of track 1")


def test_times_on_a_timeline_are_in_seconds_as_its_boxes_are() -> None:
    clip = {"timestamp": 0, "duration": 1_300_000, "url": "https://a.test/v.mp4"}
    empty = {"timestamp": 0, "duration": 0, "url": "https://a.test/v.mp4"}
    said = [
        problem_text(problem)
        for each in (clip, empty)
        for problem in CATALOG.function("compose-video").check(
            {"tracks": [{"id": "a", "type": "video", "keyframes": [each]}]}
        )
    ]
    assert said == [
        "Must be short enough to end by 1,200 s (got an end at 1,300 s)",
        "Must be a number of at least 0.001 s",
    ]


def test_a_place_inside_a_value_is_counted_by_the_name_of_what_stands_there() -> None:
    missing = Problem("tracks[3].keyframes[0].timestamp", None, "a whole number")
    assert inner_place(missing, "tracks[3]") == "clip 1, start"
    assert inner_place(missing, "tracks") == "no. 4, clip 1, start"
    assert inner_place(missing, missing.field) == ""


def test_of_fields_of_which_one_is_needed_all_are_named_by_their_labels() -> None:
    function = CATALOG.function("region-replace")
    [problem] = [p for p in function.check({}) if p.field == "modify_region_roi"]
    spec, mask = function.fields[problem.field], function.fields["modify_region_mask"]

    assert missing_text(spec, problem, [mask]) == (
        "Describe the region to replace, or paint a mask."
    )
    assert problem_text(problem) == "Required unless region mask is given"


def test_a_unit_stands_in_brackets_once() -> None:
    rate = FieldSpec("fps", "number", unit="fps")
    assert with_unit(label_of(rate), rate.unit) == "FPS"
    assert several_of(label_of(rate)) == "FPS"
    assert with_unit("Start", "s") == "Start (s)"
    assert with_unit("Start", None) == "Start"


def test_every_field_of_every_function_has_a_title_and_its_own_name_to_point_at() -> (
    None
):
    for function in CATALOG:
        for name, spec in function.fields.items():
            assert label_of(spec)[:1].isupper()
            assert "_" not in label_of(spec)
            assert hint_of(spec).startswith(name)
    fields = CATALOG.function("r1").fields
    assert label_of(fields["omni_reference_task_type"]) == "Reference task"
    assert label_of(fields["draft"]) == "Draft (480p preview)"
    draft = {"type": "boolean", "default": False}
    other = {"type": "object", "properties": {"draft": draft}}
    foreign = Function.from_schema("acme/swift/dub", other)
    assert label_of(foreign.fields["draft"]) == "Draft"


def test_a_problem_says_what_must_be_and_not_what_is_seen_anyway() -> None:
    words = "a whole number from 3 to 15 seconds"
    assert problem_text(Problem("duration", 99, words)) == f"Must be {words}"
    missing = Problem("prompt", None, "text of 1 to 3,072 characters", required="")
    assert problem_text(missing) == "Required (1\u20133,072 characters)"
