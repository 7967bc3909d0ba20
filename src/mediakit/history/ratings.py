"""Ratings and preferences that people give to results."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from operator import attrgetter, index
from typing import Any, SupportsIndex, TypedDict, Unpack

from sqlalchemy import ColumnElement, Select, Table, select

from mediakit.api_models import JobStatus
from mediakit.errors import InputError
from mediakit.history import tables
from mediakit.history.store import History
from mediakit.schema import FieldSpec, problems_in


@dataclass(frozen=True)
class Judgement:
    """A person's rating of the output of a job."""

    job_id: str
    rating: int | None
    keep: bool
    tags: tuple[str, ...]
    note: str
    rater: str
    rated_at: datetime


@dataclass(frozen=True)
class Preference:
    """A comparison of the outputs of two jobs.

    Args:
        tie: Neither was preferred; then the order has no meaning.
        rater: Who compared them; empty if unknown.
    """

    winner: str
    loser: str
    tie: bool
    rater: str
    at: datetime


class Judged(TypedDict, total=False):
    """The parts of a judgement; None removes the rating, an empty string the note."""

    rating: SupportsIndex | None
    keep: bool
    tags: Iterable[str]
    note: str


def judge(
    history: History,
    *,
    service: str,
    account: str,
    job_id: str,
    rater: str = "",
    **values: Unpack[Judged],
) -> Judgement:
    """Rate a job's output; omitted arguments leave their value unchanged.

    Raises:
        InputError: A value is not acceptable, or the job failed, and would count as
            rated or kept without an output.
    """
    history.refuse_replaced()
    changes = _checked(job_id=job_id, rater=rater, **values)
    if changes.get("rating") or changes.get("keep"):
        entry = history.find(job_id)
        if entry is not None and entry.status is JobStatus.FAILED:
            accepted = "a job with a result; this one failed, so it has nothing to rate"
            raise InputError("job", got=job_id, accepted=accepted)
    changes["rated_at"] = history.clock.now()
    key = {"service": service, "account": account, "job_id": changes.pop("job_id")}
    nothing = {"rating": None, "keep": False, "tags": "[]", "note": ""}
    history.database.save(tables.judgements, [nothing | changes | key], update=changes)
    (judgement,) = judgements(
        history, service=service, account=account, job_ids=[job_id]
    )
    return judgement


def judgements(
    history: History,
    *,
    service: str,
    account: str,
    job_ids: Iterable[str] | None = None,
) -> list[Judgement]:
    """Return the judgements of these jobs, or of all; the latest one last."""
    table = tables.judgements
    query = _selected(Judgement, table).where(*_owned(table, service, account))
    rows = (
        history.database.rows(query)
        if job_ids is None
        else history.database.rows_with(query, table.c.job_id, job_ids)
    )
    results = (
        Judgement(**{**row._mapping, "tags": tuple(json.loads(row.tags))})
        for row in rows
    )
    return sorted(results, key=attrgetter("rated_at", "job_id"))


def tags(history: History, *, service: str, account: str) -> list[str]:
    """Return the distinct tags of outputs, sorted."""
    table = tables.judgements
    owned = _owned(table, service, account)
    query = select(table.c.tags).distinct().where(*owned, table.c.tags != "[]")
    tag_lists = (json.loads(row.tags) for row in history.database.rows(query))
    return sorted({tag for tags in tag_lists for tag in tags})


def prefer(
    history: History,
    *,
    service: str,
    account: str,
    winner: str,
    loser: str,
    rater: str = "",
    tie: bool = False,
) -> Preference:
    """Record which of two outputs is better; each comparison counts."""
    values = _checked(winner=winner, loser=loser, tie=tie, rater=rater)
    preference = Preference(**values, at=history.clock.now())
    if winner == loser:
        raise InputError("loser", got=loser, accepted="a different job from the winner")
    history.refuse_replaced()
    row = {"service": service, "account": account, **vars(preference)}
    history.database.save(tables.preferences, [row])
    return preference


def preferences(history: History, *, service: str, account: str) -> list[Preference]:
    """Return all comparisons of outputs, oldest first."""
    table = tables.preferences
    query = (
        _selected(Preference, table)
        .where(*_owned(table, service, account))
        .order_by(table.c.at, table.c.winner, table.c.loser)
    )
    return [Preference(*row) for row in history.database.rows(query)]


def _selected(kind: type[Any], table: Table) -> Select[Any]:
    """Select the columns for the fields of a dataclass."""
    return select(*(table.c[field.name] for field in fields(kind)))


def _owned(table: Table, service: str, account: str) -> tuple[ColumnElement[bool], ...]:
    return (table.c.service == service, table.c.account == account)


def _checked(**values: Any) -> dict[str, Any]:
    """Validate the parts of a judgement; return them with tags as JSON."""
    if isinstance(values.get("rating"), SupportsIndex):  # including numpy's integers
        rating = values["rating"]
        values["rating"] = rating if isinstance(rating, bool) else index(rating)
    if isinstance(values.get("tags"), Iterable) and not isinstance(values["tags"], str):
        tags = (t.strip() if isinstance(t, str) else t for t in values["tags"])
        values["tags"] = list(dict.fromkeys(tags))
    problems = [
        problem
        for name, value in values.items()
        for problem in problems_in(_FIELDS[name], value, name)
    ]
    if problems:
        raise InputError.of(problems)
    if "tags" in values:
        values["tags"] = json.dumps(values["tags"], ensure_ascii=False)
    return values


_JOB_ID = FieldSpec("", "text", min_length=1)
_FLAG = FieldSpec("", "boolean")
_TAG = FieldSpec("", "text", min_length=1, max_length=40)
_FIELDS: Mapping[str, FieldSpec] = {
    "job_id": _JOB_ID,
    "winner": _JOB_ID,
    "loser": _JOB_ID,
    "rating": FieldSpec("", "integer", low=1, high=5, nullable=True),
    "keep": _FLAG,
    "tie": _FLAG,
    "tags": FieldSpec("", "list", max_length=20, item=_TAG),
    "note": FieldSpec("", "text", max_length=2_000),
    "rater": FieldSpec("", "text", max_length=100),
}
