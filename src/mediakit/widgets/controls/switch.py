"""Yes or no, as a box to tick."""

from __future__ import annotations

from typing import Any

from mediakit.schema import FieldSpec
from mediakit.widgets.controls.control import Control, Wire


class Switch(Control):
    """A box to tick, for a field with a default."""

    name = "switch"
    kinds = ("boolean",)

    def shown(self, spec: FieldSpec, value: Any) -> Wire:
        return bool(value)

    def held(self, spec: FieldSpec, wire: Wire) -> object:
        return bool(wire)
