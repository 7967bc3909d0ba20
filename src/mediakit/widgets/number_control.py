"""A number in a box and on a slider, with a switch when it may be left out."""

from __future__ import annotations

from typing import Any

import ipywidgets as w

from mediakit.schema import FieldSpec
from mediakit.widgets.control import Control, Note
from mediakit.widgets.look import Kit

# The widest range that each step of a slider suits.
STEPS = ((0.2, 0.001), (2.0, 0.01), (20.0, 0.1))
WIDEST_SLIDER = 1_000


def step_of(spec: FieldSpec) -> float:
    """Return a sensible step for a bounded number."""
    if spec.kind == "integer" or spec.low is None or spec.high is None:
        return 1
    span = spec.high - spec.low
    return next((step for widest, step in STEPS if span <= widest), 1.0)


class NumberControl(Control):
    """A number: typed into a box, or drawn on a slider where it is bounded.

    What is typed beyond a bound is limited to it, and the control says so.
    """

    def __init__(self, spec: FieldSpec, kit: Kit) -> None:
        super().__init__(spec, kit)
        self._limit = ""
        self._step = step_of(spec)
        self._switch = self._make_switch() if spec.default is None else None
        self._on = spec.default is not None
        self._number = spec.default if self._on else self._middle()
        self._box: Any = None
        self._slider: Any = None
        if self._switch is not None:
            self.named = self._switch
        self._make_numbers()
        self.widget = kit.look.make(w.HBox, "mk-row", children=self.parts)

    def _middle(self) -> float:
        if self.spec.low is None or self.spec.high is None:
            return 0
        steps = round((self.spec.high - self.spec.low) / self._step / 2)
        return self._exact(self.spec.low + steps * self._step)

    def _exact(self, number: float) -> float:
        if self._whole:
            return int(number)
        # A slider counts in binary fractions: 0.1 + 0.2 should read 0.3.
        return round(float(number), 6)

    def _make_switch(self) -> Any:
        switch = self.kit.look.make(
            w.Checkbox,
            "mk-check mk-optional",
            description=self.label,
            indent=False,
            value=False,
        )
        self.watch(switch, self._switched)
        return switch

    def _make_numbers(self) -> None:
        if not self._on or self._box is not None:
            return
        self._box = self._make_box()
        self.watch(self._box, self._typed)
        if self._switch is None:
            self.named = self._box
        if self._has_slider:
            self._slider = self._make_slider()
            self.watch(self._slider, self._moved)

    @property
    def _whole(self) -> bool:
        return self.spec.kind == "integer"

    def _make_box(self) -> Any:
        # Behind the switch, which has the name, the tooltip is what names the box.
        name = "description" if self._switch is None else "tooltip"
        return self.kit.look.make(
            w.IntText if self._whole else w.FloatText,
            "mk-box" if self._switch is None else "mk-bare",
            value=self._number,
            step=self._step,
            continuous_update=False,
            **{name: self.label},
        )

    def _make_slider(self) -> Any:
        return self.kit.look.make(
            w.IntSlider if self._whole else w.FloatSlider,
            "mk-slider",
            min=self.spec.low,
            max=self.spec.high,
            step=self._step,
            value=self._number,
            readout=False,
            tooltip=self.label,
        )

    @property
    def _has_slider(self) -> bool:
        low, high = self.spec.low, self.spec.high
        return low is not None and high is not None and high - low <= WIDEST_SLIDER

    def _arrange(self) -> None:
        self._make_numbers()
        self.widget.children = self.parts

    @property
    def parts(self) -> tuple[Any, ...]:
        """Return the switch, and the box and the slider while it is on."""
        shown = (self._switch, *((self._box, self._slider) if self._on else ()))
        return tuple(part for part in shown if part is not None)

    @property
    def note(self) -> Note:
        """Say that what was typed was limited."""
        return Note(self._limit, "warn")

    def _switched(self, on: bool) -> None:  # noqa: FBT001 - a trait's value
        self._on, self._limit = on, ""
        self._arrange()

    def _limited(self, number: float) -> float:
        low, high = self.spec.low, self.spec.high
        number = number if low is None else max(low, number)
        return self._exact(number if high is None else min(high, number))

    def _typed(self, number: float) -> None:
        limited = self._limited(number)
        unit = f" {self.spec.unit}" if self.spec.unit else ""
        # Compared as numbers of the box: 0.30000000000000004 was not limited.
        same = self._exact(number) == limited
        self._limit = "" if same else f"limited to {limited:g}{unit}"
        self._show(limited)

    def _moved(self, number: float) -> None:
        self._limit = ""
        self._show(self._exact(number))

    def _show(self, number: float) -> None:
        self._number = number
        if self._box is not None:
            self._box.value = number
        if self._slider is not None:
            self._slider.value = self._limited(number)

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
        self._limit = ""
        self._show(number)
        self._arrange()

    def _as_number(self, value: object) -> float:
        kinds = int if self._whole else int | float
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise ValueError(f"{value!r} is not {self.spec.accepted}")
        return value
