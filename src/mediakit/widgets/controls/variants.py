"""One of several kinds of object, distinguished by a tag."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from mediakit.schema import FieldSpec
from mediakit.widgets.controls.control import (
    SERVICE_DEFAULT,
    Control,
    Payload,
    Wire,
    name_of,
    refused,
)
from mediakit.widgets.controls.messages import label_of, option_label
from mediakit.widgets.controls.object import (
    empty_frame,
    frame_fields,
    frame_held,
    frame_shown,
    inner_fields,
)


class Variants(Control):
    """A menu of the kinds, and the fields of the chosen kind."""

    name = "variants"
    kinds = ("variants",)

    def shown(self, spec: FieldSpec, value: Any) -> Wire:
        tag = spec.tag or ""
        if value is None:
            first = _first_tag(spec)
            if first is None:
                return None
            value = {tag: first}
        variant = spec.chosen(value)
        if variant is None or not isinstance(value, Mapping):
            raise refused(spec, value)
        rest = {name: item for name, item in value.items() if name != tag}
        return {"tag": value[tag], **frame_shown(spec, _untagged(spec, variant), rest)}

    def held(self, spec: FieldSpec, wire: Wire) -> object:
        if not wire:
            return None
        variant = _untagged(spec, spec.variants[wire["tag"]])
        return {spec.tag or "": wire["tag"], **frame_held(variant, wire)}

    def payload(self, spec: FieldSpec, path: str, prompts: str) -> Payload:
        variants = {}
        for tag, variant in spec.variants.items():
            inside = _untagged(spec, variant)
            fields = frame_fields(inside, f"{path}/{tag}", prompts)
            variants[tag] = {"first": empty_frame(inside), "fields": fields}
        label = label_of(FieldSpec(spec.tag or "", "choice"))
        return {
            "tag": spec.tag,
            "label": name_of(spec) if spec.name else label,
            "options": [option_label(tag) for tag in spec.variants],
            "none": None if spec.to_fill_in else SERVICE_DEFAULT,
            "variants": variants,
        }

    def inside(self, spec: FieldSpec) -> Iterator[tuple[str, FieldSpec]]:
        for tag, variant in spec.variants.items():
            for name, inner in inner_fields(_untagged(spec, variant)).items():
                yield f"{tag}/{name}", inner


def _first_tag(spec: FieldSpec) -> str | None:
    """Return the initial variant: the first one if the object is required."""
    if isinstance(spec.default, dict):
        return str(spec.default[spec.tag])
    return next(iter(spec.variants)) if spec.to_fill_in and spec.variants else None


def _untagged(spec: FieldSpec, variant: FieldSpec) -> FieldSpec:
    """Return a variant without its tag."""
    fields = {name: each for name, each in variant.fields.items() if name != spec.tag}
    return replace(variant, fields=fields)
