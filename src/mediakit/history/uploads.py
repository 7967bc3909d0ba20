"""Uploaded files, so that the same bytes are not sent twice (spec 2.3)."""

from collections.abc import Iterable
from dataclasses import dataclass, fields

from sqlalchemy import select

from mediakit.history.store import History
from mediakit.history.tables import uploads, upsert


@dataclass(frozen=True)
class Upload:
    """Uploaded bytes: their permanent URL, SHA-256 hash in hex, size, content type."""

    url: str
    sha256: str
    size_bytes: int
    content_type: str


def remember_upload(
    history: History,
    *,
    service: str,
    sha256: str,
    size_bytes: int,
    content_type: str,
    url: str,
) -> str:
    """Save the permanent URL of some bytes; return the URL to use.

    The first URL wins: two processes can upload the same bytes at once, and if each
    used its own URL, the bodies and keys of one request would differ. It is the
    grant's permanent `url`, never its `upload_url`.
    """
    row = {
        "service": service,
        "sha256": sha256,
        "content_type": content_type,
        "size_bytes": size_bytes,
        "url": url,
        "created_at": history.clock.now(),
    }
    with history.database.writing() as db:
        upsert(db, uploads, [row])
    first = uploaded(history, service=service, sha256=sha256, content_type=content_type)
    return first or url


def uploaded(
    history: History, *, service: str, sha256: str, content_type: str
) -> str | None:
    """Return the permanent URL of uploaded bytes; None without an upload."""
    query = select(uploads.c.url).where(
        uploads.c.service == service,
        uploads.c.sha256 == sha256,
        uploads.c.content_type == content_type,
    )
    with history.database.reading() as db:
        found: str | None = db.execute(query).scalar()
    return found


def uploads_at(history: History, urls: Iterable[str], *, service: str) -> list[Upload]:
    """Return the uploads with some URLs, sorted by URL."""
    query = (
        select(*(uploads.c[item.name] for item in fields(Upload)))
        .where(uploads.c.service == service, uploads.c.url.in_(sorted(set(urls))))
        .order_by(uploads.c.url)
    )
    with history.database.reading() as db:
        return [Upload(*row) for row in db.execute(query)]
