"""The control of an object whose fields depend on its tag."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import ipywidgets as w

from mediakit.rules import Problem
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.control import Build, Control
from mediakit.widgets.controls.json_values import FURTHER
from mediakit.widgets.nested.nested_control import Member, NestedControl, share
from mediakit.widgets.nested.objects import Fields, fill
from mediakit.widgets.toolkit.widget_factory import close_tree

T = TypeVar("T")


class Variants(NestedControl):
    """One of several kinds of object: what tells them apart, and the chosen's fields.

    What was filled in stays when another one is chosen, as far as it has that field.
    """

    def __init__(self, spec: FieldSpec, context: WidgetContext, build: Build) -> None:
        super().__init__(spec, context, build)
        tag = spec.tag or ""
        self._tag = tag
        self._kept = _without(spec.default or {}, tag)
        self._chooser = Member(f".{tag}", build(_tag_spec(spec), context), self._chosen)
        self.named = self._chooser.control.named
        self._body = self._make_body()
        self.widget = context.factory.make(w.VBox, "mk-list", children=self._lines)

    @property
    def controls(self) -> Iterable[Control]:
        """Return what people choose with, and the frame of the chosen's fields."""
        body = () if self._body is None else (self._body,)
        return (self._chooser.control, *body)

    def set_required(self, *, required: bool) -> None:
        """Mark it as required, or not."""
        self._chooser.control.set_required(required=required)

    def _chosen(self) -> None:
        if self._body is not None:
            kept = _without(self._kept, *self._body.spec.fields, FURTHER.name)
            self._kept = kept | self._body.read()
        self._change_body()
        self.renew()
        self.tell()

    def _change_body(self) -> None:
        """Show the frame of the variant that is chosen now."""
        gone, variant = self._body, self._variant
        if gone is not None and variant is not None:
            gone.change(variant, self._values)
            return
        self._body = self._make_body()
        self.widget.children = self._lines
        if gone is not None:
            close_tree(gone.widget)

    @property
    def _variant(self) -> FieldSpec | None:
        """The variant that is chosen now, without what it is chosen by."""
        variant = self.spec.variants.get(str(self._chooser.control.value))
        if variant is None:
            return None
        return replace(variant, fields=_without(variant.fields, self._tag))

    def _make_body(self) -> Fields | None:
        variant = self._variant
        if variant is None:
            return None
        body = Fields(variant, self.context, self._build)
        fill(body.controls, self._values)
        body.listen(self.tell)
        return body

    @property
    def _lines(self) -> tuple[Any, ...]:
        body = () if self._body is None else (self._body.widget,)
        return (self._chooser.widget, *body)

    @property
    def _values(self) -> dict[str, object]:
        """What was filled in, by field."""
        known = {name for each in self.spec.variants.values() for name in each.fields}
        rest = _without(self._kept, *known)
        further = rest.pop(FURTHER.name, None) or rest
        return {**self._kept, FURTHER.name: further or None}

    def read(self) -> object:
        """Return the object, tag included; None while no variant is chosen."""
        if self._body is None:
            return None
        return {self._tag: self._chooser.control.value, **self._body.read()}

    def write(self, value: object) -> None:
        """Show an object of any of the variants; None means the default.

        Raises:
            ValueError: It is no such object.
        """
        chooser = self._chooser.control
        if value is None:
            given: dict[str, object] = {self._tag: chooser.spec.default}
        elif isinstance(value, dict) and self.spec.chosen(value) is not None:
            given = value
        else:
            raise ValueError(f"{value!r} is not {self.spec.accepted}")
        chooser.value = given[self._tag]
        self._kept = {}
        self._change_body()
        if self._body is not None:
            self._body.value = _without(given, self._tag)

    def amend(self, value: object) -> None:
        """Show an object of which few fields differ from the shown one's."""
        body, given = self._body, value if isinstance(value, dict) else {}
        if body is not None and given.get(self._tag) == self._chooser.control.value:
            body.amend(_without(given, self._tag))
        else:
            super().amend(value)

    def reveal(self, place: str, at: str = "") -> Control:
        """Unfold what stands at a place in the chosen object."""
        return self if self._body is None else self._body.reveal(place, at)

    def share_problems(
        self, problems: tuple[Problem, ...], place: str
    ) -> tuple[Problem, ...]:
        """Show problems below the fields that they concern; return the others."""
        left = share((self._chooser,), problems, place)
        return left if self._body is None else self._body.place_problems(left, place)


def _tag_spec(spec: FieldSpec) -> FieldSpec:
    """Return the choice of a variant; one that must be made begins with the first."""
    choices: tuple[Any, ...] = tuple(spec.variants)
    first = choices[0] if spec.to_fill_in and choices else None
    chosen = spec.default[spec.tag] if isinstance(spec.default, dict) else first
    return FieldSpec(
        spec.name or spec.tag or "",
        "choice",
        choices=choices,
        required=spec.required,
        nullable=spec.nullable,
        default=chosen,
        doc=spec.doc,
    )


def _without(values: Mapping[str, T], *names: str) -> dict[str, T]:
    return {name: value for name, value in values.items() if name not in names}
