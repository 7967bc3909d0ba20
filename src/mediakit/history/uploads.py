"""Which bytes were sent before, so that they are not sent twice."""

from typing import Any

from sqlalchemy import ColumnElement, and_, delete, select
from sqlalchemy.dialects import sqlite

from mediakit.clock import Clock
from mediakit.history.database import Database
from mediakit.history.tables import uploads


class Uploads:
    """The part of the history that remembers uploads (spec 2.3).

    Args:
        database: Where it is kept.
        clock: What tells the time.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def remember_upload(
        self,
        *,
        service: str,
        account: str,
        sha256: str,
        size_bytes: int,
        content_type: str,
        url: str,
    ) -> None:
        """Keep the permanent URL of some bytes (spec 2.3); the newest one counts.

        Args:
            service: Which service took them.
            account: Which account of it.
            sha256: The hash of the bytes, in hex.
            size_bytes: How many they are.
            content_type: As what they were sent.
            url: The grant's permanent `url`; never its `upload_url`.
        """
        fresh: dict[str, Any] = {"size_bytes": size_bytes, "url": url}
        fresh["created_at"] = self._clock.now()
        statement = sqlite.insert(uploads).values(
            service=service,
            account=account,
            sha256=sha256,
            content_type=content_type,
            **fresh,
        )
        statement = statement.on_conflict_do_update(
            index_elements=list(uploads.primary_key), set_=fresh
        )
        with self._database.transaction(writes=True) as connection:
            connection.execute(statement)

    def uploaded(
        self, *, service: str, account: str, sha256: str, content_type: str
    ) -> str | None:
        """Return the permanent URL of bytes sent before; None if they never were."""
        bytes_ = _bytes(service, account, sha256, content_type)
        row = self._database.first(select(uploads.c.url).where(bytes_))
        return None if row is None else str(row.url)

    def forget_upload(
        self, *, service: str, account: str, sha256: str, content_type: str
    ) -> None:
        """Forget an upload, so that its bytes are sent again when next needed."""
        bytes_ = _bytes(service, account, sha256, content_type)
        with self._database.transaction(writes=True) as connection:
            connection.execute(delete(uploads).where(bytes_))


def _bytes(
    service: str, account: str, sha256: str, content_type: str
) -> ColumnElement[bool]:
    return and_(
        uploads.c.service == service,
        uploads.c.account == account,
        uploads.c.sha256 == sha256,
        uploads.c.content_type == content_type,
    )
