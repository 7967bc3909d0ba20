"""Recording: what is reported of a job changes its entry and the totals at once."""

from collections.abc import Callable

from mediakit.errors import NotFoundError
from mediakit.frozen import changed
from mediakit.history.admission import totals
from mediakit.history.admission.adopting import Adopting, rebuilt_key
from mediakit.history.entries import queries
from mediakit.history.entries.entries import Entry
from mediakit.history.entries.merging import News, news_of_job, news_of_refusal
from mediakit.history.entries.reading import Reading
from mediakit.history.entries.search_text import SEARCHED, search_text
from mediakit.history.storage.database import Database
from mediakit.records import Job


class Recording(Adopting, Reading):
    """The part of the history that learns what became of a submission."""

    def record(self, job: Job) -> Entry | None:
        """Note what a record says of its job; None when it is not in this history.

        See `record_job`.
        """
        row = self._database.first(queries.BY_JOB, {"job_id": job.id})
        if row is None:
            return None
        now, read = self._clock.now(), (queries.entry_of(row), int(row.revision))
        return self._change(
            read[0].key, lambda entry: news_of_job(entry, job, now=now), read
        )

    def record_job(self, key: str, job: Job) -> Entry:
        """Note what a record says of the job on this key, whenever it was read.

        An entry never goes backwards: records may come late, twice or in any order.
        The first settled charge is kept for good (spec 2.2); a later, different
        amount is kept beside it as `restated_charge_micro_usd`. Prompt and body stay
        when the media is erased.

        Raises:
            NotFoundError: No entry has this key.
            ServiceError: The entry already has another job.
        """
        now = self._clock.now()
        return self._change(key, lambda entry: news_of_job(entry, job, now=now))

    def record_refusal(self, key: str, *, code: str, message: str) -> Entry:
        """Note that the submit was answered without a job; its hold ends (spec 7.1).

        An entry that already has a job stays as it is.

        Args:
            key: The idempotency key.
            code: A short name of the reason, such as the HTTP status.
            message: The service's words.

        Raises:
            NotFoundError: No entry has this key.
        """
        return self._change(
            key, lambda entry: news_of_refusal(entry, code=code, message=message)
        )

    def mark_gone(self, job_id: str) -> None:
        """Note that the service does not know this job any more; its hold ends."""
        entry, now = self.find(job_id), self._clock.now()
        if entry is not None:
            self._change(entry.key, lambda e: {} if e.gone_at else {"gone_at": now})

    def forget(self, job_id: str) -> None:
        """Forget the prompt, the body and the error's words of a job.

        Its row stays, with its charge. Further takes of the same request keep theirs.
        """
        entry = self.find(job_id)
        if entry is not None:
            self._change(entry.key, lambda known: _forgotten(known))

    def _change(
        self,
        key: str,
        news_of: Callable[[Entry], News],
        read: tuple[Entry, int] | None = None,
    ) -> Entry:
        """Write what is new of an entry; `read` is the entry where it was just read."""
        while True:
            entry, revision = read or with_revision(self._database, key)
            read = None
            news = news_of(entry)
            if not news:
                # Most reads of a job say nothing new: then no write lock is taken.
                return entry
            after = changed(entry, news)
            if self._write(entry, after, news, revision):
                return after
            # Others have changed the entry since it was read.
            if "job_id" in news:
                self.join_rebuilt(key, news["job_id"])

    def _write(self, before: Entry, after: Entry, news: News, revision: int) -> bool:
        """Write a change; False where somebody else has changed the entry.

        And where its job is told for the first time, but was rebuilt before.
        """
        if not news.keys().isdisjoint(SEARCHED):
            news = news | {"search": search_text(after)}
        values = news | {"its_number": after.number, "its_revision": revision}
        change = queries.change
        if "job_id" in news:
            change = queries.begin
            values["rebuilt_key"] = rebuilt_key(news["job_id"])
        statement = change(tuple(sorted(news)))
        added = totals.changes(before, after)
        if not added:
            return self._database.write(statement, values) > 0
        with self._database.transaction() as connection:
            written: int = connection.execute(statement, values).rowcount
            if written:
                totals.add(connection, added)
        return written > 0


def with_revision(database: Database, key: str) -> tuple[Entry, int]:
    """Return an entry and how often it changed, for `queries.change`.

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


def _forgotten(entry: Entry) -> News:
    blank: News = {"prompt": None, "body": b"{}", "error_message": None}
    return {name: to for name, to in blank.items() if getattr(entry, name) != to}
