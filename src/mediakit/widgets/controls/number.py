"""The range and steps of a slider for a bounded number."""

from __future__ import annotations

import math
from typing import NamedTuple

from mediakit.schema import FieldSpec

# The widest range for each step size.
STEPS = ((0.2, 0.001), (2.0, 0.01), (20.0, 0.1))
DIGITS = 6
FINEST_STEP = 10**-DIGITS


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
