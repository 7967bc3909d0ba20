"""The URL of a history's database: parsed, and shown without secrets."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from mediakit.errors import InputError
from mediakit.history.tables import VERSION

UNTOUCHED = "Nothing was changed."
DAMAGED = (
    "The file is damaged, or an older copy was put back beside the -wal file of a "
    "newer one. Move it away together with the files beside it that end in -wal and "
    "-shm, and start with a backup or a new file: client.history.rebuild(folders=...) "
    "then recovers the jobs from the service and from saved results."
)
POSTGRES = "postgresql+psycopg"
_DRIVERS = {
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
    "postgres": POSTGRES,
    "postgresql": POSTGRES,
    POSTGRES: POSTGRES,
}
_SECRET_SETTINGS = ("password", "sslpassword")
_ACCEPTED = (
    "a file's path, or a URL such as sqlite:////home/me/history.db or "
    "postgresql://me@host/team"
)


def history_url(place: str | Path) -> URL:
    """Parse the place of a history: a path means SQLite.

    Raises:
        InputError: The place is empty, or not the URL of a supported database.
    """
    if not str(place).strip():
        raise _refused(place)
    if isinstance(place, Path) or "://" not in place:
        return URL.create("sqlite", database=str(Path(place).expanduser()))
    try:
        url = make_url(place)
    except (ArgumentError, ValueError):
        # The text can hold a password, so it is not shown.
        raise _refused("an unreadable URL") from None
    if url.drivername not in _DRIVERS:
        raise _refused(f"a database of {url.drivername}")
    if "@" in (url.host or ""):
        # The rest of the password would be parsed and shown as the host.
        raise _refused("a URL whose password holds an @, which is written %40 there")
    return url.set(drivername=_DRIVERS[url.drivername])


def is_local(url: URL) -> bool:
    """Return whether the database is a file or in memory, not on a server."""
    return url.get_backend_name() == "sqlite"


def is_in_memory(url: URL) -> bool:
    """Return whether the database is in memory."""
    return is_local(url) and url.database in (None, "", ":memory:")


def shown_place(url: URL) -> str:
    """Return the place of a database without user, password and query."""
    if is_local(url):
        return url.database or ":memory:"
    return "/".join(part for part in (url.host, url.database) if part) or "Postgres"


def place_of(url: URL) -> str:
    """Return the unique name of a database; each one in memory has its own."""
    if is_in_memory(url):
        return f":memory: {uuid4().hex}"
    if is_local(url):
        return str(Path(url.database or "").resolve())
    return url.render_as_string(hide_password=True)


def without_secrets(reason: object, url: URL) -> str:
    """Return a driver's reason in one line, without the URL's secrets."""
    text = " ".join(str(reason).split())
    for secret in (url.password, *(url.query.get(name) for name in _SECRET_SETTINGS)):
        if secret:
            text = text.replace(str(secret), "***")
    return text


def unusable(url: URL, reason: object) -> InputError:
    """Return the error for a database that cannot be opened."""
    kind = "file" if is_local(url) else "database"
    return InputError(
        "history",
        got=shown_place(url),
        accepted=f"a {kind} that can be opened and written as a history "
        f"({without_secrets(reason, url)})",
        then=DAMAGED
        if is_damaged(reason)
        else f"{UNTOUCHED} Set MEDIAKIT_HISTORY to another {kind}.",
    )


def is_damaged(reason: object) -> bool:
    """Return whether a driver's error says that an SQLite file is damaged."""
    # An extended code has the primary one in its lowest byte.
    code: int = getattr(reason, "sqlite_errorcode", 0)
    return code & 0xFF == sqlite3.SQLITE_CORRUPT


def of_another_version(url: URL, versions: Sequence[int]) -> InputError:
    """Return the error for a history of another version, or of no single one."""
    kind = "file" if is_local(url) else "database"
    return InputError(
        "history",
        got=versions[0] if len(versions) == 1 else list(versions),
        accepted=f"of version {VERSION}, which this mediakit reads and writes",
        then=f"{shown_place(url)} was not changed. Move it away, or name another "
        f"{kind} with history=... or MEDIAKIT_HISTORY.",
    )


def _refused(got: object) -> InputError:
    return InputError("history", got=got, accepted=_ACCEPTED, then=UNTOUCHED)
