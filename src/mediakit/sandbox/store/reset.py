"""Empties the database, in one transaction."""

from mediakit.sandbox.store.database import Database


def forget_everything(db: Database, *, besides: str) -> None:
    """Empty every table, inside the caller's transaction.

    Triggers protect the ledger; they are dropped and created again.

    Args:
        db: The database.
        besides: The row of `meta` that stays.
    """
    db.run("PRAGMA defer_foreign_keys = ON")
    guards = db.rows("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    tables = db.rows(
        "SELECT name FROM sqlite_master WHERE type = 'table'"
        " AND name NOT IN ('meta') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    for guard in guards:
        db.run(f"DROP TRIGGER {guard['name']}")
    for table in tables:
        db.run(f"DELETE FROM {table['name']}")
    db.run("DELETE FROM meta WHERE name <> ?", besides)
    for guard in guards:
        db.run(guard["sql"])
