"""The uploaded files and their URLs."""

from collections.abc import Iterable
from dataclasses import dataclass, fields

from sqlalchemy import delete, select

from mediakit.history import tables
from mediakit.history.store import History


@dataclass(frozen=True)
class Upload:
    """Uploaded bytes: their permanent URL, SHA-256 hash in hex, size, content type."""

    url: str
    sha256: str
    size_bytes: int
    content_type: str


def remember_upload(history: History, *, service: str, upload: Upload) -> str:
    """Save the permanent URL of some bytes; return the first one (spec 2.3)."""
    row = {"service": service, **vars(upload), "created_at": history.clock.now()}
    history.database.save(tables.uploads, [row])
    first = uploaded(
        history,
        service=service,
        sha256=upload.sha256,
        content_type=upload.content_type,
    )
    return first or upload.url


def uploaded(
    history: History, *, service: str, sha256: str, content_type: str
) -> str | None:
    """Return the permanent URL of uploaded bytes; None if they were not uploaded."""
    table = tables.uploads
    query = select(table.c.url).where(
        table.c.service == service,
        table.c.sha256 == sha256,
        table.c.content_type == content_type,
    )
    return next((text for (text,) in history.database.rows(query)), None)


def forget_uploads(history: History, urls: Iterable[str], *, service: str) -> None:
    """Forget the uploads at some URLs, so that their files are uploaded again."""
    table = tables.uploads
    conditions = (table.c.service == service, table.c.url.in_(sorted(set(urls))))
    with history.database.writing() as db:
        db.execute(delete(table).where(*conditions))


def uploads_at(history: History, urls: Iterable[str], *, service: str) -> list[Upload]:
    """Return the uploads at some URLs, sorted by URL."""
    table = tables.uploads
    query = (
        select(*(table.c[field.name] for field in fields(Upload)))
        .where(table.c.service == service, table.c.url.in_(sorted(set(urls))))
        .order_by(table.c.url)
    )
    return [Upload(*row) for row in history.database.rows(query)]
