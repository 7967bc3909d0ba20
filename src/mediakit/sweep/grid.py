"""The grid of a sweep: the fields that vary, their values, and their pairing."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from keyword import iskeyword
from math import prod
from typing import Any, TypeGuard

from mediakit.catalog import Function
from mediakit.client.media_inputs import job_of
from mediakit.client.request_preparation import full_names
from mediakit.errors import InputError
from mediakit.plain_numbers import whole
from mediakit.prompt_templates import NamedText, fill, slots_in
from mediakit.rules import ValueDescription, all_of
from mediakit.schema import FieldSpec
from mediakit.sweep.sending_order import key_of, unit_of
from mediakit.table_columns import (
    as_list,
    is_column,
    is_listing,
    is_table,
    present,
    records_of,
    whole_as_integer,
    with_whole_numbers,
)

MOST_CELLS = 100_000
SOME_COLUMNS = "some of the columns of rows, but not all of them"
WIDTH = 88
RESERVED = frozenset(
    {"take", "valid", "problem", "owned", "state", "status", "rating", "keep"}
    | {"tags", "note", "rater", "sweep", "charge_micro_usd", "charge_usd"}
    | {"job_id", "output_url", "media_type", "parent_job_id", "runtime_s"}
    | {"low_micro_usd", "high_micro_usd", "estimate_kind"}
)

Values = Mapping[str, object]
Dimension = Mapping[str, tuple[object, ...]]
"""Axes that vary together, with as many values each."""


@dataclass(frozen=True)
class Point:
    """One combination of axis values; each of its takes is a cell.

    The fields are for `client.submit`; the labels are never sent.
    """

    axes: Values
    fields: Values
    labels: Values = field(default_factory=dict)


@dataclass(frozen=True)
class Grid:
    """What varies in a sweep.

    Args:
        axes: The values of each axis, in the given order.
        fixed: The fields that have one value.
        slots: The axes that fill templates.
        points: The points, the last axis varying fastest.
        takes: The number of takes of each point.
        shuffle: The seed that shuffles the order of sending; None for the given order.
    """

    axes: Dimension
    fixed: Values
    slots: frozenset[str]
    points: Sequence[Point]
    takes: int
    shuffle: int | None = None


def grid_of(
    function: Function,
    given: Mapping[str, object],
    *,
    zipped: object = None,
    rows: object = None,
    sample: object = None,
    takes: object = 1,
    labels: object = None,
    shuffle: object = None,
) -> Grid:
    """Parse the arguments of a sweep; see `AsyncClient.sweep`."""
    row_columns = _row_columns(rows, fields_by_name(function))
    label_columns = {n: row_columns.pop(n) for n in _label_names(labels, row_columns)}
    given, zipped = _with_named_texts(function, given, zipped)
    _check_names(function, {**given, **_mapping(zipped), **row_columns})
    fixed, dimensions = _dimensions(function, dict(given), zipped, row_columns)
    rows_at = len(dimensions) - 1
    axes = {name: values for each in dimensions for name, values in each.items()}
    _refuse_twice([*fixed, *axes, *label_columns])
    templates = _templates(function, fixed, axes)
    takes_n = _takes(takes)
    slots = frozenset[str]().union(*templates.values())
    unit = unit_of(axes, slots)
    chosen = _chosen(dimensions, unit, sample)
    if len(chosen) * takes_n > MOST_CELLS:
        raise InputError(
            "sweep",
            got=ValueDescription(f"a grid of {len(chosen) * takes_n:,} cells"),
            accepted=f"at most {MOST_CELLS:,} cells; sample=... chooses some of them",
        )
    named = {**dict.fromkeys(fixed), **axes}
    field_of = {name: _field_of(function, name, named) for name in named}
    for slot in slots - fields_by_name(function).keys():
        if field_of.get(slot) == slot:
            del field_of[slot]

    def point(number: int) -> Point:
        places = _places_at(dimensions, number)
        at = _values_at(dimensions, places)
        values = {**fixed, **at}
        filled = {
            its_field: fill(values[name], values) if name in templates else values[name]
            for name, its_field in field_of.items()
        }
        its = {n: values[places[rows_at]] for n, values in label_columns.items()}
        return Point(at, filled, its)

    return Grid(
        axes=axes,
        fixed={field_of[n]: value for n, value in fixed.items() if n in field_of},
        slots=slots & axes.keys(),
        points=[point(number) for number in chosen],
        takes=takes_n,
        shuffle=_seed(shuffle),
    )


def _places_at(dimensions: Sequence[Dimension], number: int) -> list[int]:
    """Return the index in each dimension of the point with a number, from 0."""
    places = []
    for dimension in reversed(dimensions):
        number, place = divmod(number, _length(dimension))
        places.append(place)
    return places[::-1]


def _values_at(
    dimensions: Sequence[Dimension], places: Sequence[int]
) -> dict[str, object]:
    return {
        name: values[place]
        for dimension, place in zip(dimensions, places, strict=True)
        for name, values in dimension.items()
    }


def _length(dimension: Dimension) -> int:
    return len(next(iter(dimension.values())))


def _chosen(
    dimensions: Sequence[Dimension], unit: str | None, sample: Any
) -> Sequence[int]:
    """Return the numbers of all points, or of a sample."""
    count = prod(map(_length, dimensions))
    if sample is None:
        return range(count)
    given = sample if isinstance(sample, tuple) else (sample, 0)
    numbers = [n for n in given if isinstance(n, int) and not isinstance(n, bool)]
    if len(given) != 2 or len(numbers) != 2 or numbers[0] < 1:
        accepted = "a number of points, such as 20, or a number and a seed: (20, 7)"
        raise InputError("sample", got=sample, accepted=accepted)
    wanted, seed = numbers
    if wanted >= count:
        return range(count)
    length, stride = _pair_of(dimensions, unit)
    if wanted < length:
        length, stride = 1, 1
    groups = random.Random(seed).sample(range(count // length), -(-wanted // length))
    points = [
        group // stride * stride * length + place * stride + group % stride
        for group in groups
        for place in range(length)
    ]
    return sorted(points[:wanted])


def _pair_of(dimensions: Sequence[Dimension], unit: str | None) -> tuple[int, int]:
    """Return the number of points that are compared, and their distance.

    They differ in the first axis that is not the unit, so that a sample of whole pairs
    can be compared by it.
    """
    for place, dimension in enumerate(dimensions):
        if unit is not None and unit not in dimension:
            return _length(dimension), prod(map(_length, dimensions[place + 1 :]))
    return 1, 1


def _seed(shuffle: object) -> int | None:
    seed = whole(shuffle)
    if seed is None and shuffle is not None:
        accepted = "a whole number: the seed for the sending order"
        raise InputError("shuffle", got=shuffle, accepted=accepted)
    return seed


def _takes(takes: object) -> int:
    count = whole(takes)
    if count is None or not 1 <= count <= 1000:
        raise InputError("takes", got=takes, accepted="a whole number from 1 to 1,000")
    return count


# -- names ------------------------------------------------------------------------


def _check_names(function: Function, names: Mapping[str, object]) -> None:
    """Raise an error for a name that is neither a field nor a template slot."""
    slots = {slot for value in names.values() for slot in slots_in(_listed(value))}
    declared = fields_by_name(function)
    for name in sorted(slots & RESERVED - set(declared)):
        accepted = (
            "a different name, because the results already have a column with this name"
        )
        raise InputError(
            name, got=ValueDescription(f"the slot {{{name}}}"), accepted=accepted
        )
    for name, value in names.items():
        is_field = _field_of(function, name, names) in declared
        if not (is_field or name in slots or function.is_open):
            values = _listed(value)
            for slot in get_close_matches(name, sorted(slots), 1):
                accepted = (
                    "a field, or a slot of the prompt's template: did you mean "
                    f"{{{slot}}}?"
                )
                raise InputError(name, got=values, accepted=accepted)
            problems = function.check({name: values[0] if values else None})
            raise InputError.of([p for p in problems if p.root == name] or problems[:1])


def _field_of(function: Function, name: str, given: Mapping[str, object]) -> str:
    """Return the field that an argument names, such as `video_url` for `video`."""
    return next(iter(full_names(function, {name: given.get(name)})))


def fields_by_name(function: Function) -> dict[str, FieldSpec]:
    """Return a function's fields by name; of all body types if there are several."""
    if function.tag is None:
        return dict(function.fields)
    fields: dict[str, FieldSpec] = {}
    for variant in function.variants.values():
        fields |= variant.fields
    return fields


