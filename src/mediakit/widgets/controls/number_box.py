"""A number in a box that may be empty; without a slider."""

from __future__ import annotations

import math
from typing import Any

import ipywidgets as w

from mediakit.schema import FieldSpec
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.control import Control
from mediakit.widgets.controls.messages import within

SERVICE_DEFAULT = "Service default"
NOTHING = "Not set"
SEED_LIMIT = 2**31 - 1


class NumberBox(Control):
    """A number of any size, or none; a seed has a dice."""

    def __init__(self, spec: FieldSpec, context: WidgetContext) -> None:
        super().__init__(spec, context)
        self.named = self._box = context.factory.make(
            w.Text,
            "mk-box",
            description=self.heading,
            placeholder=self._placeholder,
            tooltip=self.hint,
            value=_text(spec.default),
            continuous_update=True,
        )
        self.watch(self._box)
        self._dice = [self._make_dice()] if spec.seed else []
        # A box alone needs nothing around it.
        self.widget = (
            context.factory.make(w.HBox, "mk-row mk-seed", children=self.parts)
            if self._dice
            else self._box
        )

    @property
    def _placeholder(self) -> str:
        if self.spec.seed:
            return "Random"
        if self.spec.required:
            return NOTHING if self.spec.nullable else ""
        return SERVICE_DEFAULT

    def _make_dice(self) -> Any:
        dice = self.context.factory.make(
            w.Button,
            "mk-small",
            description="New seed",
            icon="random",
            tooltip=f"Draw a number for {within(self.label)}",
        )
        dice.on_click(self.context.guard(self._throw))
        return dice

    def _throw(self, _: object) -> None:
        low = 0 if self.spec.low is None else max(0, int(self.spec.low))
        high = SEED_LIMIT if self.spec.high is None else int(self.spec.high)
        self._box.value = str(self.context.draw(low, min(high, SEED_LIMIT)))

    @property
    def parts(self) -> tuple[Any, ...]:
        """Return the box and the dice."""
        return (self._box, *self._dice)

    def read(self) -> object:
        """Return the number, the text as it stands if it is none, or None."""
        text = self._box.value.strip()
        if not text:
            return None
        number = _number(text)
        # A whole number may be any number; the other way, the check objects.
        return text if number is None else number

    def write(self, value: object) -> None:
        """Show a number."""
        self._box.value = _text(value)


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _number(text: str) -> float | None:
    if "_" in text or not text.isascii():
        return None  # Python reads 1_0 as 10, people do not
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
