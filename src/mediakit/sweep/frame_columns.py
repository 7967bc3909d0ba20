"""Reads frames of results: their axes, columns and jobs, and names for sentences.

The axes are left of `take`. A repair has its own row, with the repaired job as
`parent_job_id`, and belongs to the cell of that job.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from mediakit.errors import InputError
from mediakit.rules import ValueDescription

CHARGE = "charge_micro_usd"
NAME_LENGTH = 40
LINE_WIDTH = 88  # Jupyter breaks longer lines inside words

Wholes = np.ndarray[Any, np.dtype[np.int64]]
By = str | Sequence[str] | None

NUMBERS = ("boolean", "integer", "floating", "mixed-integer-float", "decimal", "empty")
"""The types that pandas infers for columns of numbers, including booleans."""


def axes_of(frame: pd.DataFrame) -> list[str]:
    """Return the axes of a frame of results: the columns to the left of `take`."""
    names = list(frame.columns)
    if "take" not in names:
        got = ValueDescription(
            f"the columns {', '.join(map(str, names))}" if names else "none"
        )
        accepted = "a frame that has the column take"
        raise InputError("frame", got=got, accepted=accepted, then="")
    return names[: names.index("take")]


def columns_of(frame: pd.DataFrame, by: By, field: str = "by") -> list[str]:
    """Return the named columns; none for None."""
    names = [] if by is None else [by] if isinstance(by, str) else list(by)
    for name in names:
        if name not in frame:
            accepted = f"one of {', '.join(map(str, frame.columns))}"
            raise InputError(field, got=name, accepted=accepted, then="")
    return names


def numbers_of(frame: pd.DataFrame, name: str, field: str) -> "pd.Series[float]":
    """Return a column of numbers as floats, whatever its dtype; NaN means unknown.

    True and false are 1 and 0. Categories, decimals, and an object column from joined
    frames are numbers, too; strings are not.
    """
    column = frame[name] if name in frame else pd.Series("", frame.index)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype("object")
    if column.dtype == "object":
        if pd.api.types.infer_dtype(column, skipna=True) not in NUMBERS:
            raise InputError(field, got=name, accepted="a column of numbers", then="")
        column = column.map(float, na_action="ignore")
    elif not pd.api.types.is_numeric_dtype(column.dtype):
        raise InputError(field, got=name, accepted="a column of numbers", then="")
    return column.astype("Float64").astype("float64")


def short_name(value: object) -> str:
    """Shorten a value to a name within a sentence, in one line."""
    text = " ".join(str(value).split())
    return text if len(text) <= NAME_LENGTH else f"{text[: NAME_LENGTH - 1]}…"


def jobs_once(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with a job, each job once."""
    if "job_id" in frame:
        frame = frame[frame["job_id"].notna() & ~frame["job_id"].duplicated()]
    return frame.reset_index(drop=True)


def roots(jobs: pd.DataFrame) -> Wholes:
    """Return the row of each row's cell; a repair belongs to the repaired cell."""
    own = np.arange(len(jobs))
    if "job_id" not in jobs or "parent_job_id" not in jobs:
        return own
    places = pd.Series(own, index=jobs["job_id"])
    parent = jobs["parent_job_id"].map(places).fillna(-1).to_numpy("int64")
    root = np.where(parent < 0, own, parent)
    for _ in range(len(jobs).bit_length()):
        root = root[root]
    return root
