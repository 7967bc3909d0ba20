"""Frames of results whose ratings and scores are drawn at random or given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, cast

import numpy as np
import pandas as pd

from tests.support.frames import TEXT

PROMPTS = [f"p{n}" for n in range(40)]
COLUMNS: dict[str, tuple[Any, Any]] = {
    "take": ("int64", 1),
    "status": (TEXT, "completed"),
    "charge_micro_usd": ("Int64", None),
    "runtime_s": ("float64", None),
    "rating": ("Int64", None),
    "keep": ("boolean", None),
    "job_id": (TEXT, None),
    "parent_job_id": (TEXT, None),
}


def results(rows: Iterable[dict[str, Any]], *axes: str) -> pd.DataFrame:
    """Return a frame as results give it; a row without a job id gets one."""
    numbered = [{"job_id": f"media_{n}", **row} for n, row in enumerate(rows)]
    columns: dict[str, Any] = {
        axis: pd.Categorical([row[axis] for row in numbered]) for axis in axes
    }
    for name, (dtype, default) in COLUMNS.items():
        values = [row.get(name, default) for row in numbered]
        columns[name] = pd.array(values, dtype=dtype)
    return pd.DataFrame(columns)


def cell(charge: int | None, **more: Any) -> dict[str, Any]:
    return {"charge_micro_usd": charge, **more}


def scored(
    prompts: int, dtype: str = "float64", **values: Sequence[float]
) -> pd.DataFrame:
    """Return one cell for each style and prompt, with these scores."""
    rows = [
        cell(200_000, style=style, prompt=prompt)
        for style in values
        for prompt in PROMPTS[:prompts]
    ]
    scores = [score for each in values.values() for score in each]
    frame = results(rows, "style", "prompt")
    return frame.assign(score=pd.Series(scores).astype(cast("Any", dtype)))


def styles(
    column: str, prompts: Sequence[str], **values: Sequence[float]
) -> pd.DataFrame:
    """Return one cell for each style and prompt, with these values of a column."""
    rows = [
        cell(200_000, style=style, prompt=prompt) | {column: value}
        for style, its in values.items()
        for prompt, value in zip(prompts, its, strict=True)
    ]
    return results(rows, "style", "prompt")


def rated(
    seed: int,
    *,
    better: float = 0.0,
    values: int = 2,
    prompts: int = 20,
    takes: int = 1,
    interaction: float = 0.0,
) -> pd.DataFrame:
    """Rate a sweep in whole stars.

    Args:
        seed: Of the chance in it.
        better: Stars by which each value of the axis is better than the one before.
        values: Of the axis `resolution`.
        prompts: Of the other axis; they differ by 0.7 stars or so.
        takes: Draws of each cell, whose seeds the cells of a take share.
        interaction: Stars by which a value suits some prompts more than others.
    """
    random = np.random.default_rng(seed)
    of_prompt = random.normal(0, 0.7, prompts)
    of_pair = random.normal(0, interaction, (prompts, values))
    of_seed = random.normal(0, 0.5, (prompts, takes))
    rows = []
    for prompt, level, take in product(range(prompts), range(values), range(takes)):
        stars = 3 + of_prompt[prompt] + of_pair[prompt, level] + of_seed[prompt, take]
        stars += better * level + random.normal(0, 0.5)
        names = {"resolution": f"r{level}", "prompt": f"p{prompt}"}
        rating = int(np.clip(round(stars), 1, 5))
        rows.append(cell(340_000, **names, take=take + 1, rating=rating))
    return results(rows, "resolution", "prompt")
