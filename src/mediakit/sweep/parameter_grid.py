"""The grid of a sweep: the fields that vary, their values, and what varies together."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from mediakit.cached import cached_property
from mediakit.catalog import Function
from mediakit.client.requests import full_names
from mediakit.errors import InputError
from mediakit.rules import all_of
from mediakit.schema import FieldSpec

MOST_CELLS = 1_000_000
RESERVED = frozenset(
    {"take", "valid", "problem", "owned", "state", "status", "rating", "keep"}
    | {"job_id", "output_url", "media_type", "parent_job_id", "runtime_s"}
    | {"low_micro_usd", "high_micro_usd", "charge_micro_usd", "estimate_kind"}
)
FIRST_SEED = 1
_SLOT = re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)\}")

Codes = npt.NDArray[np.int64]
Sample = int | tuple[int, int]


@dataclass(frozen=True)
class Dimension:
    """Axes that vary together: one axis, zipped axes, or the rows of a frame.

    Args:
        columns: The values of each axis, all of the same length.
    """

    columns: Mapping[str, tuple[object, ...]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


@dataclass(frozen=True)
class Source:
    """The values of one field, for each combination of the dimensions it depends on.

    Args:
        dimensions: The indexes of these dimensions; empty for a fixed value.
        values: One value for each combination, the last dimension varying fastest.
    """

    dimensions: tuple[int, ...]
    values: tuple[object, ...]


@dataclass(frozen=True)
class Grid:
    """All cells of a sweep: the points of the grid in take 1, then take 2, and so on.

    Args:
        dimensions: The dimensions that vary.
        takes: The number of takes of each point.
        chosen: The sampled points, in order; None for all points.
    """

    dimensions: tuple[Dimension, ...]
    takes: int = 1
    chosen: Codes | None = None

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Return the number of values of each dimension."""
        return tuple(len(dimension) for dimension in self.dimensions)

    @property
    def point_count(self) -> int:
        """Return the number of points, each of which has `takes` cells."""
        return prod(self.sizes) if self.chosen is None else len(self.chosen)

    def __len__(self) -> int:
        return self.point_count * self.takes

    @property
    def axes(self) -> tuple[str, ...]:
        """Return the names of the axes, in the given order."""
        return tuple(name for d in self.dimensions for name in d.columns)

    def place_of(self, axis: str) -> int:
        """Return the index of the dimension that an axis belongs to."""
        return next(i for i, d in enumerate(self.dimensions) if axis in d.columns)

    def codes(self, dimensions: Sequence[int]) -> Codes:
        """Return the combination of these dimensions for each cell.

        Returns:
            int64, one per cell: the index of the combination, the last dimension
            varying fastest, as in `Source.values`.
        """
        points = self._points
        codes = np.zeros(len(points), dtype="int64")
        for number in dimensions:
            stride = prod(self.sizes[number + 1 :])
            codes *= self.sizes[number]
            codes += points // stride % self.sizes[number]
        return codes if self.takes == 1 else np.tile(codes, self.takes)

    @property
    def _points(self) -> Codes:
        if self.chosen is not None:
            return self.chosen
        return np.arange(prod(self.sizes), dtype="int64")

    def code_of(self, cell: int, dimensions: Sequence[int]) -> int:
        """Return the combination of these dimensions for one cell."""
        point = cell % self.point_count
        if self.chosen is not None:
            point = int(self.chosen[point])
        code = 0
        for number in dimensions:
            stride = prod(self.sizes[number + 1 :])
            size = self.sizes[number]
            code = code * size + point // stride % size
        return code

    def take_of(self, cell: int) -> int:
        """Return the take of a cell, from 1."""
        return cell // self.point_count + 1


def combinations_of(grid: Grid, dimensions: Sequence[int]) -> list[tuple[int, ...]]:
    """Return all combinations of some dimensions, in the order of `Grid.codes`."""
    return list(product(*(range(grid.sizes[number]) for number in dimensions)))


