"""What people and scorers say of results: ratings, preferences and scores."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from operator import attrgetter, index
from typing import Any, SupportsIndex, TypedDict, Unpack

from sqlalchemy import ColumnElement, Select, Table, select

from mediakit.errors import InputError
from mediakit.history import tables
from mediakit.history.store import History
from mediakit.schema import FieldSpec, problems_in


@dataclass(frozen=True)
class Judgement:
    """A person's judgement of the output of a job."""

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


@dataclass(frozen=True)
class Score:
    """The stored score of one output."""

    seen: str  # hash of what the scorer saw, in hex: the output, or also its row
    scorer: str
    version: str
    values: Mapping[str, float | str]


# -- ratings --------------------------------------------------------------------------


class Judged(TypedDict, total=False):
    """What is judged; None removes the rating, and an empty text the note."""

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
    **judged: Unpack[Judged],
) -> Judgement:
    """Judge a job's output; what is not given does not change."""
    changes = _checked(job_id=job_id, rater=rater, **judged)
    changes["rated_at"] = history.clock.now()
    its = {"service": service, "account": account, "job_id": changes.pop("job_id")}
    nothing = {"rating": None, "keep": False, "tags": "[]", "note": ""}
    history.database.save(tables.judgements, [nothing | changes | its], update=changes)
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
    found = (
        Judgement(**{**row._mapping, "tags": tuple(json.loads(row.tags))})
        for row in rows
    )
    return sorted(found, key=attrgetter("rated_at", "job_id"))


def tags(history: History, *, service: str, account: str) -> list[str]:
    """Return all tags of outputs, each once, sorted."""
    table = tables.judgements
    owned = _owned(table, service, account)
    query = select(table.c.tags).distinct().where(*owned, table.c.tags != "[]")
    found = (json.loads(row.tags) for row in history.database.rows(query))
    return sorted({tag for tags in found for tag in tags})


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
    given = _checked(winner=winner, loser=loser, tie=tie, rater=rater)
    found = Preference(**given, at=history.clock.now())
    if winner == loser:
        raise InputError("loser", got=loser, accepted="another job than the winner")
    row = {"service": service, "account": account, **vars(found)}
    history.database.save(tables.preferences, [row])
    return found


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
    """Select the columns that are the fields of a dataclass."""
    return select(*(table.c[field.name] for field in fields(kind)))


def _owned(table: Table, service: str, account: str) -> tuple[ColumnElement[bool], ...]:
    return (table.c.service == service, table.c.account == account)


def _checked(**given: Any) -> dict[str, Any]:
    """Refuse what a judgement cannot have; return the rest with its tags as JSON."""
    if isinstance(given.get("rating"), SupportsIndex):  # numpy has integers of its own
        rating = given["rating"]
        given["rating"] = rating if isinstance(rating, bool) else index(rating)
    if isinstance(given.get("tags"), Iterable) and not isinstance(given["tags"], str):
        tags = (t.strip() if isinstance(t, str) else t for t in given["tags"])
        given["tags"] = list(dict.fromkeys(tags))
    problems = [
        problem
        for name, value in given.items()
        for problem in problems_in(_FIELDS[name], value, name)
    ]
    if problems:
        raise InputError.of(problems)
    if "tags" in given:
        given["tags"] = json.dumps(given["tags"], ensure_ascii=False)
    return given


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


# -- scores ---------------------------------------------------------------------------


def save_scores(history: History, found: Iterable[Score]) -> None:
    """Save scores, all or none; the last one of a scorer and version wins."""
    now = history.clock.now()
    rows = [
        {
            "seen": score.seen,
            "scorer": score.scorer,
            "version": score.version,
            "score": json.dumps(dict(score.values)),
            "scored_at": now,
        }
        for score in found
    ]
    history.database.save(tables.scores, rows, update=("score", "scored_at"))


def scores(
    history: History, seen: Iterable[str], scorer: str, version: str
) -> dict[str, dict[str, float | str]]:
    """Return the values of a scorer, by the hash of what it saw."""
    table = tables.scores
    query = select(table.c.seen, table.c.score).where(
        table.c.scorer == scorer, table.c.version == version
    )
    found = history.database.rows_with(query, table.c.seen, seen)
    return {key: json.loads(score) for key, score in found}


def save_sha256s(
    history: History, found: Mapping[str, str], *, service: str, account: str
) -> None:
    """Save the hashes of outputs by job, so that they are not fetched again."""
    owner = {"service": service, "account": account}
    rows = [{**owner, "job_id": job, "sha256": sha} for job, sha in found.items()]
    history.database.save(tables.hashes, rows, update=("sha256",))


def sha256s(
    history: History, job_ids: Iterable[str], *, service: str, account: str
) -> dict[str, str]:
    """Return the known hashes of outputs, in hex, by job id."""
    table = tables.hashes
    query = select(table.c.job_id, table.c.sha256).where(
        *_owned(table, service, account)
    )
    return dict(history.database.rows_with(query, table.c.job_id, job_ids))
