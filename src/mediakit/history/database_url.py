"""The URL of a history's database, which is shown without its secrets."""

from pathlib import Path
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from mediakit.errors import InputError
from mediakit.rules import ValueDescription

UNTOUCHED = "Nothing was changed."
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
    """Parse the location of a history: a path means SQLite."""
    if not str(place).strip():
        raise _refused(place)
    if isinstance(place, Path) or "://" not in place:
        return URL.create("sqlite", database=str(Path(place).expanduser()))
    try:
        url = make_url(place)
    except (ArgumentError, ValueError):
        # The text can hold a password, so it is not shown.
        raise _refused(ValueDescription("an unreadable URL")) from None
    if url.drivername not in _DRIVERS:
        raise _refused(ValueDescription(f"a database of {url.drivername}"))
    if "@" in (url.host or ""):
        # The rest of the password would be parsed and shown as the host.
        raise _refused(
            ValueDescription(
                "a URL whose password contains an unescaped @; write %40 instead"
            )
        )
    return url.set(drivername=_DRIVERS[url.drivername])


def is_local(url: URL) -> bool:
    """Return whether the database is a file or in memory, not on a server."""
    return url.get_backend_name() == "sqlite"


def is_in_memory(url: URL) -> bool:
    """Return whether the database is in memory."""
    return is_local(url) and url.database in (None, "", ":memory:")


def shown_place(url: URL) -> str:
    """Return the location of a database without user, password and query."""
    if is_local(url):
        return url.database or ":memory:"
    return "/".join(part for part in (url.host, url.database) if part) or "Postgres"


def file_of(url: URL) -> Path:
    """Return the file of a SQLite database, which a URI may name."""
    name = url.database or ""
    return Path(unquote(urlsplit(name).path) if name.startswith("file:") else name)


def unique_name(url: URL) -> str:
    """Return the name of a database; each in-memory one has its own."""
    if is_in_memory(url):
        return f":memory: {uuid4().hex}"
    if is_local(url):
        return str(file_of(url).resolve())
    return url.render_as_string(hide_password=True)


def without_secrets(reason: object, url: URL) -> str:
    """Return a driver's message in one line, without the URL's secrets."""
    text = " ".join(str(reason).split())
    for secret in (url.password, *(url.query.get(name) for name in _SECRET_SETTINGS)):
        if secret:
            text = text.replace(str(secret), "***")
    return text


def _refused(value: object) -> InputError:
    return InputError("history", got=value, accepted=_ACCEPTED, then=UNTOUCHED)
