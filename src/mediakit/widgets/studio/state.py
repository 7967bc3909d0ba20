"""The state of the studio; immutable."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from mediakit.widgets.studio.history.query import HistoryPage, HistoryQuery
from mediakit.widgets.studio.history.selection import Selection
from mediakit.widgets.studio.spend_summary import SpendSummary
from mediakit.widgets.studio.spending.days import SpendDays


class Place(StrEnum):
    """The tabs of the studio, as people read them."""

    MAKE = "Make"
    HISTORY = "History"
    SPEND = "Spend"


Question = Literal["", "save", "erase"]
"""What is asked about the selected jobs; empty for nothing."""


@dataclass(frozen=True)
class StudioState:
    """Everything that the studio shows, at one moment.

    Args:
        place: The tab.
        chosen: The path of the function whose form is shown; None for the catalogue.
        page: What is shown of the history.
        selection: The jobs that are selected.
        question: What is asked about them.
        is_comparing: Their results are shown side by side.
        summary: Balance and spend; None before they were read.
        days: The charges of the last days; None before they were read.
        opened: The id of the job that stands beside the history; None for none.
        opening: The id of the job that is being read.
        said: What went wrong last, as a sentence.
        done: What was done last, as a sentence.
    """

    place: Place = Place.MAKE
    chosen: str | None = None
    page: HistoryPage = field(default_factory=HistoryPage)
    selection: Selection = field(default_factory=Selection)
    question: Question = ""
    is_comparing: bool = False
    summary: SpendSummary | None = None
    days: SpendDays | None = None
    opened: str | None = None
    opening: str | None = None
    said: str = ""
    done: str = ""

    def at(self, place: Place) -> StudioState:
        """Return the state after another tab was chosen."""
        return replace(self, place=place, said="", done="")

    def choosing(self, path: str | None) -> StudioState:
        """Return the state in which a function's form is shown, or the catalogue."""
        return replace(self, place=Place.MAKE, chosen=path, said="", done="")

    def asking(self, query: HistoryQuery) -> StudioState:
        """Return the state after something else is looked for.

        The rows stay until others are there, so that nothing flickers.
        """
        return replace(self, page=self.page.asking(query), said="", done="")

    def finding(self, page: HistoryPage) -> StudioState:
        """Return the state once a page was read; what is selected is known again."""
        return replace(self, page=page, selection=self.selection.renewed(page.rows))

    def selecting(self, selection: Selection) -> StudioState:
        """Return the state with other jobs selected; no question stays open."""
        return replace(self, selection=selection, question="", said="", done="")

    def questioning(self, question: Question) -> StudioState:
        """Return the state in which something is asked about the selected jobs."""
        return replace(self, question=question, said="", done="")

    def comparing(self, *, is_comparing: bool) -> StudioState:
        """Return the state in which results stand side by side, or the list."""
        return replace(self, is_comparing=is_comparing, question="", said="", done="")

    def opening_job(self, job_id: str) -> StudioState:
        """Return the state while a job is being read."""
        return replace(self, opening=job_id, said="", done="")

    def with_job(self, job_id: str | None) -> StudioState:
        """Return the state in which a job stands beside the history, or none."""
        return replace(self, opened=job_id, opening=None, said="", done="")

    def saying(self, sentence: str) -> StudioState:
        """Return the state after something went wrong."""
        return replace(self, said=sentence, opening=None, done="")

    def doing(self, sentence: str) -> StudioState:
        """Return the state after, or while, something is done."""
        return replace(self, done=sentence, question="", said="")
