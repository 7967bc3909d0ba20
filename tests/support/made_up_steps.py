"""Invented migration steps: a new column, a new table, and copied data.

They test migrations before the first real step exists. They follow the real steps, and
scripts in separate processes install them, too.
"""

from __future__ import annotations

import sqlite3
import sys

from sqlalchemy import Connection

from mediakit.history.migrations import MIGRATIONS
from mediakit.sandbox.store.migrations import MIGRATIONS as SANDBOX_MIGRATIONS

STATEMENTS_N = 4


def history_step(db: Connection) -> None:
    """Give entries a mood, and copy the notes to a table of their own."""
    for statement in (
        "ALTER TABLE mediakit_entries ADD COLUMN mood VARCHAR",
        "UPDATE mediakit_entries SET mood = 'calm ' || kind",
        "CREATE TABLE mediakit_moods (job_id VARCHAR PRIMARY KEY, note TEXT NOT NULL)",
        "INSERT INTO mediakit_moods SELECT job_id, note FROM mediakit_judgements",
    ):
        db.exec_driver_sql(statement)
        report()


def sandbox_step(db: sqlite3.Connection) -> None:
    """Give jobs a mood, and rebuild a table to which others refer."""
    for statement in (
        "ALTER TABLE job ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'",
        "CREATE TABLE event_2 (id TEXT PRIMARY KEY, org TEXT NOT NULL REFERENCES org"
        " (id), job TEXT UNIQUE REFERENCES job (id), type TEXT NOT NULL, body BLOB NOT"
        " NULL, at_us INTEGER NOT NULL, mood TEXT) STRICT, WITHOUT ROWID",
        "INSERT INTO event_2 SELECT *, 'calm' FROM event",
        "DROP TABLE event",
    ):
        db.execute(statement)
        report()
    db.execute("ALTER TABLE event_2 RENAME TO event")


def report() -> None:
    """Print a line after a statement, for a test that kills the process there."""
    if "--report" in sys.argv:
        sys.stdout.write("statement\n")
        sys.stdout.flush()


def install() -> None:
    """Append the steps to those of this process."""
    MIGRATIONS.steps.append(history_step)
    SANDBOX_MIGRATIONS.steps.append(sandbox_step)
