"""Frames of results as cells, each with its repairs.

A frame of results has one row per cell: the axes to the left of `take`, then the
results. A repair has its own row, with the repaired job as its `parent_job_id`; it
belongs to the cell of that job.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from mediakit.errors import InputError

CHARGE = "charge_micro_usd"

Floats = np.ndarray[Any, np.dtype[np.float64]]
Wholes = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


def axes_of(frame: pd.DataFrame) -> list[str]:
    """Return the axes of a frame of results: the columns to the left of `take`.

    Raises:
        InputError: The frame has no column `take`.
    """
    names = list(frame.columns)
    if "take" not in names:
        raise InputError("frame", got=", ".join(names), accepted="a column take")
    return names[: names.index("take")]


def with_repairs(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell that was sent, including its repairs.

    Adds _charge (int64, micro-USD), _unsettled (int64, jobs), _keep (bool) and _rating
    (float64).
    """
    frame = jobs_once(frame)
    count, root = len(frame), roots(frame)
    charge = _column(frame, CHARGE).astype("Int64")
    keep = _column(frame, "keep").astype("boolean")
    given = numbers(_column(frame, "rating"))
    rated = ~np.isnan(given)
    sums, unsettled = np.zeros((2, count), dtype="int64")
    kept, rating = np.zeros(count, dtype=bool), np.full(count, np.nan)
    np.add.at(sums, root, charge.fillna(0).to_numpy("int64"))
    np.add.at(unsettled, root, charge.isna().to_numpy("int64"))
    np.logical_or.at(kept, root, keep.to_numpy("bool", na_value=False))
    rating[root[rated]] = given[rated]  # the last one counts
    whole = frame.assign(_charge=sums, _unsettled=unsettled, _keep=kept, _rating=rating)
    cells: pd.DataFrame = whole.loc[root == np.arange(count)]
    return cells


def jobs_once(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that have a job, each job once."""
    if "job_id" in frame:
        frame = frame[frame["job_id"].notna() & ~frame["job_id"].duplicated()]
    return frame.reset_index(drop=True)


def roots(frame: pd.DataFrame) -> Wholes:
    """Return the index of each row's cell: for a repair, the cell that it repairs.

    Args:
        frame: Results, each job once.
    """
    own = np.arange(len(frame))
    if "job_id" not in frame or "parent_job_id" not in frame:
        return own
    places = pd.Series(own, index=frame["job_id"])
    parent = frame["parent_job_id"].map(places).fillna(-1).to_numpy("int64")
    root = np.where(parent < 0, own, parent)
    for _ in range(len(frame).bit_length()):
        root = root[root]
    return root


def _column(frame: pd.DataFrame, name: str) -> "pd.Series[Any]":
    if name in frame:
        return frame[name]
    return pd.Series(pd.NA, index=frame.index, dtype="object")


def numbers(column: "pd.Series[Any]") -> Floats:
    """Return a column of numbers as float64; NaN is missing."""
    found = column.astype("Float64").to_numpy("float64", na_value=np.nan)
    return np.asarray(found, dtype=np.float64)


def codes(frame: pd.DataFrame, names: Sequence[str]) -> Wholes:
    """Number the distinct values of columns, in order of appearance."""
    if not names:
        return np.zeros(len(frame), dtype="int64")
    groups = frame.groupby(list(names), sort=False, observed=True, dropna=False)
    return np.asarray(groups.ngroup(), dtype=np.int64)


def typed_frame(rows: list[dict[str, Any]], dtypes: dict[str, str]) -> pd.DataFrame:
    """Make a frame of rows, with the same dtypes if there are no rows."""
    return pd.DataFrame(
        {
            name: pd.Series([row[name] for row in rows], dtype=dtype)
            for name, dtype in dtypes.items()
        }
    )
