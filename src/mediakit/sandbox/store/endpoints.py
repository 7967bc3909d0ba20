"""Registered webhook endpoints, and signing secrets (spec 3.3, 6.2, 6.6)."""

import json
import secrets
import sqlite3
from base64 import b64encode
from collections.abc import Collection
from dataclasses import dataclass

from mediakit.sandbox.store.database import SandboxDatabase, Value

MAX_ENDPOINTS = 16
PREFIX = "whsec_"
SECRET_BYTES = 32


@dataclass(frozen=True)
class EndpointRow:
    """A registered endpoint; without `events` it receives all of them."""

    id: str
    org: str
    url: str
    events: tuple[str, ...] | None
    state: str
    created_us: int

    def receives(self, kind: str) -> bool:
        """Return whether events of this type are sent to it."""
        return self.state == "enabled" and (self.events is None or kind in self.events)

    def columns(self) -> dict[str, Value]:
        """Return the columns of the endpoint's row."""
        events = None if self.events is None else json.dumps(self.events)
        return {**vars(self), "events": events}


def add(db: SandboxDatabase, endpoint: EndpointRow) -> bool:
    """Register an endpoint; False when the organization already has 16 (spec 8)."""
    with db.transaction():
        if len(of_org(db, endpoint.org)) >= MAX_ENDPOINTS:
            return False
        db.insert("endpoint", **endpoint.columns())
    return True


def of_org(db: SandboxDatabase, org: str) -> list[EndpointRow]:
    """List an organization's endpoints, oldest first."""
    rows = db.all(
        "SELECT * FROM endpoint WHERE org = ? AND state != 'deleted' ORDER BY seq", org
    )
    return [_endpoint(row) for row in rows]


def find(db: SandboxDatabase, endpoint_id: str) -> EndpointRow | None:
    """Read an endpoint; None if it does not exist or was deleted."""
    row = db.one(
        "SELECT * FROM endpoint WHERE id = ? AND state != 'deleted'", endpoint_id
    )
    return None if row is None else _endpoint(row)


def change(db: SandboxDatabase, changed: EndpointRow, now_us: int) -> None:
    """Update an endpoint's URL, filter and state.

    Pending deliveries go to the new URL; they are canceled if the endpoint is disabled.
    """
    with db.transaction():
        db.update("endpoint", {"id": changed.id}, **changed.columns())
        pending = {"endpoint": changed.id, "status": "pending"}
        db.update("delivery", pending, url=changed.url)
        if changed.state != "enabled":
            _cancel_pending(db, changed.id, now_us)


def disable_gone(db: SandboxDatabase, endpoint_id: str, now_us: int) -> None:
    """Disable an endpoint that responded with 410 (spec 3.3)."""
    with db.transaction():
        db.update("endpoint", {"id": endpoint_id, "state": "enabled"}, state="gone")
        _cancel_pending(db, endpoint_id, now_us)


def remove(db: SandboxDatabase, endpoint_id: str, now_us: int) -> None:
    """Delete an endpoint and its secrets; its row stays for the log."""
    with db.transaction():
        db.update("endpoint", {"id": endpoint_id}, state="deleted")
        db.run("DELETE FROM secret WHERE owner = ?", endpoint_id)
        _cancel_pending(db, endpoint_id, now_us)


def _cancel_pending(db: SandboxDatabase, endpoint_id: str, now_us: int) -> None:
    pending = {"endpoint": endpoint_id, "status": "pending"}
    db.update("delivery", pending, status="canceled", due_us=None, ended_us=now_us)


def distinct(events: Collection[str] | None) -> tuple[str, ...] | None:
    """Return the types of a filter, each once."""
    return None if events is None else tuple(dict.fromkeys(events))


def _endpoint(row: sqlite3.Row) -> EndpointRow:
    values = {name: row[name] for name in EndpointRow.__dataclass_fields__}
    events = None if row["events"] is None else tuple(json.loads(row["events"]))
    return EndpointRow(**values | {"events": events})


# -- Secrets ----------------------------------------------------------------------


def current_secret(db: SandboxDatabase, owner: str, now_us: int) -> str:
    """Return the secret of an organization or endpoint, creating it on first read."""
    with db.transaction():
        secret: str | None = db.value(
            "SELECT secret FROM secret WHERE owner = ? AND expires_us IS NULL", owner
        )
        return _add_secret(db, owner, now_us) if secret is None else secret


def rotate_secret(
    db: SandboxDatabase, owner: str, now_us: int, overlap_us: int
) -> tuple[str, bool]:
    """Replace the current secret; return the new one, and whether the old one overlaps.

    The current secret still signs during the overlap. An older secret that still signed
    ends at once: after two rotations inside the overlap, the newest two sign.
    """
    with db.transaction():
        db.run("DELETE FROM secret WHERE owner = ? AND expires_us IS NOT NULL", owner)
        if overlap_us:
            until_us = now_us + overlap_us
            overlaps = db.update("secret", {"owner": owner}, expires_us=until_us)
        else:
            overlaps = 0
            db.run("DELETE FROM secret WHERE owner = ?", owner)
        return _add_secret(db, owner, now_us), bool(overlaps)


def signing_secrets(db: SandboxDatabase, owner: str, now_us: int) -> list[str]:
    """List the current signing secrets, newest first; create one if there is none."""
    current_secret(db, owner, now_us)
    rows = db.all(
        "SELECT secret FROM secret WHERE owner = ?"
        " AND (expires_us IS NULL OR expires_us > ?) ORDER BY seq DESC",
        owner,
        now_us,
    )
    return [row["secret"] for row in rows]


def _add_secret(db: SandboxDatabase, owner: str, now_us: int) -> str:
    """Create a secret: `whsec_` and the base64 of 32 random bytes (spec 6.6)."""
    secret = PREFIX + b64encode(secrets.token_bytes(SECRET_BYTES)).decode()
    db.insert("secret", owner=owner, secret=secret, created_us=now_us)
    return secret
