"""Checking the values of fields; every sentence comes from `FieldSpec`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, TypeGuard

from pydantic_core import SchemaError, SchemaValidator, ValidationError, core_schema

from mediakit.rules import Problem, all_of, any_of
from mediakit.schema.bodies import EXACT_BELOW
from mediakit.schema.fields import FieldKind, FieldSpec, shape_of


class _Null:
    """Marks a null in the body where null is refused."""

    def __repr__(self) -> str:
        return "null"


NULL = _Null()


def problems_in(spec: FieldSpec, value: Any, label: str = "") -> Iterator[Problem]:
    """Yield the problems of a value, and of the values inside it.

    Args:
        spec: The field; a whole body is one, too.
        value: The JSON value.
        label: Its place, such as "tracks[0].keyframes[2].url"; empty for a body.
    """
    if value is None:
        if not spec.nullable and spec.kind != "json":
            yield Problem(label, NULL, spec.accepted)
        return
    inside = _INSIDE.get(spec.kind)
    if inside is not None:
        yield from inside(spec, value, label)
    elif not _ACCEPTS[spec.kind](spec, value):
        yield Problem(label, value, spec.accepted)


def _in_list(spec: FieldSpec, value: Any, label: str) -> Iterator[Problem]:
    if not isinstance(value, list) or not _is_list(spec, value):
        yield Problem(label, value, spec.accepted)
    elif spec.item is not None:
        for index, item in enumerate(value):
            if not _is_accepted(spec.item, item):
                yield from problems_in(spec.item, item, f"{label}[{index}]")


def _is_list(spec: FieldSpec, value: list[Any]) -> bool:
    is_unique = not spec.unique or len({*map(repr, value)}) == len(value)
    return is_unique and _is_long_enough(spec, value)


def _in_object(spec: FieldSpec, value: Any, label: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield Problem(label, value, spec.accepted)
        return
    for name, field in spec.fields.items():
        if name in value:
            if not _is_accepted(field, value[name]):
                yield from problems_in(field, value[name], _joined(label, name))
        elif field.required:
            yield Problem(_joined(label, name), None, field.accepted, required="")
    if value.keys() <= spec.fields.keys():
        return
    for name, further in value.items():
        if name in spec.fields:
            continue
        if spec.closed:
            yield _unknown(spec, _joined(label, name), name, further)
        elif spec.further is not None:
            yield from problems_in(spec.further, further, _joined(label, name))


def _is_accepted(spec: FieldSpec, value: Any) -> bool:
    """Return whether a value is accepted without a look inside it."""
    accepts = _ACCEPTS.get(spec.kind)
    return accepts is not None and value is not None and accepts(spec, value)


def _in_variants(spec: FieldSpec, value: Any, label: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield Problem(label, value, spec.accepted)
        return
    tag = value.get(spec.tag)
    variant = spec.variants.get(tag) if isinstance(tag, str) else None
    if variant is not None:
        yield from _in_object(variant, value, label)
        return
    place, accepted = _joined(label, str(spec.tag)), any_of(spec.variants)
    if spec.tag in value:
        yield Problem(place, NULL if tag is None else tag, accepted)
    else:
        yield Problem(place, None, accepted, required="")


def _in_either(spec: FieldSpec, value: Any, label: str) -> Iterator[Problem]:
    option = spec.variants.get(shape_of(value))
    if option is None:
        yield Problem(label, value, spec.accepted)
        return
    for problem in problems_in(option, value, label):
        is_whole = problem.field == label
        yield Problem(label, value, spec.accepted) if is_whole else problem


def _unknown(spec: FieldSpec, label: str, name: str, value: object) -> Problem:
    nearest = get_close_matches(name, spec.fields, n=3)
    known = f"known are {all_of(spec.fields)}" if spec.fields else "there is none"
    # In brackets, because a full stop follows where it is shown.
    hint = f" (did you mean {any_of(nearest)}?)" if nearest else f" ({known})"
    accepted = f"a known field{hint}"
    got = NULL if value is None else value
    return Problem(label, got, accepted, said=f"is not {accepted}")


def _joined(label: str, name: str) -> str:
    return f"{label}.{name}" if label else name


def _is_long_enough(spec: FieldSpec, value: list[Any] | str) -> bool:
    least, most = spec.min_length, spec.max_length
    count = len(value)
    return (least is None or count >= least) and (most is None or count <= most)


def _is_choice(spec: FieldSpec, value: object) -> bool:
    # In Python, true equals 1 and 5.0 equals 5.
    return any(
        value == choice and (type(value) is type(choice) or _are_numbers(value, choice))
        for choice in spec.choices
    )


def _are_numbers(value: object, choice: object) -> bool:
    """Return whether a whole number, or a number, stands for the choice 1.0."""
    return isinstance(choice, float) and type(value) in (int, float)


def _is_integer(spec: FieldSpec, value: object) -> bool:
    return is_whole(value) and _is_within(spec, value)


def _is_number(spec: FieldSpec, value: object) -> bool:
    is_finite = isinstance(value, float) and math.isfinite(value)
    return (is_finite or is_whole(value)) and _is_within(spec, value)


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number in JSON: neither 5.0 nor true."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_within(spec: FieldSpec, value: Any) -> bool:
    return (
        (spec.low is None or value >= spec.low)
        and (spec.high is None or value <= spec.high)
        and (spec.above is None or value > spec.above)
        and (spec.below is None or value < spec.below)
        and (spec.step is None or _is_multiple(value, spec.step))
    )


def _is_multiple(value: float, step: float) -> bool:
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    if abs(value) >= EXACT_BELOW:
        return True
    rest = abs(math.remainder(value, step))
    return rest <= abs(value) * 1e-9  # only the rounding of binary fractions


def _is_text(spec: FieldSpec, value: object) -> bool:
    return (
        isinstance(value, str)
        and _is_long_enough(spec, value)
        and (value.isascii() or _is_unicode(value))
        and (spec.pattern is None or _matches(spec.pattern, value))
    )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def _matches(pattern: str, text: str) -> bool:
    try:
        _validator(pattern).validate_python(text)
    except ValidationError:
        return False
    return True


def is_pattern(pattern: object) -> bool:
    """Return whether a regular expression can be checked in linear time."""
    if not isinstance(pattern, str):
        return False
    try:
        _validator(pattern)
    except SchemaError:
        return False
    return True


@cache
def _validator(pattern: str) -> SchemaValidator:
    # The engine of Python's own `re` can take exponential time.
    return SchemaValidator(core_schema.str_schema(pattern=pattern))


_INSIDE: Mapping[FieldKind, Callable[[FieldSpec, Any, str], Iterator[Problem]]] = {
    "list": _in_list,
    "object": _in_object,
    "variants": _in_variants,
    "either": _in_either,
}
_ACCEPTS: Mapping[FieldKind, Callable[[FieldSpec, Any], bool]] = {
    "boolean": lambda _, value: isinstance(value, bool),
    "choice": _is_choice,
    "integer": _is_integer,
    "json": lambda _, __: True,
    "media": _is_text,
    "number": _is_number,
    "text": _is_text,
}
