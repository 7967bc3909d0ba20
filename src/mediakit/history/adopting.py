"""Taking in jobs that the service knows and the history lost."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from mediakit.clock import Clock
from mediakit.frozen import changed
from mediakit.history import queries, totals
from mediakit.history.database import Database
from mediakit.history.entries import (
    Entry,
    EntryState,
    Intent,
    fresh_entry,
    plain_values,
)
from mediakit.history.file_connection import Connected
from mediakit.history.locks import lock
from mediakit.history.merging import News, news_of_job
from mediakit.history.searching import SEARCHED, searchable
from mediakit.records import Job

REBUILT = "rebuilt-"


class Adopting:
    """The part of the history that is rebuilt."""

    _database: Database
    _clock: Clock

    def adopt(
        self,
        intent: Intent,
        job: Job,
        *,
        created_at: datetime,
        submitted_at: datetime | None,
        finished_at: datetime | None,
    ) -> Entry:
        """Take in a job with the request it was made for, in one transaction.

        Nothing is left in between that a later start would send. A job that is there
        already stays one entry: it learns what the record says, and its request where
        that was not known.

        Args:
            intent: The request. Its key starts with "rebuilt-" where what was sent is
                not known.
            job: What the service says of the job.
            created_at: About when it was asked for.
            submitted_at: When it was submitted; None when nobody knows.
            finished_at: When it ended; None when nobody knows.
        """
        with self._database.transaction() as connection:
            lock(connection, "job", job.id)
            known = connection.execute(queries.BY_JOB, {"job_id": job.id}).first()
            if known is not None:
                entry = queries.entry_of(known)
                return self._merged(connection, entry.key, intent, job)
            key = _claim(connection, intent, job, created_at)
            times = {"submitted_at": submitted_at, "finished_at": finished_at}
            return self._merged(connection, key, intent, job, times)

    def _merged(
        self,
        connection: Connected,
        key: str,
        intent: Intent,
        job: Job,
        times: News | None = None,
    ) -> Entry:
        query = queries.WITH_REVISION.with_for_update()
        row = connection.execute(query, {"key": key}).one()
        entry = queries.entry_of(row)
        news = news_of_job(entry, job, now=self._clock.now()) | (times or {})
        if _tells_the_request(connection, entry, intent):
            news |= plain_values(intent)
        if not news:
            return entry
        after = changed(entry, news)
        its = {"its_number": entry.number, "its_revision": row.revision}
        news = news | {"search": search_text(after)}
        connection.execute(queries.change(tuple(sorted(news))), news | its)
        totals.add(connection, totals.changes(entry, after))
        return after


def _claim(
    connection: Connected, intent: Intent, job: Job, created_at: datetime
) -> str:
    """Write the request down, or find it unanswered; return the key of its entry."""
    statement = queries.claim(connection.dialect.name)
    row = connection.execute(statement, claim_values(intent, created_at)).first()
    if row is not None:
        entry = fresh_entry(intent, number=row.number, created_at=row.created_at)
        totals.add(connection, totals.of_entry(entry))
    else:
        row = connection.execute(queries.BY_KEY, {"key": intent.key}).one()
        if queries.entry_of(row).job_id is not None:
            # One request, two jobs: each was paid for, and each is kept.
            name = f"{REBUILT}{job.id}"
            plain = replace(intent, key=name, draw_key=name)
            return _claim(connection, plain, job, created_at)
    return intent.key


def _tells_the_request(connection: Connected, entry: Entry, intent: Intent) -> bool:
    if not entry.key.startswith(REBUILT) or intent.key.startswith(REBUILT):
        return False
    return connection.execute(queries.BY_KEY, {"key": intent.key}).first() is None


def claim_values(intent: Intent, created_at: datetime) -> dict[str, Any]:
    """Return what is written of an intent, for `queries.claim`."""
    values = plain_values(intent)
    search = searchable([intent.prompt, intent.kind, intent.function, intent.project])
    news = {"state": EntryState.INTENT, "search": search, "created_at": created_at}
    return values | news


def search_text(entry: Entry) -> str:
    """Return what is kept of an entry to be searched."""
    return searchable(getattr(entry, name) for name in SEARCHED)
