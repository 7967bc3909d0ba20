"""The grid of a sweep: the fields that vary, their values, and what varies together."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from math import prod
from typing import Any

from mediakit.catalog import Function
from mediakit.client.media_inputs import job_of
from mediakit.client.preparing import full_names
from mediakit.errors import InputError
from mediakit.prompt_templates import fill, slots_in
from mediakit.rules import all_of
from mediakit.schema import FieldSpec

MOST_CELLS = 100_000
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
    """One combination of the values of the axes, of which each take is a cell.

    Its fields are those for `client.submit`.
    """

    axes: Values
    fields: Values


@dataclass(frozen=True)
class Grid:
    """What varies in a sweep.

    Args:
        axes: The values of each axis, in the given order.
        fixed: The fields that have one value.
        slots: The axes that fill templates.
        points: The points, the last axis varying fastest.
        takes: The number of takes of each point.
    """

    axes: Dimension
    fixed: Values
    slots: frozenset[str]
    points: Sequence[Point]
    takes: int


def grid_of(
    function: Function,
    given: Mapping[str, object],
    *,
    zipped: object = None,
    rows: object = None,
    sample: object = None,
    takes: object = 1,
) -> Grid:
    """Read the arguments of a sweep; see `AsyncClient.sweep`."""
    _check_names(function, {**given, **_mapping(zipped), **_row_columns(rows)})
    fixed, dimensions = _dimensions(function, dict(given), zipped, rows)
    axes = {name: values for each in dimensions for name, values in each.items()}
    templates = _templates(function, fixed, axes)
    takes_n = _takes(takes)
    chosen = _chosen(prod(map(_length, dimensions)), sample)
    if len(chosen) * takes_n > MOST_CELLS:
        raise InputError(
            "sweep",
            got=f"a grid of {len(chosen) * takes_n:,} cells",
            accepted=f"at most {MOST_CELLS:,} cells; sample=... chooses some of them",
        )
    slots = frozenset[str]().union(*templates.values())
    named = {**dict.fromkeys(fixed), **axes}
    field_of = {name: _field_of(function, name, named) for name in named}
    for slot in slots - fields_by_name(function).keys():
        if field_of.get(slot) == slot:
            del field_of[slot]

    def point(number: int) -> Point:
        at = _values_at(dimensions, number)
        values = {**fixed, **at}
        filled = {
            field: fill(values[name], values) if name in templates else values[name]
            for name, field in field_of.items()
        }
        return Point(at, filled)

    return Grid(
        axes=axes,
        fixed={field_of[n]: value for n, value in fixed.items() if n in field_of},
        slots=slots & axes.keys(),
        points=[point(number) for number in chosen],
        takes=takes_n,
    )


def _values_at(dimensions: Sequence[Dimension], number: int) -> dict[str, object]:
    """Return the values of the axes at a point, which is counted from 0."""
    places = []
    for dimension in reversed(dimensions):
        number, place = divmod(number, _length(dimension))
        places.append(place)
    return {
        name: values[place]
        for dimension, place in zip(dimensions, reversed(places), strict=True)
        for name, values in dimension.items()
    }


def _length(dimension: Dimension) -> int:
    return len(next(iter(dimension.values())))


def _chosen(count: int, sample: Any) -> Sequence[int]:
    """Return the numbers of the points, all or a sample of them."""
    if sample is None:
        return range(count)
    given = sample if isinstance(sample, tuple) else (sample, 0)
    numbers = [n for n in given if isinstance(n, int) and not isinstance(n, bool)]
    if len(given) != 2 or len(numbers) != 2 or numbers[0] < 1:
        accepted = "a number of points, such as 20, or with a seed: (20, 7)"
        raise InputError("sample", got=sample, accepted=accepted)
    wanted, seed = numbers
    if wanted >= count:
        return range(count)
    return sorted(random.Random(seed).sample(range(count), wanted))


def _takes(takes: object) -> int:
    if isinstance(takes, bool) or not isinstance(takes, int) or not 1 <= takes <= 1000:
        raise InputError("takes", got=takes, accepted="a whole number from 1 to 1,000")
    return takes


# -- names ------------------------------------------------------------------------


def _check_names(function: Function, names: Mapping[str, object]) -> None:
    """Raise an error for a name that is neither a field nor a template slot."""
    slots = {slot for value in names.values() for slot in slots_in(_listed(value))}
    known = fields_by_name(function)
    for name in sorted(slots & RESERVED - set(known)):
        accepted = "another name: the results have a column with this one"
        raise InputError(name, got=f"the slot {{{name}}}", accepted=accepted)
    for name, value in names.items():
        is_field = _field_of(function, name, names) in known
        if not (is_field or name in slots or function.is_open):
            values = _listed(value)
            problems = function.check({name: values[0] if values else None})
            raise InputError.of([p for p in problems if p.root == name] or problems[:1])


def _field_of(function: Function, name: str, given: Mapping[str, object]) -> str:
    """Return the field that an argument names, such as `video_url` for `video`."""
    return next(iter(full_names(function, {name: given.get(name)})))


def fields_by_name(function: Function) -> dict[str, FieldSpec]:
    """Return a function's fields by name; of all body types if there are several."""
    if function.tag is None:
        return dict(function.fields)
    found: dict[str, FieldSpec] = {}
    for variant in function.variants.values():
        found |= variant.fields
    return found


