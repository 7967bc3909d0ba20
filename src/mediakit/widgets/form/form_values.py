"""The values of a form, which code can read and set."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mediakit.catalog import Function
from mediakit.client.recipes import Recipe, read_recipe
from mediakit.errors import InputError, NotFoundError
from mediakit.history import Entry
from mediakit.rules import Problem
from mediakit.schema import FieldSpec
from mediakit.widgets.controls import Wire, held, shown
from mediakit.widgets.controls.json_values import FURTHER, read_further
from mediakit.widgets.form.fields_payload import axes_of, fields_of
from mediakit.widgets.form.state import FormState

if TYPE_CHECKING:
    from mediakit.blocking_client import Client
    from mediakit.job import Job

LAST = "last"
LOOKED_THROUGH = 50
ACCEPTED = '"last", a job, or the id of a job that was submitted from here'
UNCHANGED = "Nothing was changed."

Read = Callable[[], Mapping[str, object]]
Write = Callable[[Mapping[str, object]], None]


class FormValues(Mapping[str, Any]):
    """The current values of a form's fields.

    Setting a value moves the form's controls, and edits in the form can be read here at
    once:

        form.values.duration = 7
        form.values.update(prompt="a kite", resolution="1080p")
        form.values["duration"]

    A field whose name is a method of mappings, such as "items", is available only with
    brackets. None means "not sent"; setting it restores the field's default.
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
            names = ", ".join(self)
            raise AttributeError(f"no field {name!r}; the fields: {names}") from None

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
            more: More values, as keyword arguments.

        Raises:
            InputError: There is no such field, or its control cannot show the value.
            ConflictError: The form is closed.
        """
        vars(self)["_write"]({**(values or {}), **more})

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)


def held_in(function: Function, spec: FieldSpec, wire: Wire) -> object:
    """Convert what the page holds of a field to its value."""
    if spec.name == FURTHER.name:
        return read_further(wire, function.fields)
    return held(spec, wire)


def visible_fields(state: FormState) -> dict[str, FieldSpec]:
    """Return the fields on the page, of the chosen kind of body."""
    fields = fields_of(state.function, state.values)
    if state.function.tag is None:
        return fields
    return {n: s for n, s in fields.items() if n not in state.disabled}


def started(state: FormState) -> FormState:
    """Return a new form with the initial values of its controls."""
    fields = fields_of(state.function, state.values)
    values = {n: held_in(state.function, s, shown(s, None)) for n, s in fields.items()}
    return replace(state, values={**state.values, **values})


def adapted(state: FormState) -> FormState:
    """Return a form whose values suit the chosen kind of body, or are defaults."""
    function = state.function
    if function.tag is None:
        return state
    values = dict(state.values)
    for name, spec in fields_of(function, values).items():
        if name in state.disabled or name == function.tag:
            continue
        try:
            wire = shown(spec, values.get(name))
        except ValueError:
            wire = shown(spec, None)
        values[name] = held_in(function, spec, wire)
    return replace(state, values=values)


def named(state: FormState, given: Collection[str] | None = None) -> FormState:
    """Return a form with names for the initial rows of all or the given timelines."""
    values = dict(state.values)
    for name, axis in axes_of(state.function).items():
        items = list(axis.items(values[name]))
        # Values from code are unchanged; only initial rows get names.
        is_filled = any(any(axis.inner(item)) for item in items)
        if not is_filled and (given is None or name in given):
            values[name] = axis.named(items)
    return replace(state, values=values)


def assigned(
    state: FormState, name: str, value: object
) -> tuple[FormState, Problem | None]:
    """Return a form with a value set from code, or the problem with it."""
    function = state.function
    fields = {
        **function.fields,
        **({FURTHER.name: FURTHER} if function.is_open else {}),
    }
    if name not in fields and function.is_open:
        name, value = FURTHER.name, state.further | {name: value}
    spec = fields.get(name)
    if spec is None:
        problems = function.check({name: value})
        return state, next(p for p in problems if p.field == name)
    try:
        wire = shown(spec, value)
    except ValueError:
        return state, Problem(name, value, spec.accepted)
    return state.with_value(name, held_in(function, spec, wire)), None


def assigned_together(state: FormState, values: Mapping[str, object]) -> FormState:
    """Return a form with all these values, or raise an `InputError`."""
    problems = []
    for name, value in values.items():
        state, problem = assigned(state, name, value)
        problems += [problem] if problem else []
    if problems:
        raise InputError.of(problems, then=UNCHANGED)
    return named(adapted(state), values)


def recalled(client: Client, function: Function, like: Job | str) -> dict[str, object]:
    """Return the fields of an earlier request; none if "last" finds none."""
    if like == LAST:
        entries = client.history.page(kind=function.kind, limit=LOOKED_THROUGH)
        same = [entry for entry in entries if entry.function == function.path]
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


def recalled_from_file(
    client: Client, function: str, path: Path
) -> tuple[str, dict[str, object]]:
    """Return the function and fields of the request in a saved file."""
    recipe = read_recipe(path.expanduser())
    model_function = client.catalog.function(function or recipe.function)
    if model_function.path != recipe.function:
        accepted = f"a file that {model_function.path} made"
        got = f"{path}, which {recipe.function} made"
        raise InputError("from_file", got=got, accepted=accepted)
    return model_function.path, fields_of_recipe(client, model_function, recipe)


def fields_of_recipe(
    client: Client, function: Function, recipe: Recipe
) -> dict[str, object]:
    """Return the fields of a recipe that a form may show.

    For a job of this history, they come from the history. For any other file, they are
    only values that the function's fields accept, without media.
    """
    entry = client.components.store.find(recipe.job_id)
    if entry is not None and entry.function == function.path:
        return _fields(entry)
    wrong = {problem.root for problem in function.check(recipe.fields)}
    return {
        name: value
        for name, value in recipe.fields.items()
        if name in function.fields
        and name not in wrong
        and not any(s.media_kind for s in function.fields[name].with_inner())
    }


def _fields(entry: Entry) -> dict[str, object]:
    body: dict[str, object] = json.loads(entry.body)
    body.pop("webhook_url", None)
    return body
