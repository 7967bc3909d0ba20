"""From a field to its control."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets as w

from mediakit.schema import FieldSpec
from mediakit.widgets.control import Control, Note
from mediakit.widgets.item_list import ItemList
from mediakit.widgets.look import Kit
from mediakit.widgets.media_list import MediaBox, MediaList
from mediakit.widgets.number_control import NumberControl

MOST_BUTTONS = 3
SERVICE_DEFAULT = "service default"
CHOOSE = "choose …"
SEED_LIMIT = 2**31 - 1


def build(spec: FieldSpec, kit: Kit) -> Control:
    """Make the control of a field; it shows the field's default.

    Args:
        spec: The field.
        kit: What controls are made with.
    """
    if spec.item is not None and spec.item.media_kind:
        return MediaList(spec, kit)
    return _BUILDERS[spec.kind](spec, kit)


class Choice(Control):
    """One of some values: buttons when they are few, a list when they are many."""

    def __init__(
        self, spec: FieldSpec, kit: Kit, options: list[tuple[str, object]]
    ) -> None:
        super().__init__(spec, kit)
        few = spec.default is not None and len(options) <= MOST_BUTTONS
        if spec.default is None:
            options = [(CHOOSE if spec.required else SERVICE_DEFAULT, None), *options]
        self.widget = self.named = kit.look.make(
            w.ToggleButtons if few else w.Dropdown,
            description=self.label,
            tooltip=spec.doc,
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
        # By its place: as a value, None would stand for no choice at all.
        self.widget.index = self._values.index(value)


class Switch(Control):
    """On or off."""

    def __init__(self, spec: FieldSpec, kit: Kit) -> None:
        super().__init__(spec, kit)
        self.widget = self.named = kit.look.make(
            w.Checkbox,
            "mk-check",
            description=self.label,
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

    def __init__(self, spec: FieldSpec, kit: Kit) -> None:
        super().__init__(spec, kit)
        # A Generate pressed right after the last key needs that key: the boxes send
        # while people type, and the browser itself never has two sendings under way.
        self.widget = self.named = kit.look.make(
            w.Textarea if spec.multiline else w.Text,
            description=self.label,
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
        if self.spec.max_length is None:
            return Note()
        count = f"{len(self.widget.value):,} of {self.spec.max_length:,} characters"
        return Note(count)


class WholeNumberBox(Control):
    """A whole number of any size, or none; a seed has a dice."""

    def __init__(self, spec: FieldSpec, kit: Kit) -> None:
        super().__init__(spec, kit)
        self.named = self._box = kit.look.make(
            w.Text,
            "mk-box",
            description=self.label,
            placeholder="random" if spec.seed else SERVICE_DEFAULT,
            value="" if spec.default is None else str(spec.default),
            continuous_update=True,
        )
        self.watch(self._box)
        self._dice = [self._make_dice()] if spec.seed else []
        self.widget = kit.look.make(w.HBox, "mk-row", children=(self._box, *self._dice))

    def _make_dice(self) -> Any:
        dice = self.kit.look.make(
            w.Button,
            "mk-small",
            description="New seed",
            icon="random",
            tooltip=f"Draw a number for {self.label}",
        )
        dice.on_click(self.kit.guard(self._throw))
        return dice

    def _throw(self, _: object) -> None:
        low = 0 if self.spec.low is None else max(0, int(self.spec.low))
        high = SEED_LIMIT if self.spec.high is None else int(self.spec.high)
        self._box.value = str(self.kit.draw(low, min(high, SEED_LIMIT)))

    @property
    def parts(self) -> tuple[Any, ...]:
        """Return the box and the dice."""
        return (self._box, *self._dice)

    def read(self) -> object:
        """Return the number, the text as it stands if it is none, or None."""
        text = self._box.value.strip()
        try:
            return int(text) if text else None
        except ValueError:
            return text

    def write(self, value: object) -> None:
        """Show a number."""
        self._box.value = "" if value is None else str(value)


def _choice(spec: FieldSpec, kit: Kit) -> Control:
    unit = f" {spec.unit}" if spec.unit else ""
    options = [(c if isinstance(c, str) else f"{c}{unit}", c) for c in spec.choices]
    return Choice(spec, kit, options)


def _boolean(spec: FieldSpec, kit: Kit) -> Control:
    if spec.default is None:
        return Choice(spec, kit, [("yes", True), ("no", False)])
    return Switch(spec, kit)


def _number(spec: FieldSpec, kit: Kit) -> Control:
    bounded = spec.low is not None and spec.high is not None
    if spec.kind == "integer" and (spec.seed or not bounded):
        return WholeNumberBox(spec, kit)
    return NumberControl(spec, kit)


_BUILDERS: Mapping[str, Callable[[FieldSpec, Kit], Control]] = {
    "choice": _choice,
    "boolean": _boolean,
    "integer": _number,
    "number": _number,
    "text": TextBox,
    "media": MediaBox,
    "list": ItemList,
}
