"""What belongs to requests and results, beside the entries.

Ratings, preferences, scores, lineage, drafts of forms, and uploaded files.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from functools import partial
from operator import attrgetter, index
from typing import Any, NamedTuple, SupportsIndex, TypedDict, Unpack

from sqlalchemy import ColumnElement, Select, Table, delete, select

from mediakit.errors import InputError
from mediakit.history import tables
from mediakit.history.entry import Entry
from mediakit.history.rows import entry_of, whole_entries
from mediakit.history.store import History
from mediakit.history.tables import entries, has_later_attempt, upsert

RATINGS = range(1, 6)
MOST_TAGS = 20
LONGEST_TAG = 40
LONGEST_NAME = 100
LONGEST_NOTE = 2_000
DRAFTS_KEPT_FOR = timedelta(days=365)


@dataclass(frozen=True)
class Judgement:
    """A person's judgement of the output of a job.

    Args:
        rating: From 1 to 5; None for no rating.
        tags: Short labels, each once.
        note: A free text; empty for none.
        rater: Who judged it last; empty if unknown.
    """

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
    """The stored score of one output.

    Args:
        seen: The hash of what the scorer saw, in hex: that of the output, or one of
            the output and its row.
        scorer: The scorer's name.
        version: The scorer's version; another version scores again.
        values: The numbers and texts by name.
    """

    seen: str
    scorer: str
    version: str
    values: Mapping[str, float | str]


class OwnedDraw(NamedTuple):
    """The newest attempt at one take of one content: fields of its entry."""

    draw_key: str
    asked_key: str
    take: int
    state: str
    status: str | None
    error_code: str | None
    error_message: str | None
    job_id: str | None
    charge_micro_usd: int | None
    reserved_micro_usd: int
    output_url: str | None
    media_type: str | None
    submitted_at: datetime | None
    finished_at: datetime | None
    gone_at: datetime | None
    deleted_at: datetime | None


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
    changes: dict[str, Any] = {
        **{name: _READ[name](value) for name, value in judged.items()},
        "rater": _text("rater", rater, LONGEST_NAME),
        "rated_at": history.clock.now(),
    }
    its = {"service": service, "account": account, "job_id": _job_id("job_id", job_id)}
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
    found = Preference(
        _job_id("winner", winner),
        _job_id("loser", loser),
        _flag("tie", tie),
        _text("rater", rater, LONGEST_NAME),
        history.clock.now(),
    )
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


def _rating(rating: object) -> int | None:
    if rating is None:
        return None
    whole = index(rating) if isinstance(rating, SupportsIndex) else None
    if isinstance(rating, bool) or whole not in RATINGS:
        accepted = "a whole number from 1 to 5, or None for no rating"
        raise InputError("rating", got=rating, accepted=accepted)
    return whole


def _flag(field: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InputError(field, got=value, accepted="True or False")
    return value


def _tags(tags: object) -> str:
    accepted = f"up to {MOST_TAGS} texts of 1 to {LONGEST_TAG} characters"
    if isinstance(tags, str) or not isinstance(tags, Iterable):
        raise InputError("tags", got=tags, accepted=accepted)
    found: dict[str, None] = {}
    for tag in tags:
        if not isinstance(tag, str) or not 1 <= len(tag.strip()) <= LONGEST_TAG:
            raise InputError("tags", got=tag, accepted=accepted)
        found[tag.strip()] = None
    if len(found) > MOST_TAGS:
        raise InputError("tags", got=f"{len(found)} tags", accepted=accepted)
    return json.dumps(list(found), ensure_ascii=False)


def _text(field: str, text: object, longest: int) -> str:
    if not isinstance(text, str) or len(text) > longest:
        accepted = f"a text of up to {longest:,} characters"
        raise InputError(field, got=text, accepted=accepted)
    return text


def _job_id(field: str, job_id: object) -> str:
    if not isinstance(job_id, str) or not job_id:
        raise InputError(field, got=job_id, accepted="a job id: media_<uuid>")
    return job_id


_READ: Mapping[str, Callable[[object], object]] = {
    "rating": _rating,
    "keep": partial(_flag, "keep"),
    "tags": _tags,
    "note": lambda note: _text("note", note, LONGEST_NOTE),
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


# -- takes and lineage ----------------------------------------------------------------


def owned_draws(history: History, *, service: str, function: str) -> list[OwnedDraw]:
    """Return the newest attempt at each take of a function's requests."""
    query = (
        select(*(entries.c[name] for name in OwnedDraw._fields))
        .where(entries.c.service == service, entries.c.function == function)
        .where(~has_later_attempt())
        .order_by(entries.c.number)
    )
    return [OwnedDraw._make(row) for row in history.database.rows(query)]