# -- axes -------------------------------------------------------------------------


def _dimensions(
    function: Function,
    given: dict[str, object],
    zipped: object,
    row_columns: dict[str, tuple[object, ...]],
) -> tuple[dict[str, object], list[Dimension]]:
    specs = fields_by_name(function)

    def spec_of(name: str) -> FieldSpec | None:
        return specs.get(_field_of(function, name, {**given, **together}))

    together = dict(_mapping(zipped))
    if not together:
        together = {name: given.pop(name, None) for name in _zip_names(zipped, given)}
    dimensions: list[Dimension] = []
    fixed: dict[str, object] = {}
    for name, value in given.items():
        if _is_axis(value, spec_of(name)):
            dimensions.append({name: _distinct(_values(name, value, spec_of(name)))})
        else:
            _refuse_iterator(name, value)
            fixed[name] = value
    if together:
        columns = {n: _values(n, v, spec_of(n)) for n, v in together.items()}
        dimensions.append(_zipped(columns))
    if row_columns:
        dimensions.append(row_columns)
    _refuse_twice([*fixed, *(name for each in dimensions for name in each)])
    return fixed, dimensions


def _refuse_twice(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                name,
                got=ValueDescription("it twice"),
                accepted="given once: as an axis, in zip= or in rows=",
            )


