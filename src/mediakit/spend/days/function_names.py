"""Adds mediakit's own columns to the rows of a service report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mediakit.catalog import Catalog
from mediakit.money import MICRO_PER_USD

if TYPE_CHECKING:
    import pandas as pd

AS_SENT = "_as_sent"
CHARGE, DOLLARS = "charge_micro_usd", "charge_usd"


def with_column(frame: pd.DataFrame, name: str, values: Any) -> None:
    """Add a column; a service column with the same name is renamed."""
    if name in frame:
        frame.columns = [f"{n}{AS_SENT}" if n == name else n for n in frame.columns]
    frame[name] = values


def add_dollars(frame: pd.DataFrame) -> None:
    """Add the charge in US dollars, as floats, beside the exact micro-USD."""
    if DOLLARS in frame:
        names = {DOLLARS: f"{DOLLARS}{AS_SENT}"}
        frame.columns = [names.get(n, n) for n in frame.columns]
    place = list(frame.columns).index(CHARGE) + 1
    frame.insert(place, DOLLARS, dollars(frame[CHARGE]))


def dollars(micro_usd: pd.Series[Any]) -> pd.Series[float]:
    """Return US dollars, exact to the micro-USD below 9 billion."""
    return micro_usd.astype("float64") / MICRO_PER_USD


def kinds_of(frame: pd.DataFrame, catalog: Catalog) -> pd.Series[str]:
    """Return mediakit's name for each row's function; missing if no path is bound.

    The path is the model_id, the function, the model, or both parts together.
    """
    import pandas as pd

    from mediakit.history.frames import TEXT, text_array

    kinds = {function.path: function.kind for function in catalog}
    found = pd.Series(None, frame.index, TEXT)
    for path in _paths(frame):
        if found.isna().any():
            codes, distinct = pd.factorize(path)
            names = text_array([*map(kinds.get, distinct), None])
            found = found.where(found.notna(), names[codes])  # -1 is the last
    return found


def _paths(frame: pd.DataFrame) -> Iterator[pd.Series[str]]:
    for name in ("model_id", "function", "model"):
        if name in frame:
            yield frame[name]
    if "model" in frame and "function" in frame:
        yield frame["model"].str.cat(frame["function"], sep="/")
