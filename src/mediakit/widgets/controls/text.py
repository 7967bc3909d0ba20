"""Text, in a box of one or several lines."""

from __future__ import annotations

from typing import Any

from mediakit.schema import FieldSpec
from mediakit.widgets.controls.control import Control, Payload, Wire


class Text(Control):
    """A box for a text, with its description inside."""

    name = "text"
    kinds = ("text",)

    def shown(self, spec: FieldSpec, value: Any) -> Wire:
        return "" if value is None else str(value)

    def held(self, spec: FieldSpec, wire: Wire) -> object:
        return wire or None

    def payload(self, spec: FieldSpec, path: str, prompts: str) -> Payload:
        return {
            "help": "",
            "placeholder": spec.doc,
            "long": spec.multiline,
            "most": spec.max_length,
        }
