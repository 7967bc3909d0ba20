"""Finds entries: by job or key, unanswered ones, and jobs that are not settled."""

from datetime import datetime
from statistics import median
from typing import Any

from sqlalchemy import Select

from mediakit.history.entries import queries
from mediakit.history.entries.entry import Entry
from mediakit.history.storage.database import Database, Values


class Lookups:
    """The part of the history that finds entries."""

    _database: Database

    def find(self, job_id: str) -> Entry | None:
        """Return the entry of a job; None when it is not in this history."""
        return self._first(queries.BY_JOB, {"job_id": job_id})

    def find_key(self, key: str) -> Entry | None:
        """Return the entry of an idempotency key; None when it was never claimed."""
        return self._first(queries.BY_KEY, {"key": key})

    def newest(self, *, asked_key: str, draw_key: str, take: int) -> Entry | None:
        """Return the latest attempt at one take of a request; None without one.

        Args:
            asked_key: The content as the user gave it.
            draw_key: The exact content.
            take: The number of the draw.
        """
        draw = {"asked_key": asked_key, "draw_key": draw_key}
        return self._first(queries.LATEST_ATTEMPT, {**draw, "take": take})

    def last_take(self, *, asked_key: str, draw_key: str) -> int:
        """Return the highest take of a request; 0 if it was never submitted."""
        draw = {"asked_key": asked_key, "draw_key": draw_key}
        return self._database.whole(queries.LAST_TAKE, draw)

    def unanswered_entries(self, *, service: str, account: str) -> list[Entry]:
        """Return the entries that are not answered yet, oldest first."""
        owner = {"service": service, "account": account}
        return self._all(queries.UNANSWERED, owner)

    def unsettled(self, *, service: str) -> list[Entry]:
        """Return the jobs without a recorded charge, oldest first (spec 2.2).

        They include failed jobs until their 0 is settled, and jobs that the service
        does not know at the moment, but not those that it surely no longer has. Any
        API key of an organization can read its jobs, so those of all accounts are
        included.
        """
        return self._all(queries.UNSETTLED, {"service": service})

    def settled_total_micro_usd(
        self,
        since: datetime | None = None,
        /,
        *,
        service: str | None = None,
        account: str | None = None,
    ) -> int:
        """Return the sum of all settled charges, in micro-USD (spec 2.2).

        Args:
            since: Only charges first seen settled at this instant or later.
            service: Only of this service.
            account: Only of this account.
        """
        return self._database.whole(queries.settled(service, account, since))

    def usual_runtime_s(
        self, *, service: str, kind: str, function: str
    ) -> float | None:
        """Return the median seconds of a function's latest completed jobs.

        None without completed jobs. Time in the queue counts: users wait for it, too.
        """
        values = {"service": service, "kind": kind, "function": function}
        seconds = [
            (row.finished_at - row.submitted_at).total_seconds()
            for row in self._database.rows(queries.RUNTIMES, values)
            if row.finished_at and row.submitted_at
        ]
        return median(seconds) if seconds else None

    def _first(self, query: Select[Any], values: Values) -> Entry | None:
        row = self._database.first(query, values)
        return None if row is None else queries.entry_of(row)

    def _all(self, query: Select[Any], values: Values) -> list[Entry]:
        return [queries.entry_of(row) for row in self._database.rows(query, values)]
