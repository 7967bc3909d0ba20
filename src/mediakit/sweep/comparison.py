"""Differences between the values of an axis, paired over prompts."""

import math
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd

from mediakit.errors import InputError
from mediakit.money import format_cents, format_usd
from mediakit.sweep.rankings import (
    CHARGE,
    LINE_WIDTH,
    By,
    Floats,
    axes_of,
    check_numbers,
    columns_of,
    jobs_once,
    roots,
)

ALPHA = 0.05
POWER = 0.8
MOST_VALUES = 100
MOST_MORE = 1_000
# The variance hidden by rounding to whole numbers.
ROUNDING_VARIANCE = 1 / 12
ANGLES = 20_001
MOST_FREEDOM = 10_000
NAME_LENGTH = 40
SWEEP = "sweep"
SENTENCES = 5

COLUMNS = {
    "difference": "float64",
    "low": "float64",
    "high": "float64",
    "pairs": "int64",
    "p": "float64",
    "more_pairs": "Int64",
    "more_micro_usd": "Int64",
}
VERDICTS = ("exceeds", "within", "unknown")


@dataclass(frozen=True, repr=False)
class Comparison:
    """The differences between the values of an axis, and whether they exceed chance.

    Args:
        frame: One row for each two values of the axis: first and second (as the axis),
            difference (float64, the mean of second minus first), low and high
            (float64, its 95% interval), pairs (int64, how many were compared), p
            (float64, how often chance alone makes such a difference, Holm-adjusted for
            the number of rows), more_pairs (Int64, about how many more pairs
            would tell a difference of this size from chance, <NA> if it is told or
            above 1,000), more_micro_usd (Int64, what these cost, <NA> is unknown),
            verdict (category: exceeds, within, unknown). NaN is unknown.
        text: The same in sentences, as plain text.
    """

    frame: pd.DataFrame
    text: str

    def __repr__(self) -> str:
        return fill(self.text, LINE_WIDTH)


def compare(
    frame: pd.DataFrame, axis: str, value: str = "rating", by: By = None
) -> Comparison:
    """Compare the values of an axis, and test the differences against chance.

    Two values are compared in pairs of cells that share all else, such as the prompt;
    the takes of a cell count as their mean. A difference is tested against how much it
    varies from pair to pair, so a verdict is about prompts like these, and one take of
    each is enough. Where all cells share everything else, each take is a pair,
    and the verdict is about this one prompt. Repairs are left out.
    """
    axes = axes_of(frame)
    if axis not in axes:
        raise InputError("axis", got=axis, accepted=f"one of {', '.join(axes)}")
    check_numbers(frame, value, "value")
    names = [n for n in axes if n != axis] if by is None else columns_of(frame, by)
    cells = jobs_once(frame)
    cells = cells[roots(cells) == np.arange(len(cells))]
    known = cells[cells[value].notna()]
    is_one = not names or len(known[names].drop_duplicates()) < 2
    units = ["take"] if is_one else names
    found = _differences(known, axis, units, value)
    what = "prompts" if units == ["prompt"] else "pairs that share all else"
    sentences = _sentences(found, axis, value, "takes" if is_one else what)
    left_out = len(cells) - len(known)
    if left_out:
        are = "cell without a {} is" if left_out == 1 else "cells without a {} are"
        sentences.append(f"{left_out:,} {are.format(value)} left out.")
    return Comparison(found, " ".join(sentences))


def compare_sweeps(
    before: pd.DataFrame, after: pd.DataFrame, value: str = "rating", by: By = None
) -> Comparison:
    """Compare two sweeps in pairs of cells, such as of two versions of a prompt.

    By default, the axes that both sweeps have make a pair.
    """
    axes = axes_of(after)
    names = [name for name in axes_of(before) if name in axes] if by is None else by
    if not names:
        raise InputError("by", got=None, accepted="a column that both sweeps have")
    parts = []
    for version, frame in (("before", before), ("after", after)):
        chosen = columns_of(frame, names)
        # A job in both sweeps is a cell of each.
        own = {n: version + frame[n] for n in ("job_id", "parent_job_id") if n in frame}
        others = frame.columns.difference([*axes_of(frame), *chosen, "take", SWEEP])
        pairs = frame[chosen].astype("object").assign(take=frame["take"])
        pairs.insert(0, SWEEP, version)
        parts.append(pd.concat([pairs, frame[others].assign(**own)], axis=1))
    return compare(pd.concat(parts, ignore_index=True), SWEEP, value, names)