def _is_axis(value: object, spec: FieldSpec | None) -> bool:
    if not is_listing(value):
        return False
    if spec is None or spec.kind != "list":
        # An array in the shape of a picture is a single value.
        return getattr(value, "ndim", 1) == 1
    # A field that accepts a list varies over a list of lists.
    values = as_list(value)
    return bool(values) and all(map(is_listing, values))


def _refuse_iterator(name: str, value: object) -> None:
    """Reject iterators, which can be read only once, and whole tables."""
    if is_table(value):
        accepted = "a column of it, or the whole table as rows="
        raise InputError(name, got=ValueDescription("a table"), accepted=accepted)
    if isinstance(value, Iterator) and not hasattr(value, "read"):
        accepted = f"a list of values, such as list({name})"
        kind = ValueDescription(f"a {type(value).__name__}")
        raise InputError(name, got=kind, accepted=accepted)


def _listed(value: object) -> list[object]:
    return as_list(value) if is_listing(value) else [value]


def _values(name: str, value: object, spec: FieldSpec | None) -> tuple[object, ...]:
    """Return the values to vary over, including repeated ones."""
    if not is_listing(value):
        _refuse_iterator(name, value)
        raise InputError(name, got=value, accepted="a list of values to vary over")
    values = as_list(value)
    if not values:
        empty = ValueDescription("an empty list")
        raise InputError(name, got=empty, accepted="at least one value")
    if is_column(value):
        values = _whole(values, spec)
    return tuple(map(present, values))


def _whole(values: Sequence[object], spec: FieldSpec | None) -> list[object]:
    """Return the values of a table's column, with whole floats as integers.

    In a field that accepts fractions, they stay floats. In an undeclared column, they
    become integers if all numbers are whole.
    """
    if spec is None:
        return with_whole_numbers(values)
    return list(values) if spec.kind == "number" else [*map(whole_as_integer, values)]


