"""Paired differences between the values of an axis."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd

from mediakit.errors import InputError
from mediakit.money import format_cents, format_usd
from mediakit.rules import ValueDescription
from mediakit.sweep.frame_columns import (
    CHARGE,
    LINE_WIDTH,
    By,
    axes_of,
    columns_of,
    jobs_once,
    numbers_of,
    roots,
    short_name,
)
from mediakit.sweep.paired_tests import (
    FEWEST_PAIRS,
    MOST_MORE,
    paired_tests,
    step_of,
)

MOST_VALUES = 100
SWEEP = "sweep"
SENTENCES = 5
AGAIN = "Testing again after adding some makes a false alarm up to twice as likely."

COLUMNS = {
    "difference": "float64",
    "low": "float64",
    "high": "float64",
    "deviation": "float64",
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
        frame: One row for each pair of values of the axis: first and second (as the
            axis), difference (float64, the mean of second minus first), low and high
            (float64, its 95% interval, wider with several rows: as for p), deviation
            (float64, how much the difference varies from pair to pair), pairs (int64,
            how many were compared), p (float64, how often chance alone makes such a
            difference, Holm-adjusted for the number of rows), more_pairs (Int64, about
            how many more pairs would tell a true difference of this size from chance,
            <NA> if none are needed or more than 1,000), more_micro_usd (Int64, their
            price, <NA> means unknown), verdict (category: exceeds, within, or unknown
            for fewer than four pairs, which have no interval either). An interval
            excludes zero exactly if the verdict is exceeds. NaN means unknown.
        text: The same in sentences, as plain text.
    """

    frame: pd.DataFrame
    text: str

    def __repr__(self) -> str:
        return fill(self.text, LINE_WIDTH)


def compare(
    frame: pd.DataFrame, axis: str, value: str = "rating", by: By = None
) -> Comparison:
    """Compare the values of a column in any frame of results, in pairs.

    Two values are compared in pairs of otherwise equal cells, such as with one prompt;
    the takes of a cell count as their mean. A difference is tested against its
    variation from pair to pair, so a verdict is about prompts like these, and one take
    of each is enough. If all cells share everything else, each take is a pair, and the
    verdict is about this one prompt. Repairs are left out.

    Args:
        frame: Results, such as `mk.concat([...])` with a column that says which sweep
            is which version, or `client.spend.charges()`.
        axis: The column whose values are compared: an axis, or with `by` any other.
        value: The column of numbers: "rating", or a score.
        by: The columns that make a pair, such as "shot"; by default, all other axes.

    Returns:
        The comparison: `text` describes it in words, `frame` in numbers, corrected for
        the number of pairs of values (Holm).

    Raises:
        InputError: There is no such column, or it is not one of numbers.
    """
    given: object = frame
    if not isinstance(given, pd.DataFrame):
        accepted = "a frame of results, such as results.frame() or mk.concat([...])"
        got = ValueDescription(f"a {type(given).__name__}")
        raise InputError("frame", got=got, accepted=accepted, then="")
    frame = _with_axis(frame, axis, by)
    axes = axes_of(frame)
    frame = frame.assign(**{value: numbers_of(frame, value, "value")})
    names = [n for n in axes if n != axis] if by is None else columns_of(frame, by)
    cells = jobs_once(frame)
    cells = cells[roots(cells) == np.arange(len(cells))]
    rated = cells[np.isfinite(cells[value])]
    is_one = not names or len(rated[names].drop_duplicates()) < 2
    units = ["take"] if is_one else names
    differences = _differences(rated, axis, units, value)
    sentences = _sentences(differences, axis, value, units_text(units))
    left_out = len(cells) - len(rated)
    if left_out:
        are = "cell without a {} is" if left_out == 1 else "cells without a {} are"
        sentences.append(f"{left_out:,} {are.format(value)} left out.")
    return Comparison(differences, " ".join(sentences))


def _with_axis(frame: pd.DataFrame, axis: str, by: By) -> pd.DataFrame:
    """Return a frame in which a column is an axis, left of the take."""
    axes = axes_of(frame) if by is None or "take" in frame else []
    if axis in axes:
        return frame
    if by is None or axis not in frame or axis == "take":
        choices = f"one of {', '.join(axes)}" if axes else "an axis; there are none"
        raise InputError("axis", got=axis, accepted=choices, then="")
    pairs = frame[columns_of(frame, by)].astype("object")
    if "take" not in frame:
        # Rows with the same value and pair are takes of one cell.
        pairs["take"] = frame.groupby([axis, *pairs], dropna=False).cumcount() + 1
    else:
        pairs["take"] = frame["take"]
    pairs.insert(0, axis, frame[axis])
    # A job may be a cell for several values, such as in two sweeps.
    value = frame[axis].astype("str")
    own = {n: value + frame[n] for n in ("job_id", "parent_job_id") if n in frame}
    others = frame.columns.difference([*pairs, *axes])
    return pd.concat([pairs, frame[others].assign(**own)], axis=1)


