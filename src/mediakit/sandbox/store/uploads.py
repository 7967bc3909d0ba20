"""Upload grants and their files (spec 2.3)."""

from dataclasses import dataclass

from mediakit.sandbox.store.database import Database


@dataclass(frozen=True)
class UploadRow:
    """One granted upload.

    Args:
        file: The unguessable name of its file.
        content_type: Its media type.
        size_bytes: Its exact length.
        expires_us: When the grant expires.
        stored: Whether the file was uploaded.
    """

    file: str
    content_type: str
    size_bytes: int
    expires_us: int
    stored: bool


def grant(
    db: Database, upload: UploadRow, *, org: str, api_key: str, now_us: int
) -> None:
    """Store a new grant."""
    db.run(
        "INSERT INTO upload (file, org, api_key, content_type, size_bytes, expires_us,"
        " created_us) VALUES (?, ?, ?, ?, ?, ?, ?)",
        upload.file,
        org,
        api_key,
        upload.content_type,
        upload.size_bytes,
        upload.expires_us,
        now_us,
    )


def find_upload(db: Database, file: str) -> UploadRow | None:
    """Read a grant by the name of its file; None when there is none."""
    row = db.row("SELECT * FROM upload WHERE file = ?", file)
    if row is None:
        return None
    return UploadRow(
        row["file"],
        row["content_type"],
        row["size_bytes"],
        row["expires_us"],
        stored=row["stored_us"] is not None,
    )


def unstored_files(db: Database) -> list[str]:
    """List the files whose upload was not acknowledged; none may be on disk."""
    rows = db.rows("SELECT file FROM upload WHERE stored_us IS NULL")
    return [row["file"] for row in rows]


def stored_files(db: Database) -> list[tuple[int, str]]:
    """List the uploads on disk, each with its upload time."""
    rows = db.rows("SELECT stored_us, file FROM upload WHERE stored_us IS NOT NULL")
    return [(row["stored_us"], row["file"]) for row in rows]


def end(db: Database, file: str) -> None:
    """End a grant whose file is removed."""
    db.run("UPDATE upload SET stored_us = NULL, expires_us = 0 WHERE file = ?", file)


def mark_stored(db: Database, file: str, now_us: int) -> bool:
    """Record that the file is complete; False when it has no grant."""
    return bool(db.run("UPDATE upload SET stored_us = ? WHERE file = ?", now_us, file))
