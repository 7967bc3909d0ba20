"""The cost of a keeper, and the mean charge of results against their rating.

The functions take frames of results and do not change them. A cell and its repairs
count as one.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mediakit.money import divide_half_up
from mediakit.sweep.frame_columns import (
    CHARGE,
    By,
    Wholes,
    axes_of,
    columns_of,
    jobs_once,
    roots,
)

Floats = np.ndarray[Any, np.dtype[np.float64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]

DRAWS = 2_000
FEWEST_DRAWS = 200
DRAWN_NUMBERS = DRAWN_AT_ONCE = 4_000_000
FEWEST_CELLS = 5
BEYOND = 0.05
NEVER = np.iinfo("int64").max


def cost_of_keeper(frame: pd.DataFrame, by: By = None, seed: int = 0) -> pd.DataFrame:
    """Compute the cost per kept result, including all charges spent to find it.

    A cell and its repairs count as one: their charges are added, and the cell is kept
    if any of them is. A job in two rows is counted once. Amounts are added and divided
    as integers.

    Args:
        frame: Results: the columns `charge_micro_usd` and `keep`, and `job_id` and
            `parent_job_id` if known.
        by: An axis, or several; None for all cells together.
        seed: The seed of the resampling.

    Returns:
        One row per value of the axis, in order of appearance: the axis as in `frame`,
        cells (int64, those that were sent), unsettled (int64, jobs with an unknown
        charge, which no sum includes), charged_micro_usd (int64), kept (int64),
        cost_micro_usd_per_keeper (Int64, <NA> without a keeper), low and high (Int64,
        micro-USD, the 90% interval by bootstrap; <NA> with fewer than five cells or
        no keeper; high is also <NA> if one resample in twenty has no keeper).

    Raises:
        InputError: The frame has no such column.
    """
    axes = columns_of(frame, by)
    cells = _with_repairs(frame)
    groups = _by_value(cells, axes)
    sums = groups.agg(
        cells=("_charge", "size"),
        unsettled=("_unsettled", "sum"),
        charged_micro_usd=("_charge", "sum"),
        kept=("_keep", "sum"),
    ).astype("int64")
    ends = [_interval(part["_charge"], part["_keep"], seed) for _, part in groups]
    if not axes and sums.empty:
        sums, ends = sums.reindex([0], fill_value=0), [(None, None)]
    cost = _means(sums["charged_micro_usd"], sums["kept"])
    sums["cost_micro_usd_per_keeper"] = cost
    sums["low"] = pd.array([low for low, _ in ends], "Int64")
    sums["high"] = pd.array([high for _, high in ends], "Int64")
    return _with_axes(sums, groups, cells, axes)


def _interval(
    charges: "pd.Series[int]", kept: "pd.Series[bool]", seed: int
) -> tuple[int | None, int | None]:
    """Return the 90% bootstrap interval of the cost per keeper."""
    if len(charges) < FEWEST_CELLS or not kept.any():
        return None, None
    pairs = np.column_stack((charges, kept))
    kinds, counts = np.unique(pairs, axis=0, return_counts=True)
    draws = int(np.clip(DRAWN_NUMBERS // len(kinds), FEWEST_DRAWS, DRAWS))
    random = np.random.default_rng(seed)
    shares, step = counts / len(charges), max(1, DRAWN_AT_ONCE // len(kinds))
    sums, keepers = np.concatenate(
        [
            random.multinomial(len(charges), shares, size=min(step, draws - done))
            @ kinds.astype("int64")
            for done in range(0, draws, step)
        ]
    ).T
    costs = np.full(draws, NEVER)
    some = keepers > 0
    costs[some] = (2 * sums[some] + keepers[some]) // (2 * keepers[some])
    costs.sort()
    beyond = int(draws * BEYOND)
    low, high = int(costs[beyond]), int(costs[-1 - beyond])
    return low, None if high == NEVER else high


def pareto(frame: pd.DataFrame, by: By = None) -> pd.DataFrame:
    """Compare the mean rating with the mean charge, and mark the Pareto front.

    A cell and its repairs count as one, with all their charges and the rating of the
    last rated row. Failed cells are left out.

    Args:
        frame: Results: the columns `charge_micro_usd` and `rating`.
        by: An axis, or several; None for each combination of all axes.

    Returns:
        One row per value of the axis, in order of appearance: the axis as in `frame`,
        cells and rated (int64), rating (float64, the mean in stars; NaN if nothing is
        rated), charge_micro_usd (Int64, the mean, <NA> while none is settled), on_front
        (bool): no other value has at least the same rating for at most the same charge,
        and is better in one of the two.

    Raises:
        InputError: The frame has no such column.
    """
    axes = axes_of(frame) if by is None else columns_of(frame, by)
    cells = _with_repairs(frame)
    if "status" in cells:
        cells = cells[cells["status"] != "failed"]
    is_settled = cells["_unsettled"] == 0
    cells = cells.assign(_settled=is_settled, _paid=cells["_charge"] * is_settled)
    groups = _by_value(cells, axes)
    points = groups.agg(
        cells=("_charge", "size"),
        rated=("_rating", "count"),
        rating=("_rating", "mean"),
        settled=("_settled", "sum"),
        paid=("_paid", "sum"),
    )
    points[CHARGE] = _means(points.pop("paid"), points.pop("settled"))
    is_known = points["rating"].notna() & points[CHARGE].notna()
    points["on_front"] = False
    points.loc[is_known, "on_front"] = _front(
        points.loc[is_known, "rating"].to_numpy("float64"),
        points.loc[is_known, CHARGE].to_numpy("int64"),
    )
    return _with_axes(points, groups, cells, axes)


def _front(rating: Floats, charge: Wholes) -> Flags:
    """Return which points are on the Pareto front."""
    charges, place = np.unique(charge, return_inverse=True)
    best = np.full(len(charges), -np.inf)
    np.maximum.at(best, place, rating)
    of_cheaper = np.concatenate(([-np.inf], np.maximum.accumulate(best)))[:-1]
    on_front: Flags = (rating == best[place]) & (rating > of_cheaper[place])
    return on_front


# -- cells with their repairs ---------------------------------------------------------


def _with_repairs(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per sent cell, combined with its repairs.

    Adds _charge (int64, micro-USD), _unsettled (int64, jobs), _keep (bool) and _rating
    (float64, the last one).
    """
    jobs = jobs_once(frame)
    missing = pd.Series(pd.NA, jobs.index, "object")
    charge = jobs.get(CHARGE, missing).astype("Int64")
    own = pd.DataFrame(
        {
            "_charge": charge.fillna(0).astype("int64"),
            "_unsettled": charge.isna().astype("int64"),
            "_keep": jobs.get("keep", missing).astype("boolean").fillna(value=False),
            "_rating": jobs.get("rating", missing).astype("Float64").astype("float64"),
        }
    ).astype({"_keep": "bool"})
    cells = own.groupby(roots(jobs)).agg(
        {"_charge": "sum", "_unsettled": "sum", "_keep": "any", "_rating": "last"}
    )
    whole: pd.DataFrame = jobs.loc[cells.index].join(cells)
    return whole


def _by_value(cells: pd.DataFrame, axes: Sequence[str]) -> Any:
    """Group cells by the values of axes in order of appearance, or all together."""
    number = pd.Series(0, cells.index)
    if axes:
        its = cells.groupby(list(axes), sort=False, observed=True, dropna=False)
        number = its.ngroup()
    return cells.groupby(number.to_numpy("int64"))


def _with_axes(
    found: pd.DataFrame, groups: Any, cells: pd.DataFrame, axes: Sequence[str]
) -> pd.DataFrame:
    """Insert the columns of the axes before the results."""
    first: pd.DataFrame = cells.loc[groups.head(1).index, list(axes)]
    both = [first.reset_index(drop=True), found.reset_index(drop=True)]
    return pd.concat(both, axis=1)


def _means(sums: Iterable[Any], counts: Iterable[Any]) -> Any:
    """Divide whole numbers, rounding half up; <NA> for a divisor of zero."""
    pairs = zip(sums, counts, strict=True)
    means = [divide_half_up(int(total), int(n)) if n else None for total, n in pairs]
    return pd.array(means, "Int64")