# -- from arguments ---------------------------------------------------------------


def grid_of(
    function: Function,
    given: Mapping[str, object],
    *,
    zipped: object = None,
    rows: object = None,
    sample: object = None,
    takes: object = 1,
) -> tuple[Grid, dict[str, Source]]:
    """Read the arguments of a sweep.

    Args:
        function: The function.
        given: Fields and slots by name: a list is an axis, anything else is fixed.
        zipped: The names of axes that vary together, or these axes by name.
        rows: A frame, or a list of mappings; the values of a row stay together.
        sample: How many points of the grid to choose at random, optionally with a seed.
        takes: The number of takes of each point.

    Returns:
        The grid, and the source of each field's values.

    Raises:
        InputError: An argument is not acceptable; nothing was sent.
    """
    _check_names(function, {**given, **_mapping(zipped), **_row_columns(rows)})
    fixed, dimensions = _dimensions(function, dict(given), zipped, rows)
    grid = _sampled(Grid(tuple(dimensions), _takes(takes)), sample)
    if len(grid) > MOST_CELLS:
        raise InputError(
            "sweep",
            got=f"a grid of {len(grid):,} cells",
            accepted=f"at most {MOST_CELLS:,} cells; sample=... chooses some of them",
        )
    return grid, _sources(function, fixed, grid)


def _check_names(function: Function, names: Mapping[str, object]) -> None:
    """Raise an error for a name that is neither a field nor a template slot."""
    slots = {slot for value in names.values() for slot in slots_in(value)}
    known = fields_by_name(function)
    for name in sorted(slots & RESERVED - set(known)):
        accepted = "a slot with another name: frames of results have this column"
        raise InputError(name, got=f"the slot {{{name}}}", accepted=accepted)
    for name, value in names.items():
        is_field = _field_of(function, name, names) in known
        if not (is_field or name in slots or function.is_open):
            values = _as_list(value) if _is_listing(value) else [value]
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


def _dimensions(
    function: Function, given: dict[str, object], zipped: object, rows: object
) -> tuple[dict[str, object], list[Dimension]]:
    specs = fields_by_name(function)
    together = dict(_mapping(zipped)) or {
        name: given.pop(name, None) for name in _zip_names(zipped, given)
    }
    dimensions, fixed = [], {}
    for name, value in given.items():
        if _is_axis(value, specs.get(_field_of(function, name, given))):
            dimensions.append(Dimension({name: _axis(name, value)}))
        else:
            fixed[name] = value
    if together:
        dimensions.append(_zipped({n: _axis(n, v) for n, v in together.items()}))
    columns = _row_columns(rows)
    if columns:
        dimensions.append(Dimension(columns))
    _refuse_twice([*fixed, *(name for d in dimensions for name in d.columns)])
    return fixed, dimensions


