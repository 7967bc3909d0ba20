"""Student's t: quantiles, p-values, Holm's correction, and the power of a test.

SciPy has all of these functions, and the tests compare with them, but SciPy is larger
than everything else that a sweep needs.
"""

import math
from functools import cache, lru_cache
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]

ANGLES = 20_001
CHI_VALUES = 2_001
KEPT_N = 64
MOST_FREEDOM = 10_000
BEYOND = 9.0
"""How many standard deviations from its mean a chi variable is followed."""


@lru_cache(KEPT_N)
def _angles(freedom: int) -> tuple[Floats, Floats]:
    """Return angles, and the probability of a smaller one.

    The distribution function of t is the integral of a power of the cosine, over the
    angle whose tangent is t divided by the root of the degrees of freedom.
    """
    angle = np.linspace(-np.pi / 2, np.pi / 2, ANGLES)
    density = np.cos(angle) ** (min(freedom, MOST_FREEDOM) - 1)
    steps = (density[1:] + density[:-1]) / 2
    reached = np.concatenate(([0.0], np.cumsum(steps)))
    return angle, reached / reached[-1]


@cache
def quantile(probability: float, freedom: int) -> float:
    """Return a quantile of Student's t distribution."""
    angle, reached = _angles(freedom)
    root = math.sqrt(min(freedom, MOST_FREEDOM))
    return root * math.tan(float(np.interp(probability, reached, angle)))


def p_value(t: float, freedom: int) -> float:
    """Return the two-sided p-value of a t statistic."""
    angle, reached = _angles(freedom)
    root = math.sqrt(min(freedom, MOST_FREEDOM))
    return 2 * float(np.interp(-math.atan(abs(t) / root), angle, reached))


def power(shift: float, freedom: int, alpha: float) -> float:
    """Return the power of a two-sided test for a shift in standard errors."""
    limit = quantile(1 - alpha / 2, freedom)
    # The estimated standard error is a chi variable divided by its root.
    root = math.sqrt(2 * freedom)
    chi = np.linspace(max(0.0, root - BEYOND), root + BEYOND, CHI_VALUES)[1:]
    chi = chi / math.sqrt(2)
    log_density = (freedom - 1) * np.log(chi) - chi**2
    density = np.exp(log_density - log_density.max())
    edge = limit * chi * math.sqrt(2 / freedom)
    normal = np.frompyfunc(lambda z: math.erfc(-z / math.sqrt(2)) / 2, 1, 1)
    passed = normal(shift - edge) + normal(-shift - edge)
    return float((passed.astype("float64") * density).sum() / density.sum())


def wanted_shift(freedom: int, alpha: float, power: float) -> float:
    """Return the shift, in standard errors, that a test detects with this power."""
    return quantile(1 - alpha / 2, freedom) + quantile(power, freedom)


def holm(p: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Return Holm-corrected p-values, and the level of each interval.

    An interval at its level excludes zero exactly if the corrected p-value is below
    alpha. NaN counts as no test.
    """
    corrected, level = p.copy(), np.full(len(p), alpha)
    order = np.argsort(p, kind="stable")[: int(np.isfinite(p).sum())]
    steps = len(order) - np.arange(len(order))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * steps))
    # All hypotheses after the first that is not rejected share its step.
    rejected = int((corrected[order] < alpha).sum())
    last = len(order) - rejected
    level[order] = alpha / np.maximum(steps, last)
    return corrected, level