def bodies(history: History, job_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the fields of requests as they were sent, by job."""
    query = select(entries.c.job_id, entries.c.body)
    found = history.database.rows_with(query, entries.c.job_id, job_ids)
    return {job_id: json.loads(body) for job_id, body in found}


def parents(
    history: History, job_ids: Iterable[str]
) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the fields and jobs whose outputs are inputs, by job."""
    query = (
        select(entries.c.job_id, tables.parents.c.field, tables.parents.c.job_id)
        .join(tables.parents, tables.parents.c.draw_key == entries.c.draw_key)
        .order_by(entries.c.job_id, tables.parents.c.field)
    )
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for row in history.database.rows_with(query, entries.c.job_id, job_ids):
        job_id, field, parent = tuple(row)
        found[job_id] = (*found.get(job_id, ()), (field, parent))
    return found


def children(history: History, sweep: str) -> list[tuple[str, Entry]]:
    """Return the jobs of a sweep that have parents, each with one of them."""
    query = (
        whole_entries()
        .add_columns(tables.parents.c.job_id.label("parent_job_id"))
        .join(tables.parents, tables.parents.c.draw_key == entries.c.draw_key)
        .where(entries.c.sweep == sweep, entries.c.job_id.is_not(None))
        .order_by(entries.c.number)
    )
    rows = history.database.rows(query)
    return list({row.job_id: (row[-1], entry_of(row)) for row in rows}.values())


# -- forms ----------------------------------------------------------------------------
# An origin is an opaque text that identifies a form in one notebook.


def asked_from(
    history: History, origin: str, *, limit: int, after: int = 0
) -> list[Entry]:
    """Return the entries above a number that a form requested, newest first."""
    query = (
        whole_entries()
        .join(tables.origins, tables.origins.c.key == entries.c.key)
        .where(tables.origins.c.origin == origin, entries.c.number > after)
        .order_by(entries.c.number.desc())
        .limit(limit)
    )
    return [entry_of(row) for row in history.database.rows(query)]


def note_origin(history: History, key: str, origin: str) -> None:
    """Record that a form, too, requests an existing entry."""
    history.database.save(tables.origins, [{"origin": origin, "key": key}])


def draft(history: History, origin: str) -> str | None:
    """Return the last draft of a form; None without one."""
    query = select(tables.drafts.c.content).where(tables.drafts.c.origin == origin)
    return next((text for (text,) in history.database.rows(query)), None)


def save_draft(history: History, origin: str, content: str) -> None:
    """Save the draft of a form, a JSON object; delete drafts that are a year old."""
    now = history.clock.now()
    row = {"origin": origin, "content": content, "saved_at": now}
    with history.database.writing() as db:
        upsert(db, tables.drafts, [row], update=("content", "saved_at"))
        db.execute(
            delete(tables.drafts).where(
                tables.drafts.c.saved_at < now - DRAFTS_KEPT_FOR
            )
        )


# -- uploaded files -------------------------------------------------------------------


@dataclass(frozen=True)
class Upload:
    """Uploaded bytes: their permanent URL, SHA-256 hash in hex, size, content type."""

    url: str
    sha256: str
    size_bytes: int
    content_type: str


def remember_upload(history: History, *, service: str, upload: Upload) -> str:
    """Save the permanent URL of some bytes; return the first one (spec 2.3)."""
    row = {"service": service, **vars(upload), "created_at": history.clock.now()}
    history.database.save(tables.uploads, [row])
    first = uploaded(
        history,
        service=service,
        sha256=upload.sha256,
        content_type=upload.content_type,
    )
    return first or upload.url


def uploaded(
    history: History, *, service: str, sha256: str, content_type: str
) -> str | None:
    """Return the permanent URL of uploaded bytes; None without an upload."""
    table = tables.uploads
    query = select(table.c.url).where(
        table.c.service == service,
        table.c.sha256 == sha256,
        table.c.content_type == content_type,
    )
    return next((text for (text,) in history.database.rows(query)), None)


def uploads_at(history: History, urls: Iterable[str], *, service: str) -> list[Upload]:
    """Return the uploads with some URLs, sorted by URL."""
    table = tables.uploads
    query = (
        _selected(Upload, table)
        .where(table.c.service == service, table.c.url.in_(sorted(set(urls))))
        .order_by(table.c.url)
    )
    return [Upload(*row) for row in history.database.rows(query)]
