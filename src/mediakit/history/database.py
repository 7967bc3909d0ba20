"""An open database: SQLite or Postgres, transactions, and errors as sentences."""

import logging
import os
import random
import sqlite3
import threading
import time
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from errno import EEXIST
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from weakref import WeakSet, finalize

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    QueuePool,
    Select,
    Table,
    create_engine,
    event,
    func,
    insert,
    select,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionError

from mediakit.errors import InputError, MediakitError
from mediakit.extras import install_command
from mediakit.forks import before_fork, no_fork
from mediakit.history.database_url import (
    UNTOUCHED,
    file_of,
    history_url,
    is_in_memory,
    is_local,
    shown_place,
    unique_name,
    without_secrets,
)
from mediakit.history.migrations import (
    MIGRATIONS,
    copy_file,
    needs_step,
    take_step,
    versions_in,
)
from mediakit.history.open_file import REPLACED, OpenFile
from mediakit.history.tables import metadata, schema_version, upsert
from mediakit.migration_steps import UPGRADE_COMMAND
from mediakit.private_folders import make_private_folder
from mediakit.rules import Problem

T = TypeVar("T")
logger = logging.getLogger(__name__)

BUSY_TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 10
IDLE_TIMEOUT_S = 60.0
WAL_PAUSES_S = (0.005, 0.05)
LONGEST_LIST = 1_000
"""The longest list that every database accepts in a statement."""

DAMAGED = (
    "The file is damaged, or an older copy was put back beside the -wal file of a "
    "newer one. Move it away together with the files beside it that end in -wal and "
    "-shm, and start with a backup or a new file: client.history.rebuild(folders=...) "
    "then recovers the jobs from the service and from saved results."
)
_WRITE_LOCK = int.from_bytes(b"mediakit")
_open: WeakSet["Database"] = WeakSet()
_may_wait: ContextVar[bool] = ContextVar("mediakit_history_may_wait", default=True)


class BusyError(MediakitError):
    """A transaction would have had to wait where that is not allowed."""


@contextmanager
def without_waiting() -> Iterator[None]:
    """Raise `BusyError` in this block instead of waiting for a lock or a server."""
    token = _may_wait.set(False)
    try:
        yield
    finally:
        _may_wait.reset(token)


