"""Lists of objects in a form: rows that come, go, move and fold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ipywidgets as w
import pytest
from ipywidgets.widgets import widget as registry

from mediakit.catalog import Catalog
from mediakit.media import MediaInfo
from mediakit.rules import Problem
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.media_inspection import Inspection
from mediakit.widgets.form.control_factory import build
from mediakit.widgets.nested.object_list import ObjectList
from mediakit.widgets.toolkit.callbacks import guarded
from mediakit.widgets.toolkit.widget_factory import WidgetFactory
from tests.support.samples.sample_requests import MADE_UP
from tests.widgets.nested.test_objects import all_in, named, shown, told

CATALOG = Catalog.default()


def keyframe(number: int) -> dict[str, Any]:
    url = f"https://a.test/{number}.png"
    return {"timestamp": number * 1000, "duration": 1000, "url": url}


def track(name: str, keyframes: int = 1) -> dict[str, Any]:
    rows = [keyframe(number) for number in range(keyframes)]
    return {"id": name, "type": "image", "keyframes": rows}


def control_of(spec: FieldSpec, said: list[str] | None = None) -> ObjectList:
    says = [] if said is None else said
    keep = WidgetContext(
        WidgetFactory(), guarded(says.append), lambda name, data, done: done(Path(name))
    )
    control = build(spec, keep)
    assert isinstance(control, ObjectList)
    return control


def tracks() -> ObjectList:
    return control_of(CATALOG.function("compose-video").fields["tracks"])


def made_up(field: str) -> ObjectList:
    return control_of(MADE_UP.fields[field])


def titles(rows: ObjectList) -> list[str]:
    return [entry._fold.description for entry in rows.entries]


def test_a_list_that_must_have_items_begins_with_them() -> None:
    assert tracks().value == [{"type": "video", "keyframes": [{}]}]
    assert made_up("cameras").value == [{"lens": "wide"}] * 2
    assert made_up("sources").value is None
    assert ">none<" in made_up("sources").named.value


def test_a_list_of_objects_must_say_what_its_items_are() -> None:
    context = WidgetContext(
        WidgetFactory(), guarded(lambda _: None), lambda name, data, done: None
    )

    with pytest.raises(TypeError, match="tracks"):
        ObjectList(FieldSpec("tracks", "list"), context, build)


def test_rows_are_added_up_to_the_bound_and_counted() -> None:
    sources = made_up("sources")
    add = sources.parts[-1]
    values = told(sources)

    for _ in range(5):
        add.click()
    assert add.disabled
    assert ">5 of at most 5<" in sources.named.value
    assert values[1] == [{"type": "still", "size": "s"}] * 2


def test_rows_that_must_stay_cannot_be_removed() -> None:
    cameras = made_up("cameras")
    remove = cameras.entries[0].buttons[2]

    assert remove.disabled
    cameras.parts[-1].click()
    assert not remove.disabled
    remove.click()
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


def test_many_rows_are_folded_and_say_what_they_hold() -> None:
    rows = tracks()

    rows.value = [track("a"), track("b", 2), track("c"), track("d")]
    assert titles(rows)[:2] == [
        "Track 1 · a · image · 1 keyframe",
        "Track 2 · b · image · 2 keyframes",
    ]
    assert list(rows.controls) == []
    assert rows.value == [track("a"), track("b", 2), track("c"), track("d")]


def test_an_unfolded_row_can_be_changed_and_folded_again() -> None:
    rows = tracks()
    rows.value = [track(name) for name in "abcd"]
    fold = named(rows, "Track 2 · b · image · 1 keyframe")
    values = told(rows)

    fold.value = True
    assert fold.description == "Track 2"
    named(rows, "id *").value = "second"
    fold.value = False
    assert fold.description == "Track 2 · image · second · 1 keyframe"
    assert values == [[track("a"), track("second"), track("c"), track("d")]]
    assert list(rows.controls) == []


def test_a_row_that_is_added_to_many_folds_the_others() -> None:
    rows = tracks()
    rows.value = [track(name) for name in "abc"]
    assert len(list(rows.controls)) == 3

    rows.parts[-1].click()
    assert len(list(rows.controls)) == 1
    assert [len(entry.buttons) for entry in rows.entries] == [0, 0, 0, 3]
    assert titles(rows)[-1] == "Track 4"


def test_what_is_wrong_in_a_folded_row_is_said_with_its_place() -> None:
    rows = tracks()
    rows.value = [track(name) for name in "abcd"]
    wrong = Problem("tracks[1].keyframes[0].duration", 0, "a number of at least 1")
    gone = Problem("tracks[2].id", None, "text", required="")

    rest = rows.place_problems((wrong, gone, Problem("tracks", "a", "a list")))
    assert [problem.field for problem in rest] == ["tracks"]
    assert "Keyframes, no. 1, duration must be" in shown(rows)
    assert "not filled in: ID" in shown(rows)


def test_an_unfolded_row_shows_what_is_known_of_it() -> None:
    rows = tracks()
    rows.value = [track(name) for name in "abcd"]
    info = MediaInfo("image", "image/png", 1_000, width=64, height=48)
    rows.show_found({("image", "https://a.test/0.png"): Inspection(info)})
    rows.place_problems((Problem("tracks[1].keyframes[0].duration", 0, "more"),))

    rows.entries[1]._fold.value = True
    assert 'src="https://a.test/0.png"' in shown(rows)
    assert "Must be more" in named_cell(rows, "duration (ms) *")


def named_cell(control: ObjectList, name: str) -> str:
    """Return the line below the field with this name."""
    box = named(control, name)
    cells = (each for each in all_in(control.widget) if box in _children(each))
    return str(next(cells).children[-1].value)


def _children(widget: Any) -> tuple[Any, ...]:
    return tuple(getattr(widget, "children", ()))


def test_a_value_that_no_control_can_show_stays_folded_and_says_so() -> None:
    said: list[str] = []
    rows = control_of(CATALOG.function("compose-video").fields["tracks"], said)
    rows.value = [track("a"), track("b"), track("c"), {"type": "sound"}]

    rows.entries[3]._fold.value = True
    assert not rows.entries[3]._fold.value
    assert "Track 4" in said[0]
    assert "change it in code, or remove it" in said[0]
    assert rows.value == [track("a"), track("b"), track("c"), {"type": "sound"}]


def test_few_rows_that_no_control_can_show_are_refused_whole() -> None:
    rows = tracks()
    rows.value = [track("a")]
    counted = len(registry._instances)

    with pytest.raises(ValueError, match="an object whose type is"):
        rows.value = [track("b"), {"type": "sound"}]
    assert rows.value == [track("a")]
    assert len(registry._instances) == counted


def test_rows_that_go_close_their_widgets() -> None:
    rows = tracks()
    rows.value = [track("a")]
    counted = len(registry._instances)

    rows.value = [track(name, 2) for name in "abc"]
    rows.value = [track(name, 9) for name in "abcde"]
    rows.value = [track("a")]
    # A note or a style that is made when it is first needed stays.
    assert len(registry._instances) == counted


def test_lists_of_choices_and_of_anything_have_rows_too() -> None:
    looks, things = made_up("looks"), made_up("things")

    looks.value = ["pop", "noir"]
    things.value = [{"a": [1]}, "b", None]
    assert titles(looks) == ["Look 1", "Look 2"]
    assert isinstance(named(looks, "look *"), w.Dropdown)
    assert things.value == [{"a": [1]}, "b", None]


def test_32_keyframes_cost_about_two_widgets_each() -> None:
    rows = tracks()
    rows.value = [track("a")]
    counted = len(registry._instances)

    rows.value = [track("a", 32)]
    assert len(registry._instances) - counted < 32 * 3


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
    assert [b.accept for b in all_in(control.widget) if hasattr(b, "accept")] == [
        "audio/*"
    ]
