"""Signing secrets: an organization's, and one for each endpoint (spec 6.6)."""

import secrets
from base64 import b64encode

from mediakit.sandbox.store.database import Database

PREFIX = "whsec_"
SECRET_BYTES = 32


def new_secret() -> str:
    """Return a new secret: `whsec_` and the base64 of 32 random bytes (spec 6.6)."""
    return PREFIX + b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def current(db: Database, owner: str, now_us: int) -> str:
    """Return the secret of an organization or an endpoint; create it on first read."""
    with db.transaction():
        secret = _current(db, owner)
        return _add(db, owner, now_us) if secret is None else secret


def rotate(db: Database, owner: str, now_us: int, overlap_us: int) -> tuple[str, bool]:
    """Replace the current secret by a new one (spec 6.6).

    The current one still signs during the overlap. An older one that still signed ends
    at once: after two rotations inside the overlap the newest two sign.

    Args:
        db: The database.
        owner: The id of an organization or an endpoint.
        now_us: When it is rotated.
        overlap_us: For how long the current one still signs.

    Returns:
        The new secret, and whether there is an old one that still signs.
    """
    with db.transaction():
        db.run(
            "DELETE FROM secret WHERE owner = ? AND expires_us IS NOT NULL",
            owner,
        )
        if overlap_us:
            kept = db.run(
                "UPDATE secret SET expires_us = ? WHERE owner = ?",
                now_us + overlap_us,
                owner,
            )
        else:
            kept = 0
            forget(db, owner)
        return _add(db, owner, now_us), bool(kept)


def signing(db: Database, owner: str, now_us: int) -> list[str]:
    """List the secrets that sign now, the newest first; at most two."""
    current(db, owner, now_us)
    rows = db.rows(
        "SELECT secret FROM secret WHERE owner = ?"
        " AND (expires_us IS NULL OR expires_us > ?) ORDER BY seq DESC",
        owner,
        now_us,
    )
    return [row["secret"] for row in rows]


def forget(db: Database, owner: str) -> None:
    """Delete every secret of an organization or an endpoint."""
    db.run("DELETE FROM secret WHERE owner = ?", owner)


def _current(db: Database, owner: str) -> str | None:
    row = db.row(
        "SELECT secret FROM secret WHERE owner = ? AND expires_us IS NULL", owner
    )
    return None if row is None else row["secret"]


def _add(db: Database, owner: str, now_us: int) -> str:
    secret = new_secret()
    db.run(
        "INSERT INTO secret (owner, secret, created_us) VALUES (?, ?, ?)",
        owner,
        secret,
        now_us,
    )
    return secret
