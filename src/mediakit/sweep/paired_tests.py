"""Paired t-tests of all two columns of values, corrected for their number."""

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from mediakit.sweep.student_t import (
    MOST_FREEDOM,
    Floats,
    holm,
    p_value,
    quantile,
    wanted_shift,
)

ALPHA = 0.05
POWER = 0.8
MOST_MORE = 1_000
FEWEST_PAIRS = 4
"""Fewer pairs say nothing about others, however alike they are."""
HIGHEST_STARS = 10
SAME = 1e-6
"""Differences that vary by a smaller part of the values are equal but for rounding."""


def paired_tests(
    means: Floats, takes: Floats, step: float, costs_micro_usd: Floats
) -> list[dict[str, Any]]:
    """Test the differences between all two columns of means.

    Args:
        means: The mean of each pair (row) and value (column); NaN if it is missing.
        takes: The number of takes of each mean, in the same shape.
        step: The common step of the single values; 0 without one.
        costs_micro_usd: The cost of a cell by column; NaN means unknown.

    Returns:
        A row for each two columns in the order of `itertools.combinations`, with the
        columns of a comparison's frame from `difference` on.
    """
    twos = [list(two) for two in combinations(range(means.shape[1]), 2)]
    tests = [paired_test(means[:, two], takes[:, two], step) for two in twos]
    p, level = holm(np.array([test.p for test in tests]), ALPHA)
    return [
        test.row(float(costs_micro_usd[two].sum()), of_all, alpha)
        for test, two, of_all, alpha in zip(tests, twos, p, level, strict=True)
    ]


@dataclass(frozen=True)
class PairedTest:
    """A paired t-test of two values.

    Values with a common step, such as stars, give means with a step, so that a test
    without a continuity correction, half of that step, has too many false alarms.

    Args:
        pairs: The number of pairs.
        difference: The mean difference; NaN without pairs.
        variance: The variance of the differences; NaN means unknown.
        correction: The continuity correction, times the number of pairs.
        p: The p-value; NaN where nothing can be tested.
    """

    pairs: int
    difference: float = math.nan
    variance: float = math.nan
    correction: float = 0.0
    p: float = math.nan

    def row(self, cost_micro_usd: float, p: float, alpha: float) -> dict[str, Any]:
        """Return the row of the comparison, at a level that all rows share."""
        row: dict[str, Any] = {
            "difference": self.difference,
            "deviation": math.sqrt(self.variance),
            "pairs": self.pairs,
            "p": p,
            "verdict": "unknown",
        }
        if not math.isnan(p):
            row["verdict"] = "exceeds" if p < ALPHA else "within"
            margin = self._margin(alpha)
            row |= {"low": self.difference - margin, "high": self.difference + margin}
        more = None if row["verdict"] == "exceeds" else self._more_pairs(alpha)
        if more is not None:
            row["more_pairs"] = more
            if math.isfinite(cost_micro_usd):
                row["more_micro_usd"] = round(more * cost_micro_usd)
        return row

    def _margin(self, alpha: float) -> float:
        error = math.sqrt(self.variance / self.pairs)
        limit = quantile(1 - alpha / 2, self.pairs - 1)
        return error * limit + self.correction / self.pairs

    def _more_pairs(self, alpha: float) -> int | None:
        """Return how many more pairs would likely make this difference significant."""
        if not self.difference or not self.variance > 0:
            return None
        needed = pairs_needed(
            abs(self.difference), math.sqrt(self.variance), self.correction, alpha
        )
        more = max(1, needed - self.pairs)
        return more if more <= MOST_MORE else None


def paired_test(means: Floats, takes: Floats, step: float) -> PairedTest:
    """Test the difference of two values; each row of `means` is a pair."""
    both = np.isfinite(means).all(axis=1)
    differences = means[both, 1] - means[both, 0]
    pairs = len(differences)
    if not pairs:
        return PairedTest(0)
    difference = float(differences.mean())
    if pairs == 1:
        return PairedTest(1, difference)
    each = 1 / takes[both]
    # Equal stepped values do not prove zero variance, which rounding may hide.
    rounded = step**2 / 12 * float(each.sum(axis=1).mean())
    variance = max(float(differences.var(ddof=1)), rounded)
    correction = step / 2 * float(each.max(axis=1).mean())
    test = PairedTest(pairs, difference, variance, correction)
    if pairs < FEWEST_PAIRS:
        return test
    if variance <= (SAME * float(np.abs(means[both]).max())) ** 2:
        # Nothing varies: only the common sign of the differences is informative.
        p = 2.0 ** (1 - pairs) if difference else 1.0
        return PairedTest(pairs, difference, p=p)
    size = max(0.0, abs(difference) - correction / pairs)
    return replace(test, p=p_value(size / math.sqrt(variance / pairs), pairs - 1))


def pairs_needed(
    difference: float, deviation: float, correction: float, alpha: float
) -> int:
    """Return how many pairs a test needs for a power of 80%.

    `correction` is the continuity correction, times the number of pairs.
    """
    least = wanted_shift(MOST_FREEDOM, alpha, POWER) * deviation
    root = (least + math.sqrt(least**2 + 4 * difference * correction)) / 2 / difference
    needed = max(FEWEST_PAIRS, math.ceil(root**2))
    if needed > MOST_FREEDOM:
        return needed
    # With few degrees of freedom, a little more is needed than with many.
    while (difference - correction / needed) * math.sqrt(needed) < (
        wanted_shift(needed - 1, alpha, POWER) * deviation
    ):
        needed += 1
    return needed


def step_of(values: Floats) -> float:
    """Return the common step of values; 0 without one.

    Stars, pass or fail, and the verdicts of a judge have a step.
    """
    if not len(values):
        return 0.0
    levels = np.unique(values)
    is_whole = bool((levels == np.rint(levels)).all())
    is_few = is_whole and levels[0] >= 0 and levels[-1] <= HIGHEST_STARS
    step = 1.0 if is_few or len(levels) < 2 else float(np.diff(levels).min())
    places = (levels - levels[0]) / step
    if not np.allclose(places, np.rint(places), rtol=0, atol=1e-6):
        step = 1.0 if is_whole else 0.0
    return step
