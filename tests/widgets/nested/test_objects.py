"""Objects in a form: on and off, one of several kinds, and what is wrong inside."""

from __future__ import annotations

from typing import Any

import ipywidgets as w
import pytest

from mediakit.catalog import Catalog
from mediakit.media_limits import MediaInfo
from mediakit.rules import Problem
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.control import Control
from mediakit.widgets.controls.media_inspection import Inspection
from mediakit.widgets.form.control_factory import build
from mediakit.widgets.nested.object_list import ObjectList
from mediakit.widgets.toolkit.callbacks import guarded
from tests.support.samples.sample_requests import MADE_UP
from tests.support.widgets import every, in_use, make_context, named, shown, told


def control_of(field: str) -> Control:
    return build(MADE_UP.fields[field], make_context())


def test_an_object_that_may_be_left_out_has_a_switch() -> None:
    camera = control_of("camera")
    (switch,) = camera.parts
    values = told(camera)

    switch.value = True
    named(camera, "zoom").value = True
    switch.value = False
    assert camera.parts == (switch,)
    switch.value = True  # what was filled in comes back
    filled = {"lens": "wide", "zoom": 2.0}
    assert values == [{"lens": "wide"}, filled, None, filled]
    unknown = {"lens": "wide", "lense": "wide"}
    camera.value = unknown  # stays for the check to name
    assert camera.value == unknown


def test_an_object_that_must_be_there_has_no_switch_and_says_what_it_is() -> None:
    stage = control_of("stage")

    assert stage.value == {}
    assert stage.named.description == "Stage *"
    assert "Where it happens." in stage.named.value
    named(stage, "place *").value = "a quay"
    assert stage.value == {"place": "a quay"}
    further = named(stage, "Additional fields (JSON)")
    further.value = '{"fog": 0.5}'
    assert stage.value == {"place": "a quay", "fog": 0.5}
    stage.value = {"place": "a pier", "rain": True}
    assert further.value == '{"rain": true}'


@pytest.mark.parametrize("field", ["camera", "stage", "source", "cameras"])
def test_what_is_of_another_shape_is_refused(field: str) -> None:
    with pytest.raises(ValueError, match=r"is not an? (object|list)"):
        control_of(field).value = 7


def test_a_value_of_no_variant_is_refused() -> None:
    with pytest.raises(ValueError, match="an object whose type is still or clip"):
        control_of("source").value = {"type": "sound"}


def test_a_variant_that_must_be_chosen_begins_with_the_first() -> None:
    sources = control_of("sources")
    sources.value = [{"type": "clip", "name": "a"}]

    chooser = named(sources, "type *")
    assert isinstance(chooser, w.ToggleButtons)
    assert sources.value == [{"type": "clip", "name": "a", "size": "m"}]
    named(sources, "Add source").click()
    assert isinstance(sources.value, list)
    assert sources.value[1] == {"type": "still", "size": "s"}


def test_a_variant_that_may_be_left_out_begins_with_none() -> None:
    source = control_of("source")
    values = told(source)

    assert source.read() is None
    assert source.named.options[0] == ("Service default", None)
    source.named.index = 1
    source.named.index = 0
    assert values == [{"type": "still", "size": "s"}, None]


def test_common_fields_keep_their_values_when_another_variant_is_chosen() -> None:
    source = control_of("source")
    still = {
        "type": "still",
        "name": "dawn",
        "size": "l",
        "picture": "https://a.test/1.png",
    }
    source.value = still

    counted = in_use()
    source.named.index = 2
    assert source.value == {"type": "clip", "name": "dawn", "size": "l"}
    source.named.index = 1
    assert source.value == still
    assert in_use() == counted
    named(source, "picture *").value = ""  # what was emptied stays empty
    source.named.index = 2
    source.named.index = 1
    assert "picture" not in source.value
    source.value = {"type": "clip", "name": "dawn", "size": "m", "fog": 1}
    source.named.index = 1
    assert source.value == {"type": "still", "name": "dawn", "size": "s"}
    source.named.index = 2
    assert source.value == {"type": "clip", "name": "dawn", "size": "m", "fog": 1}
    source.set_enabled(enabled=False)
    assert all(part.disabled for part in source.parts)


