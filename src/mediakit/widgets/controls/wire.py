"""Converts values to their form on the page, and back.

The page holds numbers and JSON as typed text, and a choice as an index. It has neither
null nor empty texts. A half-typed value is still a value.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from mediakit.schema import FieldSpec
from mediakit.widgets.controls.json_values import (
    FURTHER,
    NotJson,
    read_further,
    read_json,
)

Wire = Any
BOXED = ("integer", "number", "text")
"""Kinds whose values fit into one box, also as items of a list."""
SHORT_JSON = 60


def shown(spec: FieldSpec, value: object) -> Wire:
    """Convert a value to its form on the page; ValueError if that is impossible."""
    given = spec.default if value is None else value
    return _SHOWN[control_of(spec)](spec, given)


def held(spec: FieldSpec, wire: Wire) -> object:
    """Convert a form on the page to its value; None means "not sent"."""
    return _HELD[control_of(spec)](spec, wire)


def control_of(spec: FieldSpec) -> str:
    match spec.kind:
        case "boolean":
            return "choice" if spec.default is None else "switch"
        case "integer" | "number":
            return "number"
        case "list" if spec.item is not None and spec.item.media_kind:
            return "media_list"
        case "list":
            # A box cannot distinguish null from an empty text.
            item = spec.item
            is_boxed = item is None or (item.kind in BOXED and not item.nullable)
            return "items" if is_boxed else "rows"
        case "object" if not spec.fields and not spec.closed:
            return "json"
    return spec.kind


def choices_of(spec: FieldSpec) -> tuple[object, ...]:
    return (True, False) if spec.kind == "boolean" else tuple(spec.choices)


def item_of(spec: FieldSpec) -> FieldSpec:
    """Return the field of a list's items, which are required."""
    item = spec.item or FieldSpec("", "text")
    nullable = item.nullable and item.kind != "object"
    return replace(item, required=True, nullable=nullable)


def fewest_of(spec: FieldSpec) -> int:
    """Return the lowest number of rows; 0 for an optional list."""
    return max(1, spec.min_length or 1) if spec.to_fill_in else 0


def is_optional(spec: FieldSpec) -> bool:
    """Return whether an object or a number has a switch that enables it."""
    return not spec.to_fill_in and spec.default is None


def first_tag(spec: FieldSpec) -> str | None:
    """Return the initial variant: the first one if the object is required."""
    if isinstance(spec.default, dict):
        return str(spec.default[spec.tag])
    return next(iter(spec.variants)) if spec.to_fill_in and spec.variants else None


def option_of(spec: FieldSpec, shape: str) -> FieldSpec:
    """Return the field of one of several shapes, as if it were required."""
    inside = spec.variants[shape]
    return replace(inside, name=spec.name, required=True, nullable=False)


def inner_fields(spec: FieldSpec) -> dict[str, FieldSpec]:
    """Return the fields inside an object's frame, without the tag."""
    further = {} if spec.closed else {FURTHER.name: FURTHER}
    return {**spec.fields, **further}


def number_in(text: str) -> float | None:
    """Parse a typed number; None if it is not one."""
    if "_" in text or not text.isascii():
        return None  # Python reads 1_0 as 10, people do not
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def json_text(value: object) -> str:
    """Format a value as people write it; ValueError if that is impossible."""
    if value is None or isinstance(value, NotJson):
        return str(value or "")
    try:
        short = json.dumps(value, ensure_ascii=False, allow_nan=False)
        if len(short) <= SHORT_JSON:
            return short
        return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    except (TypeError, RecursionError) as error:
        raise ValueError(f"JSON cannot hold it: {error}") from error


# -- from a value to the page -----------------------------------------------------


def _refused(spec: FieldSpec, value: object) -> ValueError:
    return ValueError(f"{value!r} is not {spec.accepted}")


def _choice_shown(spec: FieldSpec, value: object) -> Wire:
    if value is None:
        return None
    choices = choices_of(spec)
    for at, choice in enumerate(choices):  # in Python, true equals 1
        if isinstance(choice, bool) == isinstance(value, bool) and choice == value:
            return at
    raise _refused(spec, value)


def _number_shown(spec: FieldSpec, value: object) -> Wire:
    if value is None:
        return ""
    # A box may contain any text; the problem is shown below it.
    kinds = int if spec.kind == "integer" else int | float
    is_number = isinstance(value, kinds) and not isinstance(value, bool)
    if not is_number and not (isinstance(value, str) and number_in(value) is None):
        raise _refused(spec, value)
    return str(value)


def _texts_shown(spec: FieldSpec, value: object) -> Wire:
    if value is None:
        return [""] if spec.to_fill_in else []  # a row to begin with
    return [str(each) for each in _list_of(spec, value)]


def _items_shown(spec: FieldSpec, value: object) -> Wire:
    items = [] if value is None else _list_of(spec, value)
    return [shown(item_of(spec), each) for each in items]


def _rows_shown(spec: FieldSpec, value: object) -> Wire:
    none: list[object] = [None] * fewest_of(spec)
    items = none if value is None else _list_of(spec, value)
    return [shown(item_of(spec), each) for each in items]


