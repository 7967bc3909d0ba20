"""Places, problems and values in words."""

from __future__ import annotations

import pytest

from mediakit.catalog import Catalog
from mediakit.rules import Problem
from mediakit.widgets.controls.messages import (
    folded_text,
    is_within,
    missing_text,
    one_of,
    place_text,
    problem_text,
    problems_text,
    summary_text,
)

CATALOG = Catalog.default()
TRACKS = CATALOG.function("compose-video").fields["tracks"]


@pytest.mark.parametrize(
    ("several", "one"),
    [("tracks", "track"), ("entries", "entry"), ("glass", "glass item")],
)
def test_one_of_several_has_a_name(several: str, one: str) -> None:
    assert one_of(several) == one


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("tracks", "Tracks"),
        ("tracks[0]", "Track 1"),
        ("tracks[0].keyframes[2].url", "Track 1, keyframe 3, URL"),
    ],
)
def test_a_place_is_counted_from_one(label: str, words: str) -> None:
    assert place_text(TRACKS, label) == words


def test_a_place_at_the_top_reads_as_its_label() -> None:
    images = CATALOG.function("r1").fields["image_urls"]

    assert place_text(images, "image_urls[1]") == "Reference image 2"


def test_a_rule_names_other_places_as_people_do() -> None:
    late = Problem(
        "tracks[0]", 400, "at least 500 ms, where tracks[0].keyframes[0] ends"
    )
    twice = Problem("tracks[1].id", "tracks[0]", "different from that of tracks[0]")

    assert problem_text(late) == (
        "Must be at least 500 ms, where track 1, keyframe 1 ends"
    )
    assert problem_text(twice) == ("Must be different from that of track 1")


def test_what_is_missing_inside_is_named_by_its_place() -> None:
    problem = Problem("tracks[0].id", None, "text", required="")

    assert missing_text(TRACKS, problem) == "Track 1, ID is required."


def test_of_fields_of_which_one_is_needed_all_are_named_by_their_labels() -> None:
    function = CATALOG.function("region-replace")
    [problem] = [p for p in function.check({}) if p.field == "modify_region_roi"]
    spec = function.fields[problem.field]

    needed = "required, or else region mask"
    assert missing_text(spec, problem) == f"Region to replace is {needed}."
    assert problem_text(problem) == needed.capitalize()


def test_a_place_holds_what_is_inside_it_and_nothing_else() -> None:
    inside = ["tracks[1]", "tracks[1].id", "tracks[1].keyframes[0]", "tracks[1][2]"]
    outside = ["tracks", "tracks[10]", "tracks[1]x", "a.tracks[1]"]

    assert all(is_within(Problem(name, 1, ""), "tracks[1]") for name in inside)
    assert not any(is_within(Problem(name, 1, ""), "tracks[1]") for name in outside)


def test_problems_inside_a_value_are_named_and_its_own_are_not() -> None:
    own = Problem("a.b", 7, "text")
    inner = Problem("a.b[2].c_d", 8, "text")

    assert problems_text([own], "a.b") == "Must be text"
    assert problems_text([inner], "a.b") == "No. 3, c d must be text"
    assert problems_text([own, inner], "a.b").count("; ") == 1


def test_what_is_missing_in_a_folded_value_is_counted_up() -> None:
    missing = [Problem(f"a[0].{name}", None, "text", required="") for name in "bc"]
    wrong = Problem("a[0].d", 7, "text")

    words = folded_text([*missing, wrong], "a[0]")
    assert words == "D must be text; not filled in: b; c"
    assert folded_text([], "a[0]") == ""


def test_a_summary_is_short_whatever_the_value_is() -> None:
    assert summary_text({"a": "x" * 99, "b": True}) == f"{'x' * 23}… · b true"
    assert summary_text({"url": "http://[/clip.mp4?a=/b"}) == "clip.mp4"
    assert summary_text({str(n): n for n in range(9)}).count("·") == 3
    assert summary_text({}) == ""
    assert summary_text(None) == ""
