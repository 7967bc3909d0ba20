"""A value of one of several shapes, such as a preset or an object."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from mediakit.schema import FieldSpec
from mediakit.widgets.controls.control import (
    NOTHING,
    SERVICE_DEFAULT,
    Control,
    Payload,
    Wire,
    field_payload,
    held,
    refused,
    shown,
)
from mediakit.widgets.controls.messages import option_text, titled


class Either(Control):
    """A menu of the shapes, and the control of the chosen shape."""

    name = "either"
    kinds = ("either",)

    def shown(self, spec: FieldSpec, value: Any) -> Wire:
        if value is None:
            first = next(iter(spec.variants)) if spec.to_fill_in else None
            return None if first is None else _as_shape(spec, first, None)
        option = spec.option(value)
        shape = next((n for n, each in spec.variants.items() if each is option), None)
        if shape is None:
            raise refused(spec, value)
        return _as_shape(spec, shape, value)

    def held(self, spec: FieldSpec, wire: Wire) -> object:
        return held(_option(spec, wire["as"]), wire["value"]) if wire else None

    def payload(self, spec: FieldSpec, path: str, prompts: str) -> Payload:
        inside = {
            shape: field_payload(_option(spec, shape), f"{path}/{shape}", prompts)
            for shape in spec.variants
        }
        none = NOTHING if spec.required else SERVICE_DEFAULT
        return {
            "options": [titled(option_text(each)) for each in spec.variants.values()],
            "none": None if spec.to_fill_in else none,
            "variants": inside,
        }

    def inside(self, spec: FieldSpec) -> Iterator[tuple[str, FieldSpec]]:
        for shape in spec.variants:
            yield shape, _option(spec, shape)


def _as_shape(spec: FieldSpec, shape: str, value: object) -> Wire:
    return {"as": shape, "value": shown(_option(spec, shape), value)}


def _option(spec: FieldSpec, shape: str) -> FieldSpec:
    """Return the field of one of several shapes, as if it were required."""
    inside = spec.variants[shape]
    return replace(inside, name=spec.name, required=True, nullable=False)
