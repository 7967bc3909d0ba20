"""Lists the history: pages, searches and frames."""

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement

from mediakit.errors import InputError
from mediakit.history.entries import queries
from mediakit.history.entries.entry import Entry
from mediakit.history.entries.search_text import words_of
from mediakit.history.entries.sort_order import Order, behind, check_order, in_order
from mediakit.history.storage.database import Database, batches
from mediakit.history.storage.tables import entries
from mediakit.records import JobStatus

if TYPE_CHECKING:
    import pandas as pd

LONGEST_SEARCH = 1_000
HIGHEST_LIMIT = 2**31 - 1


class Listing:
    """The part of the history that lists entries."""

    _database: Database

    def page(
        self,
        *,
        limit: int = 50,
        before: Entry | None = None,
        text: str | None = None,
        project: str | None = None,
        kind: str | None = None,
        status: str | None = None,
        service: str | None = None,
        account: str | None = None,
        order: Order = "newest",
    ) -> list[Entry]:
        """Return one page of entries, newest first by default.

        Pages have no gaps and no repeats, even while new entries arrive.

        Args:
            limit: The maximum number of entries, from 1.
            before: The last entry of the previous page; None for the first page.
            text: Only entries with all these words; see `search`.
            project: Only of this project.
            kind: Only of this function.
            status: Only jobs with this last seen status (spec 3.1).
            service: Only of this service.
            account: Only of this account.
            order: "newest" or "oldest" first, or "dearest": the highest charge first,
                entries without a charge last.

        Raises:
            InputError: The limit is below 1, the status or order does not exist, or the
                text is too long.
        """
        _check_limit(limit)
        _check_before(before)
        check_order(order)
        query = queries.whole_entries().where(
            *_chosen(text, project, kind, status),
            *queries.owned_by(service, account),
        )
        if before is not None:
            query = query.where(behind(order, before))
        page = query.order_by(*in_order(order)).limit(limit)
        return [queries.entry_of(row) for row in self._database.rows(page)]

    def outputs_at(
        self, urls: Iterable[str], *, service: str | None = None
    ) -> dict[str, Entry]:
        """Return the entries whose outputs have these URLs, by URL.

        Args:
            urls: The URLs, as in the history.
            service: Only of this service.
        """
        found: dict[str, Entry] = {}
        for some in batches(dict.fromkeys(urls)):
            query = queries.newest_first().where(
                entries.c.output_url.in_(some), *queries.owned_by(service, None)
            )
            for row in self._database.rows(query):
                entry = queries.entry_of(row)
                found.setdefault(str(entry.output_url), entry)
        return found

    def projects(
        self, *, service: str | None = None, account: str | None = None
    ) -> list[str]:
        """Return the labels of projects, each once, sorted."""
        query = queries.projects(service, account)
        return [row.project for row in self._database.rows(query)]

    def budget_charges(self, name: str) -> list[tuple[datetime, int]]:
        """Return the settled charges of a budget in all accounts (spec 2.2).

        Args:
            name: The name of the budget, with its month if it has one.

        Returns:
            When each charge was first seen settled, and its micro-USD; oldest first.
        """
        row: Any
        found = []
        for row in self._database.rows(queries.CHARGES_OF_BUDGET, {"budget": name}):
            found.append((row[0], int(row[1])))
        return found

    def search(
        self,
        text: str,
        *,
        limit: int | None = None,
        project: str | None = None,
        kind: str | None = None,
        status: str | None = None,
        service: str | None = None,
        account: str | None = None,
    ) -> "pd.DataFrame":
        """Return the entries that contain all the given words, as a frame.

        A word matches anywhere in the prompt, the function's kind or path, the job id,
        the project, or the error's code or message. The search ignores case but not
        accents, and has no wildcards.

        Args:
            text: The words; an empty text matches all entries.
            limit: The maximum number of entries, the newest ones; None for all.
            project: Only of this project.
            kind: Only of this function.
            status: Only jobs with this last seen status (spec 3.1).
            service: Only of this service.
            account: Only of this account.

        Returns:
            The columns of `frame`; one row per submission, newest first.

        Raises:
            InputError: The limit is below 1, the status does not exist, or the text is
                too long.
        """
        if limit is not None:
            _check_limit(limit)
        chosen = _chosen(text, project, kind, status)
        return self._frame(*chosen, *queries.owned_by(service, account), limit=limit)

    def frame(
        self,
        *,
        project: str | None = None,
        kind: str | None = None,
        status: str | None = None,
        service: str | None = None,
        account: str | None = None,
        params: bool = False,
    ) -> "pd.DataFrame":
        """Return the whole history as a frame.

        Args:
            project: Only of this project.
            kind: Only of this function.
            status: Only jobs with this last seen status (spec 3.1).
            service: Only of this service.
            account: Only of this account.
            params: Include the parameters of the requests.

        Returns:
            One row per submission, newest first; the same dtypes without rows. Money is
            Int64 micro-USD with <NA> for unknown; instants are datetime64[us,
            UTC]; closed sets are categories.

            With `params` also runtime_s (float64, from submission to the end), rating
            (Int8, 1 to 5), keep (boolean), and each parameter under its name: Int64,
            float64, boolean, category for short texts, str for longer ones, JSON as
            str for lists and objects. A parameter with the name of another column has
            the prefix `param_`.

        Raises:
            InputError: The status does not exist.
        """
        chosen = _chosen(None, project, kind, status)
        owner = queries.owned_by(service, account)
        return self._frame(*chosen, *owner, params=params)

    def _frame(
        self,
        *chosen: ColumnElement[bool],
        limit: int | None = None,
        params: bool = False,
    ) -> "pd.DataFrame":
        from mediakit.history.entries import frame

        query = frame.params_query() if params else frame.frame_query()
        rows = self._database.rows(query.where(*chosen).limit(limit))
        return frame.params_frame(rows) if params else frame.entries_frame(rows)


def _check_limit(limit: object) -> None:
    is_whole = isinstance(limit, int) and not isinstance(limit, bool)
    if not is_whole or limit not in range(1, HIGHEST_LIMIT + 1):
        accepted = f"a whole number from 1 to {HIGHEST_LIMIT:,}"
        raise InputError("limit", got=limit, accepted=accepted)


def _check_before(before: object) -> None:
    if before is not None and not isinstance(before, Entry):
        accepted = "the last entry of the previous page, or None"
        raise InputError("before", got=before, accepted=accepted)


def _check_text(field: str, value: object) -> None:
    if value is not None and not isinstance(value, str):
        raise InputError(field, got=value, accepted="text, or None")


def _chosen(
    text: str | None, project: str | None, kind: str | None, status: str | None
) -> tuple[ColumnElement[bool], ...]:
    for field, value in (("text", text), ("project", project), ("kind", kind)):
        _check_text(field, value)
    if status is not None and status not in list(JobStatus):
        accepted = ", ".join(JobStatus)
        raise InputError("status", got=status, accepted=accepted, spec="3.1")
    wanted = (
        (entries.c.project, project),
        (entries.c.kind, kind),
        (entries.c.status, status),
    )
    equal = (column == value for column, value in wanted if value is not None)
    return (*equal, *_with_words(text or ""))


def _with_words(text: str) -> tuple[ColumnElement[bool], ...]:
    if len(text) > LONGEST_SEARCH:
        accepted = f"up to {LONGEST_SEARCH:,} characters"
        raise InputError("text", got=text, accepted=accepted)
    words = words_of(text)
    return tuple(entries.c.search.contains(word, autoescape=True) for word in words)
