"""One open database: transactions, and errors that people can read."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, Select
from sqlalchemy.exc import DBAPIError

from mediakit.errors import MediakitError
from mediakit.history.tables import WRITES, history_url, open_engine, shown_place


class Database:
    """A history's database, which threads and processes may share.

    Args:
        place: A file's path, which means SQLite, or a database URL.

    Raises:
        InputError: It cannot be opened, or a newer mediakit wrote it.
    """

    def __init__(self, place: str | Path) -> None:
        url = history_url(place)
        self.name = shown_place(url)
        self._reader = open_engine(url)
        self._writer = self._reader.execution_options(**{WRITES: True})

    def close(self) -> None:
        """Close the connections; closing twice does nothing more."""
        self._reader.dispose()

    @contextmanager
    def transaction(self, *, writes: bool = False) -> Iterator[Connection]:
        """Give a connection; committed at the end, undone by an exception.

        Args:
            writes: Whether anything will be written; then the lock is taken first.

        Raises:
            MediakitError: The database is locked, full, damaged or out of reach.
        """
        engine = self._writer if writes else self._reader
        try:
            with engine.begin() as connection:
                yield connection
        except DBAPIError as error:
            verb = "written" if writes else "read"
            raise MediakitError(
                f"The history {self.name} could not be {verb}: {error.orig}. What it "
                "held is unchanged. Free the file or the disk and repeat the call, or "
                "set MEDIAKIT_HISTORY to another file."
            ) from error

    def first(self, query: Select[Any]) -> Row[Any] | None:
        """Return the first row; None without any."""
        with self.transaction() as connection:
            return connection.execute(query.limit(1)).first()

    def rows(self, query: Select[Any]) -> list[Row[Any]]:
        """Return all rows."""
        with self.transaction() as connection:
            return list(connection.execute(query))

    def whole(self, query: Select[Any]) -> int:
        """Return the one number of an aggregate; 0 for no rows."""
        row = self.first(query)
        return 0 if row is None else int(row[0] or 0)