def test_fields_that_both_variants_have_stay_in_place() -> None:
    source = control_of("source")
    source.value = {"type": "still", "name": "dawn"}
    name, cells = named(source, "name *"), source.widget.children[1].children

    source.named.index = 2
    name.value = "dusk"  # the key was on its way while the variant changed
    assert named(source, "name *") is name
    assert source.widget.children[1].children[0] is cells[0]
    assert source.value == {"type": "clip", "name": "dusk", "size": "m"}


def test_a_problem_inside_stands_below_the_field_that_it_concerns() -> None:
    stage = control_of("stage")
    stage.value = {"place": "a quay", "camera": {"lens": "wide", "path": [-1]}}
    cells = stage.widget.children[1].children

    wrong = Problem("stage.camera.path[0]", -1, "a whole number of at least 0")
    strange = Problem("stage.camera.lense", 1, "a known field")
    rest = stage.place_problems((wrong, strange, Problem("stage", None, "too dark")))
    assert rest == (Problem("stage", None, "too dark"),)
    assert shown(stage).count("No. 1 must be") == 1
    assert "Lense must be a known field" in shown(stage)
    assert stage.widget.children[1].children == cells  # nothing moves under a cursor
    stage.place_problems(())
    assert "mk-bad" not in shown(stage)


def test_what_is_missing_is_said_after_the_field_was_used() -> None:
    stage = control_of("stage")
    missing = (Problem("stage.place", None, "text", required=""),)

    stage.place_problems(missing)
    assert "Required" not in shown(stage)
    named(stage, "place *").value = "a"
    named(stage, "place *").value = ""
    stage.place_problems(missing)
    assert "Required" in shown(stage)


def test_what_was_found_of_media_is_shown_inside() -> None:
    source = control_of("source")
    source.value = {"type": "still", "picture": "cat.png"}
    assert source.holds_media

    info = MediaInfo("image", "image/png", 1_000, width=64, height=48)
    source.show_found({("image", "cat.png"): Inspection(info)})
    assert "64 \N{MULTIPLICATION SIGN} 48" in shown(source)
    source.named.index = 2
    source.named.index = 1
    assert "64 \N{MULTIPLICATION SIGN} 48" in shown(source)


CATALOG = Catalog.default()


def keyframe(number: int) -> dict[str, Any]:
    url = f"https://a.test/{number}.png"
    return {"timestamp": number * 1000, "duration": 1000, "url": url}


def track(name: str, keyframes: int = 1) -> dict[str, Any]:
    rows = [keyframe(number) for number in range(keyframes)]
    return {"id": name, "type": "image", "keyframes": rows}


def list_of(spec: FieldSpec, said: list[str] | None = None) -> ObjectList:
    says = [] if said is None else said
    control = build(spec, make_context(guard=guarded(says.append)))
    assert isinstance(control, ObjectList)
    return control


def tracks() -> ObjectList:
    return list_of(CATALOG.function("compose-video").fields["tracks"])


def made_up(field: str) -> ObjectList:
    return list_of(MADE_UP.fields[field])


def titles(rows: ObjectList) -> list[str]:
    return [entry._fold.description for entry in rows.entries]


def test_a_list_that_must_have_items_begins_with_them() -> None:
    assert tracks().value == [{"type": "video", "keyframes": [{}]}]
    assert made_up("cameras").value == [{"lens": "wide"}] * 2
    assert made_up("sources").value is None
    assert ">none<" in made_up("sources").named.value


def test_rows_are_added_up_to_the_bound_and_counted() -> None:
    sources = made_up("sources")
    add = sources.parts[-1]
    values = told(sources)

    for _ in range(5):
        add.click()
    assert add.disabled
    assert ">5 of at most 5<" in sources.named.value
    assert values[1] == [{"type": "still", "size": "s"}] * 2
    cameras = made_up("cameras")  # two must stay
    assert cameras.entries[0].buttons[2].disabled
    cameras.parts[-1].click()
    cameras.entries[0].buttons[2].click()
    assert len(cameras.entries) == 2
    assert cameras.entries[0].buttons[2].disabled


