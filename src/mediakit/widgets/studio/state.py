"""What the studio shows, as one value."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from mediakit.widgets.studio.glance import Glance
from mediakit.widgets.studio.past.query import HistoryPage, HistoryQuery


class Place(StrEnum):
    """The places of the studio, as people read them."""

    FUNCTIONS = "Functions"
    HISTORY = "History"


@dataclass(frozen=True)
class StudioState:
    """Everything that the studio shows, at one moment.

    Args:
        place: Where one is.
        chosen: The path of the function whose form is shown; None for the catalogue.
        page: What is shown of the history.
        glance: Balance and spend; None before they were read.
        opened: The id of the job that stands beside the history; None for none.
        opening: The id of the job that is being read.
        said: What went wrong last, as a sentence.
    """

    place: Place = Place.FUNCTIONS
    chosen: str | None = None
    page: HistoryPage = field(default_factory=HistoryPage)
    glance: Glance | None = None
    opened: str | None = None
    opening: str | None = None
    said: str = ""

    def at(self, place: Place) -> StudioState:
        """Return the state after another place was gone to."""
        return replace(self, place=place, said="")

    def choosing(self, path: str | None) -> StudioState:
        """Return the state in which a function's form is shown, or the catalogue."""
        return replace(self, place=Place.FUNCTIONS, chosen=path, said="")

    def asking(self, query: HistoryQuery) -> StudioState:
        """Return the state after something else is looked for.

        The rows stay until others are there, so that nothing flickers.
        """
        return replace(self, page=self.page.asking(query), said="")

    def opening_job(self, job_id: str) -> StudioState:
        """Return the state while a job is being read."""
        return replace(self, opening=job_id, said="")

    def with_job(self, job_id: str | None) -> StudioState:
        """Return the state in which a job stands beside the history, or none."""
        return replace(self, opened=job_id, opening=None, said="")

    def saying(self, sentence: str) -> StudioState:
        """Return the state after something went wrong."""
        return replace(self, said=sentence, opening=None)
