"""The history as a typed frame; the module is imported on first use."""

import json
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    and_,
    func,
    not_,
    select,
    type_coerce,
)

from mediakit.api_models import (
    REJECTIONS,
    BillingState,
    JobStatus,
    without_lone_surrogates,
)
from mediakit.estimates import EstimateKind
from mediakit.history.database import Database
from mediakit.history.entry import EntryState
from mediakit.history.scores import (
    JUDGE_COST,
    REASON,
    Score,
    Value,
    cost_micro_usd,
    reason_text,
    score_of,
    scores_query,
    visible,
)
from mediakit.history.tables import (
    entries,
    has_later_attempt,
    job_scores,
    judgements,
)
from mediakit.table_columns import present
from mediakit.web_urls import is_http

# Before pandas 3, "str" means NumPy strings, which turn None into "None".
TEXT = "str" if int(pd.__version__.partition(".")[0]) >= 3 else "object"
LARGEST = 2**63 - 1
LONGEST_CATEGORY = 64
# The callback URL may hold a token.
LEFT_OUT = ("webhook_url",)

INSTANT, CATEGORY, WEB_URL = "instant", "category", "web_url"
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
    "output_url": WEB_URL,
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
"""The type of each column; an enumeration gives the categories."""


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
        func.coalesce(entries.c.charge_micro_usd, 0) == 0,
    )
    rows = select(*plain).where(
        not_(and_(is_rejected, has_later_attempt())).is_not(False)
    )
    return rows.order_by(entries.c.number.desc())


def params_query() -> Select[Any]:
    """Select the same columns with bodies and ratings, for `params_frame`."""
    same_job = (
        judgements.c.service == entries.c.service,
        judgements.c.account == entries.c.account,
        judgements.c.job_id == entries.c.job_id,
    )
    query = frame_query().add_columns(
        judgements.c.rating, judgements.c.keep, entries.c.body
    )
    return query.select_from(entries.outerjoin(judgements, and_(*same_job)))


def params_frame(
    database: Database,
    conditions: Sequence[ColumnElement[bool]],
    order: Sequence[ColumnElement[Any]] = (),
    used_names: Collection[str] = (),
) -> pd.DataFrame:
    """Return entries with their parameters, ratings and scores.

    No column of a parameter or a score has a name in `used_names`.
    """
    query = params_query().where(*conditions)
    if order:
        query = query.order_by(None).order_by(*order)
    same_job = (
        job_scores.c.service == entries.c.service,
        job_scores.c.account == entries.c.account,
        job_scores.c.job_id == entries.c.job_id,
    )
    with database.reading() as db:
        rows = db.execute(query).all()
        scored = db.execute(
            scores_query().join(entries, and_(*same_job)).where(*conditions)
        ).all()
    frame = entries_frame([row[: len(_COLUMNS)] for row in rows])
    ratings, keeps, bodies = ([row[place] for row in rows] for place in range(-3, 0))
    took = frame["finished_at"] - frame["submitted_at"]
    frame["runtime_s"] = took.dt.total_seconds()
    frame["rating"] = pd.array(ratings, dtype="Int64")
    frame["keep"] = pd.array(keeps, dtype="boolean")
    columns = columns_of(bodies, {*frame.columns, *used_names})
    names = {*frame.columns, *used_names, *columns}
    scores = [score_of(row) for row in scored]
    columns |= score_columns(scores, frame["job_id"], names, by_job=True)
    return pd.concat([frame, pd.DataFrame(columns, index=frame.index)], axis=1)


def charges(
    database: Database,
    *,
    service: str,
    since: datetime | None = None,
    before: datetime | None = None,
    project: str | None = None,
    used_names: Collection[str] = (),
) -> pd.DataFrame:
    """Return the charges settled in an interval, newest first; see `params_frame`."""
    settled_at = entries.c.settled_at
    conditions = [
        entries.c.service == service,
        settled_at.is_not(None) if since is None else settled_at >= since,
        entries.c.charge_micro_usd.is_not(None),
    ]
    if before is not None:
        conditions.append(settled_at < before)
    if project is not None:
        conditions.append(entries.c.project == project)
    order = (settled_at.desc(), entries.c.number.desc())
    return params_frame(database, conditions, order, used_names)