# -- axes -------------------------------------------------------------------------


def _dimensions(
    function: Function, given: dict[str, object], zipped: object, rows: object
) -> tuple[dict[str, object], list[Dimension]]:
    specs = fields_by_name(function)
    together = dict(_mapping(zipped)) or {
        name: given.pop(name, None) for name in _zip_names(zipped, given)
    }
    dimensions: list[Dimension] = []
    fixed: dict[str, object] = {}
    for name, value in given.items():
        if _is_axis(value, specs.get(_field_of(function, name, given))):
            dimensions.append({name: _axis(name, value)})
        else:
            fixed[name] = value
    if together:
        dimensions.append(_zipped({n: _axis(n, v) for n, v in together.items()}))
    columns = _row_columns(rows)
    if columns:
        dimensions.append(columns)
    _refuse_twice([*fixed, *(name for each in dimensions for name in each)])
    return fixed, dimensions


def _refuse_twice(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                name,
                got="given twice",
                accepted="given once: as an axis, in zip= or in rows=",
            )


def _is_axis(value: object, spec: FieldSpec | None) -> bool:
    if not _is_listing(value):
        return False
    if spec is None or spec.kind != "list":
        # An array in the shape of a picture is a single value.
        return getattr(value, "ndim", 1) == 1
    # A field that accepts a list varies over a list of lists.
    values = _as_list(value)
    return bool(values) and all(isinstance(each, list | tuple) for each in values)


def _is_listing(value: object) -> bool:
    if isinstance(value, list | tuple | range | set | frozenset):
        return True
    of = type(value)
    return (
        of.__module__.split(".", 1)[0] in ("numpy", "pandas")
        and hasattr(value, "tolist")
        and hasattr(value, "__len__")
    )


def _listed(value: object) -> list[object]:
    return _as_list(value) if _is_listing(value) else [value]


def _as_list(value: Any) -> list[object]:
    if hasattr(value, "tolist"):
        return list(value.tolist())
    return sorted(value, key=repr) if isinstance(value, set | frozenset) else [*value]


def _axis(name: str, value: object) -> tuple[object, ...]:
    if not _is_listing(value):
        raise InputError(name, got=value, accepted="a list of values to vary over")
    values = _as_list(value)
    if not values:
        raise InputError(name, got="an empty list", accepted="at least one value")
    distinct: dict[str, object] = {}
    for each in values:
        # 1 and True are equal in Python, but different values of a field.
        # The repr of a large array is abbreviated, so arrays are compared by identity.
        shown = id(each) if hasattr(each, "ndim") else repr(each)
        distinct.setdefault(f"{type(each).__name__} {shown}", each)
    return tuple(distinct.values())


