"""What belongs to results: ratings, preferences, scores, lineage, drafts of forms."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from operator import index
from typing import Any, Final, Literal, NamedTuple, Protocol, SupportsIndex

from sqlalchemy import ColumnElement, Table, delete, exists, insert, select

from mediakit.errors import InputError
from mediakit.history.database import batches
from mediakit.history.entry import Entry
from mediakit.history.entry_rows import entry_of, whole_entries
from mediakit.history.store import History
from mediakit.history.tables import (
    drafts,
    entries,
    hashes,
    origins,
    upsert,
)
from mediakit.history.tables import (
    judgements as judged,
)
from mediakit.history.tables import (
    parents as parent_jobs,
)
from mediakit.history.tables import (
    preferences as preferred,
)
from mediakit.history.tables import (
    scores as scored,
)


class Unchanged(Enum):
    """Marks an argument that is not given, where None has a meaning."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Unchanged.UNCHANGED
NotGiven = Literal[Unchanged.UNCHANGED]

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
        job_id: The job.
        rating: From 1 to 5; None for no rating.
        keep: Whether to keep it.
        tags: Short labels, each once.
        note: A free text; empty for none.
        rater: Who judged it last; empty if unknown.
        rated_at: When it was last judged.
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
    """A comparison of two outputs.

    Args:
        winner: The job of the preferred output.
        loser: The job of the other.
        tie: Neither was preferred; then the order has no meaning.
        rater: Who compared them; empty if unknown.
        at: When they were compared.
    """

    winner: str
    loser: str
    tie: bool
    rater: str
    at: datetime


class ScoreLike(Protocol):
    """The score of an output."""

    @property
    def sha256(self) -> str:
        """The hash of the output, in hex."""

    @property
    def scorer(self) -> str:
        """The scorer's name."""

    @property
    def version(self) -> str:
        """The scorer's version; another version scores again."""

    @property
    def values(self) -> Mapping[str, float] | None:
        """The numbers by name; None if the scorer failed."""

    @property
    def error(self) -> str | None:
        """Why the scorer failed; None if it did not."""


class OwnedDraw(NamedTuple):
    """The newest attempt at one take of one content: fields of its entry."""

    draw_key: str
    asked_key: str
    take: int
    state: str
    status: str | None
    error_code: str | None
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


def judge(
    history: History,
    *,
    service: str,
    account: str,
    job_id: str,
    rating: SupportsIndex | NotGiven | None = UNCHANGED,
    keep: bool | NotGiven = UNCHANGED,
    tags: Iterable[str] | NotGiven = UNCHANGED,
    note: str | NotGiven = UNCHANGED,
    rater: str = "",
) -> Judgement:
    """Judge a job's output; the last value of each field counts.

    Fields that are not given do not change. None removes the rating, and an empty text
    the note. Returns the complete judgement.

    Raises:
        InputError: A value is not accepted; nothing was changed.
    """
    changes: dict[str, Any] = {}
    if rating is not UNCHANGED:
        changes["rating"] = _rating(rating)
    if keep is not UNCHANGED:
        changes["keep"] = _flag("keep", keep)
    if tags is not UNCHANGED:
        changes["tags"] = json.dumps(_tags(tags), ensure_ascii=False)
    if note is not UNCHANGED:
        changes["note"] = _text("note", note, LONGEST_NOTE)
    changes["rater"] = _text("rater", rater, LONGEST_NAME)
    changes["rated_at"] = history.clock.now()
    its = {"service": service, "account": account, "job_id": _job_id("job_id", job_id)}
    nothing = {"rating": None, "keep": False, "tags": "[]", "note": ""}
    with history.database.writing() as db:
        upsert(db, judged, [nothing | changes | its], update=changes)
        query = _JUDGEMENTS.where(*_owned(judged, service, account))
        return _judgement(db.execute(query.where(judged.c.job_id == job_id)).one())


