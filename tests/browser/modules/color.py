"""A made-up control: a colour picker beside a box for the colour's code."""

from __future__ import annotations

import re
from typing import Any

from mediakit.schema import FieldSpec
from mediakit.widgets.controls import Control, Payload, Unreadable, Wire

CODE = re.compile(r"#[0-9a-f]{6}")


class Color(Control):
    """A colour, written as #rrggbb."""

    name = "color"
    kinds = ("text",)

    def takes(self, spec: FieldSpec) -> bool:
        return spec.format == "color"

    def shown(self, spec: FieldSpec, value: Any) -> Wire:
        return "" if value is None else str(value)

    def held(self, spec: FieldSpec, wire: Wire) -> object:
        code = (wire or "").strip().lower()
        if not code or CODE.fullmatch(code):
            return code or None
        return Unreadable(wire, "Must be a colour such as #ff8800")

    def payload(self, spec: FieldSpec, path: str, prompts: str) -> Payload:
        return {"placeholder": "#rrggbb"}
