"""The history: one class that combines all its parts."""

from pathlib import Path
from typing import Self

from mediakit.clock import Clock, SystemClock
from mediakit.history.admission.claims import Claims
from mediakit.history.admission.recording import Recording
from mediakit.history.admission.totals import Totals
from mediakit.history.charges import Charges
from mediakit.history.comparing.draws import Draws
from mediakit.history.comparing.lineage import Lineage
from mediakit.history.comparing.ratings import Ratings
from mediakit.history.comparing.scores import Scores
from mediakit.history.entries.listing import Listing
from mediakit.history.forms import Forms
from mediakit.history.importing import Importing
from mediakit.history.storage.database import Database
from mediakit.history.uploads import Uploads


class History(
    Charges,
    Claims,
    Draws,
    Forms,
    Importing,
    Lineage,
    Listing,
    Ratings,
    Recording,
    Scores,
    Totals,
    Uploads,
):
    """All submissions of a user, each committed before it is sent.

    Threads and processes can share one database, and a process can fork. The history
    holds no secrets: the caller names an account by an opaque text.

    Args:
        url: The path of an SQLite file, or a database URL: `sqlite:///...` or
            `postgresql://...`. Missing folders are created; only the user can read
            what is created.
        clock: Gives the time of each change; the system's clock by default.

    Raises:
        InputError: The database cannot be opened, or holds another version.
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
        """Close the database's connections; closing again has no effect."""
        self._database.close()

    @property
    def is_local(self) -> bool:
        """Return whether the database is a file on this machine, not a server."""
        return self._database.is_local

    @property
    def place(self) -> str:
        """Return the name of the database, the same for every path to it."""
        return self._database.place