def _differences(
    known: pd.DataFrame, axis: str, units: list[str], value: str
) -> pd.DataFrame:
    """Return a row for each two values of an axis."""
    values = known[axis].drop_duplicates().reset_index(drop=True)
    if len(values) > MOST_VALUES:
        got = f"{axis} with {len(values)} values"
        accepted = f"an axis of at most {MOST_VALUES} values"
        raise InputError("axis", got=got, accepted=accepted)
    groups = known.groupby([*units, axis], observed=True, dropna=False, sort=False)
    stars = groups[value].agg(["mean", "size"]).astype("float64")
    order = list(values)
    means, takes = (
        stars[name].unstack(axis).reindex(columns=order).to_numpy("float64")
        for name in ("mean", "size")
    )
    costs = np.full(len(order), np.nan)
    if CHARGE in known:
        sums = groups[CHARGE].sum(min_count=1).astype("float64")
        costs = sums.groupby(axis, observed=True).mean().reindex(order).to_numpy()
    is_whole = pd.api.types.is_integer_dtype(known[value].dtype)
    hidden = ROUNDING_VARIANCE if is_whole else 0.0
    twos = [list(two) for two in combinations(range(len(order)), 2)]
    rows = [
        _row(means[:, two], takes[:, two], float(costs[two].sum()), hidden)
        for two in twos
    ]
    found = pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)
    found["p"] = _holm(found["p"].to_numpy("float64"))
    is_told = found["p"] < ALPHA
    verdict = np.where(is_told, "exceeds", "within")
    verdict[found["p"].isna()] = "unknown"
    found["verdict"] = pd.Categorical(verdict, list(VERDICTS))
    found.loc[is_told, ["more_pairs", "more_micro_usd"]] = pd.NA
    places = np.array(twos, dtype="int64").reshape(-1, 2)
    for column, name in enumerate(("first", "second")):
        chosen = values.iloc[places[:, column]].reset_index(drop=True)
        found.insert(column, name, chosen)
    return found


def _row(
    means: Floats, takes: Floats, cost_micro_usd: float, hidden: float
) -> dict[str, Any]:
    """Compare two values, whose pairs are the rows."""
    both = np.isfinite(means).all(axis=1)
    differences = means[both, 1] - means[both, 0]
    pairs = len(differences)
    row: dict[str, Any] = {"pairs": pairs}
    if not pairs:
        return row
    difference = float(differences.mean())
    row["difference"] = difference
    if pairs == 1:
        return row
    rounded = hidden * float((1 / takes[both]).sum(axis=1).mean())
    variance = max(float(differences.var(ddof=1)), rounded)
    error = math.sqrt(variance / pairs)
    margin = error * _t_quantile(1 - ALPHA / 2, pairs - 1)
    row |= {"low": difference - margin, "high": difference + margin}
    row["p"] = _p_value(difference, error, pairs - 1)
    more = _more_pairs(difference, variance, pairs)
    if more is not None:
        row["more_pairs"] = more
        if math.isfinite(cost_micro_usd):
            row["more_micro_usd"] = round(more * cost_micro_usd)
    return row


def _more_pairs(difference: float, variance: float, pairs: int) -> int | None:
    """Return how many more pairs would most likely tell the difference from chance."""
    if not difference:
        return None
    enough = _t_quantile(1 - ALPHA / 2, MOST_FREEDOM) + _t_quantile(POWER, MOST_FREEDOM)
    needed = math.ceil(variance * (enough / difference) ** 2)
    more = max(1, needed - pairs)
    return more if more <= MOST_MORE else None


def _holm(p: Floats) -> Floats:
    """Return p-values corrected for their number."""
    found = p.copy()
    order = np.argsort(p)[: int(np.isfinite(p).sum())]
    steps = len(order) - np.arange(len(order))
    found[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * steps))
    return found


# -- Student's t ------------------------------------------------------------------


