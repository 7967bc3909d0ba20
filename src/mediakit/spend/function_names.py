"""Matches function names in the service's reports with known functions.

The interface says only that reports are "grouped by model/function" (spec 4.19).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

from mediakit.catalog import Catalog
from mediakit.history.frames import text_array
from mediakit.spend.column_types import numbered, plain_rows

WHOLE_SLASHES = 2  # vendor/model/function


def path_of(row: Mapping[str, Any]) -> str | None:
    """Return the function path that a row names, as far as it does."""
    model, function = row.get("model"), row.get("function")
    path = row.get("model_id") or (function if function and "/" in function else None)
    return path or "/".join(filter(None, (model, function))) or None


def kinds_of(frame: pd.DataFrame, catalog: Catalog) -> pd.Series[str]:
    """Return mediakit's name for each row's function; missing if it has none.

    The path is the model_id, the function, the model, or both parts together.
    """
    kinds = {function.path: function.kind for function in catalog}
    names = frame.columns.intersection(["model_id", "model", "function"])
    numbers, named = numbered(frame[names])
    kinds_named = [
        next(filter(None, map(kinds.get, [*row.values(), path_of(row)])), None)
        for row in plain_rows(named)
    ]
    return pd.Series(text_array(kinds_named).take(numbers), frame.index)


def function_names(
    reported: Collection[str], ours: Collection[str], catalog: Collection[str]
) -> tuple[dict[str, str], set[str]]:
    """Match the names in reports with the paths of the history and the catalog.

    The interface says only that reports are "grouped by model/function" (spec 4.19): a
    name may be a path, its end, its vendor/model, or its model alone. A name that fits
    several functions of the history stands for all of them.

    Returns:
        The common name of each name that has another one, and the names in reports that
        no function is known by.
    """
    whole = {name for name in reported if name.count("/") >= WHOLE_SLASHES}
    common: dict[str, str] = {}
    unmatched: set[str] = set()
    for name in sorted({*reported} - whole - {*catalog}):
        matches = (_paths_with(name, each) for each in (ours, whole, catalog))
        candidates = next(filter(None, matches), [])
        if len(candidates) == 1:
            common[name] = common.get(candidates[0], candidates[0])
        elif not {*candidates}.isdisjoint({*ours, *whole}):
            common |= {path: common.get(path, name) for path in candidates}
        else:
            unmatched.add(name)
    return common, unmatched


def _paths_with(name: str, paths: Collection[str]) -> list[str]:
    return [path for path in sorted(paths) if f"/{name}/" in f"/{path}/"]