def entries_frame(rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """Convert rows of `frame_query` to a typed frame, even if there are none."""
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
        case "web_url":
            # The path of a file would be uploaded if it were passed to another request.
            return text_array([url if url and is_http(url) else None for url in values])
    return text_array(values)


def instants(values: Iterable[int | None]) -> pd.DatetimeIndex:
    """Convert stored instants to a column in UTC; None is missing."""
    missing = np.iinfo("int64").min  # NumPy's NaT
    whole = [missing if value is None else value for value in values]
    instants = np.array(whole, dtype="int64").view("datetime64[us]")
    return pd.DatetimeIndex(instants).tz_localize("UTC")


# -- the parameters of requests -------------------------------------------------------


def columns_of(bodies: Sequence[bytes], used_names: Container[str]) -> dict[str, Any]:
    """Return a typed column for each parameter of the bodies, sorted by name."""
    values: dict[str, list[Any]] = {}
    for row, body in enumerate(bodies):
        fields = json.loads(body)
        for name, value in fields.items() if isinstance(fields, dict) else ():
            if value is None:
                continue
            if name not in values:
                values[name] = [None] * len(bodies)
            values[name][row] = value
    for name in LEFT_OUT:
        values.pop(name, None)
    if "prompt" in used_names and all(map(_is_text_or_none, values.get("prompt", ()))):
        values.pop("prompt", None)
    columns: dict[str, Any] = {}
    for name in sorted(values):
        free = name
        while free in used_names or free in columns:
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
    """Convert strings to an array: str in pandas 3, else object; None is missing."""
    texts = list(values)
    try:
        return pd.array(texts, dtype=TEXT)  # type: ignore[call-overload]
    except UnicodeEncodeError:  # a frame cannot hold half an emoji
        return pd.array(without_lone_surrogates(texts), dtype=TEXT)


# -- scores ---------------------------------------------------------------------------


def score_columns(
    scores: Sequence[Score],
    job_ids: Iterable[str | None],
    used_names: Container[str],
    *,
    by_job: bool = False,
) -> dict[str, Any]:
    """Return the columns of scores by job: values, reasons and costs.

    A name in `used_names` gets the prefix `score_`. There is a column of reasons or
    costs if at least one is known. `visible` explains `by_job`.
    """
    if not scores:
        return {}
    current_scores = visible(scores, by_job=by_job)
    all_of: dict[str, list[Score]] = {}
    for score in scores:
        all_of.setdefault(score.job_id, []).append(score)
    values: dict[str, dict[str, Value]] = {}
    for each in chain.from_iterable(current_scores.values()):
        for name, value in each.values.items():
            values.setdefault(name, {})[each.job_id] = value
    rows = [job_id or "" for job_id in job_ids]
    columns: dict[str, Any] = {}
    for name, by_id in values.items():
        free = free_name(name, used_names, columns)
        columns[free] = score_column([by_id.get(job_id) for job_id in rows])
    reasons = {job_id: reason_text(group) for job_id, group in current_scores.items()}
    if any(reasons.values()):
        free = free_name(REASON, used_names, columns)
        columns[free] = text_array([reasons.get(job_id) for job_id in rows])
    costs = {job_id: cost_micro_usd(group) for job_id, group in all_of.items()}
    if any(cost is not None for cost in costs.values()):
        free = free_name(JUDGE_COST, used_names, columns)
        columns[free] = pd.array([costs.get(job_id) for job_id in rows], dtype="Int64")
    return columns


def free_name(name: str, *used_names: Container[str]) -> str:
    """Return the name of a score's column, which no other column has."""
    while any(name in names for names in used_names):
        name = f"score_{name}"
    return name


def score_column(values: Sequence[Value | None]) -> Any:
    """Convert values to a column of numbers, or of strings if any is a string."""
    if any(isinstance(value, str) for value in values):
        cells = [None if present(value) is None else value for value in values]
        return text_array([None if value is None else str(value) for value in cells])
    return np.array([np.nan if v is None else v for v in values], "float64")