def judgements(
    history: History,
    *,
    service: str,
    account: str,
    job_ids: Iterable[str] | None = None,
) -> list[Judgement]:
    """Return the judgements of these jobs, or of all; the latest one last."""
    query = _JUDGEMENTS.where(*_owned(judged, service, account))
    with history.database.reading() as db:
        if job_ids is None:
            return [_judgement(row) for row in db.execute(query)]
        found = [
            _judgement(row)
            for some in batches(dict.fromkeys(job_ids))
            for row in db.execute(query.where(judged.c.job_id.in_(some)))
        ]
    return sorted(found, key=lambda judgement: judgement.rated_at)


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
    """Record which of two outputs is better; each comparison counts.

    Raises:
        InputError: Both are the same job, or another value is not accepted; nothing was
            written.
    """
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
    with history.database.writing() as db:
        db.execute(insert(preferred), row)
    return found


def preferences(history: History, *, service: str, account: str) -> list[Preference]:
    """Return all comparisons of outputs, oldest first."""
    columns = preferred.c
    query = (
        select(columns.winner, columns.loser, columns.tie, columns.rater, columns.at)
        .where(*_owned(preferred, service, account))
        .order_by(columns.at, columns.winner, columns.loser)
    )
    with history.database.reading() as db:
        return [Preference(*row) for row in db.execute(query)]


_JUDGEMENTS = select(
    judged.c.job_id,
    judged.c.rating,
    judged.c.keep,
    judged.c.tags,
    judged.c.note,
    judged.c.rater,
    judged.c.rated_at,
).order_by(judged.c.rated_at, judged.c.job_id)


def _owned(table: Table, service: str, account: str) -> tuple[ColumnElement[bool], ...]:
    return (table.c.service == service, table.c.account == account)


def _judgement(row: Any) -> Judgement:
    job_id, rating, keep, tags, note, rater, rated_at = row
    return Judgement(
        job_id, rating, keep, tuple(json.loads(tags)), note, rater, rated_at
    )


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


def _tags(tags: object) -> list[str]:
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
    return list(found)


def _text(field: str, text: object, longest: int) -> str:
    if not isinstance(text, str) or len(text) > longest:
        accepted = f"a text of up to {longest:,} characters"
        raise InputError(field, got=text, accepted=accepted)
    return text


def _job_id(field: str, job_id: object) -> str:
    if not isinstance(job_id, str) or not job_id:
        raise InputError(field, got=job_id, accepted="a job id: media_<uuid>")
    return job_id


# -- scores ---------------------------------------------------------------------------


def save_scores(history: History, found: Iterable[ScoreLike]) -> None:
    """Save scores, all or none; the last one of an output, scorer and version wins."""
    now = history.clock.now()
    rows = [
        {
            "sha256": score.sha256,
            "scorer": score.scorer,
            "version": score.version,
            "numbers": _numbers(score.values),
            "error": score.error,
            "scored_at": now,
        }
        for score in found
    ]
    with history.database.writing() as db:
        upsert(db, scored, rows, update=("numbers", "error", "scored_at"))


def scores(
    history: History, sha256s: Iterable[str], scorer: str, version: str
) -> dict[str, dict[str, float]]:
    """Return the values of a scorer, by the hash of the output.

    Outputs whose scorer failed are left out: they are due again.
    """
    query = select(scored.c.sha256, scored.c.numbers).where(
        scored.c.scorer == scorer,
        scored.c.version == version,
        scored.c.numbers.is_not(None),
    )
    with history.database.reading() as db:
        return {
            sha256: json.loads(numbers)
            for some in batches(dict.fromkeys(sha256s))
            for sha256, numbers in db.execute(query.where(scored.c.sha256.in_(some)))
        }


def save_sha256s(
    history: History, found: Mapping[str, str], *, service: str, account: str
) -> None:
    """Save the hashes of outputs by job, so that they are not fetched again."""
    owner = {"service": service, "account": account}
    rows = [{**owner, "job_id": job, "sha256": sha} for job, sha in found.items()]
    with history.database.writing() as db:
        upsert(db, hashes, rows, update=("sha256",))


def sha256s(
    history: History, job_ids: Iterable[str], *, service: str, account: str
) -> dict[str, str]:
    """Return the known hashes of outputs, in hex, by job id."""
    query = select(hashes.c.job_id, hashes.c.sha256).where(
        *_owned(hashes, service, account)
    )
    with history.database.reading() as db:
        return {
            job_id: sha256
            for some in batches(dict.fromkeys(job_ids))
            for job_id, sha256 in db.execute(query.where(hashes.c.job_id.in_(some)))
        }


