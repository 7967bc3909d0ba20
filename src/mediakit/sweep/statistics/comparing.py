"""Differences along an axis, relative to the differences between takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from textwrap import fill

import numpy as np
import pandas as pd

from mediakit.errors import InputError
from mediakit.sweep.statistics.cells import (
    Floats,
    Wholes,
    axes_of,
    codes,
    jobs_once,
    numbers,
    roots,
    typed_frame,
)
from mediakit.sweep.statistics.wording import comparison_text

CONFIDENCE = 0.95
MOST_VALUES = 100
# The variance hidden by rounding to whole numbers.
ROUNDING_VARIANCE = 1 / 12
ANGLES = 20_001
MOST_FREEDOM = 10_000

DIFFERENCE_COLUMNS = {
    "difference": "float64",
    "low": "float64",
    "high": "float64",
    "pairs": "int64",
    "spread": "float64",
}
LINE_WIDTH = 88
VERDICTS = ("exceeds", "within", "unknown")


@dataclass(frozen=True)
class Comparison:
    """The differences between the values of an axis, and whether they exceed chance.

    Args:
        frame: One row for each two values of the axis: first and second (as the axis),
            difference (float64, the mean of second minus first), low and high
            (float64, its interval; all intervals hold together in 19 of 20 cases),
            pairs (int64, how many were compared), spread (float64, the pooled standard
            deviation between the takes of one cell), verdict (category: exceeds,
            within, unknown). NaN is unknown.
        text: The same in sentences, as plain text.
    """

    frame: pd.DataFrame
    text: str

    def __str__(self) -> str:
        return fill(self.text, LINE_WIDTH)  # Jupyter breaks long lines inside words


def compare(
    frame: pd.DataFrame, axis: str, value: str = "rating", *, shared_seeds: bool = True
) -> Comparison:
    """Compare the values of an axis, and test the differences against chance.

    Only cells that share all other axes are compared. Chance is measured by the takes
    of one cell: with only one take per cell it is unknown, and there is no verdict. If
    no values truly differ, about one comparison in 20 finds a difference. The verdict
    is about these cells; with other prompts the values may differ by more or less.
    Repairs are left out.

    Args:
        frame: Results, with the axes to the left of `take`.
        axis: The axis to compare.
        value: A column of numbers; cells without a number are left out.
        shared_seeds: Whether cells of the same take share a seed, so that they are
            compared take by take. If False, the means of all takes are compared.

    Raises:
        InputError: There is no such axis or column of numbers, or the axis has more
            than 100 values.
    """
    axes = axes_of(frame)
    if axis not in axes:
        raise InputError("axis", got=axis, accepted=f"one of {', '.join(axes)}")
    if value not in frame or not pd.api.types.is_numeric_dtype(frame[value].dtype):
        raise InputError("value", got=value, accepted="a column of numbers")
    cells = jobs_once(frame)
    cells = cells[roots(cells) == np.arange(len(cells))]
    known = cells[cells[value].notna()].reset_index(drop=True)
    others = [name for name in axes if name != axis]
    draws = _draws(known, axis, others, value)
    found = _differences(draws, shared_seeds=shared_seeds)
    names = known[axis].drop_duplicates()
    places = np.array(list(combinations(range(len(names)), 2))).reshape(-1, 2)
    for column, name in enumerate(("first", "second")):
        chosen = names.iloc[places[:, column].astype("int64")]
        found.insert(column, name, chosen.reset_index(drop=True))
    text = comparison_text(
        found,
        axis=axis,
        value=value,
        left_out=len(cells) - len(known),
        shared_seeds=shared_seeds,
    )
    return Comparison(found, text)


@dataclass(frozen=True)
class _Draws:
    """The values of all draws.

    Args:
        values: One row per value of the axis, one column per take of each cell; NaN
            if there is none.
        cell: The cell of each column.
        rounding: The variance that rounding may hide.
    """

    values: Floats
    cell: Wholes
    rounding: float

    @property
    def noise(self) -> tuple[float, int]:
        """Return the variance between takes of a cell, and the degrees of freedom."""
        rows = np.arange(len(self.values))[:, None] * (self.cell.max(initial=0) + 1)
        return _within(self.values.ravel(), (rows + self.cell).ravel())


def _draws(frame: pd.DataFrame, axis: str, others: Sequence[str], value: str) -> _Draws:
    level = codes(frame, [axis])
    draw = codes(frame, [*others, "take"])
    columns = int(draw.max(initial=-1)) + 1
    cell = np.zeros(columns, dtype="int64")
    cell[draw] = codes(frame, others)
    levels = int(level.max(initial=-1)) + 1
    if levels > MOST_VALUES:
        raise InputError(
            "axis",
            got=f"{axis} with {levels} values",
            accepted=f"an axis of at most {MOST_VALUES} values",
        )
    values = np.full((levels, columns), np.nan)
    values[level, draw] = numbers(frame[value])
    is_whole = pd.api.types.is_integer_dtype(frame[value].dtype)
    return _Draws(values, cell, ROUNDING_VARIANCE if is_whole else 0.0)


def _differences(draws: _Draws, *, shared_seeds: bool) -> pd.DataFrame:
    twos = list(combinations(range(len(draws.values)), 2))
    spread = np.sqrt(draws.noise[0])
    compared = _by_take if shared_seeds else _by_cell
    rows = []
    for first, second in twos:
        difference, pairs, error, error_freedom = compared(draws, first, second)
        margin = error * t_quantile(1 - (1 - CONFIDENCE) / 2 / len(twos), error_freedom)
        rows.append(
            {
                "difference": difference,
                "low": difference - margin,
                "high": difference + margin,
                "pairs": pairs,
                "spread": spread,
            }
        )
    found = typed_frame(rows, DIFFERENCE_COLUMNS)
    exceeds = (found["low"] > 0) | (found["high"] < 0)
    verdict = np.where(exceeds, "exceeds", "within")
    verdict[found["low"].isna()] = "unknown"
    return found.assign(verdict=pd.Categorical(verdict, list(VERDICTS)))


def _by_take(draws: _Draws, first: int, second: int) -> tuple[float, int, float, int]:
    """Return difference, pairs, standard error and its degrees of freedom."""
    differences = draws.values[second] - draws.values[first]
    pairs = int(np.isfinite(differences).sum())
    variance, freedom = _within(differences, draws.cell)
    variance = max(variance, 2 * draws.rounding)
    error = np.sqrt(variance / pairs) if freedom else np.nan
    return _mean(differences), pairs, error, freedom


def _by_cell(draws: _Draws, first: int, second: int) -> tuple[float, int, float, int]:
    """Return the same for the means of the cells."""
    means, counts = _cell_means(draws.values[[first, second]], draws.cell)
    both = counts.all(axis=0)
    pairs = int(both.sum())
    variance, freedom = draws.noise
    variance = max(variance, draws.rounding)
    sum_of_variances = variance * (1 / counts[:, both]).sum()
    error = np.sqrt(sum_of_variances) / pairs if pairs and freedom else np.nan
    return _mean(means[1, both] - means[0, both]), pairs, error, freedom


def _cell_means(values: Floats, cell: Wholes) -> tuple[Floats, Floats]:
    """Return the mean and the number of takes, by row and cell."""
    known = np.isfinite(values)
    counts = np.array([np.bincount(cell, row) for row in known])
    sums = np.array([np.bincount(cell, row) for row in np.where(known, values, 0.0)])
    return sums / np.maximum(counts, 1), counts


def _within(values: Floats, group: Wholes) -> tuple[float, int]:
    """Return the pooled variance within groups, and its degrees of freedom."""
    known = np.isfinite(values)
    values, group = values[known], group[known]
    counts = np.bincount(group)
    freedom = len(values) - int((counts > 0).sum())
    if not freedom:
        return np.nan, 0
    means = np.bincount(group, values) / np.maximum(counts, 1)
    return float(((values - means[group]) ** 2).sum() / freedom), freedom


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else np.nan


@cache
def t_quantile(probability: float, freedom: int) -> float:
    """Return a quantile of Student's t distribution; NaN without degrees of freedom.

    Its distribution function is the integral of a power of the cosine, over the angle
    whose tangent is t divided by the root of the degrees of freedom.
    """
    if not freedom:
        return np.nan
    freedom = min(freedom, MOST_FREEDOM)
    angle = np.linspace(-np.pi / 2, np.pi / 2, ANGLES)
    density = np.cos(angle) ** (freedom - 1)
    steps = (density[1:] + density[:-1]) / 2
    reached = np.concatenate(([0.0], np.cumsum(steps)))
    at = np.interp(probability, reached / reached[-1], angle)
    return float(np.sqrt(freedom) * np.tan(at))
