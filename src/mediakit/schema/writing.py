"""Writing fields as JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from mediakit.media_limits import EXTENSION
from mediakit.schema.fields import FieldSpec

Json = dict[str, Any]

_TYPES = {"media": "string", "text": "string"}
_BOUNDS = {
    "minimum": "low",
    "maximum": "high",
    "exclusiveMinimum": "above",
    "exclusiveMaximum": "below",
    "multipleOf": "step",
    "pattern": "pattern",
}


def schema_of(spec: FieldSpec) -> Json:
    """Return the JSON Schema of the values that a field accepts."""
    schema = dict(_written(spec))
    if not spec.nullable or spec.kind == "json":
        return schema
    return {"anyOf": [schema, {"type": "null"}]}


def _written(spec: FieldSpec) -> Iterator[tuple[str, Any]]:
    yield from _type(spec)
    for keyword, name in _BOUNDS.items():
        if getattr(spec, name) is not None:
            yield keyword, getattr(spec, name)
    counted = "Items" if spec.kind == "list" else "Length"
    for start, count in (("min", spec.min_length), ("max", spec.max_length)):
        if count is not None:
            yield f"{start}{counted}", count
    if spec.unique:
        yield "uniqueItems", True
    facts = dict(_facts(spec))
    if facts:
        yield EXTENSION, facts


def _type(spec: FieldSpec) -> Iterator[tuple[str, Any]]:
    match spec.kind:
        case "json":
            return
        case "choice":
            yield "enum", list(spec.choices)
        case "either":
            yield "anyOf", [schema_of(each) for each in spec.variants.values()]
        case "variants":
            yield "oneOf", [schema_of(each) for each in spec.variants.values()]
            yield "discriminator", {"propertyName": spec.tag}
        case "list":
            yield "type", "array"
            yield "items", {} if spec.item is None else schema_of(spec.item)
        case "object":
            yield "type", "object"
            yield from _properties(spec)
        case _:
            yield "type", _TYPES.get(spec.kind, spec.kind)


def _properties(spec: FieldSpec) -> Iterator[tuple[str, Any]]:
    yield "properties", {name: _property(each) for name, each in spec.fields.items()}
    required = [name for name, each in spec.fields.items() if each.required]
    if required:
        yield "required", required
    if spec.closed:
        yield "additionalProperties", False
    elif spec.further is not None:
        yield "additionalProperties", schema_of(spec.further)
    if spec.doc:
        yield "description", spec.doc


def _property(spec: FieldSpec) -> Json:
    words = {"description": spec.doc or None, "default": spec.default}
    return schema_of(spec) | {k: v for k, v in words.items() if v is not None}


def _facts(spec: FieldSpec) -> Iterator[tuple[str, object]]:
    for name in ("unit", "media_kind", "mask_of", "multiline", "seed"):
        if getattr(spec, name):
            yield name, getattr(spec, name)
    if spec.limits is not None:
        limits = asdict(spec.limits)
        yield "limits", {k: v for k, v in limits.items() if v not in (None, ())}