def _distinct(values: Sequence[object]) -> tuple[object, ...]:
    """Return the distinct values of an axis, in order."""
    distinct: dict[str, object] = {}
    for each in values:
        distinct.setdefault(key_of(each), each)
    return tuple(distinct.values())


def _zipped(columns: dict[str, tuple[object, ...]]) -> Dimension:
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        counts = all_of([f"{count} for {name}" for name, count in lengths.items()])
        raise InputError(
            "zip", got=ValueDescription(counts), accepted="axes of the same length"
        )
    return columns


def _with_named_texts(
    function: Function, given: Mapping[str, object], zipped: object
) -> tuple[dict[str, object], object]:
    """Return the arguments with each mapping of named strings as a list.

    `prompt={"v1": "...", "v2": "..."}` varies the prompt; a slot may have names, too.
    """
    specs = fields_by_name(function)
    together = _mapping(zipped)
    everything = {**given, **together}
    arguments = dict(everything)
    for is_slot in (False, True):
        slots = {s for each in arguments.values() for s in slots_in(_listed(each))}
        for name, value in everything.items():
            spec = specs.get(_field_of(function, name, everything))
            is_text = spec is not None and spec.kind == "text"
            is_named = name in slots if is_slot else is_text or name == "prompt"
            if is_named and _is_named(value):
                arguments[name] = [NamedText(str(n), text) for n, text in value.items()]
    if together:
        zipped = {name: arguments[name] for name in together}
    return {name: arguments[name] for name in given}, zipped


def _is_named(value: object) -> TypeGuard[Mapping[object, str]]:
    """Return whether a value maps names to strings."""
    if not isinstance(value, Mapping) or not value:
        return False
    return all(isinstance(each, str) for each in value.values())


def _label_names(labels: object, columns: Mapping[str, object]) -> list[str]:
    if labels is None:
        return []
    names = [labels] if isinstance(labels, str) else [*_listed(labels)]
    for name in names:
        if name not in columns or name in RESERVED:
            allowed = [each for each in columns if each not in RESERVED]
            accepted = f"columns of rows: {all_of(allowed) if allowed else 'none'}"
            raise InputError("labels", got=name, accepted=accepted)
    if len(names) == len(columns):
        raise InputError("labels", got=labels, accepted=SOME_COLUMNS)
    return [str(name) for name in names]


def undeclared_note(function: Function, grid: Grid, rows: object) -> str:
    """Return a note on columns of rows that are sent undeclared."""
    sent = grid.points[0].fields
    names = [name for name in _row_columns(rows, {}) if name in sent]
    names = [name for name in names if name not in fields_by_name(function)]
    if not names:
        return ""
    return (
        "Sent as fields, although the function does not declare them: "
        f"{all_of(names)}. To keep a column from being sent, name it in labels="
    )


def _mapping(zipped: object) -> Mapping[str, object]:
    return zipped if isinstance(zipped, Mapping) else {}


def _zip_names(zipped: object, given: Mapping[str, object]) -> list[str]:
    if zipped is None:
        return []
    if not isinstance(zipped, str | list | tuple):
        accepted = "names of axes, or lists of values by name"
        raise InputError("zip", got=zipped, accepted=accepted)
    names = [zipped] if isinstance(zipped, str) else list(zipped)
    for name in names:
        if name not in given:
            accepted = f"names of axes: {all_of(list(given)) or 'none are given'}"
            raise InputError("zip", got=name, accepted=accepted)
    return names