def _refuse_twice(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                name, got="given twice", accepted="one of an axis, zip= and rows="
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
    distinct: list[object] = []
    seen: set[str] = set()
    for each in values:
        # 1 and True are equal in Python, but different values of a field.
        # The repr of a large array is abbreviated, so arrays are compared by identity.
        shown = id(each) if hasattr(each, "ndim") else repr(each)
        text = f"{type(each).__name__} {shown}"
        if text not in seen:
            seen.add(text)
            distinct.append(each)
    return tuple(distinct)


def _zipped(columns: dict[str, tuple[object, ...]]) -> Dimension:
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        counts = all_of([f"{name} has {count}" for name, count in lengths.items()])
        raise InputError("zip", got=counts, accepted="axes of the same length")
    return Dimension(columns)


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


def _takes(takes: object) -> int:
    if isinstance(takes, bool) or not isinstance(takes, int) or not 1 <= takes <= 1000:
        raise InputError("takes", got=takes, accepted="a whole number from 1 to 1,000")
    return takes


def _sampled(grid: Grid, sample: Any) -> Grid:
    if sample is None:
        return grid
    given = sample if isinstance(sample, tuple) else (sample, 0)
    numbers = [n for n in given if isinstance(n, int) and not isinstance(n, bool)]
    if len(given) != 2 or len(numbers) != 2 or numbers[0] < 1:
        accepted = "how many points, such as 20, or this and a seed: (20, 7)"
        raise InputError("sample", got=sample, accepted=accepted)
    count, seed = numbers
    in_all = prod(grid.sizes)
    if count >= in_all:
        return grid
    points = random.Random(seed).sample(range(in_all), count)
    return replace(grid, chosen=np.array(sorted(points), dtype="int64"))


# -- templates --------------------------------------------------------------------


def slots_in(value: object) -> set[str]:
    """Return the names of the slots of a template, or of a list of templates."""
    values = _as_list(value) if _is_listing(value) else [value]
    texts = [each for each in values if isinstance(each, str)]
    return {name for text in texts for name in _SLOT.findall(text) if name}


def _filled(template: str, values: Mapping[str, object]) -> str:
    """Fill the slots of a template; doubled braces are literal braces."""

    def found(match: re.Match[str]) -> str:
        name = match[1]
        return str(values[name]) if name else match[0][0]

    return _SLOT.sub(found, template)


def _sources(
    function: Function, fixed: Mapping[str, object], grid: Grid
) -> dict[str, Source]:
    specs = fields_by_name(function)
    names: dict[str, tuple[object, ...]] = {n: (v,) for n, v in fixed.items()}
    names |= {name: v for d in grid.dimensions for name, v in d.columns.items()}
    used: set[str] = set()
    sources: dict[str, Source] = {}
    for name, values in names.items():
        field = _field_of(function, name, names)
        spec = specs.get(field)
        slots = slots_in(list(values)) if _is_text(spec, function) else set()
        if slots:
            _refuse_missing(name, slots, names)
            _refuse_empty(name, slots, names)
        used |= slots
        sources[field] = _source(name, slots, grid, names)
    slots_only = used - set(specs)
    return {name: each for name, each in sources.items() if name not in slots_only}


def _is_text(spec: FieldSpec | None, function: Function) -> bool:
    if spec is None:
        return function.is_open
    return spec.kind == "text"


def _refuse_missing(name: str, slots: set[str], names: Mapping[str, object]) -> None:
    for slot in sorted(slots - set(names)):
        raise InputError(
            name,
            got=f"a template with the slot {{{slot}}}",
            accepted=f"a value for each slot, such as {slot}=[...]; double braces, "
            f"{{{{{slot}}}}}, are literal braces in the text",
        )


def _refuse_empty(
    name: str, slots: set[str], names: Mapping[str, tuple[object, ...]]
) -> None:
    """Refuse a missing value: the template would be sent with the word "None"."""
    for slot in sorted(slots):
        if any(_present(value) is None for value in names[slot]):
            raise InputError(
                slot,
                got=None,
                accepted=f"a value in each row, because {name} has the slot {{{slot}}}",
            )


def _source(
    name: str,
    slots: Iterable[str],
    grid: Grid,
    names: Mapping[str, tuple[object, ...]],
) -> Source:
    """Return the source of a field's values, with its template filled in."""
    axes = [each for each in (name, *sorted(slots)) if each in grid.axes]
    dimensions = tuple(sorted({grid.place_of(axis) for axis in axes}))
    values = []
    for combination in combinations_of(grid, dimensions):
        at = dict(zip(dimensions, combination, strict=True))

        def value_of(each: str, at: Mapping[int, int] = at) -> object:
            number = at[grid.place_of(each)] if each in grid.axes else 0
            return names[each][number]

        value = value_of(name)
        if slots and isinstance(value, str):
            value = _filled(value, {slot: value_of(slot) for slot in slots})
        values.append(value)
    return Source(dimensions, tuple(values))
