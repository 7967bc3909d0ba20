"""Adds entries for jobs that the service has and the history lost."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from mediakit.clock import Clock
from mediakit.history.admission import holds
from mediakit.history.entries import queries
from mediakit.history.entries.entry import (
    Entry,
    EntryState,
    Submission,
    attempt_of,
    fresh_entry,
    plain_values,
)
from mediakit.history.entries.entry_changes import (
    Changes,
    changes_from_job,
    changes_from_rebuilt,
)
from mediakit.history.entries.fast_replace import changed
from mediakit.history.entries.search_text import search_text
from mediakit.history.storage.database import Database, lock_table
from mediakit.history.storage.file_connection import Connected
from mediakit.records import Job

REBUILT = "rebuilt-"


def rebuilt_key(job_id: str) -> str:
    """Return the key of a job's entry while its request is unknown."""
    return f"{REBUILT}{job_id}"


class RebuiltEntries:
    """The part of the history that rebuilds entries."""

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
        """Add a job and its request, in one transaction.

        So no unanswered entry is left that a later start would send. A job that has
        an entry keeps that one, which gets the values of the record, and the request
        if it was unknown.

        Args:
            submission: The request. Its key starts with "rebuilt-" if the request is
                unknown.
            job: The record of the job.
            created_at: Approximately when the job was requested.
            submitted_at: When it was submitted; None if unknown.
            finished_at: When it ended; None if unknown.
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
        """Merge the entry of a request with the rebuilt entry of its job.

        Otherwise the history would count the charge twice. Without a rebuilt entry, or
        if the request already has a job, nothing changes.

        Args:
            key: The idempotency key of the request.
            job_id: The job in the response.
        """
        with self._rebuilding() as connection:
            _join(connection, key, job_id)

    @contextmanager
    def _rebuilding(self) -> Iterator[Connected]:
        """Yield a connection that writes while no other changes an entry.

        A submission that is answered meanwhile waits, and then finds the rebuilt
        entry. Rebuilding takes the lock because it is the rarer of the two.
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
        times: Changes | None = None,
    ) -> Entry:
        row = connection.execute(queries.WITH_REVISION, {"key": key}).one()
        entry = queries.entry_of(row)
        changes = changes_from_job(entry, job, now=self._clock.now()) | (times or {})
        if _completes_the_request(connection, entry, submission):
            changes |= plain_values(submission)
        return _updated(connection, entry, row.revision, changes) if changes else entry


def _updated(
    connection: Connected, entry: Entry, revision: int, changes: Changes
) -> Entry:
    after = changed(entry, changes)
    its = {"its_number": entry.number, "its_revision": revision}
    changes = changes | {"search": search_text(after)}
    connection.execute(queries.change(tuple(sorted(changes))), changes | its)
    holds.add_to_totals(connection, holds.changes(entry, after))
    return after


def _join(connection: Connected, key: str, job_id: str) -> None:
    its_key = {"rebuilt_key": rebuilt_key(job_id)}
    found = connection.execute(queries.REBUILT, its_key).first()
    row = connection.execute(queries.WITH_REVISION, {"key": key}).first()
    if found is None or row is None or row.job_id is not None:
        return
    rebuilt, entry = queries.entry_of(found), queries.entry_of(row)
    connection.execute(queries.REMOVE, {"its_number": rebuilt.number})
    holds.add_to_totals(connection, holds.without(rebuilt))
    _updated(connection, entry, row.revision, changes_from_rebuilt(entry, rebuilt))


def _claim(
    connection: Connected, submission: Submission, job: Job, created_at: datetime
) -> str:
    """Write the request, or find it unanswered; return the key of its entry."""
    known = _known(connection, submission)
    if known is not None and known.state is not EntryState.REFUSED:
        if known.job_id is None and known.key == submission.key:
            return known.key
        # One request has two jobs, or may have: both are charged, so both are kept.
        name = rebuilt_key(job.id)
        plain = replace(submission, key=name, draw_key=name, asked_key=name)
        return _claim(connection, plain, job, created_at)
    if known is not None:
        submission = replace(submission, asked_key=known.asked_key)
    statement = queries.claim(connection.dialect.name)
    row = connection.execute(
        statement, queries.claim_values(submission, created_at)
    ).one()
    entry = fresh_entry(submission, number=row.number, created_at=row.created_at)
    holds.add_to_totals(connection, holds.of_entry(entry))
    return submission.key


def _known(connection: Connected, submission: Submission) -> Entry | None:
    """Return the entry with the key of a request, or of the same attempt at it."""
    its_key = {"key": submission.key}
    row = connection.execute(queries.BY_KEY, its_key).first()
    if row is None:
        row = connection.execute(queries.BY_ATTEMPT, attempt_of(submission)).first()
    return None if row is None else queries.entry_of(row)


def _completes_the_request(
    connection: Connected, entry: Entry, submission: Submission
) -> bool:
    if not entry.key.startswith(REBUILT) or submission.key.startswith(REBUILT):
        return False
    return _known(connection, submission) is None
