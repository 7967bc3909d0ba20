"""Every field has a control, and every value goes in and comes out the same."""

from __future__ import annotations

from typing import Any

import ipywidgets as w
import pytest
from hypothesis import given, settings

from mediakit.catalog import Catalog, Function
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.control import Control
from mediakit.widgets.controls.number import reach_of
from mediakit.widgets.form.control_factory import build
from tests.support.rows import assert_each
from tests.support.samples.field_values import begins_filled, values_of
from tests.support.samples.sample_requests import MADE_UP
from tests.support.samples.shapes import by_shape
from tests.support.soak import trials
from tests.support.widgets import fail, make_context, told

CATALOG = Catalog.default()
every_shape = pytest.mark.parametrize(
    "function", by_shape([*CATALOG, MADE_UP]), ids=lambda function: function.kind
)


def control_of(kind: str, field: str, **more: Any) -> Control:
    return build(CATALOG.function(kind).fields[field], make_context(**more))


def test_a_control_shows_its_default_has_names_and_keeps_its_value_when_it_is_off() -> (
    None
):
    def check(function: Function) -> None:
        for spec in function.fields.values():
            control = build(spec, make_context())
            before = control.value
            assert begins_filled(spec) or before == spec.default
            for part in control.parts:  # for those who cannot see it
                names = ("description", "tooltip", "label")
                assert any(getattr(part, name, "") for name in names)
            control.set_required(required=True)
            assert control.named.description == f"{control.label} *"
            control.set_enabled(enabled=False)
            assert all(part.disabled for part in control.parts)
            assert control.value == before
            control.set_enabled(enabled=True)
            assert not control.parts[0].disabled

    assert_each([*CATALOG, MADE_UP], check)


@every_shape
def test_every_value_goes_into_a_control_and_comes_out_the_same(
    function: Function,
) -> None:
    assert_each(function.fields.values(), comes_out_the_same)


def comes_out_the_same(spec: FieldSpec) -> None:
    control = build(spec, make_context())
    control.listen(lambda: fail("nobody changed it by hand"))

    @settings(max_examples=trials(3, 25))
    @given(values_of(spec))
    def check(value: object) -> None:
        control.value = value
        assert control.value == value
        assert type(control.value) is type(value)

    check()


def test_a_choice_offers_what_there_is_and_none_first_where_it_must_be_made() -> None:
    duration = control_of("r1", "duration")

    labels = [label for label, _ in duration.widget.options]
    assert labels[:3] == ["Choose…", "Auto", "4 s"]
    assert labels[-1] == "30 s"
    assert duration.value is None
    values = told(duration)
    duration.widget.index = 2
    assert values == [4]
    few = control_of("text-to-video", "resolution")
    assert isinstance(few.widget, w.ToggleButtons)
    with pytest.raises(ValueError, match="8k"):
        few.value = "8k"
    many = control_of("image-upscale", "model").widget
    assert isinstance(many, w.Dropdown)
    assert len(many.options) == 10


@pytest.mark.parametrize("field", ["output_format", "crop_to_fill"])
def test_what_may_be_left_out_stands_first_as_the_services_default(field: str) -> None:
    control = control_of("image-upscale", field)

    assert control.widget.options[0] == ("Service default", None)
    values = told(control)
    control.widget.index = 1
    control.widget.index = 0
    assert values == [control.widget.options[1][1], None]


def test_the_slider_and_the_box_of_a_number_move_together() -> None:
    duration = control_of("text-to-video", "duration")
    box, slider = duration.parts
    values = told(duration)

    slider.value = 7
    assert box.value == 7
    box.value = 9
    assert slider.value == 9
    assert values == [7, 9]


def test_a_number_beyond_a_bound_stays_and_what_is_no_number_is_refused() -> None:
    duration = control_of("text-to-video", "duration")
    box, slider = duration.parts
    values = told(duration)

    for typed in (99, -4, 1):  # 1 may become 13
        box.value = typed
        assert (box.value, slider.value) == (typed, 5)
    assert values == [99, -4, 1]
    duration.value = 77
    assert (duration.value, box.value) == (77, 77)
    for value in ("7", 7.5, True):
        with pytest.raises(ValueError, match="a whole number from 3 to 15 s"):
            duration.value = value


def test_a_number_that_may_be_left_out_has_a_switch() -> None:
    sharpen = control_of("image-upscale", "sharpen")
    (switch,) = sharpen.parts
    values = told(sharpen)

    switch.value = True
    _, box, slider = sharpen.parts
    slider.value = 0.3
    switch.value = False
    assert sharpen.parts == (switch,)
    switch.value = True
    assert values == [0.5, 0.3, None, 0.3]
    assert (box.value, slider.step) == (0.3, 0.01)
    slider.value = 0.1 + 0.2
    assert sharpen.value == 0.3  # without the noise of binary fractions


