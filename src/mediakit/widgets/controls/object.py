"""An object: the fields inside it, in a frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mediakit.schema import FieldSpec
from mediakit.widgets.controls.control import (
    Control,
    Payload,
    Wire,
    field_payload,
    held,
    is_optional,
    refused,
    shown,
)
from mediakit.widgets.controls.json_values import FURTHER, read_further


class Object(Control):
    """The fields of an object, with a switch if the object is optional."""

    name = "object"
    kinds = ("object",)

    def shown(self, spec: FieldSpec, value: Any) -> Wire:
        if value is None and is_optional(spec):
            return None
        return frame_shown(spec, spec, {} if value is None else value)

    def held(self, spec: FieldSpec, wire: Wire) -> object:
        return None if wire is None else frame_held(spec, wire)

    def payload(self, spec: FieldSpec, path: str, prompts: str) -> Payload:
        optional = is_optional(spec)
        return {
            "optional": optional,
            "first": empty_frame(spec) if optional else None,
            "fields": frame_fields(spec, path, prompts),
            "doc": spec.doc,
        }

    def inside(self, spec: FieldSpec) -> Iterator[tuple[str, FieldSpec]]:
        yield from inner_fields(spec).items()


def inner_fields(spec: FieldSpec) -> dict[str, FieldSpec]:
    """Return the fields inside an object's frame."""
    further = {} if spec.closed else {FURTHER.name: FURTHER}
    return {**spec.fields, **further}


def frame_shown(spec: FieldSpec, of: FieldSpec, value: object) -> dict[str, Wire]:
    """Return an object's fields, and its further properties."""
    if not isinstance(value, Mapping):
        raise refused(spec, value)
    fields = inner_fields(of)
    rest = {name: item for name, item in value.items() if name not in fields}
    values = dict(value)
    if not of.closed:
        # Text that is not JSON, or the properties that no field names.
        values[FURTHER.name], rest = value.get(FURTHER.name) or rest or None, {}
    wires = {n: shown(each, values.get(n)) for n, each in fields.items()}
    return {"of": wires, **({"rest": rest} if rest else {})}


def frame_held(of: FieldSpec, wire: Wire) -> dict[str, object]:
    """Return the object that a frame on the page holds."""
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


def frame_fields(spec: FieldSpec, path: str, prompts: str) -> list[Payload]:
    """Return the payloads of the fields in a frame."""
    return [
        field_payload(each, f"{path}/{name}", prompts)
        for name, each in inner_fields(spec).items()
    ]


def empty_frame(spec: FieldSpec) -> Payload:
    """Return a frame of fields with their defaults."""
    return {"of": {n: shown(each, None) for n, each in inner_fields(spec).items()}}
