"""Registered webhook endpoints (spec 3.3, 6.2)."""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from mediakit.sandbox.store.database import Database
from mediakit.sandbox.store.events import deliveries, signing_secrets

MAX_ENDPOINTS = 16


@dataclass(frozen=True)
class EndpointRow:
    """A registered endpoint.

    Args:
        id: Its id, shape `endpoint_<uuid>`.
        org: The organization.
        url: Where events are posted.
        events: The types it receives; None for all, including future ones.
        state: `enabled`, `disabled`, or `gone` after a 410 response.
        created_us: When it was registered.
    """

    id: str
    org: str
    url: str
    events: tuple[str, ...] | None
    state: str
    created_us: int

    def receives(self, kind: str) -> bool:
        """Return whether an event of this type is posted to it."""
        return self.state == "enabled" and (self.events is None or kind in self.events)


def add(db: Database, endpoint: EndpointRow) -> bool:
    """Register an endpoint; False when the organization already has 16 (spec 8)."""
    with db.transaction():
        if len(of_org(db, endpoint.org)) >= MAX_ENDPOINTS:
            return False
        db.run(
            "INSERT INTO endpoint (id, org, url, events, state, created_us)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            endpoint.id,
            endpoint.org,
            endpoint.url,
            _filter_text(endpoint.events),
            endpoint.state,
            endpoint.created_us,
        )
    return True


def of_org(db: Database, org: str) -> list[EndpointRow]:
    """List an organization's endpoints, oldest first."""
    rows = db.rows(
        "SELECT * FROM endpoint WHERE org = ? AND state != 'deleted' ORDER BY seq", org
    )
    return [_endpoint(row) for row in rows]


def find(db: Database, endpoint_id: str) -> EndpointRow | None:
    """Read an endpoint; None when there is none or it was deleted."""
    row = db.row(
        "SELECT * FROM endpoint WHERE id = ? AND state != 'deleted'", endpoint_id
    )
    return None if row is None else _endpoint(row)


def change(db: Database, changed: EndpointRow, now_us: int) -> None:
    """Write an endpoint's URL, filter and state.

    Pending deliveries go to the new URL; if the endpoint is not enabled, they are
    canceled.
    """
    with db.transaction():
        db.run(
            "UPDATE endpoint SET url = ?, events = ?, state = ? WHERE id = ?",
            changed.url,
            _filter_text(changed.events),
            changed.state,
            changed.id,
        )
        deliveries.readdress_pending(db, changed.id, changed.url)
        if changed.state != "enabled":
            deliveries.cancel_pending(db, changed.id, now_us)


def disable_gone(db: Database, endpoint_id: str, now_us: int) -> None:
    """Disable an endpoint that responded with 410 (spec 3.3)."""
    with db.transaction():
        db.run(
            "UPDATE endpoint SET state = 'gone' WHERE id = ? AND state = 'enabled'",
            endpoint_id,
        )
        deliveries.cancel_pending(db, endpoint_id, now_us)


def remove(db: Database, endpoint_id: str, now_us: int) -> None:
    """Delete an endpoint and its secrets; its row stays, because the log needs it."""
    with db.transaction():
        db.run("UPDATE endpoint SET state = 'deleted' WHERE id = ?", endpoint_id)
        signing_secrets.forget(db, endpoint_id)
        deliveries.cancel_pending(db, endpoint_id, now_us)


def _filter_text(events: Iterable[str] | None) -> str | None:
    return None if events is None else json.dumps(list(events))


def _endpoint(row: sqlite3.Row) -> EndpointRow:
    events = None if row["events"] is None else tuple(json.loads(row["events"]))
    return EndpointRow(
        row["id"], row["org"], row["url"], events, row["state"], row["created_us"]
    )
