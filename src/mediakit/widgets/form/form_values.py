"""The values of a form, which users read and set in code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from traitlets import TraitError

from mediakit.catalog import Function
from mediakit.errors import InputError, NotFoundError
from mediakit.history import Entry
from mediakit.rules import Problem
from mediakit.widgets.controls.control import Control
from mediakit.widgets.controls.json_values import FURTHER
from mediakit.widgets.form.state import FormState

if TYPE_CHECKING:
    from mediakit.blocking_client import Client
    from mediakit.job import Job

LAST = "last"
LOOKED_THROUGH = 50
ACCEPTED = '"last", a job, or the id of a job that was submitted from here'
UNCHANGED = "Nothing was changed."

Controls = Mapping[str, Control]
Read = Callable[[], Mapping[str, object]]
Write = Callable[[Mapping[str, object]], None]


class FormValues(Mapping[str, Any]):
    """What the fields of a form hold, always as it is now.

    Setting a value moves the form's controls, and what people do in the form can be
    read here at once:

        form.values.duration = 7
        form.values.update(prompt="a kite", resolution="1080p")
        form.values["duration"]

    A field whose name is a method of mappings, such as "items", is there with
    brackets only. None means "not sent"; set, it gives a field its default back.

    Args:
        read: Returns the value of each field.
        write: Sets some of them, all or none.
    """

    def __init__(self, read: Read, write: Write) -> None:
        # Plain assignment sets a field.
        vars(self).update(_read=read, _write=write)

    def __getitem__(self, name: str) -> Any:
        return vars(self)["_read"]()[name]

    def __setitem__(self, name: str, value: object) -> None:
        vars(self)["_write"]({name: value})

    def __iter__(self) -> Iterator[str]:
        return iter(vars(self)["_read"]())

    def __len__(self) -> int:
        return len(vars(self)["_read"]())

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            known = ", ".join(self)
            raise AttributeError(f"no field {name!r}; the fields: {known}") from None

    def __setattr__(self, name: str, value: object) -> None:
        self[name] = value

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name in self if name.isidentifier())]

    def __repr__(self) -> str:
        return f"<values {dict(self)!r}>"

    def update(
        self, values: Mapping[str, object] | None = None, /, **more: object
    ) -> None:
        """Set several fields at once; when one of them cannot be set, none is.

        Args:
            values: Values by field.
            more: The same as keywords.

        Raises:
            InputError: There is no such field, or its control cannot show the value.
            ConflictError: The form is closed.
        """
        vars(self)["_write"]({**(values or {}), **more})

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)


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
        raise InputError.of(problems, then=UNCHANGED)
    return state


def _differing(
    controls: Controls, state: FormState
) -> Iterator[tuple[Control, object]]:
    for name, control in controls.items():
        if control.value != state.values.get(name):
            yield control, state.values.get(name)


def recalled(client: Client, function: Function, like: Job | str) -> dict[str, object]:
    """Return the fields of an earlier request, its media as URLs.

    Args:
        client: The client whose history is read.
        function: The function of the form.
        like: A job or its id; "last" for what the function was asked for last.

    Returns:
        The fields as they were sent; none if the function was never asked before.

    Raises:
        InputError: It is nothing that names a job.
        NotFoundError: The job is not in this history.
    """
    if like == LAST:
        made = client.history.page(kind=function.kind, limit=LOOKED_THROUGH)
        same = [entry for entry in made if entry.function == function.path]
        return _fields(same[0]) if same else {}
    job_id = getattr(like, "id", like)
    if not isinstance(job_id, str):
        raise InputError("like", got=job_id, accepted=ACCEPTED)
    entry = client.components.store.find(job_id)
    if entry is None:
        raise NotFoundError(
            f"{job_id} is not in this history. Accepted: {ACCEPTED}.", job_id=job_id
        )
    return _fields(entry)


def _fields(entry: Entry) -> dict[str, object]:
    body: dict[str, object] = json.loads(entry.body)
    body.pop("webhook_url", None)
    return body