def _numbers(values: Mapping[str, float] | None) -> str | None:
    if values is None:
        return None
    return json.dumps({name: float(value) for name, value in values.items()})


# -- takes and lineage ----------------------------------------------------------------


def owned_draws(history: History, *, service: str, function: str) -> list[OwnedDraw]:
    """Return the newest attempt at each take of all requests to a function.

    One draw for each take, whatever its outcome; oldest first.
    """
    later = entries.alias()
    has_later = exists().where(
        later.c.asked_key == entries.c.asked_key,
        later.c.take == entries.c.take,
        later.c.attempt > entries.c.attempt,
    )
    query = (
        select(*(entries.c[name] for name in OwnedDraw._fields))
        .where(entries.c.service == service, entries.c.function == function)
        .where(~has_later)
        .order_by(entries.c.number)
    )
    with history.database.reading() as db:
        return [OwnedDraw._make(row) for row in db.execute(query)]


def parents(
    history: History, job_ids: Iterable[str]
) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the jobs whose outputs are the inputs of jobs.

    Returns:
        The field and the parent's job id of each input that is a job's output, by job;
        jobs without such inputs are left out.
    """
    query = (
        select(entries.c.job_id, parent_jobs.c.field, parent_jobs.c.job_id)
        .join(parent_jobs, parent_jobs.c.draw_key == entries.c.draw_key)
        .order_by(entries.c.job_id, parent_jobs.c.field)
    )
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    with history.database.reading() as db:
        for some in batches(dict.fromkeys(job_ids)):
            for row in db.execute(query.where(entries.c.job_id.in_(some))):
                job_id, field, parent = tuple(row)
                found[job_id] = (*found.get(job_id, ()), (field, parent))
    return found


def children(history: History, sweep: str) -> list[tuple[str, Entry]]:
    """Return the jobs of a sweep that have parents, oldest first.

    Returns:
        The parent of each job, one of several, and the entry of the job.
    """
    query = (
        whole_entries()
        .add_columns(parent_jobs.c.job_id.label("parent_job_id"))
        .join(parent_jobs, parent_jobs.c.draw_key == entries.c.draw_key)
        .where(entries.c.sweep == sweep, entries.c.job_id.is_not(None))
        .order_by(entries.c.number)
    )
    with history.database.reading() as db:
        found = {row.job_id: (row[-1], entry_of(row)) for row in db.execute(query)}
    return list(found.values())


# -- forms ----------------------------------------------------------------------------
# An origin is an opaque text that identifies a form in one notebook.


def asked_from(
    history: History, origin: str, *, limit: int, after: int = 0
) -> list[Entry]:
    """Return the entries above a number that a form requested, newest first."""
    query = (
        whole_entries()
        .join(origins, origins.c.key == entries.c.key)
        .where(origins.c.origin == origin, entries.c.number > after)
        .order_by(entries.c.number.desc())
        .limit(limit)
    )
    with history.database.reading() as db:
        return [entry_of(row) for row in db.execute(query)]


def note_origin(history: History, key: str, origin: str) -> None:
    """Record that a form, too, requests an existing entry."""
    with history.database.writing() as db:
        upsert(db, origins, [{"origin": origin, "key": key}])


def draft(history: History, origin: str) -> str | None:
    """Return the last draft of a form; None without one."""
    query = select(drafts.c.content).where(drafts.c.origin == origin)
    with history.database.reading() as db:
        found: str | None = db.execute(query).scalar()
    return found


def save_draft(history: History, origin: str, content: str) -> None:
    """Save the draft of a form, a JSON object; delete drafts that are a year old."""
    now = history.clock.now()
    row = {"origin": origin, "content": content, "saved_at": now}
    with history.database.writing() as db:
        upsert(db, drafts, [row], update=("content", "saved_at"))
        db.execute(delete(drafts).where(drafts.c.saved_at < now - DRAFTS_KEPT_FOR))
