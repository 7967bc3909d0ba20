"""The timeline and the rows of fields in the kernel: one value, shown twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediakit.media_limits import MediaInfo
from mediakit.rules import Problem
from mediakit.widgets.controls.media_inspection import Inspection
from mediakit.widgets.form.control_factory import build, build_field
from mediakit.widgets.form.controller import Form
from mediakit.widgets.nested.object_list import ObjectList
from mediakit.widgets.timeline.control import TimelineControl
from mediakit.widgets.timeline.edits import edited
from mediakit.widgets.timeline.layout import shape_of
from mediakit.widgets.toolkit.widget_factory import close_tree
from tests.support.soak import trials
from tests.support.widgets import (
    all_named,
    every,
    make_context,
    named,
    shown,
    told,
)
from tests.widgets.timeline.test_timeline import (
    AXIS,
    COMPOSE,
    EDITS,
    key,
    track,
    tracks,
)


class Person:
    """Someone at the timeline of a control, as the browser speaks for them."""

    def __init__(self, control: TimelineControl) -> None:
        self.control = control
        self.view = control.parts[-1]
        self.number = 0

    def does(self, edit: str, shape: str | None = None, **more: object) -> None:
        self.number += 1
        known = self.view.timeline["shape"] if shape is None else shape
        content = {"edit": edit, "shape": known, "number": self.number, **more}
        self.view._handle_custom_msg(content, [])

    def puts(self, row: int, at: int, start_ms: float, length_ms: float) -> None:
        self.does("put", row=row, at=at, start_ms=start_ms, length_ms=length_ms)

    @property
    def blocks(self) -> list[list[tuple[float, float]]]:
        return [
            [(block["start_ms"], block["length_ms"]) for block in row["blocks"]]
            for row in self.view.timeline["rows"]
        ]


def control_of(*items: object) -> TimelineControl:
    control = build_field(COMPOSE.fields["tracks"], make_context(), COMPOSE.rules)
    assert isinstance(control, TimelineControl)
    if items:
        control.value = list(items)
    return control


def boxes(control: TimelineControl, name: str) -> list[Any]:
    return all_named(control, name)


def titles(control: TimelineControl) -> list[str]:
    heads = (w for w in every(control.widget) if "mk-title" in w._dom_classes)
    return [head.description for head in heads]


def test_only_fields_with_stretches_of_time_get_a_timeline() -> None:
    field = COMPOSE.fields["tracks"]
    assert isinstance(build_field(field, make_context(), ()), ObjectList)


def test_a_block_that_moves_changes_the_numbers_and_leaves_the_boxes_in_place() -> None:
    control = control_of(track("a", key(0, 1000), key(1000, 500)))
    start = boxes(control, "timestamp (ms) *")[1]
    values = told(control)

    Person(control).puts(0, 1, 2300.0000000004, 500)
    assert start.value == "2300"
    assert boxes(control, "timestamp (ms) *") == [start]
    assert values == [[track("a", key(0, 1000), key(2300, 500))]]


def test_a_number_that_is_typed_moves_its_block() -> None:
    control = control_of(track("a", key(0, 1000), key(1000, 500)))
    person = Person(control)

    boxes(control, "timestamp (ms) *")[1].value = "4000"
    assert person.blocks == [[(0, 1000), (4000, 500)]]
    boxes(control, "duration (ms) *")[0].value = "0.5"
    assert person.blocks == [[(0, 0.5), (4000, 500)]]
    boxes(control, "duration (ms) *")[0].value = "long"
    assert person.blocks == [[(4000, 500)]]
    assert person.view.timeline["rows"][0]["bare"] == (0,)


def test_choosing_a_block_unfolds_its_fields_alone_and_marks_them() -> None:
    control = control_of(
        track("a", key(0, 1000), key(1000, 500)), track("b", key(0, 1))
    )
    person, values = Person(control), told(control)

    person.does("choose", row=0, at=1)
    assert values == []
    assert titles(control) == [
        "Track 1",
        "Keyframe 1 · timestamp 0 · duration 1000 · a.png",
        "Keyframe 2",
        "Track 2 · image · b · 1 keyframe",
    ]
    chosen = [w for w in every(control.widget) if "mk-chosen" in w._dom_classes]
    assert len(chosen) == 2
    assert person.view.timeline["chosen"] == (0, 1)
    person.does("choose", row=1, at=0)
    assert titles(control)[0] == "Track 1 · image · a · 2 keyframes"
    assert len(boxes(control, "timestamp (ms) *")) == 1


def test_rows_and_blocks_come_and_go_and_the_fields_follow() -> None:
    control = control_of()
    person = Person(control)

    person.does("add-item", kind="image")
    person.does("add", row=0, start_ms=None)
    person.does("add", row=0, start_ms=None)
    person.does("add-item", kind="audio")
    assert person.blocks == [[(0, 2000), (2000, 2000)], []]
    assert person.view.timeline["chosen"] == (1, 0)
    person.does("choose", row=0, at=0)
    named(control, "url *").value = "https://a.test/c.png"
    person.does("remove", row=0, at=1)
    assert control.value == [
        track("image-1", key(0, 2000, "https://a.test/c.png")),
        track("audio-1", {}, kind="audio"),
    ]


def test_an_edit_that_is_too_late_changes_nothing_and_is_answered() -> None:
    control = control_of(track("a", key(0, 1000), key(1000, 500)))
    person = Person(control)
    before = control.value
    values = told(control)

    person.does("remove", shape="image:3", row=0, at=0)
    person.does("remove", row=5, at=0)
    person.does("nonsense")
    assert person.view.timeline["heard"] == 3
    control.set_enabled(enabled=False)
    person.puts(0, 0, 500, 500)
    assert person.view.disabled
    assert control.value == before
    assert values == []
    control.set_enabled(enabled=True)
    person.puts(0, 0, 100, 500)
    assert person.blocks == [[(100, 500), (1000, 500)]]


def test_problems_and_pictures_stand_at_their_blocks() -> None:
    url = "https://a.test/a.png"
    control = control_of(
        track("a", key(0, 1), key(5, 1, "cat.png")),
        track("b", key(0, 1, "https://a.test/b.mp4"), kind="video"),
    )
    wrong = Problem("tracks[0].keyframes[1].url", "cat.png", "another one")
    rest = control.place_problems((wrong, Problem("tracks", 1, "more")))
    control.show_found({("image", "cat.png"): Inspection(thumbnail=b"jpeg")})

    blocks = control.parts[-1].timeline["rows"][0]["blocks"]
    assert [block["problem"] for block in blocks] == [
        "",
        "Must be another one",
    ]
    assert [problem.field for problem in rest] == ["tracks"]
    assert control.parts[-1].posters == {
        url: url,
        "cat.png": "data:image/jpeg;base64,anBlZw==",
    }


@settings(max_examples=trials(6, 100))
@given(tracks, st.lists(EDITS, max_size=6))
def test_after_any_edits_the_fields_hold_what_the_edits_say(
    value: list[dict[str, Any]], edits: list[dict[str, Any]]
) -> None:
    value = value or [track("a", {})]
    for each in value:
        each.pop("mood", None)
    control = control_of(*value)
    person = Person(control)

    expected: Any = control.value
    for edit in edits:
        done = edited(AXIS, expected, edit)
        expected = expected if done is None else done.value
        person.does(str(edit["edit"]), **{k: edit[k] for k in edit if k != "edit"})
    assert control.value == expected
    assert person.view.timeline["shape"] == shape_of(AXIS, expected)
    assert person.blocks == [
        [tuple(s) for k in AXIS.inner(each) if (s := AXIS.stretch(k)) is not None]
        for each in expected
    ]
    close_tree(control.widget)


def test_a_list_is_amended_in_place() -> None:
    control = build(COMPOSE.fields["tracks"], make_context())
    assert isinstance(control, ObjectList)
    rows = [track(name, key(0, 1)) for name in "abcde"]
    control.value = rows
    entries = control.entries

    control.amend([rows[0], *rows[2:]])
    assert control.entries == (entries[0], *entries[2:])
    assert [entry.step for entry in control.entries] == ["[0]", "[1]", "[2]", "[3]"]
    control.amend([rows[0], track("x", key(0, 1)), *rows[3:], rows[1]])
    assert control.entries[:4] == (entries[0], *entries[2:])
    assert control.value == [rows[0], track("x", key(0, 1)), *rows[3:], rows[1]]
    other = track("a", key(0, 1), kind="audio")
    control.amend([other])
    assert control.value == [other]
    control.amend(None)
    assert control.value == [{"type": "video", "keyframes": [{}]}]


def tracks_of(control: TimelineControl) -> list[dict[str, Any]]:
    value = control.value
    assert isinstance(value, list)
    return value


def test_a_track_that_is_just_there_has_an_id_until_it_is_cleared_by_hand() -> None:
    control = control_of()
    rows = next(iter(control.controls))
    assert isinstance(rows, ObjectList)

    rows._added()
    assert [each["id"] for each in tracks_of(control)] == ["track-1", "track-2"]
    rows.value = [{"type": "video", "keyframes": [{}]}]
    rows.tell()
    assert "id" not in tracks_of(control)[0]


@pytest.mark.parametrize("by_hand_ms", [None, 1_500])
def test_a_placed_keyframe_takes_the_length_of_its_clip_unless_a_hand_gave_it_one(
    by_hand_ms: int | None,
) -> None:
    control = control_of()
    person = Person(control)
    person.does("add", row=0)
    assert tracks_of(control)[0]["keyframes"][0]["duration"] == 2_000
    if by_hand_ms:
        person.puts(0, 0, 0, by_hand_ms)
    tracks = tracks_of(control)
    tracks[0]["keyframes"][0]["url"] = "a.mp4"
    control._list.amend(tracks)

    clip = Inspection(MediaInfo("video", "video/mp4", 1, 64, 48, 5.25, 24.0))
    control.show_found({("video", "a.mp4"): clip})
    duration_ms = tracks_of(control)[0]["keyframes"][0]["duration"]
    assert duration_ms == (by_hand_ms or 5_250)


def person_at(form: Form) -> Person:
    control = form._view.controls["tracks"]
    assert isinstance(control, TimelineControl)
    return Person(control)


def test_a_step_of_a_drag_costs_a_message_for_each_thing_that_it_changes(
    messages: list[str], make_form: Callable[..., Form]
) -> None:
    many = [track(f"t{n}", *[key(2000 * k, 1000) for k in range(8)]) for n in range(2)]
    person = person_at(make_form("compose-video", tracks=many))
    person.does("choose", row=1, at=3)
    person.puts(1, 3, 6100, 1000)
    messages.clear()

    person.puts(1, 3, 6200, 1000)
    assert messages == ["comm_msg"] * 2  # the start's box and the timeline


def test_price_and_problems_follow_the_timeline_of_a_form(
    make_form: Callable[..., Form],
) -> None:
    tracks = [track("a", key(0, 2000), key(2000, 3000))]
    form = make_form("compose-video", tracks=tracks)
    person = person_at(form)
    assert "<b>$0.001</b>" in shown(form)

    person.puts(0, 1, 2000, 8000)
    assert "<b>$0.002</b>" in shown(form)
    person.puts(0, 1, 1500, 8000)
    assert "at least 2000 ms" in str(form.state.submit_reason)
    assert person.view.timeline["problems"][0].startswith("Track 1, keyframe 2, ")
    person.does("remove", row=0, at=0)
    assert form.request() == {"tracks": [track("a", key(1500, 8000))]}
    again = make_form("compose-video", tracks=tracks)
    assert again.request() == form.request()
