"""Objects in a form: on and off, one of several kinds, and what is wrong inside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ipywidgets as w
import pytest

from mediakit.media import MediaInfo
from mediakit.rules import Problem
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.control import Control
from mediakit.widgets.controls.media_inspection import Inspection
from mediakit.widgets.form.control_factory import build
from mediakit.widgets.nested.variants import Variants
from mediakit.widgets.toolkit.callbacks import guarded
from mediakit.widgets.toolkit.widget_factory import WidgetFactory
from tests.support.samples.sample_requests import MADE_UP


def fail(sentence: str) -> None:
    raise AssertionError(sentence)


def control_of(field: str) -> Control:
    context = WidgetContext(
        WidgetFactory(), guarded(fail), lambda name, content, done: done(Path(name))
    )
    return build(MADE_UP.fields[field], context)


def told(control: Control) -> list[object]:
    """Return the values that the control tells, as they come."""
    values: list[object] = []
    control.listen(lambda: values.append(control.value))
    return values


def all_in(widget: Any) -> list[Any]:
    inside = [each for c in getattr(widget, "children", ()) for each in all_in(c)]
    return [widget, *inside]


def described(widget: Any) -> str:
    return str(getattr(widget, "description", "")).lower()


def named(control: Control, name: str) -> Any:
    """Return the widget with this name."""
    shown = all_in(control.widget)
    return next(each for each in shown if described(each) == name.lower())


def shown(control: Control) -> str:
    """Return everything that the control says as HTML."""
    htmls = (each for each in all_in(control.widget) if isinstance(each, w.HTML))
    return "\n".join(html.value for html in htmls)


def test_an_object_that_may_be_left_out_has_a_switch() -> None:
    camera = control_of("camera")
    (switch,) = camera.parts
    values = told(camera)

    switch.value = True
    named(camera, "zoom").value = True
    switch.value = False
    assert camera.parts == (switch,)
    assert values == [{"lens": "wide"}, {"lens": "wide", "zoom": 2.0}, None]


def test_what_was_filled_in_comes_back_with_the_object() -> None:
    camera = control_of("camera")
    camera.value = {"lens": "tele", "zoom": 3.5, "path": [1, 2]}

    values = told(camera)
    camera.parts[0].value = False
    camera.parts[0].value = True
    assert values == [None, {"lens": "tele", "zoom": 3.5, "path": [1, 2]}]


def test_an_object_that_must_be_there_has_no_switch_and_says_what_it_is() -> None:
    stage = control_of("stage")

    assert stage.value == {}
    assert stage.named.description == "Stage *"
    assert "Where it happens." in stage.named.value
    named(stage, "place *").value = "a quay"
    assert stage.value == {"place": "a quay"}


def test_what_an_open_object_takes_beyond_its_fields_is_typed_as_json() -> None:
    stage = control_of("stage")
    values = told(stage)

    box = named(stage, "Additional fields (JSON)")
    box.value = '{"fog": 0.5}'
    assert values == [{"fog": 0.5}]
    stage.value = {"place": "a quay", "rain": True}
    assert stage.value == {"place": "a quay", "rain": True}
    assert box.value == '{"rain": true}'


def test_what_nobody_knows_stays_for_the_check_to_name() -> None:
    camera = control_of("camera")

    camera.value = {"lens": "wide", "lense": "wide"}
    assert camera.value == {"lens": "wide", "lense": "wide"}


@pytest.mark.parametrize("field", ["camera", "stage", "source", "cameras"])
def test_what_is_of_another_shape_is_refused(field: str) -> None:
    with pytest.raises(ValueError, match=r"is not an? (object|list)"):
        control_of(field).value = 7


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

    source.named.index = 2
    assert source.value == {"type": "clip", "name": "dawn", "size": "l"}
    source.named.index = 1
    assert source.value == still


def test_fields_that_both_variants_have_stay_in_place() -> None:
    source = control_of("source")
    source.value = {"type": "still", "name": "dawn"}
    name, cells = named(source, "name *"), source.widget.children[1].children

    source.named.index = 2
    name.value = "dusk"  # the key was on its way while the variant changed
    assert named(source, "name *") is name
    assert source.widget.children[1].children[0] is cells[0]
    assert source.value == {"type": "clip", "name": "dusk", "size": "m"}


def test_what_was_emptied_stays_empty_when_another_variant_is_chosen() -> None:
    source = control_of("source")
    source.value = {"type": "still", "picture": "https://a.test/1.png"}

    source.named.index = 2
    source.named.index = 1
    named(source, "picture *").value = ""
    source.named.index = 2
    source.named.index = 1
    assert source.value == {"type": "still", "size": "s"}


def test_what_the_other_variant_cannot_show_is_its_default() -> None:
    source = control_of("source")
    source.value = {"type": "clip", "name": "dawn", "size": "m", "fog": 1}

    source.named.index = 1
    assert source.value == {"type": "still", "name": "dawn", "size": "s"}
    source.named.index = 2
    assert source.value == {"type": "clip", "name": "dawn", "size": "m", "fog": 1}


def test_another_variant_closes_the_fields_of_the_one_before() -> None:
    source = control_of("source")
    counts = []

    for _ in range(3):
        source.named.index = 1
        source.named.index = 2
        counts.append(len(w.widgets.widget._instances))
    assert len(set(counts)) == 1


def test_a_value_of_no_variant_is_refused() -> None:
    with pytest.raises(ValueError, match="an object whose type is still or clip"):
        control_of("source").value = {"type": "sound"}


def test_a_problem_inside_stands_below_the_field_that_it_concerns() -> None:
    stage = control_of("stage")
    stage.value = {"place": "a quay", "camera": {"lens": "wide", "path": [-1]}}

    wrong = Problem("stage.camera.path[0]", -1, "a whole number of at least 0")
    strange = Problem("stage.camera.lense", 1, "a known field")
    rest = stage.place_problems((wrong, strange, Problem("stage", None, "too dark")))
    assert rest == (Problem("stage", None, "too dark"),)
    path = next(each for each in all_in(stage.widget) if named_first(each) == "Path")
    assert path.children[-1].value.count("No. 1 must be") == 1
    assert "Lense must be a known field" in shown(stage)
    stage.place_problems(())
    assert "mk-bad" not in shown(stage)


def named_first(cell: Any) -> str:
    """Return the name of the field in a cell."""
    if "mk-cell" not in cell._dom_classes:
        return ""
    texts = (getattr(each, "description", "") for each in all_in(cell))
    return next(filter(None, texts), "")


def test_what_is_missing_is_said_after_the_field_was_used() -> None:
    stage = control_of("stage")
    missing = (Problem("stage.place", None, "text", required=""),)

    stage.place_problems(missing)
    assert "Required" not in shown(stage)
    named(stage, "place *").value = "a"
    named(stage, "place *").value = ""
    stage.place_problems(missing)
    assert "Required" in shown(stage)


def test_a_note_appears_without_moving_what_people_type_into() -> None:
    stage = control_of("stage")
    cells = stage.widget.children[1].children

    stage.place_problems((Problem("stage.place", "", "text"),))
    assert stage.widget.children[1].children == cells
    assert cells[0].children[0] is named(stage, "place *")


def test_what_was_found_of_media_is_shown_inside() -> None:
    source = control_of("source")
    source.value = {"type": "still", "picture": "cat.png"}
    assert source.holds_media

    info = MediaInfo("image", "image/png", 1_000, width=64, height=48)
    source.show_found({("image", "cat.png"): Inspection(info)})
    assert "64 x 48" in shown(source)
    source.named.index = 2
    source.named.index = 1
    assert "64 x 48" in shown(source)


def test_an_object_that_is_off_takes_its_fields_along() -> None:
    source = control_of("source")
    source.value = {"type": "clip"}

    source.set_enabled(enabled=False)
    source.value = {"type": "still"}
    assert isinstance(source, Variants)
    source.renew()
    assert all(part.disabled for part in source.parts)


def test_a_required_object_without_the_mark_of_a_switch_is_named_in_its_list() -> None:
    stage = control_of("stage")

    stage.value = {"place": "a quay", "lamps": [{"lens": "tele"}]}
    assert named(stage, "Lamp 1").value
    assert named(stage, "Add lamp")
