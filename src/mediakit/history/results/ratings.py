"""Ratings of results, and which of two results people prefer."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from operator import index
from typing import Any, Final, Literal, SupportsIndex

from sqlalchemy import BindParameter, Table, bindparam, insert, select
from sqlalchemy.sql.dml import ReturningInsert

from mediakit.clock import Clock
from mediakit.errors import InputError
from mediakit.history.storage.database import Database, batches
from mediakit.history.storage.tables import insert_into, judgements, preferences


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


def _given(table: Table, name: str) -> BindParameter[Any]:
    return bindparam(f"its_{name}", type_=table.c[name].type)


def _of_owner(table: Table) -> tuple[Any, ...]:
    return tuple(
        table.c[name] == _given(table, name) for name in ("service", "account")
    )


_JUDGED = (
    judgements.c.job_id,
    judgements.c.rating,
    judgements.c.keep,
    judgements.c.tags,
    judgements.c.note,
    judgements.c.rater,
    judgements.c.rated_at,
)
_JUDGEMENTS = (
    select(*_JUDGED)
    .where(*_of_owner(judgements))
    .order_by(judgements.c.rated_at, judgements.c.job_id)
)
_JUDGEMENTS_OF = _JUDGEMENTS.where(
    judgements.c.job_id.in_(bindparam("its_jobs", expanding=True))
)
_NO_JUDGEMENT = {"rating": None, "keep": False, "tags": "[]", "note": ""}
_PREFER = insert(preferences).values(
    {column: _given(preferences, column.name) for column in preferences.c}
)
_PREFERENCES = (
    select(
        preferences.c.winner,
        preferences.c.loser,
        preferences.c.tie,
        preferences.c.rater,
        preferences.c.at,
    )
    .where(*_of_owner(preferences))
    .order_by(preferences.c.at, preferences.c.winner, preferences.c.loser)
)


@cache
def _judge(dialect: str, names: tuple[str, ...]) -> ReturningInsert[Any]:
    """Write a judgement; of an existing one, update only these fields."""
    values = {column: _given(judgements, column.name) for column in judgements.c}
    statement = insert_into(judgements, dialect).values(values)
    return statement.on_conflict_do_update(
        index_elements=list(judgements.primary_key),
        set_={name: statement.excluded[name] for name in names},
    ).returning(*_JUDGED)


class Ratings:
    """The part of the history that stores people's judgements of results."""

    _database: Database
    _clock: Clock

    def judge(
        self,
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

        Fields that are not given do not change.

        Args:
            service: The service of the job.
            account: The account of the job.
            job_id: The job.
            rating: From 1 to 5; None removes the rating.
            keep: Whether to keep it.
            tags: Short labels, which replace the existing ones.
            note: A text, which replaces the existing one; an empty text removes it.
            rater: Who judges it; empty if unknown.

        Returns:
            The complete judgement.

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
        its = {
            "service": service,
            "account": account,
            "job_id": _job_id("job_id", job_id),
            "rater": _text("rater", rater, LONGEST_NAME),
            "rated_at": self._clock.now(),
        }
        statement = _judge(self._database.dialect, (*changes, "rater", "rated_at"))
        with self._database.transaction() as connection:
            row = connection.execute(
                statement, _named(_NO_JUDGEMENT | changes | its)
            ).one()
            return _judgement(row)

    def judgements(
        self, *, service: str, account: str, job_ids: Iterable[str] | None = None
    ) -> list[Judgement]:
        """Return the judgements of jobs, the latest one last.

        Args:
            service: The service.
            account: The account.
            job_ids: Only these jobs; None for all.
        """
        owner = _named({"service": service, "account": account})
        if job_ids is None:
            return [_judgement(row) for row in self._database.rows(_JUDGEMENTS, owner)]
        found = [
            _judgement(row)
            for some in batches(dict.fromkeys(job_ids))
            for row in self._database.rows(_JUDGEMENTS_OF, owner | {"its_jobs": some})
        ]
        return sorted(found, key=lambda judgement: judgement.rated_at)

    def prefer(
        self,
        *,
        service: str,
        account: str,
        winner: str,
        loser: str,
        rater: str = "",
        tie: bool = False,
    ) -> Preference:
        """Record which of two outputs is better; each comparison counts.

        Args:
            service: The service of the jobs.
            account: The account of the jobs.
            winner: The job of the better one.
            loser: The job of the other.
            rater: Who compares them; empty if unknown.
            tie: Neither is better.

        Raises:
            InputError: Both are the same job, or another value is not accepted;
                nothing was written.
        """
        found = Preference(
            _job_id("winner", winner),
            _job_id("loser", loser),
            _flag("tie", tie),
            _text("rater", rater, LONGEST_NAME),
            self._clock.now(),
        )
        if winner == loser:
            raise InputError("loser", got=loser, accepted="another job than the winner")
        values = {"service": service, "account": account, **vars(found)}
        self._database.write(_PREFER, _named(values))
        return found

    def preferences(self, *, service: str, account: str) -> list[Preference]:
        """Return all comparisons of outputs, oldest first.

        Args:
            service: The service.
            account: The account.
        """
        owner = _named({"service": service, "account": account})
        rows = self._database.rows(_PREFERENCES, owner)
        return [Preference(*tuple(row)) for row in rows]


def _named(values: dict[str, Any]) -> dict[str, Any]:
    return {f"its_{name}": value for name, value in values.items()}


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
