"""Taking in jobs that the service knows and the history lost."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from mediakit.clock import Clock
from mediakit.frozen import changed
from mediakit.history.admission import totals
from mediakit.history.entries import queries
from mediakit.history.entries.entries import (
    Entry,
    Submission,
    fresh_entry,
    plain_values,
)
from mediakit.history.entries.merging import News, news_of_job, news_of_rebuilt
from mediakit.history.entries.search_text import search_text
from mediakit.history.storage.database import Database, lock_table
from mediakit.history.storage.file_connection import Connected
from mediakit.records import Job

REBUILT = "rebuilt-"


def rebuilt_key(job_id: str) -> str:
    """Return the key of a job's entry while nobody knows what was sent for it."""
    return f"{REBUILT}{job_id}"


class Adopting:
    """The part of the history that is rebuilt."""

    _database: Database
    _clock: Clock

    def adopt(
        self,
        submission: Submission,
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
            submission: The request. Its key starts with "rebuilt-" where what was
                sent is not known.
            job: What the service says of the job.
            created_at: About when it was asked for.
            submitted_at: When it was submitted; None when nobody knows.
            finished_at: When it ended; None when nobody knows.
        """
        with self._rebuilding() as connection:
            _join(connection, submission.key, job.id)
            known = connection.execute(queries.BY_JOB, {"job_id": job.id}).first()
            if known is not None:
                entry = queries.entry_of(known)
                return self._merged(connection, entry.key, submission, job)
            key = _claim(connection, submission, job, created_at)
            times = {"submitted_at": submitted_at, "finished_at": finished_at}
            return self._merged(connection, key, submission, job, times)

    def join_rebuilt(self, key: str, job_id: str) -> None:
        """Make one entry of a request and of its job that was rebuilt without it.

        Otherwise the job would be charged twice here. Without a rebuilt entry, or when
        the request has a job already, nothing changes.

        Args:
            key: The idempotency key of the request.
            job_id: The job that it was answered with.
        """
        with self._rebuilding() as connection:
            _join(connection, key, job_id)

    @contextmanager
    def _rebuilding(self) -> Iterator[Connected]:
        """Give a connection that writes while nobody else changes an entry.

        A submit that is answered meanwhile waits, and then finds what was rebuilt. It
        is the rare one of the two that takes the lock.
        """
        with self._database.transaction() as connection:
            lock_table(connection, "mediakit_entries")
            yield connection

    def _merged(
        self,
        connection: Connected,
        key: str,
        submission: Submission,
        job: Job,
        times: News | None = None,
    ) -> Entry:
        row = connection.execute(queries.WITH_REVISION, {"key": key}).one()
        entry = queries.entry_of(row)
        news = news_of_job(entry, job, now=self._clock.now()) | (times or {})
        if _tells_the_request(connection, entry, submission):
            news |= plain_values(submission)
        return _learned(connection, entry, row.revision, news) if news else entry


def _learned(connection: Connected, entry: Entry, revision: int, news: News) -> Entry:
    after = changed(entry, news)
    its = {"its_number": entry.number, "its_revision": revision}
    news = news | {"search": search_text(after)}
    connection.execute(queries.change(tuple(sorted(news))), news | its)
    totals.add(connection, totals.changes(entry, after))
    return after


def _join(connection: Connected, key: str, job_id: str) -> None:
    its_key = {"rebuilt_key": rebuilt_key(job_id)}
    found = connection.execute(queries.REBUILT, its_key).first()
    row = connection.execute(queries.WITH_REVISION, {"key": key}).first()
    if found is None or row is None or row.job_id is not None:
        return
    rebuilt, entry = queries.entry_of(found), queries.entry_of(row)
    connection.execute(queries.REMOVE, {"its_number": rebuilt.number})
    totals.add(connection, totals.without(rebuilt))
    _learned(connection, entry, row.revision, news_of_rebuilt(entry, rebuilt))


def _claim(
    connection: Connected, submission: Submission, job: Job, created_at: datetime
) -> str:
    """Write the request down, or find it unanswered; return the key of its entry."""
    statement = queries.claim(connection.dialect.name)
    row = connection.execute(
        statement, queries.claim_values(submission, created_at)
    ).first()
    if row is not None:
        entry = fresh_entry(submission, number=row.number, created_at=row.created_at)
        totals.add(connection, totals.of_entry(entry))
    else:
        row = connection.execute(queries.BY_KEY, {"key": submission.key}).one()
        if queries.entry_of(row).job_id is not None:
            # One request, two jobs: each was paid for, and each is kept.
            name = rebuilt_key(job.id)
            plain = replace(submission, key=name, draw_key=name)
            return _claim(connection, plain, job, created_at)
    return submission.key


def _tells_the_request(
    connection: Connected, entry: Entry, submission: Submission
) -> bool:
    if not entry.key.startswith(REBUILT) or submission.key.startswith(REBUILT):
        return False
    return connection.execute(queries.BY_KEY, {"key": submission.key}).first() is None
