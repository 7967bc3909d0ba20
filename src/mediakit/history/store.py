"""The history: written before anything is sent, read whenever anything is asked."""

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import Connection, Select, select, update

from mediakit.clock import Clock, SystemClock
from mediakit.errors import InputError, NotFoundError
from mediakit.history import queries
from mediakit.history.database import Database
from mediakit.history.entries import Entry, Intent, with_job, with_refusal
from mediakit.history.tables import entries
from mediakit.history.uploads import Uploads
from mediakit.records import Job

if TYPE_CHECKING:
    import pandas as pd


class History(Uploads):
    """Every submit of this user, committed before it is sent.

    Threads and processes may use one database at the same time. Secrets have no
    place in it: an account is named by whatever opaque text the caller chooses.

    Args:
        url: A file's path, which means SQLite, or a database URL. The parent folder
            is made where it is missing.
        clock: What tells the time of each change; the system's by default.

    Raises:
        InputError: The database cannot be opened, or a newer mediakit wrote it.
    """

    def __init__(self, url: str | Path, *, clock: Clock | None = None) -> None:
        super().__init__(Database(url), clock or SystemClock())

    def __repr__(self) -> str:
        return f"History({self._database.name!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database's connections; closing twice does nothing more."""
        self._database.close()

    # -- writing ------------------------------------------------------------------

    def claim(self, intent: Intent) -> tuple[Entry, bool]:
        """Write down what is about to be sent; committed when this returns.

        One statement decides between all threads and processes. A key that was
        refused bound nothing (spec 4.3), so it may be claimed again.

        Returns:
            The entry, and whether it was written now. False: the key was there
            already, and the entry is what is known of it.
        """
        statement = queries.claim(intent, self._clock.now())
        with self._database.transaction(writes=True) as connection:
            row = connection.execute(statement).first()
            if row is not None:
                return queries.entry_of(row), True
            return self._locked(connection, intent.key), False

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
        return self._change(key, lambda entry: with_job(entry, job, now=now))

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
            key, lambda entry: with_refusal(entry, code=code, message=message)
        )

    def mark_gone(self, job_id: str) -> None:
        """Note that the service does not know this job any more; its hold ends."""
        still_known = (entries.c.job_id == job_id) & entries.c.gone_at.is_(None)
        gone = update(entries).where(still_known).values(gone_at=self._clock.now())
        with self._database.transaction(writes=True) as connection:
            connection.execute(gone)

    def _change(self, key: str, change: Callable[[Entry], Entry]) -> Entry:
        known = self.find_key(key)
        # Most reads of a job say nothing new: then no write lock is taken.
        if known is not None and change(known) == known:
            return known
        with self._database.transaction(writes=True) as connection:
            before = self._locked(connection, key)
            after = change(before)
            new = {k: v for k, v in vars(after).items() if v != vars(before)[k]}
            if new:
                row = entries.c.number == before.number
                connection.execute(update(entries).where(row).values(new))
            return after

    def _locked(self, connection: Connection, key: str) -> Entry:
        query = select(entries).where(entries.c.key == key).with_for_update()
        row = connection.execute(query).first()
        if row is None:
            raise NotFoundError(
                f"The history has no entry with the key {key!r}: an intent is claimed "
                "before its job is recorded. Nothing was changed."
            )
        return queries.entry_of(row)

    # -- reading ------------------------------------------------------------------

    def find(self, job_id: str) -> Entry | None:
        """Return the entry of a job; None when it is not in this history."""
        return self._first(queries.newest_first().where(entries.c.job_id == job_id))

    def find_key(self, key: str) -> Entry | None:
        """Return the entry of an idempotency key; None when it was never claimed."""
        return self._first(select(entries).where(entries.c.key == key))

    def newest(
        self, *, service: str, account: str, draw_key: str, take: int
    ) -> Entry | None:
        """Return the latest attempt at one take of a content; None without any."""
        return self._first(queries.attempts(service, account, draw_key, take))

    def last_take(self, *, service: str, account: str, draw_key: str) -> int:
        """Return the highest take of a content; 0 when it was never asked for."""
        return self._database.whole(queries.last_take(service, account, draw_key))

    def open_intents(self, *, service: str, account: str) -> list[Entry]:
        """Return what was written down and not answered, oldest first."""
        return self._all(queries.open_intents(service, account))

    def unsettled(self, *, service: str, account: str) -> list[Entry]:
        """Return the jobs whose charge is not recorded, oldest first (spec 2.2).

        Failed jobs are among them until their 0 is settled; jobs that the service
        does not know any more are not.
        """
        return self._all(queries.unsettled(service, account))

    def reserved_micro_usd(self, *, service: str, account: str) -> int:
        """Return what is held for submits that may still be charged, in micro-USD.

        Settled, refused, failed and vanished ones hold nothing (spec 7.3).
        """
        return self._database.whole(queries.reserved_micro_usd(service, account))

    def settled_total_micro_usd(
        self, *, service: str | None = None, account: str | None = None
    ) -> int:
        """Return the sum of all settled charges, in micro-USD (spec 2.2)."""
        return self._database.whole(queries.settled_micro_usd(service, account))

    def usual_runtime_s(self, *, service: str, function: str) -> float | None:
        """Return the median seconds of a function's latest completed jobs.

        None before the first. Queueing counts, since it is what one waits for.
        """
        rows = self._database.rows(queries.runtimes(service, function))
        seconds = [
            (row.finished_at - row.submitted_at).total_seconds()
            for row in rows
            if row.finished_at and row.submitted_at
        ]
        return median(seconds) if seconds else None

    def page(
        self,
        *,
        limit: int = 50,
        before: Entry | None = None,
        service: str | None = None,
        account: str | None = None,
    ) -> list[Entry]:
        """Return entries, newest first.

        Args:
            limit: At most so many, from 1.
            before: The last entry of the page before; None for the first page.
            service: Only of this service.
            account: Only of this account.

        Raises:
            InputError: The limit is below 1.
        """
        if limit < 1:
            raise InputError("limit", got=limit, accepted="a whole number from 1")
        query = queries.newest_first().where(queries.owned_by(service, account))
        if before is not None:
            query = query.where(entries.c.number < before.number)
        return self._all(query.limit(limit))

    def last_body(
        self, *, kind: str, service: str | None = None, account: str | None = None
    ) -> dict[str, Any] | None:
        """Return the newest body of a function, parsed; None before the first."""
        query = queries.newest_first().where(entries.c.kind == kind)
        entry = self._first(query.where(queries.owned_by(service, account)))
        if entry is None:
            return None
        body: dict[str, Any] = json.loads(entry.body)
        return body

    def frame(
        self, *, service: str | None = None, account: str | None = None
    ) -> "pd.DataFrame":
        """Return the whole history as a frame.

        Returns:
            One row per submit, newest first; the same dtypes without any row. Money
            is Int64 micro-USD with <NA> for unknown; instants are datetime64[us,
            UTC]; closed sets are categories.
        """
        from mediakit.history.frame import entries_frame, frame_query

        query = frame_query().where(queries.owned_by(service, account))
        return entries_frame(self._database.rows(query))

    def _first(self, query: Select[Any]) -> Entry | None:
        row = self._database.first(query)
        return None if row is None else queries.entry_of(row)

    def _all(self, query: Select[Any]) -> list[Entry]:
        return [queries.entry_of(row) for row in self._database.rows(query)]
