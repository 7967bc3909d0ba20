"""The values of a form's sweep, and its `client.sweep` call."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from mediakit.prompt_templates import slots_in
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.json_values import (
    FURTHER,
    Unreadable,
    read_json,
    unreadable,
)
from mediakit.widgets.controls.messages import label_of, mid_sentence, sentence_case
from mediakit.widgets.form.python_code import is_argument, is_default

if TYPE_CHECKING:
    from mediakit.widgets.form.state import FormState

Way = Literal["choices", "both", "numbers", "lines", "lists", "json"]
"""How the values of an axis are entered: ticked, as numbers, or one per line."""
AxisInput = str | tuple[object, ...]
"""The content of an axis control: a text, or the ticked choices."""

MOST_VALUES = 1_000
RESERVED = ("function", "zip", "rows", "sample", "takes", "take")
"""The arguments of `client.sweep` itself, and columns of a plan's frame."""
NUMBERS = "3, 5, 10 or 3-9 step 2"
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
_ONE = re.compile(_NUMBER)
_SPAN = re.compile(
    rf"({_NUMBER})\s*(?:-|–|to)\s*({_NUMBER})(?:\s*step\s*({_NUMBER}))?"  # noqa: RUF001 - a dash that people type
)
_BETWEEN_MEDIA = re.compile(r",\s+")


@dataclass(frozen=True)
class SweepChoice:
    """The fields to vary, and their values."""

    varied: tuple[str, ...] = ()  # in the order of ticking
    # the content of axis controls, including fields that no longer vary
    entries: Mapping[str, AxisInput] = field(default_factory=dict)
    takes: int = 1  # per combination

    def with_varied(self, spec: FieldSpec, value: object) -> SweepChoice:
        """Return the choice with another varied field, which begins with a value."""
        entries = {spec.name: first_entry(spec, value), **self.entries}
        varied = (*(n for n in self.varied if n != spec.name), spec.name)
        return replace(self, varied=varied, entries=entries)

    def without(self, name: str) -> SweepChoice:
        return replace(self, varied=tuple(n for n in self.varied if n != name))

    def with_entry(self, name: str, entry: AxisInput) -> SweepChoice:
        return replace(self, entries={**self.entries, name: entry})


@dataclass(frozen=True)
class SweepCall:
    """The `client.sweep` call for a choice."""

    axes: Mapping[str, object]  # all fields and slots, varied or not
    takes: int
    slots: tuple[str, ...]  # slots of templates, without those that are fields
    # sentences by field or slot; if there are any, the call cannot be made
    problems: Mapping[str, str]

    @property
    def arguments(self) -> dict[str, object]:
        takes = {"takes": self.takes} if self.takes > 1 else {}
        return {**self.axes, **takes}


def axes_of(state: FormState) -> dict[str, FieldSpec]:
    """Return the fields that can vary in a form, including undeclared ones."""
    fields = state.function.of(state.values).fields
    return {**{n: FieldSpec(n, "json") for n in state.further}, **fields}


def way_of(spec: FieldSpec) -> Way:
    item = spec.item
    if spec.kind == "list" and item is not None and item.media_kind:
        return "lists"
    return _WAYS.get(spec.kind, "json")


_WAYS: Mapping[str, Way] = {
    "choice": "choices",
    "boolean": "both",
    "integer": "numbers",
    "number": "numbers",
    "text": "lines",
    "media": "lines",
}


def first_entry(spec: FieldSpec, value: object) -> AxisInput:
    """Return the first value of an axis: the form's own."""
    way = way_of(spec)
    if way == "choices":
        return tuple(choice for choice in spec.choices if choice == value)
    if value is None or way == "both" or isinstance(value, Unreadable):
        return ""
    if way == "lists" and isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if way == "json":
        return json.dumps(value, ensure_ascii=False)
    return " ".join(str(value).split("\n"))


def call_of(state: FormState, choice: SweepChoice) -> SweepCall:
    """Return the call for a form and a choice, without fields at their default."""
    specs = axes_of(state)
    body = state.body()
    problems: dict[str, str] = {}
    given: dict[str, object] = {}
    for name in choice.varied:
        if name in specs:
            entry = choice.entries.get(name, "")
            given |= _read(partial(_values, specs[name]), name, entry, problems)
    for name in specs.keys() - given.keys() - problems.keys():
        if name in body and not is_default(state.function, name, body[name]):
            given[name] = _fixed(specs[name], body[name])
    problems |= _unreadable(state, {*specs, FURTHER.name} - {*choice.varied})
    axes = {name: given[name] for name in specs if name in given}
    problems |= _refused(axes, "field")
    slots = _slots(state, specs, axes)
    problems |= _refused(slots, "slot")
    for name in slots:
        axes |= _read(_lines, name, choice.entries.get(name, ""), problems)
    return SweepCall(axes, choice.takes, slots, problems)