def compare_sweeps(
    before: pd.DataFrame, after: pd.DataFrame, value: str = "rating", by: By = None
) -> Comparison:
    """Compare two sweeps, such as two versions of a prompt, in pairs of cells.

    By default, the axes that both sweeps have make a pair.
    """
    axes = axes_of(after)
    names = [name for name in axes_of(before) if name in axes] if by is None else by
    if not names:
        raise InputError(
            "by", got=None, accepted="a column that both sweeps have", then=""
        )
    parts = [
        frame[[*dict.fromkeys([*columns_of(frame, names), *frame])]]
        .astype(dict.fromkeys(columns_of(frame, names), "object"))
        .assign(**{SWEEP: version})
        for version, frame in (("before", before), ("after", after))
    ]
    return compare(pd.concat(parts, ignore_index=True), SWEEP, value, names)


def _differences(
    known: pd.DataFrame, axis: str, units: list[str], value: str
) -> pd.DataFrame:
    """Return a row for each pair of values of an axis."""
    values = known[axis].drop_duplicates().reset_index(drop=True)
    if len(values) > MOST_VALUES:
        got = f"{axis} with {len(values)} values"
        accepted = f"an axis of at most {MOST_VALUES} values"
        raise InputError("axis", got=got, accepted=accepted, then="")
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
    rows = paired_tests(means, takes, step_of(known[value].to_numpy()), costs)
    table = pd.DataFrame(rows, columns=[*COLUMNS, "verdict"]).astype(COLUMNS)
    table["verdict"] = pd.Categorical(table["verdict"], list(VERDICTS))
    places = np.array([*combinations(range(len(order)), 2)], "int64").reshape(-1, 2)
    for column, name in enumerate(("first", "second")):
        chosen = values.iloc[places[:, column]].reset_index(drop=True)
        table.insert(column, name, chosen)
    return table


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
        return _described(rows, value, what)
    compared = [row for row in rows if row["verdict"] != "unknown"]
    compared.sort(key=lambda row: -abs(row["difference"]))
    exceeding = [row for row in compared if row["verdict"] == "exceeds"]
    within = [row for row in compared if row["verdict"] != "exceeds"]
    verb = "exceeds" if len(exceeding) == 1 else "exceed"
    summary = (
        f"{len(exceeding) or 'None'} of the {len(rows)} differences between values of "
        f"{axis} {verb} what chance explains."
    )
    if not compared:
        summary = (
            f"None of the {len(rows)} differences between values of {axis} can be "
            f"tested: each is over fewer than {FEWEST_PAIRS} {what}."
        )
    listed = [*exceeding[:SENTENCES], *within[:1]]
    return [summary, *_described(listed, value, what)]


def _described(rows: list[Any], value: str, what: str) -> list[str]:
    """Return a sentence for each row, and a warning about adding pairs."""
    sentences = [_sentence(row, value, what) for row in rows]
    if any("settle" in sentence for sentence in sentences):
        sentences.append(AGAIN)
    return sentences


def _sentence(row: Any, value: str, what: str) -> str:
    first, second = short_name(row["first"]), short_name(row["second"])
    if not row["pairs"]:
        return f"{first} and {second} share no setting with a {value}."
    size = amount_text(row["difference"], value)
    if row["pairs"] == 1:
        return (
            f"{first} and {second} differ by {size} in one pair, which says nothing "
            "about others; compare them with more prompts."
        )
    is_tested = row["verdict"] != "unknown"
    too_few = "" if is_tested else f", but {row['pairs']} are too few to tell"
    if not row["difference"]:
        return f"Over {row['pairs']:,} {what}, {first} and {second} are equal{too_few}."
    higher, lower = (second, first) if row["difference"] > 0 else (first, second)
    head = f"Over {row['pairs']:,} {what}, {higher} is {size} higher than {lower}"
    if row["verdict"] == "exceeds":
        return f"{head}{_interval_text(row, value)}: more than chance explains."
    return f"{head}{too_few or ', possibly by chance'}.{_more_text(row, what)}"


def _interval_text(row: Any, value: str) -> str:
    if math.isnan(row["low"]):
        return " in every one"
    low, high = sorted(abs(row[end]) for end in ("low", "high"))
    return f" ({amount_text(low, value)} to {amount_text(high, value)})"


def _more_text(row: Any, what: str) -> str:
    begin = " If the true difference is this large,"
    if pd.isna(row["more_pairs"]):
        if math.isnan(row["deviation"]):
            return ""
        return f"{begin} more than {MOST_MORE:,} more {what} would be needed."
    cost = ""
    if not pd.isna(row["more_micro_usd"]):
        cost = f", for about {format_cents(row['more_micro_usd'])}"
    if row["more_pairs"] == 1:
        return f"{begin} about one more would most likely settle it{cost}."
    more = f"{row['more_pairs']:,} more {what}"
    return f"{begin} about {more} would most likely settle it{cost}."


def units_text(units: Sequence[str]) -> str:
    """Return the plural name of a comparison's pairs."""
    what = f"values of {units[0]}" if len(units) == 1 else "otherwise equal pairs"
    return {"prompt": "prompts", "take": "takes"}.get(" ".join(units), what)


def amount_text(number: float, value: str) -> str:
    """Format a difference with its unit: stars, seconds or US dollars."""
    size = abs(number)
    if value.endswith("_micro_usd"):
        return format_usd(round(size))
    written = f"{size:.1f}" if size >= 1 or size == 0 else f"{size:.2g}"
    if value == "rating":
        return f"{written} stars"
    return f"{written} s" if value.endswith("_s") else written