@cache
def _angles(freedom: int) -> tuple[Floats, Floats]:
    """Return angles, and how likely a smaller one is.

    The distribution function of t is the integral of a power of the cosine, over the
    angle whose tangent is t divided by the root of the degrees of freedom.
    """
    angle = np.linspace(-np.pi / 2, np.pi / 2, ANGLES)
    density = np.cos(angle) ** (min(freedom, MOST_FREEDOM) - 1)
    steps = (density[1:] + density[:-1]) / 2
    reached = np.concatenate(([0.0], np.cumsum(steps)))
    return angle, reached / reached[-1]


def _t_quantile(probability: float, freedom: int) -> float:
    """Return a quantile of Student's t distribution."""
    angle, reached = _angles(freedom)
    root = math.sqrt(min(freedom, MOST_FREEDOM))
    return root * math.tan(float(np.interp(probability, reached, angle)))


def _p_value(difference: float, error: float, freedom: int) -> float:
    """Return how often chance alone makes a difference of this size or larger."""
    if not error:
        return 0.0 if difference else 1.0
    angle, reached = _angles(freedom)
    root = math.sqrt(min(freedom, MOST_FREEDOM))
    below = np.interp(-math.atan(abs(difference / error) / root), angle, reached)
    return 2 * float(below)


# -- in sentences -----------------------------------------------------------------


def _sentences(found: pd.DataFrame, axis: str, value: str, what: str) -> list[str]:
    if not len(found):
        return [
            f"There is nothing to compare: fewer than two values of {axis} have a "
            f"{value}."
        ]
    if not found["pairs"].any():
        return [
            f"The values of {axis} cannot be compared: no cells with a {value} share "
            "all other settings."
        ]
    rows = found.to_dict("records")
    if len(rows) == 1:
        return [_sentence(rows[0], value, what)]
    told = [row for row in rows if row["verdict"] == "exceeds"]
    compared = [row for row in rows if row["verdict"] != "unknown"]
    verb = "exceeds" if len(told) == 1 else "exceed"
    summary = (
        f"{len(told) or 'None'} of the {len(rows)} differences between values of "
        f"{axis} {verb} what chance explains."
    )
    largest = sorted(told or compared, key=lambda row: -abs(row["difference"]))
    listed = largest[: SENTENCES if told else 1]
    return [summary, *(_sentence(row, value, what) for row in listed)]


def _sentence(row: Any, value: str, what: str) -> str:
    first, second = _name(row["first"]), _name(row["second"])
    if not row["pairs"]:
        return f"{first} and {second} share no setting with a {value}."
    size = _amount_text(row["difference"], value)
    if row["verdict"] == "unknown":
        return (
            f"{first} and {second} differ by {size} in one pair, which says nothing "
            "about others; compare them with more prompts."
        )
    if not row["difference"]:
        return f"Over {row['pairs']:,} {what}, {first} and {second} are equal."
    low, high = sorted(abs(row[end]) for end in ("low", "high"))
    higher, lower = (second, first) if row["difference"] > 0 else (first, second)
    head = f"Over {row['pairs']:,} {what}, {higher} is {size} higher than {lower}"
    if row["verdict"] == "exceeds":
        return (
            f"{head} ({_amount_text(low, value)} to {_amount_text(high, value)}): more "
            "than chance explains."
        )
    return f"{head}, possibly by chance.{_more_text(row, what)}"


def _more_text(row: Any, what: str) -> str:
    if pd.isna(row["more_pairs"]):
        return f" More than {MOST_MORE:,} more {what} would be needed to settle it."
    cost = ""
    if not pd.isna(row["more_micro_usd"]):
        cost = f", for about {format_cents(row['more_micro_usd'])}"
    if row["more_pairs"] == 1:
        return f" About one more would settle it{cost}."
    return f" About {row['more_pairs']:,} more {what} would settle it{cost}."


def _amount_text(number: float, value: str) -> str:
    """Format a difference with its unit: stars, seconds or US dollars."""
    size = abs(number)
    if value.endswith("_micro_usd"):
        return format_usd(round(size))
    written = f"{size:.1f}" if size >= 1 or size == 0 else f"{size:.2g}"
    if value == "rating":
        return f"{written} stars"
    return f"{written} s" if value.endswith("_s") else written


def _name(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= NAME_LENGTH else f"{text[: NAME_LENGTH - 1]}…"
