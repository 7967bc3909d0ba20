"""The history as a typed frame; imported on first use."""

import json
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import BigInteger, Row, Select, and_, not_, select, type_coerce

from mediakit.api_models import REJECTIONS, BillingState, JobStatus
from mediakit.estimates import EstimateKind
from mediakit.history.database import Database
from mediakit.history.entry import EntryState
from mediakit.history.tables import entries, has_later_attempt, judgements

# Before pandas 3, "str" means NumPy strings, which turn None into "None".
TEXT = "str" if int(pd.__version__.partition(".")[0]) >= 3 else "object"
LARGEST = 2**63 - 1
LONGEST_CATEGORY = 64
# It may hold a token.
LEFT_OUT = ("webhook_url",)

INSTANT, CATEGORY = "instant", "category"
_COLUMNS: Mapping[str, str | type[StrEnum]] = {
    "created_at": INSTANT,
    "kind": CATEGORY,
    "prompt": TEXT,
    "state": EntryState,
    "status": JobStatus,
    "estimate_kind": EstimateKind,
    "estimate_low_micro_usd": "Int64",
    "estimate_high_micro_usd": "Int64",
    "reserved_micro_usd": "Int64",
    "charge_micro_usd": "Int64",
    "restated_charge_micro_usd": "Int64",
    "billing_state": BillingState,
    "error_code": CATEGORY,
    "error_message": TEXT,
    "media_type": CATEGORY,
    "content_type": CATEGORY,
    "output_url": TEXT,
    "job_id": TEXT,
    "take": "int64",
    "attempt": "int64",
    "project": CATEGORY,
    "budget": CATEGORY,
    "submitted_at": INSTANT,
    "finished_at": INSTANT,
    "settled_at": INSTANT,
    "deleted_at": INSTANT,
    "gone_at": INSTANT,
    "function": CATEGORY,
    "service": CATEGORY,
    "account": CATEGORY,
    "key": TEXT,
    "sweep": CATEGORY,
}
"""What each column holds; an enumeration gives the categories."""


def frame_query() -> Select[Any]:
    """Select the frame's columns, newest first, without rejected attempts."""
    columns = (entries.c[name] for name in _COLUMNS)
    plain = (
        type_coerce(column, BigInteger).label(column.name)
        if _COLUMNS[column.name] == INSTANT
        else column
        for column in columns
    )
    is_rejected = and_(
        entries.c.status == JobStatus.FAILED,
        entries.c.error_code.in_(REJECTIONS),
        entries.c.submitted_at == entries.c.finished_at,
    )
    rows = select(*plain).where(
        not_(and_(is_rejected, has_later_attempt())).is_not(False)
    )
    return rows.order_by(entries.c.number.desc())


def params_query() -> Select[Any]:
    """Select the same columns with bodies and judgements, for `params_frame`."""
    its = (
        judgements.c.service == entries.c.service,
        judgements.c.account == entries.c.account,
        judgements.c.job_id == entries.c.job_id,
    )
    query = frame_query().add_columns(
        judgements.c.rating, judgements.c.keep, entries.c.body
    )
    return query.select_from(entries.outerjoin(judgements, and_(*its)))


def params_frame(rows: Sequence[Row[Any]], taken: Collection[str] = ()) -> pd.DataFrame:
    """Make the frame of `params_query`; no parameter gets a name in `taken`."""
    frame = entries_frame([row[: len(_COLUMNS)] for row in rows])
    ratings, keeps, bodies = ([row[place] for row in rows] for place in range(-3, 0))
    took = frame["finished_at"] - frame["submitted_at"]
    frame["runtime_s"] = took.dt.total_seconds()
    frame["rating"] = pd.array(ratings, dtype="Int8")
    frame["keep"] = pd.array(keeps, dtype="boolean")
    params = pd.DataFrame(
        columns_of(bodies, {*frame.columns, *taken}), index=frame.index
    )
    return pd.concat([frame, params], axis=1)