class Database:
    """A history's database, which threads and processes can share."""

    def __init__(
        self, place: str | Path, busy_timeout_s: float = BUSY_TIMEOUT_S
    ) -> None:
        self._url = history_url(place)
        self.name = shown_place(self._url)
        self.place = unique_name(self._url)
        self.is_local = is_local(self._url)
        self._is_file = self.is_local and not is_in_memory(self._url)
        open_engine = _sqlite if self.is_local else _postgres
        self._engine = open_engine(self._url, busy_timeout_s)
        # On SQLite, a statement outside of `writing` is its own transaction anyway.
        self._reads = (
            self._engine
            if self.is_local
            else self._engine.execution_options(isolation_level="AUTOCOMMIT")
        )
        # The connection of the thread that never waits for locks. Taking a connection
        # from the pool would cost as much as two statements.
        self._kept: list[Connection] = []
        # Python 3.13 warns about files that are not closed.
        finalize(self, _close, self._engine, self._kept)
        try:
            with no_fork():
                _open.add(self)
                self._prepare_tables()
        except DBAPIError as error:
            self.close()
            raise _unusable(self._url, error.orig) from error
        except InputError:
            self.close()
            raise
        self.file = OpenFile(Path(self.name) if self._is_file else None)

    def close(self) -> None:
        """Close the connections; closing again has no effect."""
        _close(self._engine, self._kept)

    def before_fork(self) -> None:
        """Close connections to a file, because a child must not inherit its locks."""
        if self._is_file:
            self.close()

    def after_fork_in_child(self) -> None:
        """Abandon the parent's connections: closing them would harm its file."""
        self._inherited = (self._engine.pool, *self._kept)
        self._kept.clear()
        self._engine.dispose(close=False)

    def reading(self, verb: str = "read") -> AbstractContextManager[Connection]:
        """Yield a connection for queries."""
        return self._connected(self._reads, verb)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection with the write lock, in a transaction."""
        with self._connected(self._engine, "written") as connection:
            self._lock(connection)
            yield connection
            connection.commit()

    def rows(self, query: Select[Any], **values: object) -> Sequence[Any]:
        """Return the rows of a query with these parameters."""
        with self.reading() as connection:
            return connection.execute(query, values).all()

    def rows_with(
        self, query: Select[Any], column: Column[Any], values: Iterable[object]
    ) -> list[Any]:
        """Return the rows in which a column has one of any number of values."""
        with self.reading() as connection:
            return [
                row
                for some in batches(dict.fromkeys(values))
                for row in connection.execute(query.where(column.in_(some)))
            ]

    def save(
        self,
        table: Table,
        rows: Sequence[Mapping[str, Any]],
        *,
        update: Collection[str] = (),
    ) -> None:
        """Insert rows in a transaction; see `upsert`."""
        with self.writing() as connection:
            upsert(connection, table, rows, update=update)

    @contextmanager
    def _connected(self, engine: Engine, verb: str) -> Iterator[Connection]:
        pool = engine.pool
        try:
            with no_fork(), self._connection(engine) as connection:
                yield connection
        except (DBAPIError, NoConnectionError, sqlite3.Error) as error:
            reason = error.orig if isinstance(error, DBAPIError) else error
            if not _may_wait.get() and _code(reason) == sqlite3.SQLITE_BUSY:
                raise BusyError("Another connection locks the history.") from None
            advice = DAMAGED if _is_damaged(reason) else self._advice
            raise MediakitError(
                f"The history {self.name} could not be {verb}: "
                f"{without_secrets(reason, self._url)}. {advice}"
            ) from error
        finally:
            if pool is not engine.pool:  # closed by another thread
                pool.dispose()

    @contextmanager
    def _connection(self, engine: Engine) -> Iterator[Connection]:
        if _may_wait.get():
            with engine.connect() as connection:
                yield connection
            return
        if not self._is_file:
            raise BusyError("The history is not a file.")
        # Remove the connection while it is used, so that a nested unit of work cannot
        # end the outer one.
        connection = self._kept.pop() if self._kept else _without_timeout(engine)
        try:
            yield connection
        finally:
            connection.rollback()
            self._kept.append(connection)

    def _lock(self, connection: Connection) -> None:
        if self.is_local:
            file: Any = connection.connection.dbapi_connection
            file.execute("BEGIN IMMEDIATE")
        else:
            connection.execute(select(func.pg_advisory_xact_lock(_WRITE_LOCK)))

    @property
    def _advice(self) -> str:
        if self.file.is_replaced:
            return REPLACED
        if self.is_local:
            return (
                "Its entries are unchanged. Close the program that locks the file, "
                "or free disk space, and repeat the call. Or set MEDIAKIT_HISTORY to "
                "another file."
            )
        return (
            "Repeating the call is safe: each entry is written once. Check that the "
            "database can be reached, or set MEDIAKIT_HISTORY to another."
        )

    def _prepare_tables(self) -> None:
        """Create the tables of a new history; migrate an older one."""
        with self._reads.connect() as connection:
            versions = versions_in(connection)
        if versions is None:
            versions = self._create_tables()
        if versions != [MIGRATIONS.version]:
            self._migrate(versions)

    def _create_tables(self) -> list[int]:
        with self._engine.begin() as connection:
            self._lock(connection)
            versions = versions_in(connection)
            if versions is None:
                versions = [MIGRATIONS.version]
                metadata.create_all(connection, checkfirst=False)
                row = {"version": MIGRATIONS.version}
                connection.execute(insert(schema_version), row)
        return versions

    def _migrate(self, versions: list[int]) -> None:
        """Migrate the tables to this version, after copying the file."""
        old, copy, steps_n = versions, None, 0
        while needs_step(versions):
            (version,) = versions
            try:
                with self._engine.begin() as connection:
                    self._lock(connection)
                    versions = versions_in(connection) or []
                    if versions != [version]:  # migrated by another process
                        continue
                    copy = copy or copy_file(connection, version)
                    take_step(connection, version)
                versions, steps_n = [version + 1], steps_n + 1
            except (DBAPIError, sqlite3.Error, OSError) as error:
                reason = error.orig if isinstance(error, DBAPIError) else error
                raise _not_migrated(self._url, version, reason) from error
        if versions != [MIGRATIONS.version]:
            raise _of_another_version(self._url, versions)
        if steps_n:
            logger.warning("%s", _migrated_text(self.name, old[0], copy))

    def backup(self, target: Path) -> None:
        """Copy an SQLite database to a new file, which appears when it is complete."""
        if not self.is_local:
            accepted = "an SQLite file; back up Postgres with its own tools (pg_dump)"
            raise InputError("history", got=self.name, accepted=accepted)
        try:
            with TemporaryDirectory(dir=target.parent, prefix=".history-") as folder:
                copy = Path(folder, "copy")
                with self.reading("backed up") as connection:
                    connection.exec_driver_sql("VACUUM INTO ?", (str(copy),))
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
    """Split values into lists of at most `size`, which a statement can take."""
    rest = iter(values)
    while batch := list(islice(rest, size)):
        yield batch


def _close(engine: Engine, connections: list[Connection]) -> None:
    while connections:
        connections.pop().close()
    engine.dispose()


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


def _sqlite(url: URL, busy_timeout_s: float) -> Engine:
    in_memory = is_in_memory(url)
    if not in_memory and url.query.get("mode", "rwc") == "rwc":
        _make_private(url, file_of(url))
    engine = create_engine(
        url,
        hide_parameters=True,
        connect_args={"timeout": busy_timeout_s, "check_same_thread": False},
        # An in-memory database lives as long as its only connection, which one thread
        # at a time can use.
        poolclass=QueuePool,
        pool_size=1 if in_memory else 5,
        max_overflow=0 if in_memory else 10,
    )
    prepare = partial(_prepare_sqlite, busy_timeout_s=busy_timeout_s)
    event.listen(engine, "connect", prepare)
    return engine


def _make_private(url: URL, file: Path) -> None:
    """Create the file and its folders, readable only by the user."""
    try:
        make_private_folder(file.parent)
    except OSError as error:
        raise _unusable(url, error) from error
    with suppress(OSError):  # SQLite gives a better error
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _prepare_sqlite(
    connection: sqlite3.Connection, _: object, *, busy_timeout_s: float
) -> None:
    # `Database.writing` begins transactions, not the driver.
    connection.isolation_level = None
    _switch_to_wal(connection, busy_timeout_s)
    # A power cut can lose the last commits, but not the file. A lost submission costs
    # nothing: its key is computed from its content.
    connection.execute("PRAGMA synchronous=NORMAL")


def _without_timeout(engine: Engine) -> Connection:
    """Return a connection outside the pool that reports a lock at once."""
    connection = engine.connect()
    connection.detach()
    connection.exec_driver_sql("PRAGMA busy_timeout=0")
    return connection


def _switch_to_wal(connection: sqlite3.Connection, busy_timeout_s: float) -> None:
    # While another process switches a new file to WAL, SQLite reports "locked" at once:
    # the busy timeout does not apply here.
    pause, until_s = threading.Event(), time.monotonic() + busy_timeout_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() >= until_s:
                raise
            pause.wait(random.uniform(*WAL_PAUSES_S))
        else:
            return


# -- Postgres ---------------------------------------------------------------------


def _postgres(url: URL, busy_timeout_s: float) -> Engine:
    settings: dict[str, Any] = {"application_name": "mediakit"}
    settings["connect_timeout"] = CONNECT_TIMEOUT_S
    connect_args = {
        name: value for name, value in settings.items() if name not in url.query
    }
    make: Callable[..., Engine] = create_engine
    try:
        engine = make(
            url,
            hide_parameters=True,
            connect_args=connect_args,
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
            accepted=f"a database whose driver is installed ({error})",
            then=f"{UNTOUCHED} Install it: {install_command('team')}.",
        ) from error
    prepare = partial(_prepare_postgres, busy_timeout_s=busy_timeout_s)
    event.listen(engine, "connect", prepare)
    return engine


def _prepare_postgres(connection: Any, _: object, *, busy_timeout_s: float) -> None:
    # Limit the wait for a lock, even if the machine that holds it sleeps. Single
    # statements, too, see all commits.
    connection.autocommit = True
    connection.execute(
        "SELECT set_config('lock_timeout', %s, false), "
        "set_config('idle_in_transaction_session_timeout', %s, false), "
        "set_config('default_transaction_isolation', 'read committed', false)",
        (f"{busy_timeout_s * 1_000:.0f}ms", f"{IDLE_TIMEOUT_S:.0f}s"),
    )
    connection.autocommit = False


# -- errors as sentences ---------------------------------------------------------------


def _is_damaged(reason: object) -> bool:
    return _code(reason) == sqlite3.SQLITE_CORRUPT


def _code(reason: object) -> int:
    # An extended code has the primary one in its lowest byte.
    code: int = getattr(reason, "sqlite_errorcode", 0)
    return code & 0xFF


def _unusable(url: URL, reason: object) -> InputError:
    kind = "file" if is_local(url) else "database"
    return InputError(
        "history",
        got=shown_place(url),
        accepted=f"a {kind} that can be opened and written as a history "
        f"({without_secrets(reason, url)})",
        then=DAMAGED
        if _is_damaged(reason)
        else f"{UNTOUCHED} Set MEDIAKIT_HISTORY to another {kind}.",
    )


def _of_another_version(url: URL, versions: Sequence[int]) -> InputError:
    kind = "file" if is_local(url) else "database"
    problem = "has no version"
    if len(versions) == 1:
        problem = MIGRATIONS.problem(versions[0])
    elif versions:
        problem = f"has the versions {', '.join(map(str, versions))}"
    advice = (
        f"Upgrade mediakit ({UPGRADE_COMMAND}) and restart the kernel"
        if max(versions, default=0) > MIGRATIONS.version
        else "Move it away"
    )
    return _unreadable(
        versions[0] if len(versions) == 1 else list(versions),
        problem,
        f"{shown_place(url)} was not changed. {advice}, or name another {kind} with "
        "history=... or MEDIAKIT_HISTORY.",
    )


def _not_migrated(url: URL, version: int, reason: object) -> InputError:
    advice = (
        "Free disk space twice the size of the file, and check that the file and its "
        "folder can be written, then connect again."
        if is_local(url)
        else "Connect once as the owner of its tables."
    )
    return _unreadable(
        version,
        f"has version {version} and could not be migrated to version {version + 1} "
        f"({without_secrets(reason, url)})",
        f"{shown_place(url)} was not changed. {advice}",
    )


def _unreadable(value: object, problem: str, advice: str) -> InputError:
    accepted = f"of version {MIGRATIONS.version}"
    problems = [Problem("history", got=value, accepted=accepted, message=problem)]
    return InputError.of(problems, then=advice)


def _migrated_text(name: str, old: int, copy: Path | None) -> str:
    text = f"The history {name} was migrated from version {old} to "
    text += f"{MIGRATIONS.version}."
    return text if copy is None else f"{text} A copy of the old one is in {copy}."
