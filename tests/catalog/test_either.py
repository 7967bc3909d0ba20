"""The control of a value of one of several shapes."""

from __future__ import annotations

from typing import Any

from mediakit.catalog import Function
from mediakit.catalog.examples import example
from mediakit.rules import Problem
from mediakit.widgets.form.control_factory import build
from mediakit.widgets.form.state import FormState
from mediakit.widgets.nested.union import Either
from tests.catalog.test_from_schema import ONE_OR_MORE, SIZE, function_of
from tests.widgets.controls.test_controls import make_context
from tests.widgets.form.test_properties import filled, make_view

PRESET, OWN = "preset", "width and height"


def size(**more: Any) -> Either:
    spec = function_of({"size": {**SIZE, **more}}).fields["size"]
    control = build(spec, make_context())
    assert isinstance(control, Either)
    return control


def held(control: Either) -> object:
    return control.value


def choose(control: Either, name: str) -> None:
    control._chooser.parts[0].value = name


def test_people_choose_a_preset_or_an_object() -> None:
    control = size(default="square")

    assert control._chooser.parts[0].options == (
        (OWN.capitalize(), OWN),
        (PRESET.capitalize(), PRESET),
    )
    assert held(control) == "square"
    choose(control, OWN)
    assert held(control) == {}
    control.value = {"width": 5, "height": 6}
    choose(control, PRESET)
    control.value = "portrait"
    choose(control, OWN)
    assert held(control) == {"width": 5, "height": 6}


def test_an_optional_value_begins_empty() -> None:
    control = size()

    assert held(control) is None
    choose(control, PRESET)
    assert held(control) is None
    control.value = "portrait"
    control.value = None
    assert held(control) is None


def test_a_problem_inside_the_object_is_shown_there() -> None:
    control = size(default={"width": 5})
    problems = (
        Problem("size.width", 10, "a whole number of at most 9"),
        Problem("size", 5, "an object"),
    )

    assert control.place_problems(problems) == problems[1:]


def test_a_form_sends_one_or_the_other() -> None:
    function = function_of({"image_url": ONE_OR_MORE, "size": SIZE})
    view = make_view(function)

    for body in (
        {"image_url": "https://a.test/1.png", "size": "square"},
        {"image_url": ["https://a.test/1.png"], "size": {"width": 5}},
        {},
    ):
        state = filled(view, FormState.start(function, body))
        assert state.body() == body
        assert state.problems == ()


def test_an_example_uses_one_of_them() -> None:
    function: Function = function_of({"size": SIZE}, required=["size"])

    assert function.check(example(function)) == []
