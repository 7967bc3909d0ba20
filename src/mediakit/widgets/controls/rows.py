"""A list of anything, a row for each item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mediakit.schema import FieldSpec
from mediakit.widgets.controls.control import (
    Control,
    Payload,
    Wire,
    field_payload,
    held,
    item_of,
    list_of,
    shown,
)
from mediakit.widgets.controls.messages import label_of, mid_sentence, one_of


class Rows(Control):
    """A list whose items have controls of their own."""

    name = "rows"
    kinds = ("list",)

    def shown(self, spec: FieldSpec, value: Any) -> Wire:
        none: list[object] = [None] * _fewest(spec)
        items = none if value is None else list_of(spec, value)
        return [shown(item_of(spec), each) for each in items]

    def held(self, spec: FieldSpec, wire: Wire) -> object:
        return [held(item_of(spec), each) for each in wire or ()] or None

    def payload(self, spec: FieldSpec, path: str, prompts: str) -> Payload:
        return {
            "item": field_payload(item_of(spec), f"{path}/", prompts),
            "most": spec.max_length,
            "fewest": _fewest(spec),
            "one": mid_sentence(one_of(label_of(spec))),
        }

    def inside(self, spec: FieldSpec) -> Iterator[tuple[str, FieldSpec]]:
        yield "", item_of(spec)


def _fewest(spec: FieldSpec) -> int:
    """Return the lowest number of rows; 0 for an optional list."""
    return max(1, spec.min_length or 1) if spec.to_fill_in else 0
