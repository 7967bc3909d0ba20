"""The history: one class that combines the parts in the other modules."""

from pathlib import Path
from typing import Self

from mediakit.clock import Clock, SystemClock
from mediakit.history.admission.admission_transaction import Admissions
from mediakit.history.admission.holds import Holds
from mediakit.history.admission.outcomes import Outcomes
from mediakit.history.charges import Charges
from mediakit.history.entries.listing import Listing
from mediakit.history.form_drafts import FormDrafts
from mediakit.history.imported_jobs import ImportedJobs
from mediakit.history.results.latest_attempts import LatestAttempts
from mediakit.history.results.lineage import Lineage
from mediakit.history.results.ratings import Ratings
from mediakit.history.results.scores import Scores
from mediakit.history.storage.database import Database
from mediakit.history.uploaded_files import UploadedFiles


class History(
    Charges,
    Admissions,
    LatestAttempts,
    FormDrafts,
    ImportedJobs,
    Lineage,
    Listing,
    Ratings,
    Outcomes,
    Scores,
    Holds,
    UploadedFiles,
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

    def backup(self, target: Path) -> None:
        """Copy the history to a new SQLite file, while it is in use.

        Raises:
            InputError: The history is not an SQLite file, or the target cannot be
                written or exists.
        """
        self._database.backup(target)

    @property
    def is_local(self) -> bool:
        """Return whether the database is a file on this machine, not a server."""
        return self._database.is_local

    @property
    def place(self) -> str:
        """Return the name of the database, the same for every path to it."""
        return self._database.place
