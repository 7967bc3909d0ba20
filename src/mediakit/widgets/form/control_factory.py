"""Makes the control of a field, by the kind of the field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import ipywidgets as w

from mediakit.rules import Rule
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.control import Control, Note
from mediakit.widgets.controls.json_box import JsonBox
from mediakit.widgets.controls.messages import titled
from mediakit.widgets.controls.number import NumberControl, reach_of
from mediakit.widgets.controls.number_box import NOTHING, SERVICE_DEFAULT, NumberBox
from mediakit.widgets.controls.scalar_list import ItemList
from mediakit.widgets.media.media_fields import MediaBox, MediaList
from mediakit.widgets.nested.object_list import ObjectList
from mediakit.widgets.nested.objects import ObjectControl
from mediakit.widgets.nested.union import Either
from mediakit.widgets.nested.variants import Variants
from mediakit.widgets.timeline.control import TimelineControl
from mediakit.widgets.timeline.time_axis import Axis

MOST_BUTTONS = 3
NEARLY = 0.75
CHOOSE = "Choose…"
BOXED = ("integer", "number", "text")
"""Kinds whose values fit into one box, also as items of a list."""


def build(spec: FieldSpec, context: WidgetContext) -> Control:
    """Make the control of a field; it shows the field's default.

    Args:
        spec: The field.
        context: What controls are made with.
    """
    return _BUILDERS[spec.kind](spec, context)


def build_field(
    spec: FieldSpec, context: WidgetContext, rules: Iterable[Rule]
) -> Control:
    """Make the control of a function's field; stretches of time get a timeline.

    Args:
        spec: The field.
        context: What controls are made with.
        rules: The function's rules, which tell where stretches of time are.
    """
    axis = Axis.of(spec, rules)
    return (
        build(spec, context) if axis is None else TimelineControl(axis, context, build)
    )


class Choice(Control):
    """One of some values: buttons when they are few, a list when they are many."""

    def __init__(
        self, spec: FieldSpec, context: WidgetContext, options: list[tuple[str, object]]
    ) -> None:
        super().__init__(spec, context)
        few = spec.default is not None and len(options) <= MOST_BUTTONS
        if spec.default is None:
            options = [(_no_choice(spec), None), *options]
        self.widget = self.named = context.factory.make(
            w.ToggleButtons if few else w.Dropdown,
            "mk-choice",
            description=self.heading,
            tooltip=self.hint,
            options=options,
            index=0,
        )
        self._values = [value for _, value in options]
        self.value = spec.default
        self.watch(self.widget)

    def read(self) -> object:
        """Return the chosen value; None for none."""
        return self.widget.value

    def write(self, value: object) -> None:
        """Choose a value.

        Raises:
            ValueError: It is none of the choices.
        """
        # By its place: as a value, None would mean no choice at all.
        self.widget.index = self._values.index(value)


def _no_choice(spec: FieldSpec) -> str:
    if spec.required:
        return NOTHING if spec.nullable else CHOOSE
    return SERVICE_DEFAULT


class Switch(Control):
    """On or off."""

    def __init__(self, spec: FieldSpec, context: WidgetContext) -> None:
        super().__init__(spec, context)
        self.widget = self.named = context.factory.make(
            w.Checkbox,
            "mk-check",
            description=self.heading,
            tooltip=self.hint,
            indent=False,
            value=bool(spec.default),
        )
        self.watch(self.widget)

    def read(self) -> object:
        """Return whether it is on."""
        return self.widget.value

    def write(self, value: object) -> None:
        """Switch it on or off."""
        self.widget.value = bool(value)


class TextBox(Control):
    """Text; an empty box is nothing, for this is how people leave a field out."""

    def __init__(self, spec: FieldSpec, context: WidgetContext) -> None:
        super().__init__(spec, context)
        # A Generate pressed right after the last key needs that key: the boxes send
        # while people type, and the browser itself never has two sendings under way.
        self.widget = self.named = context.factory.make(
            w.Textarea if spec.multiline else w.Text,
            "mk-long" if spec.multiline else "mk-line",
            description=self.heading,
            tooltip=self.hint,
            placeholder=spec.doc,
            value=spec.default or "",
            continuous_update=True,
        )
        self.watch(self.widget)

    def read(self) -> object:
        """Return the text; None when the box is empty."""
        return self.widget.value or None

    def write(self, value: object) -> None:
        """Show a text."""
        self.widget.value = "" if value is None else str(value)

    @property
    def note(self) -> Note:
        """Count the characters where their number is bounded."""
        most, count = self.spec.max_length, len(self.widget.value)
        # A short name is counted only when it gets long.
        if most is None or (not self.spec.multiline and count < most * NEARLY):
            return Note()
        return Note(f"{count:,} of {most:,} characters")


def _choice(spec: FieldSpec, context: WidgetContext) -> Control:
    unit = f" {spec.unit}" if spec.unit else ""
    options = [(_option(c, unit), c) for c in spec.choices]
    return Choice(spec, context, options)


def _option(choice: object, unit: str) -> str:
    """Write a choice for people: words as titles, "mp4" and "16:9" as they are."""
    if not isinstance(choice, str):
        return f"{choice}{unit}"
    is_words = choice.replace(" ", "").isalpha() and choice.islower()
    return titled(choice) if is_words else choice


def _boolean(spec: FieldSpec, context: WidgetContext) -> Control:
    if spec.default is None:
        return Choice(spec, context, [("Yes", True), ("No", False)])
    return Switch(spec, context)


def _number(spec: FieldSpec, context: WidgetContext) -> Control:
    reach = reach_of(spec)
    must_be_typed = spec.required and spec.default is None
    if spec.seed or reach is None or must_be_typed:
        return NumberBox(spec, context)
    return NumberControl(spec, context, reach)


def _list(spec: FieldSpec, context: WidgetContext) -> Control:
    if spec.item is not None and spec.item.media_kind:
        return MediaList(spec, context)
    # A box alone cannot tell nothing from an empty text.
    boxed = spec.item is None or (spec.item.kind in BOXED and not spec.item.nullable)
    if not boxed:
        return ObjectList(spec, context, build)
    return ItemList(spec, context)


def _object(spec: FieldSpec, context: WidgetContext) -> Control:
    if not spec.fields and not spec.closed:
        return JsonBox(spec, context)
    return ObjectControl(spec, context, build)


_BUILDERS: Mapping[str, Callable[[FieldSpec, WidgetContext], Control]] = {
    "choice": _choice,
    "boolean": _boolean,
    "integer": _number,
    "number": _number,
    "text": TextBox,
    "media": MediaBox,
    "list": _list,
    "object": _object,
    "variants": lambda spec, context: Variants(spec, context, build),
    "either": lambda spec, context: Either(spec, context, build),
    "json": JsonBox,
}
