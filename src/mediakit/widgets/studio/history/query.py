"""The search of the history, and the page of results that it finds; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mediakit.history import Entry, Order
from mediakit.records import JobStatus

PAGE_ROWS = 12
HOW_TO_BEGIN = (
    "No jobs yet. Choose a function under Make, fill in its form and press Generate."
)
UTC_TEXT = "Times are in UTC."
NO_MATCH = "No matching jobs. Remove a filter, or try fewer words."
ORDER_WORDS: dict[Order, str] = {
    "newest": "Newest first",
    "oldest": "Oldest first",
    "dearest": "Highest charge first",
}


@dataclass(frozen=True)
class HistoryQuery:
    """What is looked for.

    Args:
        text: Words that all occur.
        kind: Only of this function; None for all.
        status: Only in this state; None for all.
        project: Only of this project; None for all.
        order: The order of the rows.
        pages: The last entry of each page before this one, the first page's first.
    """

    text: str = ""
    kind: str | None = None
    status: JobStatus | None = None
    project: str | None = None
    order: Order = "newest"
    pages: tuple[Entry, ...] = ()

    def asking(self, **changes: Any) -> HistoryQuery:
        """Return the query with other wishes, from its first page."""
        return replace(self, **changes, pages=())

    @property
    def is_narrow(self) -> bool:
        """Tell whether it leaves anything out."""
        chosen = (self.kind, self.status, self.project)
        return bool(self.text.strip()) or any(each is not None for each in chosen)

    @property
    def wanted(self) -> dict[str, Any]:
        """Return what the history is asked; one more row tells of a next page."""
        return {
            "limit": PAGE_ROWS + 1,
            "before": self.pages[-1] if self.pages else None,
            "text": self.text,
            "kind": self.kind,
            "status": self.status,
            "project": self.project,
            "order": self.order,
        }


@dataclass(frozen=True)
class HistoryPage:
    """What the browser of the history shows.

    Args:
        query: What is looked for.
        entries: One page of what was found; None before it was read.
        has_more: There is a page after this one.
        projects: The labels of all projects that occur.
        trouble: Why it cannot be read, as a sentence.
        reading: The entries are not yet those of the query.
    """

    query: HistoryQuery = HistoryQuery()
    entries: tuple[Entry, ...] | None = None
    has_more: bool = False
    projects: tuple[str, ...] = ()
    trouble: str | None = None
    reading: bool = True

    def asking(self, query: HistoryQuery) -> HistoryPage:
        """Return the page while something else is looked for."""
        return replace(self, query=query, reading=True)

    def failed(self, trouble: str) -> HistoryPage:
        """Return the page when it cannot be read; what was read before stays."""
        return replace(self, trouble=trouble, reading=False)

    def found(
        self, entries: Sequence[Entry], projects: Sequence[str] | None = None
    ) -> HistoryPage:
        """Return the page once its entries were read.

        Args:
            entries: As many as `HistoryQuery.wanted` asks for, or fewer.
            projects: The labels of all projects; None leaves them as they are.
        """
        return replace(
            self,
            entries=tuple(entries[:PAGE_ROWS]),
            has_more=len(entries) > PAGE_ROWS,
            projects=self.projects if projects is None else tuple(projects),
            trouble=None,
            reading=False,
        )

    @property
    def rows(self) -> tuple[Entry, ...]:
        """Return the entries that are shown."""
        return self.entries or ()

    @property
    def has_previous(self) -> bool:
        """Tell whether there is a page before this one."""
        return bool(self.query.pages)

    def next_query(self) -> HistoryQuery:
        """Return what leads to the next page; the same where there is none."""
        if self.reading or not self.has_more:
            return self.query
        return replace(self.query, pages=(*self.query.pages, self.rows[-1]))

    def previous_query(self) -> HistoryQuery:
        """Return what leads to the page before; the same on the first one."""
        return replace(self.query, pages=self.query.pages[:-1])

    @property
    def said(self) -> str:
        """Say in a few words what is shown, or why nothing is."""
        if self.trouble is not None:
            return self.trouble
        if self.reading:
            return "Reading the history…"
        if not self.rows:
            return NO_MATCH if self.query.is_narrow else HOW_TO_BEGIN
        return f"{self._places} · {UTC_TEXT}"

    @property
    def _places(self) -> str:
        first = len(self.query.pages) * PAGE_ROWS + 1
        last = first + len(self.rows) - 1
        if first == 1 and not self.has_more:
            return f"{last} jobs" if last > 1 else "1 job"
        end = "" if self.has_more else f" of {last:,}"
        return f"Jobs {first:,} to {last:,}{end}"
