"""The delivery log as a typed frame; imported on first use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from mediakit.client.account.delivery_log import Row
from mediakit.history.entries.parameter_columns import text_array
from mediakit.records import Delivery, DeliveryStatus

_INSTANTS = ("created_at", "next_attempt_at", "ended_at")
_CATEGORIES = ("event_type", "endpoint_id")
COLUMNS = (
    "id",
    "status",
    "event_type",
    "source_id",
    "attempts",
    "created_at",
    "next_attempt_at",
    "ended_at",
    "endpoint_id",
    "url",
    "event_id",
)


def deliveries_frame(rows: Sequence[Row]) -> pd.DataFrame:
    """Return the log's records as a typed frame.

    Returns:
        One row per record, in the order sent; the same dtypes without any record.
        Unknown columns follow, as they were sent.
    """
    known = [Delivery.model_validate(row) for row in rows]
    columns = {
        name: _typed(name, [getattr(d, name) for d in known]) for name in COLUMNS
    }
    more = dict.fromkeys(name for row in rows for name in row if name not in COLUMNS)
    columns |= {name: _as_sent([row.get(name) for row in rows]) for name in more}
    return pd.DataFrame(columns)


def without_query(url: str | None) -> str | None:
    """Return an address without its query, which may hold a token."""
    if url is None or "?" not in url:
        return url
    return f"{url.partition('?')[0]}?…"


def _typed(name: str, values: list[Any]) -> Any:
    if name == "status":
        levels = [status.value for status in DeliveryStatus]
        unknown = dict.fromkeys(v for v in values if v is not None and v not in levels)
        return pd.Categorical(values, categories=[*levels, *unknown])
    if name in _INSTANTS:
        return pd.DatetimeIndex(pd.to_datetime(values, utc=True)).as_unit("us")
    if name in _CATEGORIES:
        return pd.Categorical(text_array(values))
    if name == "attempts":
        return pd.array(values, dtype="Int64")
    if name == "url":
        values = [without_query(url) for url in values]
    return text_array(values)


def _as_sent(values: list[Any]) -> Any:
    return pd.Series(values, dtype="object").infer_objects().array