def _read(
    read: Callable[[Any], list[Any]],
    name: str,
    entry: AxisInput,
    problems: dict[str, str],
) -> dict[str, object]:
    """Return an axis by name; record the problem if it is unreadable."""
    try:
        return {name: read(entry)}
    except ValueError as error:
        problems.setdefault(name, str(error))
        return {}


def _fixed(spec: FieldSpec, value: object) -> object:
    """Return a value that does not vary, as a sweep takes it."""
    if not isinstance(value, list | tuple):
        return value
    holds_lists = any(isinstance(each, list | tuple) for each in value)
    # A list is an axis, except in a field that takes a list.
    return value if spec.kind == "list" and not holds_lists else [value]


def _unreadable(state: FormState, names: Iterable[str]) -> dict[str, str]:
    """Return sentences for fields with values that cannot be sent."""
    sentences = {}
    for name in names:
        if name not in state.disabled:
            for problem in unreadable(name, state.values.get(name)):
                sentences[name] = f"{sentence_case(problem.accepted)}."
    return sentences


def _refused(names: Iterable[str], what: str) -> dict[str, str]:
    """Return sentences for names that cannot be arguments of `client.sweep`."""
    return {
        name: f"A sweep cannot have a {what} named {name}."
        for name in names
        if name in RESERVED or not is_argument(name)
    }


def _slots(
    state: FormState, specs: Mapping[str, FieldSpec], axes: Mapping[str, object]
) -> tuple[str, ...]:
    """Return the slots without a field, in order of appearance."""
    slots: list[str] = []
    for name, value in axes.items():
        spec = specs[name]
        if spec.kind == "text" or name in state.further:
            values = value if isinstance(value, list) else [value]
            slots += [slot for each in values for slot in _in_order(each)]
    return tuple(dict.fromkeys(slot for slot in slots if slot not in specs))


def _in_order(value: object) -> list[str]:
    return sorted(slots_in([value]), key=lambda slot: str(value).index(f"{{{slot}}}"))


# -- values -----------------------------------------------------------------------


def _values(spec: FieldSpec, entry: AxisInput) -> list[Any]:
    """Parse the values of an axis; a `ValueError` gives the reason."""
    way = way_of(spec)
    if way == "both":
        return [False, True]
    if way == "choices":
        chosen = [choice for choice in spec.choices if choice in entry]
        if not chosen:
            raise ValueError(f"Select at least one {mid_sentence(label_of(spec))}.")
        return chosen
    if way == "numbers":
        return numbers_in(str(entry), whole=spec.kind == "integer", step=spec.step)
    lines = _lines(str(entry))
    if way == "lists":
        return [_BETWEEN_MEDIA.split(line.rstrip(",")) for line in lines]
    if way == "json":
        return [_json(line, at) for at, line in enumerate(lines, 1)]
    return lines


def _lines(text: str) -> list[str]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise ValueError("Enter at least one value, one per line.")
    return lines


def _json(line: str, number: int) -> object:
    value = read_json(line)
    if isinstance(value, Unreadable):
        raise ValueError(f"Line {number}: {value.reason}.")
    return value


def numbers_in(text: str, *, whole: bool, step: float | None = None) -> list[float]:
    """Parse numbers such as "3, 5, 10" or "3-9 step 2"; see `_values`."""
    # The plan says, cell by cell, whether the service accepts a number.
    usual = Decimal(str(step)) if step else Decimal(1) if whole else None
    numbers: list[Decimal] = []
    for part in re.split(r"[,;\n]", text):
        if part.strip():
            numbers += _numbers(part.strip(), usual, MOST_VALUES - len(numbers))
    if not numbers:
        raise ValueError(f"Enter numbers, such as {NUMBERS}.")
    return [_plain(number) for number in dict.fromkeys(numbers)]


def _numbers(part: str, usual: Decimal | None, room: int) -> list[Decimal]:
    if _ONE.fullmatch(part):
        return [Decimal(part)]
    span = _SPAN.fullmatch(part)
    if span is None:
        raise ValueError(f'"{part}" is not a number. Enter {NUMBERS}.')
    first, last = Decimal(span[1]), Decimal(span[2])
    step = Decimal(span[3]) if span[3] else usual
    if step is None:
        raise ValueError(f"Add the step, such as {first}-{last} step 0.25.")
    if step <= 0:
        raise ValueError(f"In {part}, the step must be above 0.")
    if last < first:
        raise ValueError(f"In {part}, write the smaller number first.")
    count = (last - first) // step + 1
    if count > room:
        raise ValueError(f"Enter at most {MOST_VALUES:,} numbers.")
    return [first + step * place for place in range(int(count))]


def _plain(number: Decimal) -> float:
    return int(number) if number == number.to_integral_value() else float(number)
