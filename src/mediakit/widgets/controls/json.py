"""Any JSON value, typed as text."""

from __future__ import annotations

import json
from typing import Any

from mediakit.schema import FieldSpec
from mediakit.widgets.controls.control import Control, Payload, Wire
from mediakit.widgets.controls.json_values import FURTHER, Unreadable, read_json

SHORT_JSON = 60
JSON_EXAMPLE = 'JSON, such as {"strength": 0.5} or [1, 2]'
FURTHER_EXAMPLE = 'Such as {"style": "noir", "steps": 30}'


class Json(Control):
    """A box for JSON."""

    name = "json"
    kinds = ("json", "object")

    def takes(self, spec: FieldSpec) -> bool:
        is_any_object = not spec.fields and not spec.closed
        return spec.kind == "json" or is_any_object

    def shown(self, spec: FieldSpec, value: Any) -> Wire:
        if value is None or isinstance(value, Unreadable):
            return str(value or "")
        try:
            short = json.dumps(value, ensure_ascii=False, allow_nan=False)
            if len(short) <= SHORT_JSON:
                return short
            return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
        except (TypeError, RecursionError) as error:
            raise ValueError(f"JSON cannot hold it: {error}") from error

    def held(self, spec: FieldSpec, wire: Wire) -> object:
        return read_json(wire or "")

    def payload(self, spec: FieldSpec, path: str, prompts: str) -> Payload:
        is_further = spec.name == FURTHER.name
        return {"placeholder": FURTHER_EXAMPLE if is_further else JSON_EXAMPLE}
