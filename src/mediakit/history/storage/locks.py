"""Locks that last until a transaction ends, by name."""

from hashlib import sha256

from sqlalchemy import BigInteger, bindparam, func, select, text

from mediakit.history.storage.file_connection import Connected

_TAKE = select(func.pg_advisory_xact_lock(bindparam("number", type_=BigInteger)))


def lock(connection: Connected, *name: str) -> None:
    """Wait until no other transaction of this database holds the lock of this name.

    An SQLite transaction that writes has the whole file to itself already.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(_TAKE, {"number": _number(name)})


def lock_table(connection: Connected, name: str) -> None:
    """Wait until no other transaction has changed a table, and let none change it."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"LOCK TABLE {name} IN EXCLUSIVE MODE"))


def _number(name: tuple[str, ...]) -> int:
    digest = sha256("\0".join(("mediakit", *name)).encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
