"""The SQLite database, and transactions on its single write connection."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mediakit.errors import ServiceError
from mediakit.forks import no_fork
from mediakit.sandbox.store.schema import SCHEMA_VERSION, TABLES

Value = str | int | float | bytes | None

# With NORMAL in WAL mode a kill loses nothing; a power cut can lose the last commits,
# without damage. `secure_delete` overwrites erased prompts. Checkpoints block all
# requests, so they run at every 4,000 pages (16 MB) instead of 1,000.
PRAGMAS = """
PRAGMA synchronous = NORMAL;
PRAGMA journal_mode = WAL;
PRAGMA wal_autocheckpoint = 4000;
PRAGMA foreign_keys = ON;
PRAGMA secure_delete = ON;
PRAGMA busy_timeout = 5000;
"""


class Database:
    """The single write connection; statements run inline on the server's event loop.

    An inline statement costs tens of microseconds, less than a hop to a thread, and
    with one writer no transaction waits for another.
    """

    def __init__(self, path: Path) -> None:
        # Opened in another thread than the serving one, which alone uses it then.
        self._connection = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False
        )
        self._connection.row_factory = sqlite3.Row
        self._connection.executescript(PRAGMAS)
        self._make_tables(path)

    def _make_tables(self, path: Path) -> None:
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if version == 0:
            self._connection.executescript(
                f"BEGIN; {TABLES} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
            )
        elif version != SCHEMA_VERSION:
            self._connection.close()
            raise ServiceError(
                f"{path} was written by another version of mediakit (its format is "
                f"{version}, this version reads {SCHEMA_VERSION}). Use that version, "
                "or another data directory."
            )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit everything inside it, or nothing.

        Inside another transaction it is part of that one.
        """
        if self._connection.in_transaction:
            yield
            return
        with no_fork():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                # A failed commit leaves the transaction open. A full disk may have
                # ended it already; then there is nothing to roll back.
                with suppress(sqlite3.OperationalError):
                    self._connection.execute("ROLLBACK")
                raise

    def run(self, sql: str, *values: Value) -> int:
        """Run one statement; return the number of changed rows."""
        with no_fork():
            return self._connection.execute(sql, values).rowcount

    def one(self, sql: str, *values: Value) -> sqlite3.Row | None:
        """Return the first row, or None."""
        with no_fork():
            row: sqlite3.Row | None = self._connection.execute(sql, values).fetchone()
        return row

    def all(self, sql: str, *values: Value) -> list[sqlite3.Row]:
        """Return every row."""
        with no_fork():
            return self._connection.execute(sql, values).fetchall()

    def value(self, sql: str, *values: Value) -> Any:
        """Return the first column of the first row; None when there is no row."""
        row = self.one(sql, *values)
        return None if row is None else row[0]

    def insert(self, table: str, **row: Value) -> None:
        """Add a row."""
        marks = ", ".join("?" * len(row))
        self.run(
            f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", *row.values()
        )

    def update(self, table: str, where: Mapping[str, Value], **changes: Value) -> int:
        """Change the rows whose columns have these values; return their number."""
        columns = ", ".join(f"{name} = ?" for name in changes)
        conditions = " AND ".join(f"{name} = ?" for name in where)
        return self.run(
            f"UPDATE {table} SET {columns} WHERE {conditions}",
            *changes.values(),
            *where.values(),
        )

    def clear(self, *, besides: str) -> None:
        """Empty every table, inside the caller's transaction."""
        self.run("PRAGMA defer_foreign_keys = ON")
        tables = self.all(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
            " AND name <> 'meta' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        )
        for table in tables:
            self.run(f"DELETE FROM {table['name']}")
        self.run("DELETE FROM meta WHERE name <> ?", besides)

    def close(self) -> None:
        """Close the connection; what was committed is on disk."""
        self._connection.close()