def charges(
    database: Database,
    *,
    service: str,
    since: datetime | None = None,
    before: datetime | None = None,
    project: str | None = None,
    taken: Collection[str] = (),
) -> pd.DataFrame:
    """Return the charges settled in an interval, newest first, as `params_frame`."""
    query = charges_query(service, since, before)
    if project is not None:
        query = query.where(entries.c.project == project)
    with database.reading() as db:
        return params_frame(db.execute(query).all(), taken)


def charges_query(
    service: str, since: datetime | None, before: datetime | None
) -> Select[Any]:
    """Select, for `params_frame`, the charges settled in an interval."""
    settled_at = entries.c.settled_at
    late = settled_at.is_not(None) if since is None else settled_at >= since
    query = (
        params_query()
        .where(entries.c.service == service, late)
        .where(entries.c.charge_micro_usd.is_not(None))
        .order_by(None)
        .order_by(settled_at.desc(), entries.c.number.desc())
    )
    return query if before is None else query.where(settled_at < before)


def entries_frame(rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """Make a typed frame of the rows of `frame_query`; the same dtypes without rows."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(_COLUMNS)
    return pd.DataFrame(
        {
            name: _typed(kind, values)
            for (name, kind), values in zip(_COLUMNS.items(), columns, strict=True)
        }
    )


def _typed(kind: str | type[StrEnum], values: Iterable[Any]) -> Any:
    if not isinstance(kind, str):
        levels = [level.value for level in kind]
        return pd.Categorical(list(values), categories=levels)
    match kind:
        case "instant":
            return instants(values)
        case "category":
            return pd.Categorical(text_array(values))
        case "int64":
            return np.array(list(values), dtype="int64")
        case "Int64":
            return pd.array(list(values), dtype="Int64")
    return text_array(values)


def instants(values: Iterable[int | None]) -> pd.DatetimeIndex:
    """Return stored instants as a column, in UTC; None is missing."""
    missing = np.iinfo("int64").min  # NumPy's NaT
    whole = [missing if value is None else value for value in values]
    instants = np.array(whole, dtype="int64").view("datetime64[us]")
    return pd.DatetimeIndex(instants).tz_localize("UTC")


# -- the parameters of requests -------------------------------------------------------


def columns_of(bodies: Sequence[bytes], taken: Container[str]) -> dict[str, Any]:
    """Return a typed column for each parameter of the bodies, sorted by name."""
    values: dict[str, list[Any]] = {}
    for row, body in enumerate(bodies):
        found = json.loads(body)
        for name, value in found.items() if isinstance(found, dict) else ():
            if value is None:
                continue
            if name not in values:
                values[name] = [None] * len(bodies)
            values[name][row] = value
    for name in LEFT_OUT:
        values.pop(name, None)
    if "prompt" in taken and all(map(_is_text_or_none, values.get("prompt", ()))):
        values.pop("prompt", None)
    columns: dict[str, Any] = {}
    for name in sorted(values):
        free = name
        while free in taken or free in columns:
            free = f"param_{free}"
        columns[free] = _typed_parameter(values[name])
    return columns


def _is_text_or_none(value: object) -> bool:
    return value is None or isinstance(value, str)


def _typed_parameter(values: list[Any]) -> Any:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pd.array(values, dtype="boolean")
    if kinds == {int} and all(v is None or abs(v) <= LARGEST for v in values):
        return pd.array(values, dtype="Int64")
    if kinds <= {int, float}:
        return pd.Series(values, dtype="float64").array
    texts = [
        value if _is_text_or_none(value) else json.dumps(value, ensure_ascii=False)
        for value in values
    ]
    short = all(text is None or len(text) <= LONGEST_CATEGORY for text in texts)
    column = text_array(texts)
    is_category = short and not kinds & {list, dict}
    return pd.Categorical(column) if is_category else column


def text_array(values: Iterable[str | None]) -> Any:
    """Return texts as an array: str on pandas 3, object before it; None is missing."""
    return pd.array(list(values), dtype=TEXT)  # type: ignore[call-overload]
