"""A control: the fields that it takes, and the form of their values on the page.

The page holds numbers and JSON as typed text, and a choice as an index. It has neither
null nor empty strings. A half-typed value is still a value.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from mediakit.schema import FieldKind, FieldSpec
from mediakit.widgets.controls.json_values import FURTHER
from mediakit.widgets.controls.messages import hint_of, label_of, with_unit

Wire = Any
"""A value as the page holds it."""
Payload = dict[str, Any]

CHOOSE, SERVICE_DEFAULT, NOTHING = "Choose…", "Service default", "Not set"
FURTHER_LABEL = "Additional fields (JSON)"
HELP_FROM = 25
"""Descriptions shorter than this add nothing to the label."""


class Control(ABC):
    """The Python part of a control.

    The JavaScript half is the file of the same name beside it, which sets
    `CONTROLS[name]`.
    """

    name: ClassVar[str]
    kinds: ClassVar[tuple[FieldKind, ...]]
    """The kinds of fields that it may take."""

    @property
    def script(self) -> Path:
        """Return the file of the JavaScript part."""
        return Path(inspect.getfile(type(self))).with_suffix(".js")

    def takes(self, spec: FieldSpec) -> bool:
        """Return whether the control is for a field of its kinds."""
        return True

    @abstractmethod
    def shown(self, spec: FieldSpec, value: Any) -> Wire:
        """Convert a value to its form on the page; ValueError if that is impossible."""

    @abstractmethod
    def held(self, spec: FieldSpec, wire: Wire) -> object:
        """Convert a form on the page to its value.

        None means "not sent". Text that the control cannot read is an `Unreadable`,
        which is shown with its reason and never sent.
        """

    def payload(self, spec: FieldSpec, path: str, prompts: str) -> Payload:
        """Return the data that the page needs about a field besides its name and label.

        Args:
            spec: The field.
            path: Its place, without indices.
            prompts: The descriptions of the function's prompts.
        """
        return {}

    def inside(self, spec: FieldSpec) -> Iterator[tuple[str, FieldSpec]]:
        """Yield the fields inside a field, each with its path step."""
        yield from ()

    def unit(self, spec: FieldSpec) -> str | None:
        """Return the unit in the label."""
        return spec.unit or (spec.item.unit if spec.item else None)


CONTROLS: list[Control] = []
"""All controls; the first that takes a field is the field's."""


def control_of(spec: FieldSpec) -> Control:
    """Return the control of a field."""
    kind = spec.kind
    for control in CONTROLS:
        if kind in control.kinds and control.takes(spec):
            return control
    raise LookupError(f"no control takes a field of kind {kind}")


def shown(spec: FieldSpec, value: object) -> Wire:
    """Convert a value to its form on the page; ValueError if that is impossible."""
    return control_of(spec).shown(spec, spec.default if value is None else value)


def held(spec: FieldSpec, wire: Wire) -> object:
    """Convert a form on the page to its value; None means "not sent"."""
    return control_of(spec).held(spec, wire)


def field_payload(spec: FieldSpec, path: str, prompts: str = "") -> Payload:
    """Return a field's payload without empty entries; `path` has no indices."""
    control = control_of(spec)
    payload: Payload = {
        "name": spec.name,
        "kind": control.name,
        "label": name_of(spec),
        "hint": hint_of(spec),
        "help": spec.doc if len(spec.doc) >= HELP_FROM else "",
        "required": spec.to_fill_in,
        "start": control.shown(spec, spec.default),
        **control.payload(spec, path, prompts),
    }
    return {n: v for n, v in payload.items() if v not in (None, "", False, [], ())}


def name_of(spec: FieldSpec) -> str:
    """Return a field's display name with its unit."""
    if spec.name == FURTHER.name:
        return FURTHER_LABEL
    return with_unit(label_of(spec), control_of(spec).unit(spec))


def media_specs(fields: Mapping[str, FieldSpec]) -> dict[str, FieldSpec]:
    """Return the fields that take media, by the path that the page uses."""

    def walk(spec: FieldSpec, path: str) -> Iterator[tuple[str, FieldSpec]]:
        if (spec.item or spec).media_kind:
            yield path, spec
            return
        for step, inner in control_of(spec).inside(spec):
            yield from walk(inner, f"{path}/{step}")

    return {
        path: spec for name, each in fields.items() for path, spec in walk(each, name)
    }


# -- for several controls ---------------------------------------------------------


def item_of(spec: FieldSpec) -> FieldSpec:
    """Return the field of a list's items, which are required."""
    item = spec.item or FieldSpec("", "text")
    nullable = item.nullable and item.kind != "object"
    return replace(item, required=True, nullable=nullable)


def list_of(spec: FieldSpec, value: object) -> list[object]:
    """Return the items of a list; ValueError for any other value."""
    if not isinstance(value, list | tuple):
        raise refused(spec, value)
    return list(value)


def is_optional(spec: FieldSpec) -> bool:
    """Return whether an object or a number has a switch that enables it."""
    return not spec.to_fill_in and spec.default is None


def refused(spec: FieldSpec, value: object) -> ValueError:
    """Return the error about a value that the control cannot show."""
    return ValueError(f"{value!r} is not {spec.accepted}")
