"""A number: typed into a box, or set with a slider if it is bounded."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from mediakit.schema import FieldSpec
from mediakit.widgets.controls.control import (
    NOTHING,
    SERVICE_DEFAULT,
    Control,
    Payload,
    Wire,
    is_optional,
    refused,
)

# The widest range for each step size.
STEPS = ((0.2, 0.001), (2.0, 0.01), (20.0, 0.1))
DIGITS = 6
FINEST_STEP = 10**-DIGITS
WIDEST_SLIDER = 1_000
SEED_LIMIT = 2**31 - 1


class Number(Control):
    """A whole number or any number."""

    name = "number"
    kinds = ("integer", "number")

    def shown(self, spec: FieldSpec, value: Any) -> Wire:
        if value is None:
            return ""
        # A box may contain any text; the problem is shown below it.
        kinds = int if spec.kind == "integer" else int | float
        is_number = isinstance(value, kinds) and not isinstance(value, bool)
        if not is_number and not (isinstance(value, str) and _number(value) is None):
            raise refused(spec, value)
        return str(value)

    def held(self, spec: FieldSpec, wire: Wire) -> object:
        text = str(wire or "").strip()
        number = _number(text)
        # A whole number is valid for any number; the check rejects the reverse.
        return (text or None) if number is None else number

    def payload(self, spec: FieldSpec, path: str, prompts: str) -> Payload:
        reach = None if spec.seed else reach_of(spec)
        if reach is None or (spec.required and spec.default is None):
            placeholder = SERVICE_DEFAULT
            if spec.required:
                placeholder = NOTHING if spec.nullable else ""
            low = 0 if spec.low is None else max(0, int(spec.low))
            high = SEED_LIMIT if spec.high is None else min(int(spec.high), SEED_LIMIT)
            seed = [low, high] if spec.seed else None
            return {
                "placeholder": "Random" if seed else placeholder,
                "seed": seed,
                "in_seconds": _is_in_seconds(spec),
            }
        middle = round((reach.most - reach.least) / reach.step / 2) * reach.step
        return {
            "reach": list(reach),
            "slides": reach.most - reach.least <= WIDEST_SLIDER,
            "optional": is_optional(spec),
            "middle": str(round(reach.least + middle, 6)),
        }

    def unit(self, spec: FieldSpec) -> str | None:
        return "s" if _is_in_seconds(spec) else spec.unit


def _number(text: str) -> float | None:
    """Parse a typed number; None if it is not one."""
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


def _is_in_seconds(spec: FieldSpec) -> bool:
    """Return whether milliseconds are shown as seconds: without a slider."""
    return spec.unit == "ms" and not reach_of(spec)


class Reach(NamedTuple):
    """The range and the step of a slider."""

    least: float
    most: float
    step: float


def reach_of(spec: FieldSpec) -> Reach | None:
    """Return a slider's range; None for a number without both bounds."""
    lows = [bound for bound in (spec.low, spec.above) if bound is not None]
    highs = [bound for bound in (spec.high, spec.below) if bound is not None]
    if not lows or not highs:
        return None
    low, high = max(lows), min(highs)
    step = _step(spec, high - low)
    # Steps start at 0 if the number must be a multiple of the step, else at the lower
    # bound.
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