def _row_columns(
    rows: Any, specs: Mapping[str, FieldSpec]
) -> dict[str, tuple[object, ...]]:
    if rows is None:
        return {}
    is_of_table = is_table(rows)
    if is_of_table:
        rows = records_of(rows)
    is_list = isinstance(rows, list | tuple) and all(
        isinstance(row, Mapping) for row in rows
    )
    if not is_list or not rows:
        accepted = "a frame, or a list of mappings, with at least one row"
        raise InputError("rows", got=_kind_of(rows), accepted=accepted)
    columns: dict[str, tuple[object, ...]] = {}
    for name in dict.fromkeys(str(name) for row in rows for name in row):
        values = [row.get(name) for row in rows]
        if is_of_table or any(each != each for each in values if _is_float(each)):
            values = _whole(values, specs.get(name))
        columns[name] = tuple(map(present, values))
    return columns


def _is_float(value: object) -> bool:
    return isinstance(value, float)


def _kind_of(rows: object) -> object:
    """Return the rows if they are a list, else their type."""
    return (
        rows
        if isinstance(rows, list | tuple)
        else ValueDescription(f"a {type(rows).__name__}")
    )


# -- templates --------------------------------------------------------------------


def _templates(
    function: Function, fixed: Values, axes: Dimension
) -> dict[str, set[str]]:
    """Return the slots of each template; each slot must have values."""
    specs = fields_by_name(function)
    values: dict[str, Sequence[object]] = {n: (value,) for n, value in fixed.items()}
    values |= axes
    templates = {}
    for name, its_values in values.items():
        spec = specs.get(_field_of(function, name, values))
        is_text = function.is_open if spec is None else spec.kind == "text"
        slots = slots_in(its_values) if is_text else set()
        for slot in sorted(slots):
            _refuse_missing(name, slot, values)
        if slots:
            templates[name] = slots
    return templates


def _refuse_missing(
    name: str, slot: str, values: Mapping[str, Sequence[object]]
) -> None:
    if slot not in values:
        raise InputError(
            name,
            got=ValueDescription(f"a template with the slot {{{slot}}}"),
            accepted=f"given with a value for each slot, such as {slot}=[...]; for "
            f"literal braces in the text, double them: {{{{{slot}}}}}",
        )
    # Otherwise the template would be sent with the word "None".
    if any(present(value) is None for value in values[slot]):
        raise InputError(
            slot,
            got=None,
            accepted=f"set in every row, because {name} has the slot {{{slot}}}",
        )


# -- the call as code ----------------------------------------------------------------


def sweep_code(function: str, given: Mapping[str, object]) -> str:
    """Return the code of the call that makes a plan, without default arguments."""
    given = {name: value for name, value in given.items() if value is not None}
    if "rows" in given:
        columns = _row_columns(given["rows"], {})
        rows = zip(*columns.values(), strict=True)
        given["rows"] = [
            {n: each for n, each in zip(columns, row, strict=True) if each is not None}
            for row in rows
        ]
    plain = {n: v for n, v in given.items() if n.isidentifier() and not iskeyword(n)}
    others = {n: v for n, v in given.items() if n not in plain}
    arguments = [repr(function), *(f"{n}={_code(v)}" for n, v in plain.items())]
    if others:
        # A service may use any field names, and not all are valid Python keywords.
        arguments.append(f"**{_code(others)}")
    line = f"plan = client.sweep({', '.join(arguments)})"
    if len(line) <= WIDTH:
        return line
    return "plan = client.sweep(\n    " + ",\n    ".join(arguments) + ",\n)"


def _code(value: Any) -> str:
    job = job_of(value)
    if job is not None:
        return f"client.job({job.id!r})"
    if isinstance(value, list | tuple):
        inner = ", ".join(map(_code, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
    if isinstance(value, Mapping):
        inner = ", ".join(f"{n!r}: {_code(each)}" for n, each in value.items())
        return f"{{{inner}}}"
    # Write numpy numbers and strings as plain Python values.
    plain = present(value.item() if getattr(value, "ndim", 1) == 0 else value)
    if isinstance(plain, str | int | float | bool | None):
        return repr(plain)
    if is_listing(value):
        values = as_list(value)
        return _code(with_whole_numbers(values) if is_column(value) else values)
    return repr(str(value))
