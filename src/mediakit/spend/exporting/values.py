"""Converts values for files: exact money, UTC instants, and no formulas in text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mediakit.spend.responses.rows import MONEY
from mediakit.spend.usd import USD, dollars
from mediakit.spreadsheets import harmless

if TYPE_CHECKING:
    import pandas as pd

DAY = "day"


def add_usd(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with exact dollars beside every column of micro-USD.

    Args:
        frame: Any spend frame.

    Returns:
        A copy in which `charge_micro_usd` is followed by `charge_usd`, and so on:
        Decimals with six places; None where the amount is unknown.
    """
    import pandas as pd

    made: dict[str, Any] = {}
    for name in map(str, frame.columns):
        made[name] = frame[name]
        in_usd = name.removesuffix(MONEY) + USD
        if name.endswith(MONEY) and in_usd not in frame:
            made[in_usd] = dollars(frame[name])
    return pd.DataFrame(made, index=frame.index)


def for_text_files(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose columns become exact, harmless text in a CSV.

    Days are written as "2026-10-31", instants as "2026-10-31T23:59:59Z".
    """
    import pandas as pd

    made = {}
    for name in frame.columns:
        column = frame[name]
        if isinstance(column.dtype, pd.DatetimeTZDtype) or column.dtype.kind == "M":
            made[harmless(str(name))] = _instants(column)
        elif is_text(column):
            values = column.astype(object)
            made[harmless(str(name))] = values.map(_text, na_action="ignore")
        else:
            made[harmless(str(name))] = column
    return pd.DataFrame(made)


def is_text(column: pd.Series[Any]) -> bool:
    """Tell whether a column holds texts, categories or other objects."""
    import pandas as pd

    kind = column.dtype
    return (
        isinstance(kind, pd.CategoricalDtype)
        or pd.api.types.is_string_dtype(kind)
        or pd.api.types.is_object_dtype(kind)
    )


def _text(value: object) -> object:
    if isinstance(value, str):
        return harmless(value)
    if isinstance(value, list | tuple | dict):
        return harmless(json.dumps(value, ensure_ascii=False, default=str))
    return value


def _instants(column: pd.Series[Any]) -> pd.Series[Any]:
    zone = getattr(column.dtype, "tz", None)
    ending = "" if zone is None else "Z" if str(zone) == "UTC" else "%z"
    is_finer = bool((column.dt.microsecond.fillna(0) != 0).any())
    seconds = "%S.%f" if is_finer else "%S"
    form = "%Y-%m-%d" if column.name == DAY else f"%Y-%m-%dT%H:%M:{seconds}{ending}"
    texts: pd.Series[Any] = column.dt.strftime(form)
    return texts
