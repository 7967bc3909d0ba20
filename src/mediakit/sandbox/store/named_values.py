"""Named values of the server, such as its clock, in the table `meta`."""

from mediakit.sandbox.store.database import Database


def read(db: Database, name: str) -> str | None:
    """Return a value; None when it was never written."""
    row = db.row("SELECT value FROM meta WHERE name = ?", name)
    return None if row is None else row["value"]


def write(db: Database, name: str, value: str) -> None:
    """Write a value, replacing the previous one."""
    db.run(
        "INSERT INTO meta (name, value) VALUES (?, ?)"
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        name,
        value,
    )


def take(db: Database, name: str) -> str | None:
    """Return a value and remove it; None when there is none."""
    value = read(db, name)
    if value is not None:
        db.run("DELETE FROM meta WHERE name = ?", name)
    return value
