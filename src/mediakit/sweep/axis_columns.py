"""Converts the values of an axis to a column of a frame."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from mediakit.api_models import without_lone_surrogates
from mediakit.prompt_templates import NamedText
from mediakit.table_columns import present


def column_of(values: Sequence[object]) -> Any:
    """Return values as numbers or booleans, or as ordered categories."""
    plain: Any = [present(value) for value in values]
    kinds = {type(value) for value in plain if value is not None}
    if kinds == {bool} or kinds <= {int, float}:
        if None not in plain or float in kinds:
            return np.array([np.nan if value is None else value for value in plain])
        with suppress(OverflowError):
            return pd.array(plain, dtype="boolean" if kinds == {bool} else "Int64")
    labels = without_lone_surrogates([label_of(value) for value in values])
    categories = dict.fromkeys(label for label in labels if label is not None)
    return pd.Categorical(labels, categories=pd.Index(list(categories)))


def label_of(value: object) -> object:
    """Return the label of a value in a frame: itself if possible; None if missing."""
    if present(value) is None:
        return None
    if isinstance(value, NamedText):
        return value.label
    if isinstance(value, str | int | float | bool):
        return value
    job_id = getattr(value, "id", None)
    return job_id if isinstance(job_id, str) else str(value)
