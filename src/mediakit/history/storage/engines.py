"""Opens a database: an SQLite file, or a team's Postgres."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Connection,
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
from sqlalchemy.pool import ConnectionPoolEntry
from tenacity import retry, retry_if_exception_message, stop_after_delay, wait_random

from mediakit.errors import InputError
from mediakit.history.storage.database_url import (
    UNTOUCHED,
    is_in_memory,
    is_local,
    of_another_version,
    shown_place,
    unusable,
)
from mediakit.history.storage.tables import VERSION, metadata, schema_version
from mediakit.private_folders import make_private_folder

BUSY_TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 10
IDLE_TIMEOUT_S = 60.0
WRITES = "mediakit_writes"
PAGE_BYTES = 2_048
LOG_BYTES = 16 << 20
_SCHEMA_LOCK = int.from_bytes(b"mediakit")


def open_engine(url: URL) -> Engine:
    """Open a database, and create the tables of a new one.

    Raises:
        InputError: It cannot be opened, is not a history, or has another version.
    """
    engine = _sqlite(url) if is_local(url) else _postgres(url)
    try:
        _prepare_tables(engine, url)
    except DBAPIError as error:
        engine.dispose()
        raise unusable(url, error.orig) from error
    except InputError:
        engine.dispose()
        raise
    return engine


def _prepare_tables(engine: Engine, url: URL) -> None:
    """Create the tables of a new history; one of several processes does so.

    Raises:
        InputError: The history has another version.
    """
    with engine.begin() as connection:
        found = _version(connection)
    if found is None:
        with engine.execution_options(**{WRITES: True}).begin() as connection:
            if not is_local(url):
                connection.execute(select(func.pg_advisory_xact_lock(_SCHEMA_LOCK)))
            found = _version(connection) or _make_tables(connection)
    if found != VERSION:
        raise of_another_version(url, found)


def _version(connection: Connection) -> int | None:
    """Return the version of a history; None without one."""
    if not connection.dialect.has_table(connection, schema_version.name):
        return None
    found: int = connection.execute(select(schema_version.c.version)).scalar_one()
    return found


def _make_tables(connection: Connection) -> int:
    metadata.create_all(connection)
    connection.execute(insert(schema_version).values(version=VERSION))
    return VERSION


# -- SQLite -----------------------------------------------------------------------


def _sqlite(url: URL) -> Engine:
    in_memory = is_in_memory(url)
    if not in_memory:
        _make_private(url, Path(str(url.database)))
    # A database in memory lives as long as its one connection, which one thread at a
    # time can use.
    engine = create_engine(
        url,
        hide_parameters=True,
        connect_args={"timeout": BUSY_TIMEOUT_S, "check_same_thread": False},
        poolclass=QueuePool,
        pool_size=1 if in_memory else 5,
        max_overflow=0 if in_memory else 10,
    )
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin)
    return engine


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


def _prepare_sqlite(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
    # `_begin` begins transactions, not the driver.
    connection.isolation_level = None
    # Each change writes whole pages, and a row needs less than half a page.
    connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
    _switch_to_wal(connection)
    # A checkpoint takes as long as hundreds of submissions.
    connection.execute(f"PRAGMA wal_autocheckpoint={LOG_BYTES // PAGE_BYTES}")
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


def _begin(connection: Connection) -> None:
    # A transaction that reads before it writes needs the write lock from its start;
    # SQLite cannot wait for the lock later. A single statement is its own transaction.
    if connection.get_execution_options().get(WRITES, False):
        connection.exec_driver_sql("BEGIN IMMEDIATE")


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
            # Sums are read after waiting for a lock: each statement must see all
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


def _prepare_postgres(connection: Any, _: ConnectionPoolEntry) -> None:
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
