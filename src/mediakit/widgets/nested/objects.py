"""The control of an object: one control for each of its fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import ipywidgets as w
from traitlets import TraitError

from mediakit.rules import Problem
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.control import Build, Control
from mediakit.widgets.controls.json_box import FurtherBox
from mediakit.widgets.controls.json_values import FURTHER
from mediakit.widgets.nested.nested_control import (
    Member,
    NestedControl,
    at_place,
    share,
)
from mediakit.widgets.toolkit.styles import line_html
from mediakit.widgets.toolkit.widget_factory import close_tree


class Fields(NestedControl):
    """The fields of an object that is always there, framed, one control each."""

    def __init__(self, spec: FieldSpec, context: WidgetContext, build: Build) -> None:
        super().__init__(spec, context, build)
        self._members = self._make_members({})
        # Given by code and known to nobody: the check names them.
        self._unknown: dict[str, object] = {}
        self.widget = self.named = context.factory.make(
            w.Box, "mk-group", children=self._cells
        )

    def _make_members(self, before: Mapping[str, Member]) -> dict[str, Member]:
        members: dict[str, Member] = {}
        for name, field in self.spec.fields.items():
            kept = before.get(name)
            if kept is None or not (
                kept.control.spec == field or kept.control.become(field)
            ):
                kept = Member(f".{name}", self._build(field, self.context), self.tell)
            members[name] = kept
        if not self.spec.closed:
            box = FurtherBox(self.spec.fields, self.context)
            members[FURTHER.name] = Member(f".{FURTHER.name}", box, self.tell)
        return members

    @property
    def _cells(self) -> tuple[Any, ...]:
        return tuple(member.widget for member in self._members.values())

    def change(self, spec: FieldSpec, values: Mapping[str, object]) -> None:
        """Become the fields of another object; those that both have stay in place.

        Args:
            spec: The other object.
            values: What new fields show, as far as their controls can.
        """
        self.spec, before = spec, self._members
        self._members = self._make_members(before)
        self._unknown = {}
        new = [m for n, m in self._members.items() if before.get(n) is not m]
        fill([member.control for member in new], values)
        self.widget.children = self._cells
        for name, member in before.items():
            if self._members.get(name) is not member:
                close_tree(member.widget)

    @property
    def controls(self) -> Iterable[Control]:
        """Return the controls of the fields."""
        return [member.control for member in self._members.values()]

    def set_required(self, *, required: bool) -> None:
        """Do nothing: a frame has no name."""

    def read(self) -> dict[str, object]:
        """Return the object: the fields that have a value."""
        values = {n: member.control.value for n, member in self._members.items()}
        given = {
            n: v for n, v in values.items() if v is not None or self._keeps_null(n)
        }
        further = given.get(FURTHER.name)
        if isinstance(further, dict):
            del given[FURTHER.name]
            given |= further
        return self._unknown | given

    def _keeps_null(self, name: str) -> bool:
        return self._members[name].control.spec.null_when_empty

    def write(self, value: object) -> None:
        """Show an object; what it does not hold shows its default.

        Raises:
            ValueError: It is no object, or holds what a control cannot show.
        """
        for control, item in self._spread(value):
            control.value = item

    def amend(self, value: object) -> None:
        """Show an object of which few fields differ from the shown one's."""
        for control, item in self._spread(value):
            control.amend(item)

    def reveal(self, place: str, at: str = "") -> Control:
        """Unfold what stands at a place in one of the fields."""
        member = at_place(self._members.values(), place, at)
        if member is None:
            return self
        return member.control.reveal(place, at + member.step)

    def _spread(self, value: object) -> Iterator[tuple[Control, object]]:
        """Give what each field's control is to show."""
        if not isinstance(value, dict):
            raise ValueError(f"{value!r} is not {self.spec.accepted}")
        rest = {n: item for n, item in value.items() if n not in self._members}
        for name, member in self._members.items():
            item = value.get(name)
            if name == FURTHER.name:
                # A text that is no JSON, or what the fields do not name.
                item, rest = item or rest or None, {}
            default = member.control.spec.default
            yield member.control, default if item is None else item
        self._unknown = rest

    def share_problems(
        self, problems: tuple[Problem, ...], place: str
    ) -> tuple[Problem, ...]:
        """Show problems below the fields that they concern; return the others."""
        return share(self._members.values(), problems, place)


