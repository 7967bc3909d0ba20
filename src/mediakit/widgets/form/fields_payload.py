"""The fields of a form as plain data for the page."""

from __future__ import annotations

from collections.abc import Mapping

from mediakit.catalog import Function
from mediakit.rules import NeedsAny, OnlyWhen
from mediakit.schema import FieldSpec
from mediakit.widgets.controls import field_payload
from mediakit.widgets.controls.json_values import FURTHER
from mediakit.widgets.job.payload import Payload
from mediakit.widgets.timeline.time_axis import Axis


def fields_of(function: Function, values: Mapping[str, object]) -> dict[str, FieldSpec]:
    """Return the fields of the chosen kind of body, in display order."""
    chosen = function.of(values).fields
    own = function.tag  # the tag itself accepts every kind
    fields = {
        n: spec if n == own else chosen.get(n, spec)
        for n, spec in function.fields.items()
    }
    if function.is_open:
        fields[FURTHER.name] = FURTHER
    return fields


def axes_of(function: Function) -> dict[str, Axis]:
    """Return the fields that are edited on a timeline."""
    axes = {n: Axis.of(s, function.rules) for n, s in function.fields.items()}
    return {name: axis for name, axis in axes.items() if axis is not None}


def schema_payload(
    function: Function, fields: Mapping[str, FieldSpec], axes: Mapping[str, Axis]
) -> Payload:
    """Return the static part of the payload."""
    prompts = " ".join(s.doc for s in fields.values() if s.multiline)
    return {
        "fields": [
            {
                **field_payload(spec, spec.name, prompts),
                "main": name == FURTHER.name or is_main(function, spec),
                "timeline": axes[name].payload if name in axes else None,
            }
            for name, spec in fields.items()
        ]
    }


def is_main(function: Function, spec: FieldSpec) -> bool:
    """Return whether a field is always visible, not under "More settings"."""
    if function.tag is not None:
        return True
    rules = function.rules
    if any(isinstance(r, OnlyWhen) and spec.name in r.fields for r in rules):
        return False
    prompt = next((s.name for s in function.fields.values() if s.multiline), None)
    return (
        spec.required
        or any(isinstance(r, NeedsAny) and spec.name in r.fields for r in rules)
        or spec.name in (function.declared.priced_by or ())
        or bool(spec.media_kind or (spec.item and spec.item.media_kind))
        or spec.name == prompt
        or (spec.default is not None and spec.kind != "boolean")
    )
