"""Remembers uploaded files, so that the same bytes are not sent twice."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import bindparam, select

from mediakit.clock import Clock
from mediakit.history.storage.database import Database
from mediakit.history.storage.tables import insert_into, uploads

_KEY = tuple(uploads.primary_key)
_SAME = tuple(column == bindparam(f"its_{column.name}") for column in _KEY)
_URL = select(uploads.c.url).where(*_SAME)
_AT = select(
    uploads.c.url, uploads.c.sha256, uploads.c.size_bytes, uploads.c.content_type
).where(
    uploads.c.service == bindparam("its_service"),
    uploads.c.url.in_(bindparam("its_urls", expanding=True)),
)


@dataclass(frozen=True)
class Upload:
    """Uploaded bytes.

    Args:
        url: Their permanent URL.
        sha256: Their SHA-256 hash, in hex.
        size_bytes: Their number.
        content_type: The content type of the upload.
    """

    url: str
    sha256: str
    size_bytes: int
    content_type: str


class UploadedFiles:
    """The part of the history that remembers uploads (spec 2.3).

    Args:
        database: The database of the history.
        clock: Gives the time of each change.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def remember_upload(
        self,
        *,
        service: str,
        sha256: str,
        size_bytes: int,
        content_type: str,
        url: str,
    ) -> str:
        """Save the permanent URL of some bytes (spec 2.3); the first URL wins.

        Two processes can upload the same bytes at once. If each used its own URL, the
        bodies and keys of one request would differ.

        Args:
            service: The service that has them.
            sha256: The SHA-256 hash of the bytes, in hex.
            size_bytes: Their number.
            content_type: The content type of the upload.
            url: The grant's permanent `url`; never its `upload_url`.

        Returns:
            The URL to use.
        """
        now = self._clock.now()
        statement = insert_into(uploads, self._database.dialect).values(
            service=service,
            sha256=sha256,
            content_type=content_type,
            size_bytes=size_bytes,
            url=url,
            created_at=now,
        )
        self._database.write(statement.on_conflict_do_nothing())
        first = self.uploaded(service=service, sha256=sha256, content_type=content_type)
        return first or url

    def uploaded(self, *, service: str, sha256: str, content_type: str) -> str | None:
        """Return the permanent URL of uploaded bytes; None without an upload."""
        bytes_ = {
            "its_service": service,
            "its_sha256": sha256,
            "its_content_type": content_type,
        }
        row = self._database.first(_URL, bytes_)
        return None if row is None else str(row.url)

    def uploads_at(self, urls: Iterable[str], *, service: str) -> list[Upload]:
        """Return the uploads with some URLs, sorted by URL."""
        values = {"its_service": service, "its_urls": sorted(set(urls))}
        rows = self._database.rows(_AT, values)
        sent = (Upload(**row._mapping) for row in rows)
        return sorted(sent, key=lambda upload: upload.url)
