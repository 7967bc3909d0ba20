"""A choice: a menu, or a button for each of a few options."""

from __future__ import annotations

from typing import Any

from mediakit.schema import FieldSpec
from mediakit.widgets.controls.control import (
    CHOOSE,
    NOTHING,
    SERVICE_DEFAULT,
    Control,
    Payload,
    Wire,
    refused,
)
from mediakit.widgets.controls.messages import option_label

FEW_CHOICES = 3


class Choice(Control):
    """One of several values; also yes or no, where the service has the default."""

    name = "choice"
    kinds = ("choice", "boolean")

    def takes(self, spec: FieldSpec) -> bool:
        return spec.kind == "choice" or spec.default is None

    def shown(self, spec: FieldSpec, value: Any) -> Wire:
        if value is None:
            return None
        for at, choice in enumerate(_choices(spec)):  # in Python, true equals 1
            if isinstance(choice, bool) == isinstance(value, bool) and choice == value:
                return at
        raise refused(spec, value)

    def held(self, spec: FieldSpec, wire: Wire) -> object:
        return None if wire is None else _choices(spec)[wire]

    def payload(self, spec: FieldSpec, path: str, prompts: str) -> Payload:
        unit = f" {spec.unit}" if spec.unit else ""
        none = None
        if spec.default is None:
            none = SERVICE_DEFAULT
            if spec.required:
                none = NOTHING if spec.nullable else CHOOSE
        options = [option_label(choice, unit, spec.title) for choice in _choices(spec)]
        is_few = none is None and len(options) <= FEW_CHOICES
        return {"options": options, "none": none, "few": is_few}

    def unit(self, spec: FieldSpec) -> None:
        """Return no unit, because each option has it."""


def _choices(spec: FieldSpec) -> tuple[object, ...]:
    return (True, False) if spec.kind == "boolean" else tuple(spec.choices)
