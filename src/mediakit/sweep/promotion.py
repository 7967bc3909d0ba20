"""Selects the best results of a sweep, and names ties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mediakit.errors import InputError
from mediakit.plain_numbers import whole
from mediakit.sweep.frame_columns import columns_of, numbers_of, short_name
from mediakit.sweep.grid import Grid, Point
from mediakit.sweep.sending_order import key_of
from mediakit.table_columns import as_list, is_listing

if TYPE_CHECKING:
    from mediakit.sweep.plan import PlanFacts

DRAFT = "draft"
KEEP, MEAN = "keep", "mean of its version"
MOST_NAMED = 4


def promoted(
    plan: PlanFacts,
    frame: pd.DataFrame,
    k: object,
    by: str,
    changes: Mapping[str, object],
    *,
    best: str | None = None,
    where: object = None,
    ascending: bool = False,
) -> tuple[Grid, str, list[int]]:
    """Return the grid of the best results, a note on ties, and their cells."""
    count = _read_count(k, len(plan) if best is not None else None)
    frame = frame.assign(**{by: numbers_of(frame, by, "by")})
    completed = frame[(frame.index < len(plan)) & frame["status"].eq("completed")]
    judged = _matching(completed[completed["keep"] | completed[by].notna()], where)
    notes = []
    if best is not None:
        judged, note = _of_best_value(judged, best, by, ascending=ascending)
        notes.append(note)
    version = [name for name in plan.axes if name != plan.unit]
    ranking = _ranked(judged, by, version, ascending=ascending)
    axes = [name for name in plan.axes if name not in changes]
    points: dict[frozenset[tuple[str, str]], Point] = {}
    numbers: list[int] = []
    for number in ranking.index:
        cell = plan.cells[number]
        fields = {**cell.fields, **changes}
        if DRAFT not in changes:
            fields.pop(DRAFT, None)
        request = frozenset((name, key_of(each)) for name, each in fields.items())
        if request not in points:
            its = {name: cell.axes[name] for name in axes}
            points[request] = Point(its, fields, cell.labels)
            numbers.append(number)
    chosen = list(points.values())[:count]
    if not chosen:
        accepted = "a column that has values, unless some results are kept"
        raise InputError("by", got=by, accepted=accepted)
    notes.append(_tie_note(ranking.loc[numbers], by, count, plan.axes))
    values = {name: tuple(point.axes[name] for point in chosen) for name in axes}
    grid = Grid(values, changes, frozenset(), chosen, takes=1)
    return grid, ". ".join(filter(None, notes)), numbers[:count]


def _read_count(k: object, otherwise: int | None) -> int:
    """Validate a number of results."""
    count = otherwise if k is None else whole(k)
    if count is None or count < 1:
        accepted = (
            "a number of results, such as 3; or best= for all results of one value"
        )
        raise InputError("k", got=k, accepted=accepted)
    return count


def _matching(frame: pd.DataFrame, where: object) -> pd.DataFrame:
    """Return the rows with some values, such as `{"prompt": "v1"}`."""
    if where is None:
        return frame
    if not isinstance(where, Mapping):
        accepted = 'values by column, such as {"prompt": "v1"}'
        raise InputError("where", got=where, accepted=accepted)
    for name, wanted in where.items():
        if name not in frame:
            accepted = f"one of the columns {', '.join(map(str, frame.columns))}"
            raise InputError("where", got=name, accepted=accepted)
        values = as_list(wanted) if is_listing(wanted) else [wanted]
        frame = frame[frame[name].isin(values)]
        if frame.empty:
            accepted = f"values that some result has; no result has this {name}"
            raise InputError("where", got=wanted, accepted=accepted)
    return frame


def _of_best_value(
    judged: pd.DataFrame, axis: str, by: str, *, ascending: bool
) -> tuple[pd.DataFrame, str]:
    """Return the results of the axis value with the best mean, and a note."""
    columns_of(judged, axis, "best")
    groups = judged.groupby(axis, observed=True, sort=False)[by]
    means = groups.agg(["mean", "count"])
    means = means[means["count"] > 0]
    means = means.sort_values("mean", ascending=ascending, kind="stable")
    if means.empty:
        raise InputError("by", got=by, accepted="a column with values")
    texts = [
        f"{short_name(value)} ({row['mean']:z.3g} over {row['count']:.0f} results)"
        for value, row in means.iterrows()
    ]
    note = f"Of the values of {axis}, {texts[0]} has the best mean {by}"
    tied = means.index[means["mean"] == means["mean"].iloc[0]]
    if len(tied) > 1:
        names = " and ".join(texts[: min(len(tied), MOST_NAMED)])
        note = f"{names} have the same mean {by}; the first one in the list is used"
    elif len(texts) > 1:
        note += f", before {texts[1]}"
    return judged[judged[axis] == means.index[0]], note


def _ranked(
    judged: pd.DataFrame, by: str, version: Sequence[str], *, ascending: bool
) -> pd.DataFrame:
    """Sort results from the best; equal ones by the mean of their version.

    Some axes, such as the prompt of all shots, identify the version.
    """
    means = judged[by]
    if version:
        groups = means.groupby([judged[name] for name in version], observed=True)
        means = groups.transform("mean")
    order = [False, ascending, ascending]
    columns = [KEEP, by, MEAN]
    ranking = judged.assign(**{MEAN: means})
    return ranking.sort_values(columns, ascending=order, kind="stable")


def _tie_note(ranking: pd.DataFrame, by: str, k: int, axes: Sequence[str]) -> str:
    """Name results that are as good as the last selected one; "" if there is no tie."""
    if len(ranking) <= k:
        return ""
    is_kept = ranking[KEEP].to_numpy("bool")
    values = np.nan_to_num(ranking[by].to_numpy("float64"), nan=-np.inf)
    is_tied = (is_kept == is_kept[k - 1]) & (values == values[k - 1])
    if not is_tied[k]:
        return ""
    is_taken = np.arange(len(ranking)) < k
    best = _named(ranking[is_tied & is_taken], axes)
    left = _named(ranking[is_tied & ~is_taken], axes)
    return (
        f"{is_tied.sum():,} results tie with the last one taken: they have the same "
        f"{by}. Taken: {best}. Not taken: {left}. Ties are broken by the mean {by} of "
        "the settings, then by the order of the list"
    )


def _named(rows: pd.DataFrame, axes: Sequence[str]) -> str:
    """Return the axis values of some rows; only the first ones are complete."""
    names = [
        ", ".join(map(short_name, values)) or f"cell {number}"
        for number, *values in rows[list(axes)].head(MOST_NAMED).itertuples(name=None)
    ]
    more = len(rows) - len(names)
    return "; ".join(names) + (f"; and {more:,} more" if more > 0 else "")
