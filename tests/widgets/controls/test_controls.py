"""Every field has a control, and every value goes in and comes out the same."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import ipywidgets as w
import pytest
from hypothesis import given, settings
from ipykernel.comm.comm import BaseComm

from mediakit.catalog import Catalog, Function
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.control import Control
from mediakit.widgets.controls.number import reach_of
from mediakit.widgets.form.control_factory import build
from mediakit.widgets.toolkit.callbacks import guarded
from mediakit.widgets.toolkit.widget_factory import WidgetFactory, keep_in_order
from tests.support.rows import assert_each
from tests.support.samples.field_values import begins_filled, values_of
from tests.support.samples.sample_requests import MADE_UP
from tests.support.samples.shapes import WITH_EVERY_SHAPE, by_shape
from tests.support.soak import trials

CATALOG = Catalog.default()
every_function = pytest.mark.parametrize(
    "function", [*CATALOG, MADE_UP], ids=lambda function: function.kind
)
every_shape = pytest.mark.parametrize(
    "function", by_shape([*CATALOG, MADE_UP]), ids=lambda function: function.kind
)


def fail(sentence: str) -> None:
    raise AssertionError(sentence)


def make_context(draw: int = 4711) -> WidgetContext:
    return WidgetContext(
        WidgetFactory(),
        guarded(fail),
        lambda name, content, done: done(Path(name)),
        lambda low, high: min(max(low, draw), high),
    )


def control_of(kind: str, field: str, **more: int) -> Control:
    return build(CATALOG.function(kind).fields[field], make_context(**more))


def test_every_kind_of_control_is_among_those_that_are_tried() -> None:
    def kinds(functions: Iterable[Function]) -> set[type[Control]]:
        specs = (spec for each in functions for spec in each.fields.values())
        return {type(build(spec, make_context())) for spec in specs}

    every = [*CATALOG, MADE_UP]
    assert kinds(every) == kinds(f for f in every if f.kind in WITH_EVERY_SHAPE)


@every_function
def test_a_new_control_shows_the_default(function: Function) -> None:
    def check(spec: FieldSpec) -> None:
        if not begins_filled(spec):
            assert build(spec, make_context()).value == spec.default

    assert_each(function.fields.values(), check)


@every_shape
def test_every_value_goes_into_a_control_and_comes_out_the_same(
    function: Function,
) -> None:
    assert_each(function.fields.values(), comes_out_the_same)


def comes_out_the_same(spec: FieldSpec) -> None:
    control = build(spec, make_context())
    control.listen(lambda: fail("nobody changed it by hand"))

    @settings(max_examples=trials(3, 100))
    @given(values_of(spec))
    def check(value: object) -> None:
        control.value = value
        assert control.value == value
        assert type(control.value) is type(value)

    check()


@every_shape
def test_every_box_has_a_name_for_those_who_cannot_see_it(function: Function) -> None:
    def check(spec: FieldSpec) -> None:
        control = build(spec, make_context())
        for part in control.parts:
            assert part.description or part.tooltip
        control.set_required(required=True)
        assert control.named.description == f"{control.label} *"

    assert_each(function.fields.values(), check)


def told(control: Control) -> list[object]:
    """Return the values that the control tells, as they come."""
    values: list[object] = []
    control.listen(lambda: values.append(control.value))
    return values


def test_few_choices_are_buttons_and_many_are_a_list() -> None:
    assert isinstance(control_of("text-to-video", "resolution").widget, w.ToggleButtons)
    model = control_of("image-upscale", "model").widget
    assert isinstance(model, w.Dropdown)
    assert len(model.options) == 10


def test_a_choice_that_must_be_made_offers_none_first() -> None:
    duration = control_of("r1", "duration")

    labels = [label for label, _ in duration.widget.options]
    assert labels[:3] == ["Choose…", "Auto", "4 s"]
    assert labels[-1] == "30 s"
    assert duration.value is None
    values = told(duration)
    duration.widget.index = 2
    assert values == [4]


@pytest.mark.parametrize("field", ["output_format", "crop_to_fill"])
def test_what_may_be_left_out_stands_first_as_the_services_default(field: str) -> None:
    control = control_of("image-upscale", field)

    assert control.widget.options[0] == ("Service default", None)
    values = told(control)
    control.widget.index = 1
    control.widget.index = 0
    assert values == [control.widget.options[1][1], None]


def test_a_value_that_is_no_choice_is_refused() -> None:
    with pytest.raises(ValueError, match="8k"):
        control_of("text-to-video", "resolution").value = "8k"


def test_the_slider_and_the_box_of_a_number_move_together() -> None:
    duration = control_of("text-to-video", "duration")
    box, slider = duration.parts
    values = told(duration)

    slider.value = 7
    assert box.value == 7
    box.value = 9
    assert slider.value == 9
    assert values == [7, 9]


@pytest.mark.parametrize("typed", [99, -4, 1])
def test_what_is_typed_beyond_a_bound_stays_and_the_slider_keeps_the_last_number(
    typed: int,
) -> None:
    duration = control_of("text-to-video", "duration")
    box, slider = duration.parts
    values = told(duration)

    box.value = typed  # 1 may become 13
    assert (box.value, slider.value) == (typed, 5)
    assert values == [typed]


def test_a_number_from_code_is_shown_as_it_is_even_beyond_a_bound() -> None:
    duration = control_of("text-to-video", "duration")

    duration.value = 99
    assert duration.value == 99
    assert duration.parts[0].value == 99


@pytest.mark.parametrize("value", ["7", 7.5, True])
def test_what_is_no_whole_number_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="a whole number from 3 to 15 s"):
        control_of("text-to-video", "duration").value = value


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


def test_a_slider_does_not_show_the_noise_of_binary_fractions() -> None:
    sharpen = control_of("image-upscale", "sharpen")
    sharpen.value = 0.5
    *_, slider = sharpen.parts

    slider.value = 0.1 + 0.2
    assert sharpen.value == 0.3


def test_a_number_without_bounds_has_a_box_alone() -> None:
    spec = FieldSpec("gain", "number", nullable=True)
    gain = build(spec, make_context())

    gain.value = 12_345.678
    (box,) = gain.parts
    assert box.value == "12345.678"
    box.value = "-1e9"
    assert gain.value == -1e9
    box.value = ""
    assert gain.value is None


def test_a_whole_number_without_bounds_may_be_left_out() -> None:
    count = build(FieldSpec("count", "integer", nullable=True), make_context())

    (box,) = count.parts
    assert box.placeholder == "Service default"
    box.value = "12"
    assert count.value == 12


def made_up(field: str) -> Control:
    return build(MADE_UP.fields[field], make_context())


def test_a_slider_keeps_to_what_a_number_must_be_a_multiple_of() -> None:
    *_, every = made_up("every_s").parts
    *_, pairs = made_up("pairs").parts

    assert (every.min, every.max, every.step) == (0.25, 2, 0.25)
    assert (pairs.min, pairs.max, pairs.step) == (2, 14, 2)


def test_a_slider_stays_between_bounds_that_are_not_reached() -> None:
    strength = made_up("strength")
    values = told(strength)

    strength.parts[0].value = True
    _, box, slider = strength.parts
    assert (slider.min, slider.max) == (0.01, 0.99)
    box.value = 0.005
    assert slider.value == 0.5
    box.value = 0.4
    assert slider.value == 0.4
    box.value = 1
    assert slider.value == 0.4
    assert values == [0.5, 0.005, 0.4, 1]


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


def test_a_number_that_must_be_given_begins_empty() -> None:
    parts = made_up("parts")

    (box,) = parts.parts
    assert (box.description, box.value, box.placeholder) == ("Parts *", "", "")
    box.value = "12"
    assert parts.value == 12


@pytest.mark.parametrize("text", ["nan", "inf", "-1e999", "1,5", "½"])
def test_what_is_no_number_stays_as_it_was_typed(text: str) -> None:
    gain = build(FieldSpec("gain", "number"), make_context())

    (box,) = gain.parts
    box.value = text
    assert gain.value == text


def test_a_short_text_is_counted_when_it_gets_long() -> None:
    name = build(FieldSpec("name", "text", max_length=8), make_context())

    name.widget.value = "a kite"
    assert name.note.text == "6 of 8 characters"
    name.widget.value = "a"
    assert name.note.text == ""


def test_a_list_without_an_end_counts_its_items() -> None:
    item = FieldSpec("", "number")
    weights = build(FieldSpec("weights", "list", item=item), make_context())

    weights.value = [0.5, 1.5]
    assert ">2<" in weights.named.value
    assert not weights.parts[-2].disabled


def test_a_list_must_say_what_its_items_are() -> None:
    with pytest.raises(TypeError, match="weights"):
        build(FieldSpec("weights", "list"), make_context())


def test_a_seed_is_drawn_cleared_and_typed() -> None:
    seed = control_of("keyframes", "seed", draw=4711)
    box, dice = seed.parts
    values = told(seed)

    dice.click()
    box.value = ""
    box.value = " -12 "
    box.value = "twelve"
    assert values == [4711, None, -12, "twelve"]


def test_a_bounded_text_counts_its_characters() -> None:
    prompt = control_of("text-to-video", "prompt")

    prompt.widget.value = "a kite"
    assert prompt.note.text == "6 of 3,072 characters"
    assert control_of("r1", "prompt").note.text == ""


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


def test_a_list_takes_no_more_items_than_its_field() -> None:
    prompts = control_of("keyframes", "transition_prompts")
    *_, add, drop = prompts.parts

    prompts.value = ["a", "", "b", "", "c"]
    assert add.disabled
    drop.click()
    assert prompts.value == ["a", "", "b", ""]
    assert not add.disabled


@every_shape
def test_a_control_that_is_off_keeps_its_value(function: Function) -> None:
    def check(spec: FieldSpec) -> None:
        control = build(spec, make_context())
        before = control.value
        control.set_enabled(enabled=False)
        assert all(part.disabled for part in control.parts)
        assert control.value == before
        control.set_enabled(enabled=True)
        assert not control.parts[0].disabled

    assert_each(function.fields.values(), check)


def test_the_browser_alone_chooses_the_thread_that_hears_a_widget() -> None:
    make_comm: Any = BaseComm  # it ships no types
    comm = make_comm(target_name="jupyter.widget")
    comm._reply_subshell_id = None  # as if the main thread had written last

    keep_in_order(comm)
    route = getattr(comm, "_reply_subshell_for", lambda data, sent: sent)
    assert route({"method": "custom"}, "a-subshell") == "a-subshell"
