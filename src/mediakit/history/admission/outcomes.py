"""Records the outcome of a submission: its job, its charge or its refusal."""

from collections.abc import Callable
from datetime import datetime, timedelta

from mediakit.errors import NotFoundError, ServiceError
from mediakit.history.admission import holds
from mediakit.history.admission.rebuilt_entries import RebuiltEntries
from mediakit.history.entries import queries
from mediakit.history.entries.entry import Entry, EntryState
from mediakit.history.entries.entry_changes import (
    Changes,
    changes_from_job,
    changes_from_refusal,
)
from mediakit.history.entries.fast_replace import changed
from mediakit.history.entries.lookups import Lookups
from mediakit.history.entries.search_text import SEARCHED, search_text
from mediakit.history.storage.database import Database
from mediakit.records import Job

GONE_FOR_SURE = timedelta(days=1)
JOB_OF_ANOTHER = "job_of_another_request"


class Outcomes(RebuiltEntries, Lookups):
    """The part of the history that records the outcome of submissions."""

    def record(self, job: Job) -> Entry | None:
        """Record a job's state; return None if the job is not in this history.

        See `record_job`.
        """
        row = self._database.first(queries.BY_JOB, {"job_id": job.id})
        if row is None:
            return None
        now, read = self._clock.now(), (queries.entry_of(row), int(row.revision))
        return self._change(
            read[0].key, lambda entry: changes_from_job(entry, job, now=now), read
        )

    def record_job(self, key: str, job: Job) -> Entry:
        """Record the state of the job with this key, however old the record is.

        An entry never moves backwards: records can arrive late, twice or in any order.
        The first settled charge is permanent (spec 2.2); a later, different amount is
        stored as `restated_charge_micro_usd`. The prompt and the body stay when the
        media is erased.

        Raises:
            NotFoundError: No entry has this key.
            ServiceError: The entry already has another job, or another entry has this
                job.
        """
        now = self._clock.now()
        return self._change(key, lambda entry: changes_from_job(entry, job, now=now))

    def record_refusal(self, key: str, *, code: str, message: str) -> Entry:
        """Record a response without a job; its hold ends (spec 7.1).

        An entry that already has a job does not change.

        Args:
            key: The idempotency key.
            code: A short name of the reason, such as the HTTP status.
            message: The service's message.

        Raises:
            NotFoundError: No entry has this key.
        """
        return self._change(
            key, lambda entry: changes_from_refusal(entry, code=code, message=message)
        )

    def mark_gone(self, job_id: str, *, account: str | None = None) -> None:
        """Record that the service does not know this job.

        A gateway, or a replica that lags, may be wrong for a while, and the job may
        still be charged: its hold ends when this has lasted for a day.

        Args:
            job_id: The job.
            account: The account whose key got the 404. A job of another account does
                not change: it may belong to another organization. None for anybody.
        """
        entry, now = self.find(job_id), self._clock.now()
        if entry is not None and account in (None, entry.account):
            self._change(entry.key, lambda known: _gone(known, now))

    def forget(self, job_id: str) -> None:
        """Erase the prompt, the body and the error message of a job.

        Its row stays, with its charge. Other takes of the same request keep theirs.
        """
        entry = self.find(job_id)
        if entry is not None:
            self._change(entry.key, lambda known: _forgotten(known))

    def _change(
        self,
        key: str,
        changes_of: Callable[[Entry], Changes],
        read: tuple[Entry, int] | None = None,
    ) -> Entry:
        """Write the changes of an entry; `read` is the entry if it was just read."""
        while True:
            entry, revision = read or with_revision(self._database, key)
            read = None
            changes = changes_of(entry)
            if not changes:
                # Most records change nothing, so no write lock is taken.
                return entry
            after = changed(entry, changes)
            if self._write(entry, after, changes, revision):
                return after
            # The entry was changed concurrently, or another one has its job.
            if "job_id" in changes:
                self.join_rebuilt(key, changes["job_id"])
                self._refuse_job_of_another(key, changes["job_id"])

    def _refuse_job_of_another(self, key: str, job_id: str) -> None:
        """Refuse a request whose answer names the job of another request.

        A charge is recorded once for each job (spec 2.2).

        Raises:
            ServiceError: Another entry has this job.
        """
        owner = self.find(job_id)
        if owner is None or owner.key == key:
            return
        said = f"The service answered this request with {job_id}"
        self.record_refusal(key, code=JOB_OF_ANOTHER, message=f"{said}.")
        raise ServiceError(
            f"{said}, which is the job of another request in this history. It was "
            "sent, and the history keeps the job and its charge for the first request "
            "only. Ask the service which request the job is of.",
            job_id=job_id,
        )

    def _write(
        self, before: Entry, after: Entry, changes: Changes, revision: int
    ) -> bool:
        """Write a change; False if the entry was changed concurrently.

        Also False if the change names its job, and another entry has that.
        """
        if not changes.keys().isdisjoint(SEARCHED):
            changes = changes | {"search": search_text(after)}
        values = changes | {"its_number": after.number, "its_revision": revision}
        change = queries.change
        if "job_id" in changes:
            change = queries.begin
            values["its_job_id"] = changes["job_id"]
        statement = change(tuple(sorted(changes)))
        added = holds.changes(before, after)
        if not added:
            return self._database.write(statement, values) > 0
        with self._database.transaction() as connection:
            written: int = connection.execute(statement, values).rowcount
            if written:
                holds.add_to_totals(connection, added)
        return written > 0


def with_revision(database: Database, key: str) -> tuple[Entry, int]:
    """Return an entry and its revision, for `queries.change`.

    Raises:
        NotFoundError: No entry has this key.
    """
    row = database.first(queries.WITH_REVISION, {"key": key})
    if row is None:
        raise NotFoundError(
            f"The history has no entry with the key {key!r}: a submission is "
            "claimed before its job is recorded. Nothing was changed."
        )
    return queries.entry_of(row), int(row.revision)


def _gone(entry: Entry, now: datetime) -> Changes:
    if entry.gone_at is None:
        return {"gone_at": now}
    is_sure = entry.state in queries.AT_WORK and now - entry.gone_at >= GONE_FOR_SURE
    return {"state": EntryState.GONE} if is_sure else {}


def _forgotten(entry: Entry) -> Changes:
    blank: Changes = {"prompt": None, "body": b"{}", "error_message": None}
    return {name: to for name, to in blank.items() if getattr(entry, name) != to}
