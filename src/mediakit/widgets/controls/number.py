"""A number with a box and a slider, and a switch if it is optional."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import ipywidgets as w

from mediakit.schema import FieldSpec
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.control import Control

# The widest range that each step of a slider suits.
STEPS = ((0.2, 0.001), (2.0, 0.01), (20.0, 0.1))
WIDEST_SLIDER = 1_000
DIGITS = 6
FINEST_STEP = 10**-DIGITS


class Reach(NamedTuple):
    """From where to where a slider goes, and in which steps.

    Args:
        least: The least number on it.
        most: The greatest number on it.
        step: From one number to the next.
    """

    least: float
    most: float
    step: float


def reach_of(spec: FieldSpec) -> Reach | None:
    """Return what a slider offers; None for a number without both bounds."""
    lows = [bound for bound in (spec.low, spec.above) if bound is not None]
    highs = [bound for bound in (spec.high, spec.below) if bound is not None]
    if not lows or not highs:
        return None
    low, high = max(lows), min(highs)
    step = _step(spec, high - low)
    # Multiples of what the number must be a multiple of; else steps from the bound.
    start = 0 if spec.step else low
    least = start + math.ceil(_in_steps(low - start, step)) * step
    most = start + math.floor(_in_steps(high - start, step)) * step
    if spec.above is not None and least <= spec.above:
        least += step
    if spec.below is not None and most >= spec.below:
        most -= step
    if least > most or step < FINEST_STEP:
        return None
    if spec.step is None and spec.below is None:
        most = high  # the end of a range is always offered
    return Reach(*(_exact(spec, number) for number in (least, most, step)))


def _in_steps(distance: float, step: float) -> float:
    # 0.3 / 0.1 is 3, although not in binary.
    return round(distance / step, DIGITS)


def _step(spec: FieldSpec, span: float) -> float:
    if spec.step is not None:
        return max(1, spec.step) if spec.kind == "integer" else spec.step
    if spec.kind == "integer":
        return 1
    return next((step for widest, step in STEPS if span <= widest), 1.0)


def _exact(spec: FieldSpec, number: float) -> float:
    if spec.kind == "integer":
        return int(number)
    # A slider counts in binary fractions: 0.1 + 0.2 should read 0.3.
    return round(float(number), DIGITS)


class NumberControl(Control):
    """A bounded number: typed into a box, or drawn on a slider.

    Each key counts, so that the price is that of the number in the box. What is
    typed is not limited, since 1 may become 13: beyond a bound it is a problem, which
    stands below, and the slider stays at the last number within the bounds.

    Args:
        spec: The field.
        context: What controls are made with.
        reach: What the slider offers.
    """

    def __init__(self, spec: FieldSpec, context: WidgetContext, reach: Reach) -> None:
        super().__init__(spec, context)
        self._reach = reach
        self._switch = self._make_switch() if spec.default is None else None
        self._on = spec.default is not None
        self._number = spec.default if self._on else self._middle()
        self._box: Any = None
        self._slider: Any = None
        if self._switch is not None:
            self.named = self._switch
        self._make_numbers()
        self.widget = context.factory.make(
            w.HBox, "mk-row mk-number", children=self.parts
        )

    def _middle(self) -> float:
        least, most, step = self._reach
        return self._exact(least + round((most - least) / step / 2) * step)

    def _exact(self, number: float) -> float:
        return _exact(self.spec, number)

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

    def _make_numbers(self) -> None:
        if not self._on or self._box is not None:
            return
        self._box = self._make_box()
        self.watch(self._box, self._show)
        if self._switch is None:
            self.named = self._box
        if self._has_slider:
            self._slider = self._make_slider()
            self.watch(self._slider, lambda at: self._show(self._exact(at)))

    @property
    def _whole(self) -> bool:
        return self.spec.kind == "integer"

    def _make_box(self) -> Any:
        # Behind the switch, which shows the name, that of the box is only read aloud.
        return self.context.factory.make(
            w.IntText if self._whole else w.FloatText,
            "mk-box" if self._switch is None else "mk-bare",
            value=self._number,
            step=self._reach.step,
            continuous_update=True,
            description=self.heading,
            tooltip=self.hint,
        )

    def _make_slider(self) -> Any:
        return self.context.factory.make(
            w.IntSlider if self._whole else w.FloatSlider,
            "mk-slider",
            min=self._reach.least,
            max=self._reach.most,
            step=self._reach.step,
            value=self._number if self._is_within(self._number) else self._middle(),
            readout=False,
            tooltip=self.label,
        )

    @property
    def _has_slider(self) -> bool:
        return self._reach.most - self._reach.least <= WIDEST_SLIDER

    def _arrange(self) -> None:
        gone = () if self._on else (self._box, self._slider)
        if not self._on:
            self._box = self._slider = None
        self._make_numbers()
        self.widget.children = self.parts
        for part in gone:
            if part is not None:
                part.close()

    @property
    def parts(self) -> tuple[Any, ...]:
        """Return the switch, and the box and the slider while it is on."""
        shown = (self._switch, *((self._box, self._slider) if self._on else ()))
        return tuple(part for part in shown if part is not None)

    def _switched(self, on: bool) -> None:  # noqa: FBT001 - a trait's value
        self._on = on
        self._arrange()

    def _is_within(self, number: float) -> bool:
        return self._reach.least <= number <= self._reach.most

    def _show(self, number: float) -> None:
        self._number = number
        if self._box is not None:
            self._box.value = number
        if self._slider is not None and self._is_within(number):
            self._slider.value = number

    def read(self) -> object:
        """Return the number; None when it is switched off."""
        return self._number if self._on else None

    def write(self, value: object) -> None:
        """Show a number, also one beyond the bounds; None switches it off.

        Raises:
            ValueError: It is no such number.
        """
        number = self._number if value is None else self._as_number(value)
        if self._switch is not None:
            self._on = self._switch.value = value is not None
        self._show(number)
        self._arrange()

    def _as_number(self, value: object) -> float:
        kinds = int if self._whole else int | float
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise ValueError(f"{value!r} is not {self.spec.accepted}")
        return value