class ObjectControl(NestedControl):
    """An object under its name, with a switch when it may be left out.

    While it is off its controls are not there; what they held comes back with them.
    """

    def __init__(self, spec: FieldSpec, context: WidgetContext, build: Build) -> None:
        super().__init__(spec, context, build)
        optional = not spec.to_fill_in and spec.default is None
        self._switch = self._make_switch() if optional else None
        self.named = self._switch or self._make_title()
        self._kept: dict[str, object] = dict(spec.default or {})
        self._body = None if optional else self._make_body()
        self.widget = context.factory.make(w.VBox, "mk-list", children=self._lines)

    def _make_switch(self) -> Any:
        switch = self.context.factory.make(
            w.Checkbox,
            "mk-check mk-optional",
            description=self.heading,
            tooltip=self.hint,
            indent=False,
            value=False,
        )
        self.watch(switch, self._switched)
        return switch

    def _make_title(self) -> Any:
        return self.context.factory.make(
            w.HTML,
            "mk-wide mk-head-line",
            description=self.heading,
            tooltip=self.hint,
            value=line_html(self.spec.doc),
        )

    @property
    def controls(self) -> Iterable[Control]:
        """Return the frame with the fields, while it is there."""
        return () if self._body is None else (self._body,)

    @property
    def parts(self) -> tuple[Any, ...]:
        """Return the switch, and what people change in the fields."""
        return (*(() if self._switch is None else (self._switch,)), *super().parts)

    def set_enabled(self, *, enabled: bool) -> None:
        """Let people change it, or not; its value stays."""
        if self._switch is not None:
            self._switch.disabled = not enabled
        super().set_enabled(enabled=enabled)

    def _switched(self, on: bool) -> None:  # noqa: FBT001 - a trait's value
        if on:
            self._unfold()
            self.renew()
        else:
            self._fold()

    def _unfold(self) -> None:
        if self._body is None:
            self._body = self._make_body()
            self.widget.children = self._lines

    def _make_body(self) -> Fields:
        body = Fields(self.spec, self.context, self._build)
        if self._kept:
            body.value = self._kept
        body.listen(self.tell)
        return body

    @property
    def _lines(self) -> tuple[Any, ...]:
        return (self.named, *(control.widget for control in self.controls))

    def _fold(self) -> None:
        if self._body is not None:
            gone, self._body = self._body, None
            self._kept = gone.read()
            self.widget.children = self._lines
            close_tree(gone.widget)

    def read(self) -> object:
        """Return the object; None when it is switched off."""
        return None if self._body is None else self._body.read()

    def write(self, value: object) -> None:
        """Show an object; None switches it off, or means the defaults.

        Raises:
            ValueError: It is no object, or holds what a control cannot show.
        """
        if value is None and self._switch is not None:
            self._switch.value = False
            self._fold()
            return
        if self._switch is not None:
            self._switch.value = True
        self._unfold()
        if self._body is not None:
            self._body.value = {} if value is None else value

    def share_problems(
        self, problems: tuple[Problem, ...], place: str
    ) -> tuple[Problem, ...]:
        """Show problems below the fields that they concern; return the others."""
        if self._body is None:
            return problems
        return self._body.place_problems(problems, place)


def fill(controls: Iterable[Control], values: Mapping[str, object]) -> None:
    """Show values by the fields' names; one that cannot be shown is the default."""
    for control in controls:
        item = values.get(control.spec.name)
        if item is not None:
            try:
                control.value = item
            except (TraitError, ValueError):
                control.value = control.spec.default
