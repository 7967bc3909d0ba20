"""The history: written before anything is sent, read whenever anything is asked."""

from pathlib import Path
from typing import Self

from mediakit.clock import Clock, SystemClock
from mediakit.history.admission.recording import Recording
from mediakit.history.admission.totals import Totals
from mediakit.history.charges import Charges
from mediakit.history.claims import Claims
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
    """Every submit of this user, committed before it is sent.

    Threads and processes may use one database at the same time, and a process may
    fork. Secrets have no place in it: an account is named by whatever opaque text the
    caller chooses.

    Args:
        url: A file's path, which means SQLite, or a database URL: `sqlite:///...` or
            `postgresql://...`. A file's folders are made where they are missing; what
            is made is readable by the user alone.
        clock: What tells the time of each change; the system's by default.

    Raises:
        InputError: The database cannot be opened, or is a history of another version.
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

    @property
    def is_local(self) -> bool:
        """Tell a file of this machine from a database behind a network."""
        return self._database.is_local

    @property
    def place(self) -> str:
        """Return what names the database itself, by whatever path it was opened."""
        return self._database.place