def test_rows_move_and_go_by_their_buttons() -> None:
    rows = tracks()
    rows.value = [track("a"), track("b"), track("c")]
    values = told(rows)

    up, down, _ = rows.entries[0].buttons
    assert up.disabled
    down.click()
    rows.entries[2].buttons[2].click()
    assert values[0] == [track("b"), track("a"), track("c")]
    assert values[1] == [track("b"), track("a")]
    assert titles(rows) == ["Track 1", "Track 2"]


def test_many_rows_are_folded_and_can_be_unfolded_and_changed() -> None:
    rows = tracks()
    rows.value = [track("a")]
    counted = in_use()
    rows.value = [track("a", 32)]
    assert in_use() - counted < 32 * 3
    rows.value = [track(name) for name in "abcd"]
    assert titles(rows)[0] == "Track 1 · a · image · 1 keyframe"
    assert list(rows.controls) == []
    fold = named(rows, "Track 2 · b · image · 1 keyframe")
    values = told(rows)

    fold.value = True
    assert fold.description == "Track 2"
    named(rows, "id *").value = "second"
    fold.value = False
    assert fold.description == "Track 2 · image · second · 1 keyframe"
    assert values == [[track("a"), track("second"), track("c"), track("d")]]
    assert list(rows.controls) == []
    rows.parts[-1].click()  # the row that is added is the one that is unfolded
    assert [len(entry.buttons) for entry in rows.entries] == [0, 0, 0, 0, 3]
    rows.value = [track("a")]
    assert in_use() == counted  # what goes closes its widgets


def test_what_is_wrong_in_a_folded_row_is_said_with_its_place() -> None:
    rows = tracks()
    rows.value = [track(name) for name in "abcd"]
    wrong = Problem("tracks[1].keyframes[0].duration", 0, "a number of at least 1")
    gone = Problem("tracks[2].id", None, "text", required="")

    rest = rows.place_problems((wrong, gone, Problem("tracks", "a", "a list")))
    assert [problem.field for problem in rest] == ["tracks"]
    assert "Keyframes, no. 1, duration must be" in shown(rows)
    assert "not filled in: ID" in shown(rows)
    info = MediaInfo("image", "image/png", 1_000, width=64, height=48)
    rows.show_found({("image", "https://a.test/0.png"): Inspection(info)})
    rows.entries[1]._fold.value = True
    assert 'src="https://a.test/0.png"' in shown(rows)
    assert "Must be a number of at least 1" in shown(rows)


def test_a_value_that_no_control_can_show_stays_folded_and_says_so() -> None:
    said: list[str] = []
    rows = list_of(CATALOG.function("compose-video").fields["tracks"], said)
    rows.value = [track("a"), track("b"), track("c"), {"type": "sound"}]

    rows.entries[3]._fold.value = True
    assert not rows.entries[3]._fold.value
    assert "Track 4" in said[0]
    assert "change it in code, or remove it" in said[0]
    assert rows.value == [track("a"), track("b"), track("c"), {"type": "sound"}]
    rows.value = [track("a")]
    with pytest.raises(ValueError, match="an object whose type is"):
        rows.value = [track("b"), {"type": "sound"}]  # few are refused whole
    assert rows.value == [track("a")]


def test_lists_of_choices_and_of_anything_have_rows_too() -> None:
    looks, things = made_up("looks"), made_up("things")

    looks.value = ["pop", "noir"]
    things.value = [{"a": [1]}, "b", None]
    assert titles(looks) == ["Look 1", "Look 2"]
    assert isinstance(named(looks, "look *"), w.Dropdown)
    assert things.value == [{"a": [1]}, "b", None]


def test_another_kind_of_row_keeps_the_boxes_that_people_may_be_typing_into() -> None:
    control = tracks()
    control.value = [{"type": "video", "id": "a", "keyframes": [{"url": "a.mp4"}]}]
    names = ("id *", "timestamp (ms) *", "duration (ms) *", "url *")
    before = [named(control, name) for name in names]

    named(control, "type *").value = "audio"
    assert [named(control, name) for name in names] == before
    before[1].value = "500"
    before[3].value = "a.mp3"
    assert control.value == [
        {
            "type": "audio",
            "id": "a",
            "keyframes": [{"timestamp": 500, "url": "a.mp3"}],
        }
    ]
    assert [b.accept for b in every(control.widget) if hasattr(b, "accept")] == [
        "audio/*"
    ]
