"""Checks the values of fields, and writes bodies in canonical form.

All its sentences come from `FieldSpec`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from json.encoder import encode_basestring
from typing import Any

from pydantic_core import SchemaError, SchemaValidator, core_schema

from mediakit.rules import Problem, ValueDescription, all_of, any_of
from mediakit.schema.fields import FieldSpec, shape_of

# From here on, a float does not represent every whole number exactly.
EXACT_BELOW = 2.0**53
_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


NULL = ValueDescription("null")
"""A null in the body where null is refused."""


# -- checks -----------------------------------------------------------------------


def problems_in(spec: FieldSpec, value: Any, label: str = "") -> Iterator[Problem]:
    """Yield the problems of a value and of the values inside it."""
    if value is None:
        if not spec.nullable and spec.kind != "json":
            yield Problem(label, NULL, spec.accepted)
        return
    match spec.kind, value:
        case "list", list() if _is_list(spec, value):
            if spec.item is not None:
                for index, item in enumerate(value):
                    yield from problems_in(spec.item, item, f"{label}[{index}]")
        case "object", dict():
            yield from _in_object(spec, value, label)
        case "variants", dict():
            yield from _in_variants(spec, value, label)
        case "either", _ if option := spec.variants.get(shape_of(value)):
            for problem in problems_in(option, value, label):
                is_whole = problem.field == label
                yield Problem(label, value, spec.accepted) if is_whole else problem
        case _ if not _is_accepted(spec, value):
            yield Problem(label, value, spec.accepted)


def _in_object(spec: FieldSpec, value: dict[str, Any], label: str) -> Iterator[Problem]:
    for name, field in spec.fields.items():
        if name in value:
            yield from problems_in(field, value[name], inner_label(label, name))
        elif field.required:
            yield Problem(inner_label(label, name), None, field.accepted, required="")
    if value.keys() <= spec.fields.keys():
        return
    for name, further in value.items():
        if name in spec.fields:
            continue
        if spec.closed:
            yield _unknown(spec, inner_label(label, name), name, further)
        elif spec.further is not None:
            yield from problems_in(spec.further, further, inner_label(label, name))


def _in_variants(
    spec: FieldSpec, value: dict[str, Any], label: str
) -> Iterator[Problem]:
    variant, tag = spec.chosen(value), str(spec.tag)
    if variant is not None:
        yield from _in_object(variant, value, label)
        return
    place, accepted = inner_label(label, tag), any_of(spec.variants)
    if tag in value:
        tag_value = NULL if value[tag] is None else value[tag]
        yield Problem(place, tag_value, accepted)
    else:
        yield Problem(place, None, accepted, required="")


def _unknown(spec: FieldSpec, label: str, name: str, value: object) -> Problem:
    nearest = get_close_matches(name, spec.fields, n=3)
    names_text = "there are none"
    if spec.fields:
        names_text = f"known fields: {all_of(spec.fields)}"
    # In brackets, because messages add a full stop.
    hint = f" (did you mean {any_of(nearest)}?)" if nearest else f" ({names_text})"
    accepted = f"a known field{hint}"
    json_value = NULL if value is None else value
    return Problem(label, json_value, accepted, message=f"is not {accepted}")


def inner_label(label: str, name: str) -> str:
    """Return the label of a property inside a labelled value."""
    return f"{label}.{name}" if label else name


def _is_list(spec: FieldSpec, value: list[Any]) -> bool:
    count = len(value)
    if spec.unique and not are_distinct(value):
        return False
    least, most = spec.min_length, spec.max_length
    return (least is None or count >= least) and (most is None or count <= most)


def _is_accepted(spec: FieldSpec, value: object) -> bool:
    match spec.kind:
        case "json":
            return True
        case "boolean":
            return isinstance(value, bool)
        case "choice":
            return any(_is_same(value, choice) for choice in spec.choices)
        case "integer" | "number":
            ends = (spec.low, spec.high, spec.above, spec.below, spec.step)
            return _number(spec.kind, *ends).isinstance_python(value)
        case "text" | "media":
            limits = (spec.min_length, spec.max_length, spec.pattern)
            return _text(*limits).isinstance_python(value)
        case _:
            return False


def _is_same(value: object, choice: object) -> bool:
    # In Python, true equals 1 and 5.0 equals 5. A whole number stands for 1.0.
    is_number = isinstance(choice, float) and type(value) in (int, float)
    return value == choice and (type(value) is type(choice) or is_number)


def is_same_json(value: object, other: object) -> bool:
    """Return whether JSON values are equal: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, dict | list) and isinstance(other, dict | list):
        return _comparable(value) == _comparable(other)
    return value == other


