"""The SQLite database, with transactions on its single write connection."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mediakit.errors import ServiceError
from mediakit.forks import no_fork
from mediakit.sandbox.store.migrations import MIGRATIONS, migrate, version_in

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


class SandboxDatabase:
    """The single write connection; statements run on the server's event loop.

    An inline statement costs tens of microseconds, less than a hop to a thread, and
    with one writer no transaction waits for another.
    """

    def __init__(self, path: Path) -> None:
        # The connection is opened in one thread, and then used only by the serving
        # thread.
        self._connection = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False
        )
        self._connection.row_factory = sqlite3.Row
        try:
            self._connection.executescript(PRAGMAS)
            self._prepare_tables(path)
        except sqlite3.Error as error:
            self._connection.close()
            raise ServiceError(
                f"The sandbox's database {path} could not be opened and written: "
                f"{error}. Choose another folder, with MEDIAKIT_HOME or --data-dir, "
                "or move this one away."
            ) from error
        except BaseException:
            self._connection.close()
            raise

    def _prepare_tables(self, path: Path) -> None:
        if version_in(self._connection) == 0:
            self._connection.executescript(
                f"BEGIN; {TABLES} PRAGMA user_version = {MIGRATIONS.version}; COMMIT;"
            )
        elif version_in(self._connection) != MIGRATIONS.version:
            migrate(self._connection, path)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit everything inside, or nothing.

        Inside another transaction, it is part of that one.
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
        """Return the first column of the first row; None if there is no row."""
        row = self.one(sql, *values)
        return None if row is None else row[0]

    def insert(self, table: str, **row: Value) -> None:
        """Add a row."""
        marks = ", ".join("?" * len(row))
        self.run(
            f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", *row.values()
        )

    def update(self, table: str, where: Mapping[str, Value], **changes: Value) -> int:
        """Update the rows with these column values; return their number."""
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
        """Close the connection; committed data is on disk."""
        self._connection.close()


# -- The tables --------------------------------------------------------------------


# The organization's row has the held amount and the numbers of queued and running jobs,
# updated by the same transactions that move jobs, so that a claim need not count them.
# The checks are the last line of defence: a hold of a prepaid organization can never
# exceed its balance, so a charge, which never exceeds its hold, can never overdraw it.
# The balance is the sum of credits and funds, and charges use the credits first.
TABLES = """
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE org (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  mode TEXT NOT NULL DEFAULT 'prepaid' CHECK (mode IN ('prepaid', 'postpaid')),
  balance_micro_usd INTEGER NOT NULL CHECK (balance_micro_usd >= 0),
  credit_micro_usd INTEGER NOT NULL DEFAULT 0
    CHECK (credit_micro_usd BETWEEN 0 AND balance_micro_usd),
  cycle_limit_micro_usd INTEGER CHECK (cycle_limit_micro_usd >= 0),
  held_micro_usd INTEGER NOT NULL DEFAULT 0 CHECK (held_micro_usd >= 0),
  concurrency INTEGER NOT NULL,
  queue_size INTEGER NOT NULL,
  per_minute INTEGER CHECK (per_minute >= 0),
  per_day INTEGER CHECK (per_day >= 0),
  suspended INTEGER NOT NULL DEFAULT 0 CHECK (suspended IN (0, 1)),
  billing_plan INTEGER NOT NULL DEFAULT 1 CHECK (billing_plan IN (0, 1)),
  queued_n INTEGER NOT NULL DEFAULT 0 CHECK (queued_n >= 0),
  running_n INTEGER NOT NULL DEFAULT 0 CHECK (running_n >= 0),
  CHECK (mode = 'postpaid' OR held_micro_usd <= balance_micro_usd),
  CHECK ((mode = 'postpaid') = (cycle_limit_micro_usd IS NOT NULL))
) STRICT;

CREATE TABLE member (
  id TEXT PRIMARY KEY,
  org TEXT NOT NULL REFERENCES org (id),
  name TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
  daily_limit_micro_usd INTEGER CHECK (daily_limit_micro_usd >= 0)
) STRICT;

CREATE TABLE api_key (
  id TEXT PRIMARY KEY,
  org TEXT NOT NULL REFERENCES org (id),
  member TEXT REFERENCES member (id),
  sha256 BLOB NOT NULL UNIQUE,
  state TEXT NOT NULL CHECK (state IN ('active', 'inactive')),
  daily_limit_micro_usd INTEGER CHECK (daily_limit_micro_usd >= 0),
  created_us INTEGER NOT NULL
) STRICT;

CREATE TABLE job (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  org TEXT NOT NULL REFERENCES org (id),
  api_key TEXT NOT NULL REFERENCES api_key (id),
  function TEXT NOT NULL,
  status TEXT NOT NULL
    CHECK (status IN ('queued', 'running', 'completed', 'failed')),
  body TEXT,
  webhook_url TEXT,
  base_url TEXT,
  hold_micro_usd INTEGER NOT NULL CHECK (hold_micro_usd >= 0),
  run_no INTEGER NOT NULL DEFAULT 0,
  file TEXT NOT NULL UNIQUE,
  media_type TEXT,
  content_type TEXT,
  error_code TEXT,
  error_message TEXT,
  usage TEXT,
  runtime_ms INTEGER,
  created_us INTEGER NOT NULL,
  started_us INTEGER,
  ended_us INTEGER,
  deleted_us INTEGER
) STRICT;
CREATE INDEX job_queued ON job (org, seq) WHERE status = 'queued';
CREATE INDEX job_running ON job (org) WHERE status = 'running';
CREATE INDEX job_erased ON job (deleted_us) WHERE deleted_us IS NOT NULL;
CREATE INDEX job_created ON job (org, created_us);

