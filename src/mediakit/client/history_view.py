"""The history as users see it: submissions, charges and recovery."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from anyio import to_thread

from mediakit.client.blocking import Blocking, blocking
from mediakit.client.history_rebuild import Rebuilder
from mediakit.client.io_thread import networked
from mediakit.client.service import Service
from mediakit.errors import InputError
from mediakit.history import Entry, History, Order
from mediakit.media import local_file

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

When = str | date | datetime
"""An instant with its offset, or a day in UTC; as text in ISO 8601."""


class AsyncHistoryView:
    """The submissions to one service, under any API key; awaitable."""

    def __init__(self, store: History, service: Service, rebuilder: Rebuilder) -> None:
        self.store = store
        self._service = service
        self._rebuilder = rebuilder

    def __repr__(self) -> str:
        return f"<history of {self._service.label} in {self.store!r}>"

    @property
    def service(self) -> str:
        """Return the service's name in the history."""
        return self._service.identity

    async def frame(
        self,
        *,
        project: str | None = None,
        kind: str | None = None,
        status: str | None = None,
        params: bool = False,
    ) -> pd.DataFrame:
        """Return the submissions as a frame.

        Args:
            project: Only those with this label.
            kind: Only of this kind of function.
            status: Only in this status (spec 3.1).
            params: Include the parameters of the requests, so that
                `frame.groupby("resolution")` works.

        Returns:
            One row per submission, newest first; the same dtypes without rows. Money
            is Int64 micro-USD with <NA> for unknown; instants are datetime64[us,
            UTC]; fixed sets of values are categories.

            With `params` also runtime_s (float64, from submission to the end), rating
            (Int64, 1 to 5), keep (boolean), and each parameter under its name: Int64,
            float64, boolean, category for short strings, str for longer ones, JSON as
            str for lists and objects. A parameter with the name of another column gets
            the prefix `param_`.

        Raises:
            InputError: There is no such status.
        """
        return await self._read(
            self.store.frame,
            project=project,
            kind=kind,
            status=status,
            params=params,
        )

    async def search(
        self,
        text: str,
        *,
        limit: int | None = None,
        project: str | None = None,
        kind: str | None = None,
        status: str | None = None,
    ) -> pd.DataFrame:
        """Return the submissions that contain every word of a text, as `frame` does.

        The title, function, project, job id and error are searched; upper and lower
        case are equal, accents count, and there are no wildcards. The title is the
        prompt; without one, it consists of the titles of the jobs that made the inputs.
        `limit` is the maximum number of rows, newest first; the other arguments are
        those of `frame`.
        """
        return await self._read(
            self.store.search,
            text,
            limit=limit,
            project=project,
            kind=kind,
            status=status,
        )

    async def page(
        self,
        *,
        limit: int = 50,
        before: Entry | None = None,
        text: str | None = None,
        project: str | None = None,
        kind: str | None = None,
        status: str | None = None,
        sweep: str | None = None,
        since: When | None = None,
        until: When | None = None,
        rating: int | None = None,
        keep: bool | None = None,
        tag: str | None = None,
        order: Order = "newest",
    ) -> list[Entry]:
        """Return a page of submissions, newest first; new ones do not shift the pages.

        `limit` is the maximum number of entries, at least 1, and `before` the last
        entry of the previous page. `order` is "newest" or "oldest" first, or "dearest":
        the highest charge first, entries without a charge last. `text` is that of
        `search`. `since` is inclusive, `until` is exclusive; `rating` is the minimum.
        The other arguments are those of `frame`.

        Raises:
            InputError: The limit is below 1, there is no such status or order, or an
                instant cannot be read.
        """
        return await self._read(
            self.store.page,
            limit=limit,
            before=before,
            text=text,
            project=project,
            kind=kind,
            status=status,
            sweep=sweep,
            order=order,
            since=instant_of("since", since),
            until=instant_of("until", until),
            rating=rating,
            keep=keep,
            tag=tag,
        )

    async def settled_total_micro_usd(self, *, since: When | None = None) -> int:
        """Return the sum of the settled charges, in micro-USD (spec 2.2).

        Args:
            since: Only those that were first seen settled at this instant or later.

        Raises:
            InputError: The instant cannot be read.
        """
        total = self.store.settled_total_micro_usd
        return await self._read(total, instant_of("since", since))

    async def _read(
        self, question: Callable[..., T], /, *args: object, **chosen: object
    ) -> T:
        of_service = partial(question, *args, service=self.service, **chosen)
        return await to_thread.run_sync(of_service)

    @networked
    async def rebuild(
        self,
        job_ids: str | Iterable[str] = (),
        folders: str | Path | Iterable[str | Path] = (),
        *,
        deliveries: bool = True,
    ) -> pd.DataFrame:
        """Recover jobs that the history lost, as far as the service knows them.

        Each job is read from the service, with its outcome and charge. The sidecar of a
        result also has the request, unless that has a `webhook_url` or a URL with a
        password, a query or a fragment; the same call then finds its job again and pays
        nothing.

        Args:
            job_ids: Jobs to read.
            folders: Folders with saved results, searched with their subfolders. Anybody
                may have written the files, so only verifiable contents are used.
            deliveries: Search the service's log of deliveries (spec 4.20).

        Returns:
            One row per job, oldest first, and one per file that cannot be read:
            outcome (category: added; completed, if the request of an existing job is
            known now; known; unknown, if the service does not know it; unreadable),
            source (category: id, file, delivery), where, job_id and function (str),
            charge_micro_usd (Int64, <NA> until it is settled).

        Raises:
            InputError: A job id or a folder is invalid; nothing was sent.
            ServiceError: The service does not respond. Recovered jobs are kept.
        """
        return await self._rebuilder.rebuild(job_ids, folders, deliveries=deliveries)

    async def backup(self, path: str | Path) -> Path:
        """Copy the history to a new file, while it is in use.

        Copying the file itself is not enough: the newest entries are in the `-wal` file
        beside it, and restoring an old copy beside a newer `-wal` damages it.

        Returns:
            The path of the new file. `connect(history=...)` opens it.

        Raises:
            InputError: The history is in Postgres, or the file exists or cannot be
                written.
        """
        target = local_file(path)
        await to_thread.run_sync(self.store.database.backup, target)
        return target


class HistoryView(Blocking):
    """The submissions to one service, under any API key."""

    core: AsyncHistoryView

    frame = blocking(AsyncHistoryView.frame)
    search = blocking(AsyncHistoryView.search)
    page = blocking(AsyncHistoryView.page)
    settled_total_micro_usd = blocking(AsyncHistoryView.settled_total_micro_usd)
    rebuild = blocking(AsyncHistoryView.rebuild)
    backup = blocking(AsyncHistoryView.backup)


def instant_of(field: str, when: When | None) -> datetime | None:
    """Parse an instant with an offset, or a UTC day, which means its midnight."""
    if when is None:
        return None
    value: object = when
    if isinstance(when, str):
        kind = date if len(when.strip()) <= len("2026-10-01") else datetime
        with suppress(ValueError):
            value = kind.fromisoformat(when.strip())
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    raise InputError(
        field,
        got=when,
        accepted="a day in UTC such as 2026-10-01, or an instant with its offset "
        "such as 2026-10-01T12:00:00Z",
    )
