"""A timeline at work: edits, names, lengths and what the page draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediakit.media_limits import MediaInfo
from mediakit.rules import Problem
from mediakit.widgets.controls.media_inspection import Inspection
from mediakit.widgets.form.controller import Form
from mediakit.widgets.timeline.editor import TimelineEditor
from mediakit.widgets.timeline.edits import edited
from mediakit.widgets.timeline.layout import shape_of
from tests.support.soak import trials
from tests.support.widgets import page, say
from tests.widgets.timeline.test_timeline import (
    AXIS,
    EDITS,
    key,
    track,
    tracks,
)

BLANK: list[dict[str, Any]] = [{"type": "video", "keyframes": [{}]}]


class Person:
    """Someone at a timeline, as the browser speaks for them."""

    def __init__(self, value: Any) -> None:
        self.editor = TimelineEditor(AXIS)
        self.value: Any = self.editor.began(value)
        self.place: str | None = None
        self.number = 0

    def does(self, edit: str, shape: str | None = None, **more: object) -> None:
        self.number += 1
        known = self.drawn["shape"] if shape is None else shape
        content = {"edit": edit, "shape": known, "number": self.number, **more}
        self.value, self.place = self.editor.apply(content, self.value)

    @property
    def drawn(self) -> dict[str, Any]:
        return self.editor.payload(self.value, ())

    @property
    def blocks(self) -> list[list[tuple[float, float]]]:
        return [
            [(block["start_ms"], block["length_ms"]) for block in row["blocks"]]
            for row in self.drawn["rows"]
        ]


def test_rows_and_blocks_come_and_go_and_the_place_at_work_is_told() -> None:
    person = Person(BLANK)

    person.does("add-item", kind="image")
    person.does("add", row=0, start_ms=None)
    person.does("add", row=0, start_ms=None)
    person.does("add-item", kind="audio")
    assert person.blocks == [[(0, 2000), (2000, 2000)], []]
    assert (person.drawn["chosen"], person.place) == ((1, 0), "tracks[1].keyframes[0]")
    person.does("choose", row=0, at=0)
    assert person.place == "tracks[0].keyframes[0]"
    person.does("put", row=0, at=0, start_ms=100, length_ms=1900)
    assert not person.place  # it is unfolded already
    person.does("remove", row=0, at=1)
    assert person.value == [
        track("image-1", key(100, 1900))
        | {"keyframes": [{"timestamp": 100, "duration": 1900}]},
        track("audio-1", {}, kind="audio"),
    ]


def test_an_edit_that_is_too_late_changes_nothing_and_is_answered() -> None:
    person = Person([track("a", key(0, 1000), key(1000, 500))])
    before = person.value

    person.does("remove", shape="image:3", row=0, at=0)
    person.does("remove", row=5, at=0)
    person.does("nonsense")
    assert person.drawn["heard"] == 3
    assert person.value == before


def test_problems_stand_at_their_blocks() -> None:
    person = Person([track("a", key(0, 1), key(5, 1, "cat.png"))])
    wrong = Problem("tracks[0].keyframes[1].url", "cat.png", "another one")
    drawn = person.editor.payload(person.value, (wrong,), {"cat.png": "a cat"})

    blocks = drawn["rows"][0]["blocks"]
    assert [block["problem"] for block in blocks] == ["", "Must be another one"]
    assert blocks[1]["label"] == "a cat"


@settings(max_examples=trials(6, 100))
@given(tracks, st.lists(EDITS, max_size=6))
def test_after_any_edits_the_value_is_what_the_edits_say(
    value: list[dict[str, Any]], edits: list[dict[str, Any]]
) -> None:
    person = Person(value)
    expected = person.value
    for edit in edits:
        done = edited(AXIS, expected, edit)
        expected = expected if done is None else done.value
        person.does(str(edit["edit"]), **{k: edit[k] for k in edit if k != "edit"})
    assert person.value == expected
    assert person.drawn["shape"] == shape_of(AXIS, expected)


def test_a_track_that_is_just_there_has_an_id_until_it_is_cleared_by_hand() -> None:
    person = Person(BLANK)
    assert person.value[0]["id"] == "track-1"
    two = person.editor.listed([*person.value, *BLANK])
    assert [each["id"] for each in two] == ["track-1", "track-2"]  # type: ignore[attr-defined]
    assert person.editor.listed([person.value[0], *BLANK]) == [person.value[0], *BLANK]


@pytest.mark.parametrize("by_hand_ms", [None, 1_500])
def test_a_placed_keyframe_takes_the_length_of_its_clip_unless_a_hand_gave_it_one(
    by_hand_ms: int | None,
) -> None:
    person = Person(BLANK)
    person.does("add", row=0)
    assert person.value[0]["keyframes"][0]["duration"] == 2_000
    if by_hand_ms:
        person.does("put", row=0, at=0, start_ms=0, length_ms=by_hand_ms)
    person.value[0]["keyframes"][0]["url"] = "a.mp4"

    clip = Inspection(MediaInfo("video", "video/mp4", 1, 64, 48, 5.25, 24.0))
    fitted: Any = person.editor.fitted(person.value, {("video", "a.mp4"): clip})
    assert fitted[0]["keyframes"][0]["duration"] == (by_hand_ms or 5_250)


def test_price_and_problems_follow_the_timeline_of_a_form_a_message_a_step(
    messages: list[str], make_form: Callable[..., Form]
) -> None:
    tracks = [track("a", key(0, 2000), key(2000, 3000))]
    form = make_form("compose-video", tracks=tracks)
    number = 0

    def does(edit: str, **more: object) -> None:
        nonlocal number
        number += 1
        shape = page(form)["timelines"]["tracks"]["shape"]
        said = {"edit": edit, "shape": shape, "number": number, **more}
        say(form, "timeline", name="tracks", edit=said)

    assert page(form)["price"]["text"] == "$0.001"
    messages.clear()
    does("put", row=0, at=1, start_ms=2000, length_ms=8000)
    assert messages == ["comm_msg"]
    assert page(form)["price"]["text"] == "$0.002"
    assert page(form)["values"]["tracks"][0]["of"]["keyframes"][1]["of"] == {
        "timestamp": "2000",
        "duration": "8000",
        "url": "https://a.test/a.png",
    }
    does("put", row=0, at=1, start_ms=1500, length_ms=8000)
    assert "at least 2000 ms" in str(form.state.submit_reason)
    said = page(form)["timelines"]["tracks"]["problems"][0]
    assert said.startswith("Track 1, keyframe 2, ")
    does("remove", row=0, at=0)
    assert form.request() == {"tracks": [track("a", key(1500, 8000))]}
    again = make_form("compose-video", tracks=tracks)
    assert again.request() == form.request()
