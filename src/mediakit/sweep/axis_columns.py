"""Converts the values of an axis to a column of a frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from mediakit.api_models import without_lone_surrogates
from mediakit.prompt_templates import NamedText


def column_of(values: Sequence[object]) -> Any:
    """Return values as numbers or booleans, or as ordered categories."""
    kinds = {type(value) for value in values}
    if kinds == {bool} or kinds <= {int, float}:
        return np.array(values)
    labels = without_lone_surrogates([label_of(value) for value in values])
    return pd.Categorical(labels, categories=pd.Index(list(dict.fromkeys(labels))))


def label_of(value: object) -> object:
    """Return the label of a value in a frame: the value itself if it is hashable."""
    if isinstance(value, NamedText):
        return value.label
    if isinstance(value, str | int | float | bool):
        return value
    job_id = getattr(value, "id", None)
    return job_id if isinstance(job_id, str) else str(value)
