"""An open database: transactions, and errors in sentences."""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from errno import EEXIST
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, TypeVar
from weakref import finalize

from sqlalchemy import (
    Connection,
    Engine,
    Executable,
    PoolProxiedConnection,
    Row,
    Select,
    text,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionError

from mediakit.errors import InputError, MediakitError
from mediakit.history.storage.database_url import (
    DAMAGED,
    history_url,
    is_damaged,
    is_in_memory,
    is_local,
    place_of,
    shown_place,
    without_secrets,
)
from mediakit.history.storage.engines import WRITES, open_engine
from mediakit.history.storage.file_connection import (
    Connected,
    FileConnection,
    Statements,
)
from mediakit.history.storage.forking import FORKS

Values = dict[str, Any]
Lent = tuple[PoolProxiedConnection, FileConnection]
T = TypeVar("T")

LONGEST_LIST = 1_000
"""The longest list that every database accepts in a statement."""

_NO_VALUES: Values = {}


class Database:
    """A history's database, which threads and processes can share.

    A single statement is its own transaction.

    Args:
        place: The path of an SQLite file, or a database URL.

    Raises:
        InputError: It cannot be opened, or has another version.
    """

    def __init__(self, place: str | Path) -> None:
        self._url = history_url(place)
        self.name = shown_place(self._url)
        self.place = place_of(self._url)
        self.is_local = is_local(self._url)
        self._is_on_disk = self.is_local and not is_in_memory(self._url)
        with FORKS:
            self._engine = open_engine(self._url)
            FORKS.watch(self)
        self.dialect = self._engine.dialect.name
        self._writer = self._engine.execution_options(**{WRITES: True})
        self._single = (
            self._engine
            if self.is_local
            else self._engine.execution_options(isolation_level="AUTOCOMMIT")
        )
        self._statements = Statements(self._engine.dialect)
        self._kept: list[Lent] = []
        # Python 3.13 warns about files that are not closed.
        finalize(self, _close, self._kept, self._engine)
        self._inherited: list[object] = []

    def close(self) -> None:
        """Close the connections; closing again has no effect."""
        _close(self._kept, self._engine)

    def before_fork(self) -> None:
        """Close the file, so that a child does not inherit it open."""
        if self._is_on_disk:
            _close(self._kept, self._engine)

    def after_fork_in_child(self) -> None:
        """Leave the parent's connections open and unused.

        A database in memory is now the child's own copy.
        """
        if not is_in_memory(self._url):
            self._inherited.append(self._engine.pool)
            self._engine.dispose(close=False)

    @contextmanager
    def transaction(self) -> Iterator[Connected]:
        """Yield a connection that can write; commit at the end.

        An exception rolls back. On SQLite the transaction begins with the write lock.

        Raises:
            MediakitError: The database is locked, full, damaged or out of reach.
        """
        if self.is_local:
            with _File(self, "written") as file, file.transaction():
                yield file
        else:
            with (
                _ReadableErrors(self, "written"),
                FORKS,
                self._writer.begin() as connection,
            ):
                yield connection

    def _single_statement(self, verb: str) -> AbstractContextManager[Connected]:
        """Return a connection for a single statement, which is its own transaction."""
        return _File(self, verb) if self.is_local else self._pooled(verb)

    @contextmanager
    def _pooled(self, verb: str) -> Iterator[Connection]:
        pool = self._engine.pool
        with _ReadableErrors(self, verb), FORKS, self._single.connect() as connection:
            yield connection
        if pool is not self._engine.pool:  # closed meanwhile, by another thread
            pool.dispose()

    def lend(self) -> Lent:
        """Lend a connection to the file; one is kept outside the pool."""
        try:
            return self._kept.pop()
        except IndexError:
            pooled = self._engine.raw_connection()
            driver: Any = pooled.driver_connection
            return pooled, FileConnection(driver, self._statements)

    def take_back(self, lent: Lent, *, is_sound: bool) -> None:
        """Take a connection back.

        Args:
            lent: The connection.
            is_sound: Whether no transaction is open; the pool rolls back an open one.
        """
        if is_sound and self._is_on_disk and not self._kept:
            self._kept.append(lent)
        else:
            lent[0].close()

    def write(self, statement: Executable, values: Values = _NO_VALUES) -> int:
        """Run one statement; return the number of changed rows."""
        with self._single_statement("written") as connection:
            count: int = connection.execute(statement, values).rowcount
            return count

    def first(self, query: Select[Any], values: Values = _NO_VALUES) -> Any:
        """Return the first row; None without rows."""
        with self._single_statement("read") as connection:
            return connection.execute(query, values).first()

    def rows(
        self, query: Executable, values: Values = _NO_VALUES
    ) -> Sequence[Row[Any]]:
        """Return all rows of a query."""
        with self._pooled("read") as connection:
            return connection.execute(query, values).all()

    def whole(self, query: Select[Any], values: Values = _NO_VALUES) -> int:
        """Return the number of an aggregate; 0 without rows."""
        rows = self.rows(query, values)
        return int(rows[0][0] or 0) if rows else 0

    def backup(self, target: Path) -> None:
        """Copy an SQLite database to a new file, which appears when it is complete.

        Raises:
            InputError: It is not an SQLite database, or the target cannot be written
                or exists.
            MediakitError: The database cannot be read.
        """
        if not self.is_local:
            accepted = "an SQLite file; back up a Postgres with its own tools (pg_dump)"
            raise InputError("history", got=self.name, accepted=accepted)
        try:
            with TemporaryDirectory(dir=target.parent, prefix=".history-") as folder:
                copy = Path(folder, "copy")
                self._copy_to(copy)
                copy.chmod(0o600)
                if target.exists():
                    raise FileExistsError(EEXIST, os.strerror(EEXIST))
                copy.replace(target)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise InputError(
                "path",
                got=f"{target} ({reason})",
                accepted="a new file in a folder that can be written",
            ) from None

    def _copy_to(self, copy: Path) -> None:
        with (
            _ReadableErrors(self, "backed up"),
            FORKS,
            closing(self._engine.raw_connection()) as lent,
            closing(sqlite3.connect(copy)) as target,
        ):
            driver: Any = lent.driver_connection
            driver.backup(target)

    def raise_readable(self, error: BaseException | None, verb: str) -> None:
        """Raise a readable error in place of an error of a driver.

        Args:
            error: The exception; None for none. Others than a driver's are ignored.
            verb: What failed, such as "read".
        """
        if not isinstance(error, DBAPIError | NoConnectionError | sqlite3.Error):
            return
        reason = error.orig if isinstance(error, DBAPIError) else error
        advice = DAMAGED if is_damaged(reason) else self._advice
        raise MediakitError(
            f"The history {self.name} could not be {verb}: "
            f"{without_secrets(reason, self._url)}. {advice}"
        ) from error

    @property
    def _advice(self) -> str:
        if self.is_local:
            return (
                "Its entries are unchanged. Free the file or the disk and repeat the "
                "call, or set MEDIAKIT_HISTORY to another file."
            )
        return (
            "Repeating the call is safe: each entry is written once. Check that the "
            "database can be reached, or set MEDIAKIT_HISTORY to another."
        )


def _close(kept: list[Lent], engine: Engine) -> None:
    while kept:
        kept.pop()[0].close()
    engine.dispose()


class _ReadableErrors:
    """Replaces errors of a driver by readable ones.

    Not a generator: generators take longer than the statements, in every submission.

    Args:
        database: The database of the history.
        verb: What the block does to the history, such as "read".
    """

    def __init__(self, database: Database, verb: str) -> None:
        self._database = database
        self._verb = verb

    def __enter__(self) -> Any:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._database.raise_readable(error, self._verb)


class _File(_ReadableErrors):
    """Lends a connection to a file, and prevents forks meanwhile."""

    def __enter__(self) -> FileConnection:
        FORKS.__enter__()
        try:
            self._lent = self._database.lend()
        except BaseException as error:
            FORKS.__exit__()
            self._database.raise_readable(error, self._verb)
            raise
        return self._lent[1]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._database.take_back(self._lent, is_sound=error is None)
        finally:
            FORKS.__exit__()
        self._database.raise_readable(error, self._verb)


def batches(values: Iterable[T], size: int = LONGEST_LIST) -> Iterator[list[T]]:
    """Split values into lists of at most `size`, which fit into a statement."""
    left = iter(values)
    while batch := list(islice(left, size)):
        yield batch


def lock_table(connection: Connected, name: str) -> None:
    """Lock a table against changes by other transactions.

    An SQLite transaction that writes has locked the whole file already.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"LOCK TABLE {name} IN EXCLUSIVE MODE"))
