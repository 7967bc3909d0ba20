"""The history as users see it: submissions, charges and recovery; blocking."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from mediakit.client.docstrings import explained_by
from mediakit.client.loop import IOThread
from mediakit.client.recovery.async_history_view import AsyncHistoryView, When
from mediakit.history import Entry, Order

if TYPE_CHECKING:
    import pandas as pd


class HistoryView:
    """The submissions to one service, under any API key.

    Args:
        core: The asynchronous view.
        io: The I/O thread.
    """

    def __init__(self, core: AsyncHistoryView, io: IOThread) -> None:
        self._core = core
        self._io = io

    def __repr__(self) -> str:
        return repr(self._core)

    @explained_by(AsyncHistoryView.frame)
    def frame(
        self,
        *,
        project: str | None = None,
        kind: str | None = None,
        status: str | None = None,
        everywhere: bool = False,
        params: bool = False,
    ) -> pd.DataFrame:
        """Return the submissions as a frame."""
        return self._io.call(
            self._core.frame,
            project=project,
            kind=kind,
            status=status,
            everywhere=everywhere,
            params=params,
        )

    @explained_by(AsyncHistoryView.search)
    def search(
        self,
        text: str,
        *,
        limit: int | None = None,
        project: str | None = None,
        kind: str | None = None,
        status: str | None = None,
        everywhere: bool = False,
    ) -> pd.DataFrame:
        """Return the submissions in which every word of a text occurs."""
        return self._io.call(
            self._core.search,
            text,
            limit=limit,
            project=project,
            kind=kind,
            status=status,
            everywhere=everywhere,
        )

    @explained_by(AsyncHistoryView.page)
    def page(
        self,
        *,
        limit: int = 50,
        before: Entry | None = None,
        text: str | None = None,
        project: str | None = None,
        kind: str | None = None,
        status: str | None = None,
        everywhere: bool = False,
        order: Order = "newest",
    ) -> list[Entry]:
        """Return a page of submissions, newest first; pages stay stable."""
        return self._io.call(
            self._core.page,
            limit=limit,
            before=before,
            text=text,
            project=project,
            kind=kind,
            status=status,
            everywhere=everywhere,
            order=order,
        )

    @explained_by(AsyncHistoryView.projects)
    def projects(self, *, everywhere: bool = False) -> list[str]:
        """Return the labels of the projects, each once, in order."""
        return self._io.call(self._core.projects, everywhere=everywhere)

    @explained_by(AsyncHistoryView.settled_total_micro_usd)
    def settled_total_micro_usd(
        self, *, since: When | None = None, everywhere: bool = False
    ) -> int:
        """Return the sum of the settled charges, in micro-USD (spec 2.2)."""
        return self._io.call(
            self._core.settled_total_micro_usd, since=since, everywhere=everywhere
        )

    @explained_by(AsyncHistoryView.rebuild)
    def rebuild(
        self,
        job_ids: str | Iterable[str] = (),
        folders: str | Path | Iterable[str | Path] = (),
        *,
        deliveries: bool = True,
    ) -> pd.DataFrame:
        """Recover jobs that the history lost, as far as the service knows them."""
        return self._io.call(
            self._core.rebuild, job_ids, folders, deliveries=deliveries
        )

    @explained_by(AsyncHistoryView.backup)
    def backup(self, path: str | Path) -> Path:
        """Copy the history to a new file, while it is in use."""
        return self._io.call(self._core.backup, path)
