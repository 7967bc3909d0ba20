"""Concatenates the frames of several responses and keeps their dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_NULLABLE = {"int64": "Int64", "bool": "boolean"}


def joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate the rows of frames, in this order.

    Args:
        frames: At least one, as the readers of `spend.responses` make them.

    Returns:
        All columns that occur; a missing one is <NA>. int64 stays int64, categories
        stay categories. `attrs` has the notes of all, each once, and the sum of the
        totals, or None where one of them was not sent.
    """
    import pandas as pd

    filled = [frame for frame in frames if len(frame)] or list(frames[:1])
    names = dict.fromkeys(name for frame in filled for name in frame.columns)
    columns = {name: _column(name, filled) for name in names}
    whole = pd.DataFrame(columns)
    totals = [frame.attrs["total_micro_usd"] for frame in frames]
    notes = (note for frame in frames for note in frame.attrs["notes"])
    whole.attrs = {
        "total_micro_usd": None if None in totals else sum(totals),
        "notes": list(dict.fromkeys(notes)),
        "report": {},
    }
    return whole


def _column(name: str, frames: Sequence[pd.DataFrame]) -> Any:
    import pandas as pd
    from pandas.api.types import union_categoricals

    known = [frame[name] for frame in frames if name in frame]
    if len(frames) == 1:
        return known[0].array
    parts = [
        frame[name] if name in frame else _nothing(known[0], len(frame))
        for frame in frames
    ]
    if all(isinstance(part.dtype, pd.CategoricalDtype) for part in parts):
        return union_categoricals([part.array for part in parts])
    if len({str(part.dtype) for part in known}) > 1 and not _are_whole(known):
        parts = [part.astype("object") for part in parts]
    return pd.concat(parts, ignore_index=True).array


def _are_whole(parts: Sequence[pd.Series]) -> bool:
    return {str(part.dtype) for part in parts} <= {"int64", "Int64"}


def _nothing(like: pd.Series, length: int) -> pd.Series:
    import pandas as pd

    kind = _NULLABLE.get(str(like.dtype), like.dtype)
    return pd.Series([None] * length, dtype=kind)
