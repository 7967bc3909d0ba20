"""One open database: transactions, and errors that people can read."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from weakref import finalize

from sqlalchemy import (
    Connection,
    Engine,
    Executable,
    Row,
    Select,
    text,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionError

from mediakit.errors import MediakitError
from mediakit.history.storage.engines import WRITES, open_engine
from mediakit.history.storage.file_connection import (
    Connected,
    FileConnection,
    Statements,
)
from mediakit.history.storage.forking import FORKS
from mediakit.history.storage.places import (
    history_url,
    is_in_memory,
    is_local,
    place_of,
    shown_place,
    without_secrets,
)

T = TypeVar("T")
Values = dict[str, Any]

LONGEST_LIST = 1_000
"""As long a list as every database takes in a statement."""

_NO_VALUES: Values = {}


class Database:
    """A history's database, which threads and processes may share.

    A lone statement is a transaction of its own.

    Args:
        place: A file's path, which means SQLite, or a database URL.

    Raises:
        InputError: It cannot be opened, or is a history of another version.
    """

    def __init__(self, place: str | Path) -> None:
        self._url = history_url(place)
        self.name = shown_place(self._url)
        self.place = place_of(self._url)
        self.is_local = is_local(self._url)
        with FORKS:
            self._engine = open_engine(self._url)
            FORKS.watch(self)
        self.dialect = self._engine.dialect.name
        self._writer = self._engine.execution_options(**{WRITES: True})
        # SQLite commits each statement outside of a transaction by itself.
        self._single = (
            self._engine
            if self.is_local
            else self._engine.execution_options(isolation_level="AUTOCOMMIT")
        )
        self._statements = Statements(self._engine.dialect)
        # Python 3.13 complains about files that are left open.
        finalize(self, self._engine.dispose)
        self._inherited: list[object] = []

    def close(self) -> None:
        """Close the connections; closing twice does nothing more."""
        self._engine.dispose()

    def before_fork(self) -> None:
        """Close the file, so that a child does not inherit it open."""
        if self.is_local and not is_in_memory(self._url):
            self._engine.dispose()

    def after_fork_in_child(self) -> None:
        """Leave the parent's connections open and untouched.

        A database in memory is a copy by now, and the child's own.
        """
        if not is_in_memory(self._url):
            self._inherited.append(self._engine.pool)
            self._engine.dispose(close=False)

    @contextmanager
    def transaction(self) -> Iterator[Connected]:
        """Give a connection that may write; committed at the end.

        An exception undoes all of it. On SQLite the write lock is taken first.

        Raises:
            MediakitError: The database is locked, full, damaged or out of reach.
        """
        if self.is_local:
            with self._file("written") as file, file.transaction():
                yield file
        else:
            with self._connected(self._writer, "written") as connection:
                yield connection

    def _lone(self, verb: str) -> AbstractContextManager[Connected]:
        """Give a connection for one statement, a transaction of its own."""
        return (
            self._file(verb) if self.is_local else self._connected(self._single, verb)
        )

    @contextmanager
    def _file(self, verb: str) -> Iterator[FileConnection]:
        with (
            self._in_words(verb),
            FORKS,
            closing(self._engine.raw_connection()) as lent,
        ):
            driver: Any = lent.driver_connection
            yield FileConnection(driver, self._statements)

    @contextmanager
    def _connected(self, engine: Engine, verb: str) -> Iterator[Connection]:
        with self._in_words(verb), FORKS, engine.begin() as connection:
            yield connection

    @contextmanager
    def _in_words(self, verb: str) -> Iterator[None]:
        """Turn a driver's error into one for people."""
        try:
            yield
        except (DBAPIError, NoConnectionError, sqlite3.Error) as error:
            reason = error.orig if isinstance(error, DBAPIError) else error
            raise MediakitError(
                f"The history {self.name} could not be {verb}: "
                f"{without_secrets(reason, self._url)}. {self._advice}"
            ) from error

    def write(self, statement: Executable, values: Values = _NO_VALUES) -> int:
        """Run one statement; return how many rows it changed."""
        with self._lone("written") as connection:
            count: int = connection.execute(statement, values).rowcount
            return count

    def first(self, query: Select[Any], values: Values = _NO_VALUES) -> Any:
        """Return the first row; None without any."""
        with self._lone("read") as connection:
            return connection.execute(query, values).first()

    def rows(
        self, query: Executable, values: Values = _NO_VALUES
    ) -> Sequence[Row[Any]]:
        """Return all rows, of any query."""
        with self._connected(self._single, "read") as connection:
            return connection.execute(query, values).all()

    def whole(self, query: Select[Any], values: Values = _NO_VALUES) -> int:
        """Return the one number of an aggregate; 0 for no rows."""
        row = self.first(query, values)
        return 0 if row is None else int(row[0] or 0)

    @property
    def _advice(self) -> str:
        if self.is_local:
            return (
                "What it held is unchanged. Free the file or the disk and repeat the "
                "call, or set MEDIAKIT_HISTORY to another file."
            )
        return (
            "Repeating the call is safe: each entry is written once. See that the "
            "database can be reached, or set MEDIAKIT_HISTORY to another."
        )


def batches(values: Iterable[T], size: int = LONGEST_LIST) -> Iterator[list[T]]:
    """Split values into lists of at most so many, as a statement takes them."""
    left = iter(values)
    while batch := list(islice(left, size)):
        yield batch


def lock_table(connection: Connected, name: str) -> None:
    """Wait until no other transaction has changed a table, and let none change it.

    An SQLite transaction that writes has the whole file to itself already.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"LOCK TABLE {name} IN EXCLUSIVE MODE"))