def _list_of(spec: FieldSpec, value: object) -> list[object]:
    if not isinstance(value, list | tuple):
        raise _refused(spec, value)
    return list(value)


def _object_shown(spec: FieldSpec, value: object) -> Wire:
    if value is None and is_optional(spec):
        return None
    return _frame(spec, spec, {} if value is None else value)


def _frame(spec: FieldSpec, of: FieldSpec, value: object) -> dict[str, Wire]:
    """Return an object's fields, and its further properties."""
    if not isinstance(value, Mapping):
        raise _refused(spec, value)
    fields = inner_fields(of)
    rest = {name: item for name, item in value.items() if name not in fields}
    given = dict(value)
    if not of.closed:
        # Text that is not JSON, or the properties that no field names.
        given[FURTHER.name], rest = value.get(FURTHER.name) or rest or None, {}
    wires = {n: shown(each, given.get(n)) for n, each in fields.items()}
    return {"of": wires, **({"rest": rest} if rest else {})}


def _variants_shown(spec: FieldSpec, value: object) -> Wire:
    tag = spec.tag or ""
    if value is None:
        first = first_tag(spec)
        if first is None:
            return None
        value = {tag: first}
    variant = spec.chosen(value)
    if variant is None or not isinstance(value, Mapping):
        raise _refused(spec, value)
    rest = {name: item for name, item in value.items() if name != tag}
    return {"tag": value[tag], **_frame(spec, untagged(spec, variant), rest)}


def untagged(spec: FieldSpec, variant: FieldSpec) -> FieldSpec:
    """Return a variant without its tag."""
    fields = {name: each for name, each in variant.fields.items() if name != spec.tag}
    return replace(variant, fields=fields)


def _either_shown(spec: FieldSpec, value: object) -> Wire:
    if value is None:
        first = next(iter(spec.variants)) if spec.to_fill_in else None
        return None if first is None else _as_shape(spec, first, None)
    option = spec.option(value)
    shape = next((n for n, each in spec.variants.items() if each is option), None)
    if shape is None:
        raise _refused(spec, value)
    return _as_shape(spec, shape, value)


def _as_shape(spec: FieldSpec, shape: str, value: object) -> Wire:
    return {"as": shape, "value": shown(option_of(spec, shape), value)}


_SHOWN: Mapping[str, Callable[[FieldSpec, Any], Wire]] = {
    "choice": _choice_shown,
    "switch": lambda _, value: bool(value),
    "number": _number_shown,
    "text": lambda _, value: "" if value is None else str(value),
    "media": lambda _, value: "" if value is None else str(value),
    "media_list": _texts_shown,
    "items": _items_shown,
    "rows": _rows_shown,
    "object": _object_shown,
    "variants": _variants_shown,
    "either": _either_shown,
    "json": lambda _, value: json_text(value),
}


# -- from the page to a value -----------------------------------------------------


def _number_held(_: FieldSpec, wire: Wire) -> object:
    text = str(wire or "").strip()
    number = number_in(text)
    # A whole number is valid for any number; the check rejects the reverse.
    return (text or None) if number is None else number


def _texts_held(_: FieldSpec, wire: Wire) -> object:
    return [text for each in wire or () if (text := each.strip())] or None


def _items_held(spec: FieldSpec, wire: Wire) -> object:
    item = item_of(spec)
    if item.kind == "text":
        return [str(each) for each in wire or ()] or None
    return [held(item, each) for each in wire or ()] or None


def _frame_held(of: FieldSpec, wire: Wire) -> dict[str, object]:
    values: dict[str, object] = {}
    for name, spec in inner_fields(of).items():
        each = wire["of"].get(name)
        if name == FURTHER.name:
            further = read_further(each or "", of.fields)
            if isinstance(further, dict):
                values |= further
            elif further is not None:
                values[name] = further
            continue
        value = held(spec, each)
        if value is not None or spec.null_when_empty:
            values[name] = value
    return {**wire.get("rest", {}), **values}


def _variants_held(spec: FieldSpec, wire: Wire) -> object:
    if not wire:
        return None
    tag = spec.tag or ""
    variant = untagged(spec, spec.variants[wire["tag"]])
    return {tag: wire["tag"], **_frame_held(variant, wire)}


_HELD: Mapping[str, Callable[[FieldSpec, Wire], object]] = {
    "choice": lambda spec, at: None if at is None else choices_of(spec)[at],
    "switch": lambda _, wire: bool(wire),
    "number": _number_held,
    "text": lambda _, wire: wire or None,
    "media": lambda _, wire: (wire or "").strip() or None,
    "media_list": _texts_held,
    "items": _items_held,
    "rows": lambda spec, wire: [held(item_of(spec), w) for w in wire or ()] or None,
    "object": lambda spec, wire: None if wire is None else _frame_held(spec, wire),
    "variants": _variants_held,
    "either": lambda spec, wire: (
        held(option_of(spec, wire["as"]), wire["value"]) if wire else None
    ),
    "json": lambda _, wire: read_json(wire or ""),
}
