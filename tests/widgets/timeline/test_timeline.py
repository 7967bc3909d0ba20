"""The blocks of a timeline for a value; the browser tests cover its editing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mediakit.catalog import Catalog
from mediakit.rules import EndsBy, Problem, Spans
from mediakit.schema import FieldSpec
from mediakit.widgets.form.controller import Form
from mediakit.widgets.timeline.layout import Timeline, timeline_of
from mediakit.widgets.timeline.static_html import still_html
from mediakit.widgets.timeline.time_axis import Axis, Stretch
from tests.support.widgets import edit, page

COMPOSE = Catalog.default().function("compose-video")


def compose_axis() -> Axis:
    axis = Axis.of(COMPOSE.fields["tracks"], COMPOSE.rules)
    assert axis is not None
    return axis


AXIS = compose_axis()
BLANK = [{"type": "video", "keyframes": [{}]}]


def key(start: float, length: float, url: str = "https://a.test/a.png") -> Any:
    return {"timestamp": start, "duration": length, "url": url}


def track(name: str, *keyframes: object, kind: str = "image") -> dict[str, Any]:
    return {"id": name, "type": kind, "keyframes": list(keyframes)}


def shown(*tracks: dict[str, Any], problems: tuple[Problem, ...] = ()) -> Timeline:
    return timeline_of(AXIS, list(tracks), problems)


def test_stretches_are_found_by_the_rules_and_not_by_the_functions_name() -> None:
    assert AXIS.spans.inner == "keyframes"
    assert AXIS.end_ms == 1_200_000
    assert AXIS.name == "id"
    for function in Catalog.default():
        axes = [Axis.of(spec, function.rules) for spec in function.fields.values()]
        assert any(axes) == (function.kind == "compose-video")


def test_a_function_in_seconds_has_a_timeline_in_the_same_milliseconds() -> None:
    second = FieldSpec("long", "number", unit="s", required=True)
    scene = FieldSpec("", "object", fields={"at": replace(second), "long": second})
    scenes = FieldSpec("scenes", "list", item=scene, required=True)
    act = FieldSpec("", "object", fields={"scenes": scenes})
    acts = FieldSpec("acts", "list", item=act, required=True)
    rule = EndsBy(Spans("acts", "scenes", "at", "long", "s"), 60)
    axis = Axis.of(acts, [rule])
    assert axis is not None

    value = [{"scenes": [{"at": 1.5, "long": 2}]}]
    seen = timeline_of(axis, value)
    assert (seen.end_ms, seen.limit_ms) == (3500, 60_000)
    assert [row.name for row in seen.rows] == ["act 1"]
    assert axis.payload["per_s"] == 1


def test_rows_have_names_and_blocks_the_names_of_their_files() -> None:
    seen = shown(
        track("stills", key(0, 1000, "https://a.test/b/cat.png?token=1")),
        track("", key(500, 2500.5, "clips/dog.mp4"), {"url": "x"}, kind="video"),
    )

    first, second = seen.rows
    assert (first.name, first.kind, first.medium) == ("stills", "image", "image")
    assert [block.label for block in first.blocks] == ["cat.png"]
    assert (second.name, second.bare) == ("track 2", (1,))
    assert (second.blocks[0].start_ms, second.blocks[0].length_ms) == (500, 2500.5)
    assert seen.end_ms == 3000.5
    assert seen.hint == ""
    assert [block.url for row in seen.rows for block in row.blocks] == [
        "https://a.test/b/cat.png?token=1",
        "clips/dog.mp4",
    ]


@pytest.mark.parametrize("odd", [None, "2", -1, True, float("nan"), 1e300, 10**400])
def test_a_time_that_cannot_be_drawn_leaves_its_keyframe_to_be_placed(
    odd: object,
) -> None:
    (row,) = shown(track("a", {"timestamp": odd, "duration": 5}, key(0, 5))).rows

    assert [block.at for block in row.blocks] == [1]
    assert row.bare == (0,)


def test_overlaps_are_seen_and_said_by_the_rule_before_all_is_filled_in() -> None:
    seen = shown(track("a", key(0, 2000), {"timestamp": 1500, "duration": 3000}, {}))

    (row,) = seen.rows
    assert row.overlaps == (Stretch(1500, 500),)
    assert [bool(block.problem) for block in row.blocks] == [False, True]
    assert seen.problems == ("Clip 2 on a starts at 1.5 s, before clip 1 ends at 2 s.",)


def test_problems_are_counted_and_missing_values_are_none_yet() -> None:
    late = [track("a", key(1_199_000, 2000))]
    problems = tuple(COMPOSE.check({"tracks": late}))
    seen = shown(*late, problems=problems)
    assert problems
    assert seen.limit_ms == 1_200_000
    assert seen.problems == (
        "Clip 1 on a ends at 1201 s; a film lasts at most 1200 s.",
    )
    many = shown(track("a", *[key(n, 1000) for n in range(9)]))
    assert len(many.problems) == 5
    assert many.problems[-1] == "And 4 more like these."
    gap = [track("a", {"timestamp": 0, "duration": 5})]
    missing = tuple(COMPOSE.check({"tracks": gap}))
    assert missing
    assert shown(*gap, problems=missing).problems == ()
    empty = timeline_of(AXIS, BLANK)
    assert empty.hint.startswith("Double-click a row to add its first clip")
    assert (empty.problems, empty.cautions, empty.end_ms) == ((), (), 0)


def test_where_nothing_is_seen_is_shown_as_a_caution() -> None:
    seen = shown(
        track("a", key(1000, 1000), key(3000, 1000)),
        track("b", key(1500, 1000), kind="video"),
        track("c", key(0, 5000), kind="audio"),
    )

    assert seen.gaps == (Stretch(0, 1000), Stretch(2500, 500), Stretch(4000, 1000))
    assert seen.cautions[1] == "No picture from 2.5 to 3 s."
    assert shown(track("c", key(5, 5), kind="audio")).gaps == ()


def test_a_still_picture_is_to_scale() -> None:
    html = still_html(AXIS, [track("a", key(0, 1000), key(1000, 3000)), track("b", {})])

    assert "left:25.000%;width:75.000%" in html
    assert "1 to 4 s" in html
    assert still_html(AXIS, BLANK) == ""


def test_problems_and_titles_of_media_are_shown_at_their_blocks() -> None:
    wrong = Problem("tracks[0].keyframes[1].url", "cat.png", "another one")
    value = [track("a", key(0, 1), key(5, 1, "cat.png"))]
    [row] = timeline_of(AXIS, value, (wrong,), {"cat.png": "a cat"}).rows

    assert [block.problem for block in row.blocks] == ["", "Must be another one"]
    assert row.blocks[1].label == "a cat"


def test_a_track_that_is_just_there_has_an_id_until_it_is_cleared_by_hand(
    make_form: Callable[..., Form],
) -> None:
    def names(form: Form) -> list[str]:
        return [each.get("id") for each in form.values.tracks]

    form = make_form("compose-video")
    assert names(form) == ["track-1"]
    [first] = page(form)["values"]["tracks"]
    added = {"tag": "video", "of": {"id": "", "keyframes": first["of"]["keyframes"]}}
    edit(form, tracks=[first, added])
    assert names(form) == ["track-1", "track-2"]
    assert page(form)["values"]["tracks"][1]["of"]["id"] == "track-2"
    edit(form, tracks=[first, added])
    assert names(form) == ["track-1", None]
    given = make_form("compose-video", tracks=[track("", key(0, 1))])
    assert names(given) == [None]
