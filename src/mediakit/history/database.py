"""An open database: SQLite or Postgres, units of work, and errors in sentences."""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from errno import EEXIST
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from weakref import WeakSet, finalize

from sqlalchemy import (
    Connection,
    Dialect,
    Engine,
    QueuePool,
    create_engine,
    event,
    func,
    insert,
    select,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionError
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement
from sqlalchemy.util import LRUCache
from tenacity import retry, retry_if_exception_message, stop_after_delay, wait_random

from mediakit.errors import InputError, MediakitError
from mediakit.forks import before_fork, no_fork
from mediakit.history.database_url import (
    DAMAGED,
    UNTOUCHED,
    history_url,
    is_damaged,
    is_in_memory,
    is_local,
    of_another_version,
    place_of,
    shown_place,
    unusable,
    without_secrets,
)
from mediakit.history.tables import VERSION, metadata, schema_version
from mediakit.private_folders import make_private_folder

T = TypeVar("T")

BUSY_TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 10
IDLE_TIMEOUT_S = 60.0
LONGEST_LIST = 1_000
"""The longest list that every database accepts in a statement."""

_WRITE_LOCK = int.from_bytes(b"mediakit")
_COMPILED: LRUCache[Any, Any] = LRUCache(500)
_open: WeakSet["Database"] = WeakSet()


class Database:
    """A history's database, which threads and processes can share.

    Raises:
        InputError: It cannot be opened, is not a history, or has another version.
    """

    def __init__(self, place: str | Path) -> None:
        self._url = history_url(place)
        self.name = shown_place(self._url)
        self.place = place_of(self._url)
        self.is_local = is_local(self._url)
        self._engine = _sqlite(self._url) if self.is_local else _postgres(self._url)
        self.dialect = self._engine.dialect.name
        # On SQLite, a statement outside of `writing` is its own transaction anyway.
        self._reads = (
            self._engine
            if self.is_local
            else self._engine.execution_options(isolation_level="AUTOCOMMIT")
        )
        # Python 3.13 warns about files that are not closed.
        finalize(self, self._engine.dispose)
        try:
            with no_fork():
                _open.add(self)
                self._prepare_tables()
        except DBAPIError as error:
            self.close()
            raise unusable(self._url, error.orig) from error
        except InputError:
            self.close()
            raise

    def close(self) -> None:
        """Close the connections; closing again has no effect."""
        self._engine.dispose()

    def before_fork(self) -> None:
        """Close the connections to a file: SQLite in the child would count their locks.

        It would take none of its own then, and the parent would delete what the child
        has not yet written into the file.
        """
        if self.is_local and not is_in_memory(self._url):
            self._engine.dispose()

    def after_fork_in_child(self) -> None:
        """Leave the parent's connections open and unused: closing harms its file."""
        self._inherited = self._engine.pool
        self._engine.dispose(close=False)

    @contextmanager
    def reading(self, verb: str = "read") -> Iterator[Connection]:
        """Yield a connection for queries, which never wait for a writer.

        Raises:
            MediakitError: The database is locked, damaged or out of reach.
        """
        pool = self._engine.pool
        with (
            no_fork(),
            self._readable_errors(verb),
            self._reads.connect() as connection,
        ):
            yield connection
        if pool is not self._engine.pool:  # closed meanwhile, by another thread
            pool.dispose()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection with the write lock: one unit of work, all or nothing.

        What it reads stays true until it commits. An exception rolls back.

        Raises:
            MediakitError: The database is locked, full, damaged or out of reach.
        """
        pool = self._engine.pool
        with (
            no_fork(),
            self._readable_errors("written"),
            self._engine.connect() as connection,
        ):
            self._lock(connection)
            yield connection
            connection.commit()
        if pool is not self._engine.pool:
            pool.dispose()

    def _lock(self, connection: Connection) -> None:
        if self.is_local:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.execute(select(func.pg_advisory_xact_lock(_WRITE_LOCK)))

    @contextmanager
    def _readable_errors(self, verb: str) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, NoConnectionError, sqlite3.Error) as error:
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

    def _prepare_tables(self) -> None:
        """Create the tables of a new history; one of several processes does so.

        Raises:
            InputError: The history has another version, or not one version.
        """
        with self._reads.connect() as connection:
            found = _versions(connection)
        if found is None:
            with self._engine.begin() as connection:
                self._lock(connection)
                found = _versions(connection)
                if found is None:
                    for statement in _table_statements(connection.dialect):
                        connection.exec_driver_sql(statement)
                    connection.execute(insert(schema_version).values(version=VERSION))
                    return
        if found != [VERSION]:
            raise of_another_version(self._url, found)

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
                with (
                    self.reading("backed up") as connection,
                    closing(sqlite3.connect(copy)) as to,
                ):
                    driver: Any = connection.connection.driver_connection
                    driver.backup(to)
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


def batches(values: Iterable[T], size: int = LONGEST_LIST) -> Iterator[list[T]]:
    """Split values into lists of at most `size`, which fit into a statement."""
    left = iter(values)
    while batch := list(islice(left, size)):
        yield batch


def _versions(connection: Connection) -> list[int] | None:
    """Return the versions that a history names; None without a history."""
    if not connection.dialect.has_table(connection, schema_version.name):
        return None
    return list(connection.execute(select(schema_version.c.version)).scalars())


@lru_cache(maxsize=2)
def _table_statements(dialect: Dialect) -> tuple[str, ...]:
    """Return the statements that create the tables and their indexes."""
    tables = metadata.sorted_tables
    indexes = sorted(
        {i for each in tables for i in each.indexes}, key=lambda i: str(i.name)
    )
    made: list[ExecutableDDLElement] = [
        *(CreateTable(each, if_not_exists=True) for each in tables),
        *(CreateIndex(each, if_not_exists=True) for each in indexes),
    ]
    return tuple(str(each.compile(dialect=dialect)) for each in made)


def _before_fork() -> None:
    for database in list(_open):
        database.before_fork()


def _after_fork_in_child() -> None:
    for database in list(_open):
        database.after_fork_in_child()


before_fork(_before_fork)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


# -- SQLite -----------------------------------------------------------------------


def _sqlite(url: URL) -> Engine:
    in_memory = is_in_memory(url)
    if not in_memory:
        _make_private(url, Path(str(url.database)))
    dialect = _sqlite_dialect()
    names, settings = dialect.create_connect_args(url)
    settings.update(timeout=BUSY_TIMEOUT_S, check_same_thread=False)
    # A database in memory lives as long as its one connection, which one thread at a
    # time can use.
    pool = QueuePool(
        lambda: dialect.connect(*names, **settings),
        pool_size=1 if in_memory else 5,
        max_overflow=0 if in_memory else 10,
        dialect=dialect,
    )
    shared = {"compiled_cache": _COMPILED}
    engine = Engine(pool, dialect, url, hide_parameters=True, execution_options=shared)
    event.listen(engine, "connect", _prepare_sqlite)
    return engine


@cache
def _sqlite_dialect() -> Dialect:
    """Return the dialect of all files, which they share with its compiled statements.

    Compiling what a submission needs takes longer than executing it.
    """
    engine = create_engine("sqlite://")
    with no_fork():
        engine.connect().close()  # asks for the version of SQLite
        engine.dispose()
    return engine.dialect


def _make_private(url: URL, file: Path) -> None:
    """Create the file and missing folders, readable by the user alone.

    The file holds prompts. SQLite gives its extra files the same permissions. Existing
    files and folders keep theirs, because somebody chose them.
    """
    try:
        make_private_folder(file.parent)
    except OSError as error:
        raise unusable(url, error) from error
    with suppress(OSError):  # SQLite gives a better error
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _prepare_sqlite(connection: sqlite3.Connection, _: object) -> None:
    # `Database.writing` begins transactions, not the driver.
    connection.isolation_level = None
    _switch_to_wal(connection)
    # A power cut can lose the last commits, but not the file. A lost submission costs
    # nothing: its key is computed from its content.
    connection.execute("PRAGMA synchronous=NORMAL")


@retry(
    retry=retry_if_exception_message(match="database is locked"),
    stop=stop_after_delay(BUSY_TIMEOUT_S),
    wait=wait_random(0.005, 0.05),
    reraise=True,
)
def _switch_to_wal(connection: sqlite3.Connection) -> None:
    # While another process switches a new file, SQLite reports "locked" at once: its
    # busy timeout does not apply here.
    connection.execute("PRAGMA journal_mode=WAL")


# -- Postgres ---------------------------------------------------------------------


def _postgres(url: URL) -> Engine:
    settings: dict[str, Any] = {"application_name": "mediakit"}
    settings["connect_timeout"] = CONNECT_TIMEOUT_S
    given = {name: value for name, value in settings.items() if name not in url.query}
    make: Callable[..., Engine] = create_engine
    try:
        engine = make(
            url,
            hide_parameters=True,
            connect_args=given,
            # Sums are read after waiting for the lock: each statement must see all
            # commits, whatever the server's default is.
            isolation_level="READ COMMITTED",
            pool_pre_ping=True,
            pool_size=5,
            max_overflow=10,
        )
    except ImportError as error:
        raise InputError(
            "history",
            got=shown_place(url),
            accepted=f"a Postgres where psycopg is installed ({error})",
            then=f"{UNTOUCHED} Install it: pip install 'mediakit[team]'.",
        ) from error
    event.listen(engine, "connect", _prepare_postgres)
    return engine


def _prepare_postgres(connection: Any, _: object) -> None:
    # Limit the wait for a lock, also if the machine that holds it sleeps. Single
    # statements, too, see all commits.
    connection.autocommit = True
    connection.execute(
        "SELECT set_config('lock_timeout', %s, false), "
        "set_config('idle_in_transaction_session_timeout', %s, false), "
        "set_config('default_transaction_isolation', 'read committed', false)",
        (f"{BUSY_TIMEOUT_S:.0f}s", f"{IDLE_TIMEOUT_S:.0f}s"),
    )
    connection.autocommit = False