CREATE TABLE idempotency (
  org TEXT NOT NULL REFERENCES org (id),
  key TEXT NOT NULL,
  request_sha256 BLOB NOT NULL,
  job TEXT NOT NULL REFERENCES job (id),
  PRIMARY KEY (org, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE charge (
  job TEXT PRIMARY KEY REFERENCES job (id),
  org TEXT NOT NULL REFERENCES org (id),
  api_key TEXT NOT NULL REFERENCES api_key (id),
  function TEXT NOT NULL,
  completed INTEGER NOT NULL CHECK (completed IN (0, 1)),
  charge_micro_usd INTEGER NOT NULL CHECK (charge_micro_usd >= 0),
  hold_micro_usd INTEGER NOT NULL CHECK (hold_micro_usd >= charge_micro_usd),
  credit_micro_usd INTEGER NOT NULL DEFAULT 0
    CHECK (credit_micro_usd BETWEEN 0 AND charge_micro_usd),
  state TEXT NOT NULL CHECK (state IN ('pending', 'settled')),
  due_us INTEGER NOT NULL,
  settled_us INTEGER,
  CHECK ((state = 'settled') = (settled_us IS NOT NULL)),
  CHECK (completed = 1 OR charge_micro_usd = 0)
) STRICT;
CREATE INDEX charge_due ON charge (due_us) WHERE state = 'pending';
CREATE INDEX charge_settled ON charge (org, settled_us) WHERE state = 'settled';

CREATE TABLE ledger (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  org TEXT NOT NULL REFERENCES org (id),
  job TEXT REFERENCES job (id),
  kind TEXT NOT NULL CHECK (kind IN ('opening', 'grant', 'charge')),
  amount_micro_usd INTEGER NOT NULL,
  credit_micro_usd INTEGER NOT NULL DEFAULT 0 CHECK (credit_micro_usd
    BETWEEN min(0, amount_micro_usd) AND max(0, amount_micro_usd)),
  at_us INTEGER NOT NULL,
  UNIQUE (job, kind)
) STRICT;

CREATE TABLE upload (
  file TEXT PRIMARY KEY,
  ticket TEXT NOT NULL UNIQUE,
  org TEXT NOT NULL REFERENCES org (id),
  api_key TEXT NOT NULL REFERENCES api_key (id),
  content_type TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  expires_us INTEGER NOT NULL,
  created_us INTEGER NOT NULL,
  stored_us INTEGER
) STRICT;

CREATE TABLE endpoint (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  org TEXT NOT NULL REFERENCES org (id),
  url TEXT NOT NULL,
  events TEXT,
  state TEXT NOT NULL
    CHECK (state IN ('enabled', 'disabled', 'gone', 'deleted')),
  created_us INTEGER NOT NULL
) STRICT;

CREATE TABLE secret (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  owner TEXT NOT NULL,
  secret TEXT NOT NULL,
  created_us INTEGER NOT NULL,
  expires_us INTEGER
) STRICT;
CREATE INDEX secret_owner ON secret (owner, seq);

CREATE TABLE event (
  id TEXT PRIMARY KEY,
  org TEXT NOT NULL REFERENCES org (id),
  job TEXT UNIQUE REFERENCES job (id),
  type TEXT NOT NULL,
  body BLOB NOT NULL,
  at_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE delivery (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  org TEXT NOT NULL REFERENCES org (id),
  event TEXT NOT NULL REFERENCES event (id),
  endpoint TEXT REFERENCES endpoint (id),
  url TEXT NOT NULL,
  status TEXT NOT NULL
    CHECK (status IN ('pending', 'delivered', 'failed', 'canceled')),
  attempts_n INTEGER NOT NULL DEFAULT 0 CHECK (attempts_n >= 0),
  round_n INTEGER NOT NULL DEFAULT 0 CHECK (round_n >= 0),
  due_us INTEGER,
  created_us INTEGER NOT NULL,
  ended_us INTEGER,
  CHECK ((status = 'pending') = (due_us IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX delivery_once ON delivery (event, ifnull(endpoint, ''));
CREATE INDEX delivery_due ON delivery (due_us) WHERE status = 'pending';
CREATE INDEX delivery_pending ON delivery (endpoint) WHERE status = 'pending';
CREATE INDEX delivery_of_org ON delivery (org, seq);

CREATE TABLE attempt (
  delivery TEXT NOT NULL REFERENCES delivery (id),
  n INTEGER NOT NULL,
  at_us INTEGER NOT NULL,
  status_code INTEGER,
  reason TEXT,
  duration_ms INTEGER NOT NULL,
  PRIMARY KEY (delivery, n)
) STRICT, WITHOUT ROWID;
"""
