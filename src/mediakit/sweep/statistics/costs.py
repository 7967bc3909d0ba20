"""The cost of a kept result, and the settings that are worth their price."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from mediakit.errors import InputError
from mediakit.money import divide_half_up
from mediakit.sweep.statistics.cells import (
    CHARGE,
    Flags,
    Floats,
    Wholes,
    axes_of,
    codes,
    typed_frame,
    with_repairs,
)

DRAWS = 2_000
FEWEST_DRAWS = 200
DRAWN_NUMBERS = DRAWN_AT_ONCE = 4_000_000
FEWEST_CELLS = 5
BEYOND = 0.05
NEVER = np.iinfo("int64").max

KEEPER_COLUMNS = {
    "cells": "int64",
    "unsettled": "int64",
    "charged_micro_usd": "int64",
    "kept": "int64",
    "cost_micro_usd_per_keeper": "Int64",
    "low": "Int64",
    "high": "Int64",
}
POINT_COLUMNS = {
    "cells": "int64",
    "rated": "int64",
    "rating": "float64",
    CHARGE: "Int64",
}

OF_CELLS = ("_charge", "_unsettled", "_keep", "_rating")

Row = Callable[..., dict[str, Any]]


def cost_of_keeper(
    frame: pd.DataFrame, by: str | Sequence[str] | None = None, seed: int = 0
) -> pd.DataFrame:
    """Compute the cost of a kept result, including all charges spent to find it.

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
        micro-USD, the 90 % interval by bootstrap; <NA> with fewer than five cells or
        no keeper; high is also <NA> if one resample in twenty has no keeper).

    Raises:
        InputError: The frame has no such column.
    """
    axes = _columns(frame, by)
    cells = with_repairs(frame)
    return _by_value(cells, axes, partial(_keeper_cost, seed), KEEPER_COLUMNS)


def _keeper_cost(
    seed: int, charges: Wholes, unsettled: Wholes, kept: Flags, _: Floats
) -> dict[str, Any]:
    total, keepers = int(charges.sum()), int(kept.sum())
    low, high = _interval(charges, kept, seed)
    cost = divide_half_up(total, keepers) if keepers else None
    return {
        "cells": len(charges),
        "unsettled": int(unsettled.sum()),
        "charged_micro_usd": total,
        "kept": keepers,
        "cost_micro_usd_per_keeper": cost,
        "low": low,
        "high": high,
    }


def _interval(charges: Wholes, kept: Flags, seed: int) -> tuple[int | None, int | None]:
    """Resample the cells; return the 90 % interval of the cost of a keeper."""
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


def pareto(frame: pd.DataFrame, by: str | Sequence[str] | None = None) -> pd.DataFrame:
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
    axes = axes_of(frame) if by is None else _columns(frame, by)
    cells = with_repairs(frame)
    if "status" in cells:
        cells = cells[cells["status"] != "failed"]
    points = _by_value(cells, axes, _point, POINT_COLUMNS)
    known = points["rating"].notna() & points[CHARGE].notna()
    points["on_front"] = False
    points.loc[known, "on_front"] = _front(
        points.loc[known, "rating"].to_numpy("float64"),
        points.loc[known, CHARGE].to_numpy("int64"),
    )
    return points


def _front(rating: Floats, charge: Wholes) -> Flags:
    """Tell which points are on the Pareto front."""
    charges, place = np.unique(charge, return_inverse=True)
    best = np.full(len(charges), -np.inf)
    np.maximum.at(best, place, rating)
    of_cheaper = np.concatenate(([-np.inf], np.maximum.accumulate(best)))[:-1]
    found: Flags = (rating == best[place]) & (rating > of_cheaper[place])
    return found


def _point(
    charges: Wholes, unsettled: Wholes, _: Flags, ratings: Floats
) -> dict[str, Any]:
    settled = charges[unsettled == 0]
    rated = ratings[~np.isnan(ratings)]
    return {
        "cells": len(charges),
        "rated": len(rated),
        "rating": float(rated.mean()) if len(rated) else np.nan,
        CHARGE: divide_half_up(int(settled.sum()), len(settled))
        if len(settled)
        else None,
    }


def _columns(frame: pd.DataFrame, by: str | Sequence[str] | None) -> list[str]:
    names = [] if by is None else [by] if isinstance(by, str) else list(by)
    for name in names:
        if name not in frame:
            raise InputError(
                "by", got=name, accepted=f"one of {', '.join(map(str, frame.columns))}"
            )
    return names


def _by_value(
    cells: pd.DataFrame, axes: list[str], row: Row, dtypes: dict[str, str]
) -> pd.DataFrame:
    """Make one typed row per value of the axes."""
    columns = [cells[name].to_numpy() for name in OF_CELLS]
    if not axes:
        return typed_frame([row(*columns)], dtypes)
    group = codes(cells, axes)
    order = np.argsort(group, kind="stable")
    begins = np.flatnonzero(np.diff(group[order], prepend=-1))
    parts = [np.split(column[order], begins[1:]) for column in columns]
    rows = list(map(row, *parts)) if len(cells) else []
    values = cells[axes].iloc[order[begins]].reset_index(drop=True)
    return pd.concat([values, typed_frame(rows, dtypes)], axis=1)
