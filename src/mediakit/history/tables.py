"""The history's tables, how a database is opened, and how an older one moves up."""

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Dialect,
    Engine,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    QueuePool,
    String,
    Table,
    Text,
    TypeDecorator,
    create_engine,
    delete,
    event,
    func,
    insert,
    select,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry
from tenacity import retry, retry_if_exception_message, stop_after_delay, wait_random

from mediakit.errors import InputError

BUSY_TIMEOUT_S = 30.0
WRITES = "mediakit_writes"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_UNTOUCHED = "Nothing was changed."


class Instant(TypeDecorator[datetime]):
    """An aware instant, kept as microseconds since 1970.

    Whole numbers compare, sort and come back alike in every database; SQLite has no
    type for instants.
    """

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> object:
        """Write an instant."""
        return None if value is None else (value - _EPOCH) // _MICROSECOND

    def process_result_value(
        self, value: int | None, dialect: Dialect
    ) -> datetime | None:
        """Read an instant, in UTC."""
        return None if value is None else _EPOCH + value * _MICROSECOND


metadata = MetaData()
_number = BigInteger().with_variant(Integer, "sqlite")  # there, the row's own number

schema_version = Table(
    "mediakit_version", metadata, Column("version", Integer, nullable=False)
)

entries = Table(
    "mediakit_entries",
    metadata,
    Column("number", _number, primary_key=True, autoincrement=True),
    Column("key", String, nullable=False, unique=True),
    Column("draw_key", String, nullable=False),
    Column("service", String, nullable=False),
    Column("account", String, nullable=False),
    Column("function", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("prompt", Text),
    Column("webhook_url", Text),
    Column("take", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("estimate_kind", String, nullable=False),
    Column("estimate_low_micro_usd", BigInteger),
    Column("estimate_high_micro_usd", BigInteger),
    Column("reserved_micro_usd", BigInteger, nullable=False),
    Column("project", String),
    Column("state", String, nullable=False),
    Column("job_id", String),
    Column("status", String),
    Column("error_code", String),
    Column("error_message", Text),
    Column("billing_state", String),
    Column("charge_micro_usd", BigInteger),
    Column("restated_charge_micro_usd", BigInteger),
    Column("output_url", Text),
    Column("content_type", String),
    Column("media_type", String),
    Column("created_at", Instant, nullable=False),
    Column("submitted_at", Instant),
    Column("finished_at", Instant),
    Column("settled_at", Instant),
    Column("deleted_at", Instant),
    Column("gone_at", Instant),
    Index("ix_mediakit_job", "job_id"),
    Index("ix_mediakit_draw", "service", "account", "draw_key", "take", "attempt"),
    Index("ix_mediakit_state", "service", "account", "state"),
    Index("ix_mediakit_kind", "kind", "number"),
)

uploads = Table(
    "mediakit_uploads",
    metadata,
    Column("service", String, primary_key=True),
    Column("account", String, primary_key=True),
    Column("sha256", String, primary_key=True),
    Column("content_type", String, primary_key=True),
    Column("size_bytes", BigInteger, nullable=False),
    Column("url", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
)


def _create_everything(connection: Connection) -> None:
    metadata.create_all(connection)


# The nth step takes a database of version n to version n + 1. Steps of released
# versions never change: a new version is a new step.
MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_create_everything,)


def history_url(place: str | Path) -> URL:
    """Read where a history is: a path means SQLite.

    Raises:
        InputError: The place is empty, or no URL of a database that is supported.
    """
    accepted = "a file's path, or a URL such as sqlite:////home/me/history.db"
    if not str(place).strip():
        raise InputError("history", got=place, accepted=accepted, sent=_UNTOUCHED)
    if isinstance(place, Path) or "://" not in place:
        return URL.create("sqlite", database=str(Path(place).expanduser()))
    try:
        url = make_url(place)
    except (ArgumentError, ValueError):
        # What came may hold a password, so it is not repeated.
        raise InputError(
            "history", got="an unreadable URL", accepted=accepted, sent=_UNTOUCHED
        ) from None
    if url.get_backend_name() != "sqlite":
        got = f"a database of {url.get_backend_name()}"
        raise InputError("history", got=got, accepted=accepted, sent=_UNTOUCHED)
    return url


def shown_place(url: URL) -> str:
    """Write where a database is, without its URL's query, which may hold secrets."""
    return url.database or ":memory:"


def open_engine(url: URL) -> Engine:
    """Open a database, creating it or moving it up to this version where needed.

    Raises:
        InputError: It cannot be opened, is no history, or a newer mediakit wrote it.
    """
    in_memory = url.database in (None, "", ":memory:")
    if not in_memory:
        _make_folder(Path(str(url.database)).parent)
    # A database in memory lives and dies with its one connection.
    engine = create_engine(
        url,
        hide_parameters=True,
        connect_args={"timeout": BUSY_TIMEOUT_S},
        poolclass=QueuePool,
        pool_size=1 if in_memory else 5,
        max_overflow=0 if in_memory else 10,
    )
    event.listen(engine, "connect", _prepare_connection)
    event.listen(engine, "begin", _begin)
    try:
        _migrate(engine, shown_place(url))
    except DBAPIError as error:
        engine.dispose()
        raise _unusable(shown_place(url), error.orig) from error
    except InputError:
        engine.dispose()
        raise
    return engine


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(str(folder), error) from error


def _unusable(where: str, reason: object) -> InputError:
    return InputError(
        "history",
        got=where,
        accepted=f"a file that can be opened and written as a history ({reason})",
        sent=f"{_UNTOUCHED} Set MEDIAKIT_HISTORY to another file.",
    )


def _prepare_connection(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
    # Transactions begin where `_begin` says, not where the driver guesses.
    connection.isolation_level = None
    _switch_to_wal(connection)
    # A power cut may take the last commits, never the file. A lost intent costs
    # nothing: its key follows from its content.
    connection.execute("PRAGMA synchronous=NORMAL")


@retry(
    retry=retry_if_exception_message(match="database is locked"),
    stop=stop_after_delay(BUSY_TIMEOUT_S),
    wait=wait_random(0.005, 0.05),
    reraise=True,
)
def _switch_to_wal(connection: sqlite3.Connection) -> None:
    # While another process switches a new file, SQLite answers "locked" at once: its
    # busy timeout does not hold here.
    connection.execute("PRAGMA journal_mode=WAL")


def _begin(connection: Connection) -> None:
    # A transaction that reads first and then writes must own the write lock from its
    # start; SQLite cannot make it wait for the lock later.
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN DEFERRED")


def _migrate(engine: Engine, name: str) -> None:
    with engine.begin() as connection:
        found = _version(connection, name)
    if found == len(MIGRATIONS):
        return  # the usual case, which takes no write lock
    with engine.execution_options(**{WRITES: True}).begin() as connection:
        for step in MIGRATIONS[_version(connection, name) :]:
            step(connection)
        connection.execute(delete(schema_version))
        connection.execute(insert(schema_version).values(version=len(MIGRATIONS)))


def _version(connection: Connection, name: str) -> int:
    if not connection.dialect.has_table(connection, schema_version.name):
        return 0
    found = connection.execute(select(func.max(schema_version.c.version))).scalar() or 0
    if found > len(MIGRATIONS):
        raise InputError(
            "history",
            got=f"format version {found} in {name}",
            accepted=f"version {len(MIGRATIONS)} or older; a newer mediakit wrote it",
            sent=f"{_UNTOUCHED} Upgrade mediakit, or set MEDIAKIT_HISTORY to another "
            "file.",
        )
    return int(found)
