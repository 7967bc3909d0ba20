"""A list of numbers or strings, a box for each."""

from __future__ import annotations

from typing import Any

from mediakit.schema import FieldSpec
from mediakit.widgets.controls.control import (
    Control,
    Payload,
    Wire,
    held,
    item_of,
    list_of,
    shown,
)

BOXED = ("integer", "number", "text")
"""The kinds of items that fit into one box."""


class Items(Control):
    """A list whose items fit into boxes."""

    name = "items"
    kinds = ("list",)

    def takes(self, spec: FieldSpec) -> bool:
        # A box cannot distinguish null from an empty text.
        item = spec.item
        return item is None or (item.kind in BOXED and not item.nullable)

    def shown(self, spec: FieldSpec, value: Any) -> Wire:
        items = [] if value is None else list_of(spec, value)
        return [shown(item_of(spec), each) for each in items]

    def held(self, spec: FieldSpec, wire: Wire) -> object:
        item = item_of(spec)
        if item.kind == "text":
            return [str(each) for each in wire or ()] or None
        return [held(item, each) for each in wire or ()] or None

    def payload(self, spec: FieldSpec, path: str, prompts: str) -> Payload:
        item = item_of(spec)
        first = "" if item.kind == "text" else str(int(item.low or 0))
        return {"most": spec.max_length, "text": item.kind == "text", "first": first}
