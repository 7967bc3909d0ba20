"""Values that code gives to the controls of a form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from traitlets import TraitError

from mediakit.errors import InputError
from mediakit.rules import Problem
from mediakit.widgets.controls.base import Control
from mediakit.widgets.controls.json_values import FURTHER
from mediakit.widgets.form.state import FormState

UNCHANGED = "Nothing was changed."

Controls = Mapping[str, Control]


def assigned(
    controls: Controls, state: FormState, name: str, value: object
) -> tuple[FormState, Problem | None]:
    """Show a value that came from code.

    Args:
        controls: The controls of the form, by field.
        state: What the form shows.
        name: The field; an open function takes any name.
        value: Its value; None is the field's default.

    Returns:
        The new state, and what is wrong if the value cannot be shown, as it was then.
    """
    function = state.function
    if name not in controls and function.is_open:
        name, value = FURTHER.name, state.further | {name: value}
    control = controls.get(name)
    if control is None:
        problems = function.check({name: value})
        return state, next(p for p in problems if p.field == name)
    before, problem = control.value, None
    try:
        control.value = control.spec.default if value is None else value
    except (TraitError, ValueError):
        control.value = before
        problem = Problem(name, value, control.spec.accepted)
    return state.with_value(name, control.value), problem


def assigned_together(
    controls: Controls, state: FormState, values: Mapping[str, object]
) -> FormState:
    """Show some values, or none of them.

    Args:
        controls: The controls of the form, by field.
        state: What the form shows.
        values: The values by field.

    Raises:
        InputError: There is no such field, or its control cannot show the value.
    """
    before = state
    problems = []
    for name, value in values.items():
        state, problem = assigned(controls, state, name, value)
        problems += [problem] if problem else []
    if problems:
        for control, value in _differing(controls, before):
            control.value = value
        raise InputError.of(problems, sent=UNCHANGED)
    return state


def _differing(
    controls: Controls, state: FormState
) -> Iterator[tuple[Control, object]]:
    for name, control in controls.items():
        if control.value != state.values.get(name):
            yield control, state.values.get(name)
