"""The columns that a plot needs, the names that it shows, and their sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mediakit.errors import InputError
from mediakit.plots.style import MOST_NAMES, OTHER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

DAY = "day"
CHARGE = "charge_micro_usd"
FUNCTION, KIND = "function", "kind"
STATUS = "status"
UNNAMED = "not named"
DATETIMES = "datetimes"
WHOLE = "whole numbers"
ALIASES = {"key": "api_key_id"}  # as `spend.daily(by=...)` calls them


def column_of(frame: object, by: str) -> str:
    """Return the column that `by` names; "key" is `api_key_id`."""
    if by in getattr(frame, "columns", ()):
        return by
    return ALIASES.get(by, by)


def check(
    frame: object,
    needed: Mapping[str, str | None],
    what: str,
    *,
    field: str = "frame",
) -> None:
    """Reject a value that is not a frame with these columns.

    Args:
        frame: The value.
        needed: The columns, each with `DATETIMES`, `WHOLE` or None for any values.
        what: What the frame should be, in words.
        field: The argument's name.

    Raises:
        InputError: A column is missing, or its values have another type.
    """
    import pandas as pd

    got = frame
    if isinstance(frame, pd.DataFrame):
        if all(k in frame and _is_typed(frame[k], kind) for k, kind in needed.items()):
            return
        got = {str(name): str(dtype) for name, dtype in frame.dtypes.items()}
    words = [f"{name} as {kind}" if kind else name for name, kind in needed.items()]
    accepted = f"{what}: {', '.join(words[:-1])}{' and ' if words[1:] else ''}"
    raise InputError(field, got=got, accepted=f"{accepted}{words[-1]}", spec="4.19")


def _is_typed(values: pd.Series, kind: str | None) -> bool:
    from pandas.api.types import is_datetime64_any_dtype, is_integer_dtype

    if kind == DATETIMES:
        return is_datetime64_any_dtype(values)
    return kind is None or is_integer_dtype(values)


def names_of(frame: pd.DataFrame, by: str, missing: str = UNNAMED) -> pd.Series[str]:
    """Return the name of each row, in one line.

    A function has its short name if the frame has the column `kind`, and its path too
    where several functions share a short name.
    """
    import pandas as pd

    columns = [by, KIND] if by == FUNCTION and KIND in frame else [by]
    places = frame.groupby(columns, dropna=False, sort=False, observed=True).ngroup()
    distinct = frame[columns].drop_duplicates().astype("object")
    texts = distinct[by].where(distinct[by].notna(), missing).astype("str")
    texts = texts.str.split().str.join(" ").replace("", missing)
    if KIND in distinct and by != KIND:
        kind = distinct[KIND]
        paths_n = texts.groupby(kind).transform("nunique")
        texts = kind.where(paths_n == 1, kind + " " + texts).fillna(texts).astype("str")
    return pd.Series(texts.to_numpy()[places], frame.index, "str")


def largest(
    sums: pd.DataFrame, size: pd.Series[Any], most: int = MOST_NAMES
) -> pd.DataFrame:
    """Return the rows with the largest sizes first, and the rest summed in one.

    Args:
        sums: Whole numbers, one row per name, in the order of names of equal size.
        size: What to order by.
        most: The most names to keep.
    """
    import pandas as pd

    order = size.sort_values(ascending=False, kind="stable").index
    own, rest = sums.loc[order[:most]], sums.loc[order[most:]]
    if rest.empty:
        return own
    return pd.concat([own, rest.sum().to_frame(other(len(rest))).T])


def other(count: int) -> str:
    """Return the name for a group of names."""
    return f"{OTHER}{count})"


def notes_of(left_out: int, lacking: str) -> list[str]:
    """Describe how many rows are not drawn, if any."""
    if not left_out:
        return []
    rows = "row" if left_out == 1 else "rows"
    return [f"{left_out} {rows} without {lacking} not drawn"]


def listed(names: Sequence[str], texts: Sequence[str]) -> str:
    """Return pairs as a sentence of a text alternative."""
    return "; ".join(f"{n} {text}" for n, text in zip(names, texts, strict=True))


def without_free_failures(charges: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Leave out failed jobs that cost nothing: they have no result.

    Returns:
        The other rows, and a note on those that are left out.
    """
    if STATUS not in charges:
        return charges, []
    free = (charges[STATUS] == "failed") & (charges[CHARGE].fillna(0) == 0)
    count = int(free.sum())
    jobs = "job" if count == 1 else "jobs"
    notes = [f"{count:,} failed {jobs} at no charge not drawn"] if count else []
    return charges[~free.astype("bool")], notes