def _zipped(columns: dict[str, tuple[object, ...]]) -> Dimension:
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        counts = all_of([f"{name} has {count}" for name, count in lengths.items()])
        raise InputError("zip", got=counts, accepted="axes of the same length")
    return columns


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


def _row_columns(rows: Any) -> dict[str, tuple[object, ...]]:
    if rows is None:
        return {}
    if hasattr(rows, "to_dict"):
        rows = rows.to_dict("records")
    is_list = isinstance(rows, list | tuple) and all(
        isinstance(row, Mapping) for row in rows
    )
    if not is_list or not rows:
        accepted = "a frame, or a list of mappings, with at least one row"
        raise InputError("rows", got=rows, accepted=accepted)
    names = dict.fromkeys(str(name) for row in rows for name in row)
    return {name: tuple(_present(row.get(name)) for row in rows) for name in names}


def _present(value: object) -> object:
    """Return None for a value that pandas counts as missing."""
    is_missing = isinstance(value, float) and value != value
    return (
        None if is_missing or type(value).__name__ in ("NAType", "NaTType") else value
    )


# -- templates --------------------------------------------------------------------


def _templates(
    function: Function, fixed: Values, axes: Dimension
) -> dict[str, set[str]]:
    """Return the slots of each argument that is a template; each must have a value."""
    specs = fields_by_name(function)
    values: dict[str, Sequence[object]] = {n: (value,) for n, value in fixed.items()}
    values |= axes
    found = {}
    for name, its_values in values.items():
        spec = specs.get(_field_of(function, name, values))
        is_text = function.is_open if spec is None else spec.kind == "text"
        slots = slots_in(its_values) if is_text else set()
        for slot in sorted(slots):
            _refuse_missing(name, slot, values)
        if slots:
            found[name] = slots
    return found


def _refuse_missing(
    name: str, slot: str, values: Mapping[str, Sequence[object]]
) -> None:
    if slot not in values:
        raise InputError(
            name,
            got=f"a template with the slot {{{slot}}}",
            accepted=f"a value for each slot, such as {slot}=[...]; double braces, "
            f"{{{{{slot}}}}}, are literal braces in the text",
        )
    # The template would be sent with the word "None".
    if any(_present(value) is None for value in values[slot]):
        raise InputError(
            slot,
            got=None,
            accepted=f"set in every row, because {name} has the slot {{{slot}}}",
        )


# -- the call that makes it again ----------------------------------------------------


def sweep_code(function: str, given: Mapping[str, object]) -> str:
    """Write the call that creates a plan, without the arguments that are None."""
    given = {name: value for name, value in given.items() if value is not None}
    plain = {n: v for n, v in given.items() if n.isidentifier() and not iskeyword(n)}
    others = {n: v for n, v in given.items() if n not in plain}
    arguments = [repr(function), *(f"{n}={_code(v)}" for n, v in plain.items())]
    if others:
        # A service may call a field as it likes; only a text holds any name.
        arguments.append(f"**{_code(others)}")
    line = f"plan = client.sweep({', '.join(arguments)})"
    if len(line) <= WIDTH:
        return line
    return "plan = client.sweep(\n    " + ",\n    ".join(arguments) + ",\n)"


def _code(value: object) -> str:
    job = job_of(value)
    if job is not None:
        return f"client.job({job.id!r})"
    if isinstance(value, list | tuple):
        inner = ", ".join(map(_code, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
    if isinstance(value, Mapping):
        inner = ", ".join(f"{n!r}: {_code(each)}" for n, each in value.items())
        return f"{{{inner}}}"
    if isinstance(value, str | int | float | bool | None):
        return repr(value)
    if hasattr(value, "to_dict"):
        return repr(value.to_dict("records"))
    return repr(value.tolist()) if hasattr(value, "tolist") else repr(str(value))