def are_distinct(values: list[Any]) -> bool:
    """Return whether all JSON values in a list differ."""
    return len({*map(_comparable, values)}) == len(values)


def _comparable(value: object) -> str:
    """Return a string that is the same for equal JSON values."""
    try:
        return _CANONICAL.encode(_canonical(value))
    except (TypeError, ValueError, RecursionError):
        return repr(value)


@cache
def _number(kind: str, *ends: Any) -> SchemaValidator:
    bounds = dict(zip(("ge", "le", "gt", "lt", "multiple_of"), ends, strict=True))
    if kind == "integer":
        return SchemaValidator(core_schema.int_schema(strict=True, **bounds))
    number = core_schema.float_schema(strict=True, allow_inf_nan=False, **bounds)
    return SchemaValidator(number)


@cache
def _text(least: int | None, most: int | None, pattern: str | None) -> SchemaValidator:
    # The engine of Python's own `re` can take exponential time.
    text = core_schema.str_schema(
        strict=True, min_length=least, max_length=most, pattern=pattern
    )
    return SchemaValidator(text)


def has_pattern(pattern: str, text: str) -> bool:
    """Return whether a regular expression matches in a text; see `is_pattern`."""
    return _text(None, None, pattern).isinstance_python(text)


def is_pattern(pattern: object) -> bool:
    """Return whether a regular expression can be checked in linear time."""
    try:
        _text(None, None, str(pattern))
    except SchemaError:
        return False
    return isinstance(pattern, str)


# -- canonical bodies: defaults filled, nulls dropped, keys sorted ----------------


def with_defaults(
    fields: Mapping[str, FieldSpec], body: Mapping[str, object]
) -> dict[str, object]:
    """Return the body with defaults for fields that are omitted or null.

    An optional field without a default counts as null.
    """
    values = dict(body)
    for name, spec in fields.items():
        if not spec.required and values.get(name) is None:
            values[name] = spec.default
    return values


def canonical_body(
    fields: Mapping[str, FieldSpec], body: Mapping[str, object]
) -> dict[str, object]:
    """Return the body with defaults filled in, nulls dropped, `1.0` written as `1`.

    Equivalent bodies have the same canonical body. Required fields and unknown
    properties keep their nulls.
    """
    return {
        name: _canonical(value)
        for name, value in with_defaults(fields, body).items()
        if value is not None or name not in fields or fields[name].required
    }


def _canonical(value: object) -> object:
    """Return a copy in which equal JSON numbers are equal in Python."""
    if isinstance(value, float) and value.is_integer():
        return int(value) if abs(value) < EXACT_BELOW else value
    if isinstance(value, dict):
        return {name: _canonical(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_canonical(each) for each in value]
    return value


def stripped(spec: FieldSpec, value: object) -> object:
    """Return a value without white space around its prompts."""
    if isinstance(value, str):
        return value.strip() if spec.multiline else value
    if isinstance(value, list) and spec.item is not None:
        return [stripped(spec.item, each) for each in value]
    chosen = spec.chosen(value) if isinstance(value, dict) else None
    if chosen is None or not isinstance(value, dict):
        return value
    inner = chosen.fields
    return {n: stripped(inner[n], v) if n in inner else v for n, v in value.items()}


def text_json(text: str) -> str:
    """Encode a string as in canonical JSON."""
    return encode_basestring(text)


def canonical_json(value: object) -> bytes:
    """Encode canonical JSON: sorted keys, no spaces, UTF-8."""
    return _CANONICAL.encode(value).encode()