@pytest.mark.parametrize("kind", ["number", "integer"])
@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("12", 12),
        ("-7", -7),
        ("", None),
        *((text, text) for text in ("nan", "inf", "-1e999", "1,5", "½", "1_000")),
    ],
)
def test_a_number_without_bounds_has_a_box_alone_where_what_is_typed_stays(
    kind: Any, typed: str, value: object
) -> None:
    control = build(FieldSpec("gain", kind, nullable=True), make_context())

    (box,) = control.parts
    assert box.placeholder == "Service default"
    box.value = typed
    assert control.value == value


def made_up(field: str) -> Control:
    return build(MADE_UP.fields[field], make_context())


def test_a_slider_stays_within_what_a_number_must_be() -> None:
    *_, every = made_up("every_s").parts
    assert (every.min, every.max, every.step) == (0.25, 2, 0.25)
    strength = made_up("strength")
    values = told(strength)
    strength.parts[0].value = True
    _, box, slider = strength.parts
    assert (slider.min, slider.max) == (0.01, 0.99)  # its bounds are not reached
    for typed, shown_value in ((0.005, 0.5), (0.4, 0.4), (1, 0.4)):
        box.value = typed
        assert slider.value == shown_value
    assert values == [0.5, 0.005, 0.4, 1]
    parts = made_up("parts")  # it must be given, and begins empty
    (box,) = parts.parts
    assert (box.description, box.value, box.placeholder) == ("Parts *", "", "")


@pytest.mark.parametrize(
    ("spec", "reach"),
    [
        (FieldSpec("", "integer", low=1, high=9), (1, 9, 1)),
        (FieldSpec("", "integer", above=0, below=10), (1, 9, 1)),
        (FieldSpec("", "integer", above=-1, low=2, high=9, below=8), (2, 7, 1)),
        (FieldSpec("", "integer", low=0, high=100, step=8), (0, 96, 8)),
        (FieldSpec("", "number", low=0, high=0.25), (0, 0.25, 0.01)),
        (FieldSpec("", "number", low=0.1, high=0.3, step=0.1), (0.1, 0.3, 0.1)),
        (FieldSpec("", "number", low=0), None),
        (FieldSpec("", "number", above=0), None),
        (FieldSpec("", "integer", above=3, below=4), None),
        (FieldSpec("", "integer", low=1, high=3, step=5), None),
        (FieldSpec("", "number", low=0, high=1, step=1e-9), None),
    ],
)
def test_a_slider_reaches_what_the_field_accepts(
    spec: FieldSpec, reach: tuple[float, ...] | None
) -> None:
    assert reach_of(spec) == reach


def test_a_seed_is_drawn_cleared_and_typed() -> None:
    seed = control_of("keyframes", "seed", draw=lambda low, high: 4711)
    box, dice = seed.parts
    values = told(seed)

    dice.click()
    box.value = ""
    box.value = " -12 "
    box.value = "twelve"
    assert values == [4711, None, -12, "twelve"]


def test_characters_are_counted_where_they_are_bounded() -> None:
    name = build(FieldSpec("name", "text", max_length=8), make_context())
    prompt = control_of("text-to-video", "prompt")

    for control, words in ((name, "6 of 8"), (prompt, "6 of 3,072")):
        control.widget.value = "a kite"
        assert control.note.text == f"{words} characters"
    name.widget.value = "a"  # a short text is counted when it gets long
    assert name.note.text == control_of("r1", "prompt").note.text == ""


def test_every_box_sends_while_it_is_typed() -> None:
    # A Generate pressed right after the last key would else miss that key, and a
    # price that rests on a number would be that of the number before.
    durations = control_of("keyframes", "transition_durations_s")
    durations.value = [1]
    boxes = [
        control_of("text-to-video", "prompt").widget,
        control_of("text-to-video", "duration").parts[0],
        durations.parts[0],
    ]
    assert all(box.continuous_update for box in boxes)


def test_a_list_of_numbers_grows_and_shrinks_by_its_buttons() -> None:
    durations = control_of("keyframes", "transition_durations_s")
    add, drop = durations.parts
    values = told(durations)

    add.click()
    durations.parts[0].value = 4
    add.click()
    drop.click()
    drop.click()
    assert values == [[1], [4], [4, 4], [4], None]
    assert drop.disabled
    prompts = control_of("keyframes", "transition_prompts")
    *_, add, drop = prompts.parts
    prompts.value = ["a", "", "b", "", "c"]
    assert add.disabled
    drop.click()
    assert prompts.value == ["a", "", "b", ""]
    assert not add.disabled
