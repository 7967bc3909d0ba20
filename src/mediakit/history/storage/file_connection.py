"""Runs SQLAlchemy statements on an SQLite file with Python's own driver.

SQLAlchemy takes several times as long as SQLite to run a statement. So each statement
is compiled once, with its type conversions. With SQLAlchemy alone, a submission and two
records of its job take 1.08 ms of CPU time instead of 0.27 ms, and a client with 50
tasks takes 2.45 ms per pair instead of 1.33 ms, which misses the limits of
`benchmarks/client_overhead.py`.
"""

import sqlite3
from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Dialect, Executable
from sqlalchemy.sql.compiler import SQLCompiler

Convert = Callable[[Any], Any]


class Prepared:
    """A statement compiled for the driver.

    Args:
        statement: The statement, without expanding parameters.
        dialect: The dialect of SQLite.
    """

    def __init__(self, statement: Executable, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)  # type: ignore[attr-defined]
        self.sql = str(compiled)
        self._places: Sequence[str] = compiled.positiontup or ()
        self._fixed: dict[str, Any] = dict(compiled.params)
        self._writers = _writers(compiled, dialect)
        found = getattr(statement, "exported_columns", None)
        columns = {} if found is None else dict(found.items())
        row: Any = namedtuple("Row", columns, rename=True)  # type: ignore[misc]
        self._make: Convert = row._make if columns else tuple
        self._readers = [
            (place, reader)
            for place, column in enumerate(columns.values())
            if (reader := _reader(column.type, dialect)) is not None
        ]

    def values(self, given: dict[str, Any]) -> list[Any]:
        """Return the values for the placeholders, converted for SQLite."""
        named = self._fixed | given
        for name, writer in self._writers:
            if named[name] is not None:
                named[name] = writer(named[name])
        return list(map(named.__getitem__, self._places))

    def row(self, found: Sequence[Any]) -> Any:
        """Return a row with Python values."""
        values = list(found)
        for place, reader in self._readers:
            values[place] = reader(values[place])
        return self._make(values)


class Rows:
    """The result of a statement.

    Args:
        cursor: The cursor that ran it.
        prepared: The statement.
    """

    def __init__(self, cursor: sqlite3.Cursor, prepared: Prepared) -> None:
        self.rowcount = cursor.rowcount
        self._prepared = prepared
        self._found = cursor.fetchall() if cursor.description else []

    def first(self) -> Any:
        """Return the first row; None without rows."""
        return self._prepared.row(self._found[0]) if self._found else None

    def one(self) -> Any:
        """Return the only row."""
        (found,) = self._found
        return self._prepared.row(found)


class Statements:
    """A cache of compiled statements.

    Args:
        dialect: The dialect of SQLite.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self._prepared: WeakKeyDictionary[Executable, Prepared] = WeakKeyDictionary()

    def prepared(self, statement: Executable) -> Prepared:
        """Return the compiled statement."""
        known = self._prepared.get(statement)
        if known is None:
            known = self._prepared[statement] = Prepared(statement, self.dialect)
        return known


class FileConnection:
    """A connection to an SQLite file.

    Args:
        driver: The driver's connection.
        statements: The cache of compiled statements.
    """

    def __init__(self, driver: sqlite3.Connection, statements: Statements) -> None:
        self.dialect = statements.dialect
        self._driver = driver
        self._statements = statements

    def execute(
        self, statement: Executable, values: dict[str, Any] | None = None
    ) -> Rows:
        """Run one statement.

        Raises:
            sqlite3.Error: The statement failed.
        """
        prepared = self._statements.prepared(statement)
        cursor = self._driver.execute(prepared.sql, prepared.values(values or {}))
        return Rows(cursor, prepared)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit at the end of the block, or roll back after an exception.

        A transaction that reads before it writes needs the write lock from its start;
        SQLite cannot wait for the lock later.
        """
        self._driver.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._driver.rollback()
            raise
        self._driver.commit()


Connected = Connection | FileConnection


def _writers(compiled: SQLCompiler, dialect: Dialect) -> list[tuple[str, Convert]]:
    found = (
        (name, bind.type.dialect_impl(dialect).bind_processor(dialect))
        for bind, name in compiled.bind_names.items()
    )
    return [(name, writer) for name, writer in found if writer is not None]


def _reader(type_: Any, dialect: Dialect) -> Convert | None:
    # The second argument is the driver's type of the column; SQLite's gives none.
    reader: Convert | None = type_.dialect_impl(dialect).result_processor(dialect, None)
    return reader
