"""Events, their deliveries and delivery attempts (spec 3.2, 4.20)."""

import sqlite3
import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from mediakit.sandbox.store.database import SandboxDatabase, Value

PENDING, DELIVERED, FAILED = "pending", "delivered", "failed"

_SELECT = """
SELECT delivery.*, event.type AS event_type, event.job AS job
FROM delivery JOIN event ON event.id = delivery.event
"""


@dataclass(frozen=True)
class DeliveryRow:
    """The delivery of one event to one receiver.

    `endpoint` is None for the `webhook_url` of a job, `job` is None for a test.
    `round_n` counts the attempts since the last replay, `attempts_n` all of them.
    """

    seq: int
    id: str
    org: str
    event: str
    event_type: str
    job: str | None
    endpoint: str | None
    url: str
    status: str
    attempts_n: int
    round_n: int
    due_us: int | None
    created_us: int
    ended_us: int | None


def add_event(
    db: SandboxDatabase,
    receivers: Iterable[tuple[str | None, str]],
    due_us: int,
    **event: Value,
) -> list[str]:
    """Store an event with a pending delivery to each receiver; return their ids.

    A receiver is an endpoint, or None for the `webhook_url` of a job, and a URL.
    """
    ids: list[str] = []
    with db.transaction():
        db.insert("event", **event)
        for endpoint, url in receivers:
            ids.append(f"delivery_{uuid.uuid4()}")
            db.insert(
                "delivery",
                id=ids[-1],
                org=event["org"],
                event=event["id"],
                endpoint=endpoint,
                url=url,
                status=PENDING,
                due_us=due_us,
                created_us=due_us,
            )
    return ids


def find(db: SandboxDatabase, delivery_id: str) -> DeliveryRow | None:
    """Read a delivery; None if it does not exist."""
    row = db.one(f"{_SELECT} WHERE delivery.id = ?", delivery_id)
    return None if row is None else _delivery(row)


def listed(
    db: SandboxDatabase,
    *,
    org: str | None = None,
    endpoint: str | None = None,
    status: str | None = None,
    job: str | None = None,
    before_seq: int | None = None,
    limit: int,
) -> list[DeliveryRow]:
    """Read a page of the log, newest first; a filter of None matches all."""
    filters = {
        "delivery.org = ?": org,
        "delivery.endpoint = ?": endpoint,
        "delivery.status = ?": status,
        "event.job = ?": job,
        "delivery.seq < ?": before_seq,
    }
    conditions = {sql: value for sql, value in filters.items() if value is not None}
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    rows = db.all(
        f"{_SELECT} {where} ORDER BY delivery.seq DESC LIMIT ?",
        *conditions.values(),
        limit,
    )
    return [_delivery(row) for row in rows]


def body_of(db: SandboxDatabase, event_id: str) -> bytes:
    """Return the bytes of an event as sent."""
    return bytes(db.value("SELECT body FROM event WHERE id = ?", event_id))


def attempts_of(db: SandboxDatabase, delivery_id: str) -> list[sqlite3.Row]:
    """List the attempts of a delivery, in order."""
    return db.all("SELECT * FROM attempt WHERE delivery = ? ORDER BY n", delivery_id)


def due(
    db: SandboxDatabase, now_us: int, besides: Collection[str], limit: int
) -> list[DeliveryRow]:
    """List pending deliveries that are due, the most overdue first."""
    rows = db.all(
        f"{_SELECT} WHERE delivery.status = 'pending' AND delivery.due_us <= ?"
        " ORDER BY delivery.due_us, delivery.seq LIMIT ?",
        now_us,
        limit + len(besides),
    )
    return [_delivery(row) for row in rows if row["id"] not in besides][:limit]


def next_due_us(db: SandboxDatabase, besides: Collection[str]) -> int | None:
    """Return when the next of the other deliveries is due; None if there is none."""
    rows = db.all(
        "SELECT id, due_us FROM delivery WHERE status = 'pending'"
        " ORDER BY due_us LIMIT ?",
        1 + len(besides),
    )
    return next((row["due_us"] for row in rows if row["id"] not in besides), None)


def add_attempt(
    db: SandboxDatabase, delivery_id: str, n: int, **attempt: Value
) -> None:
    """Record an attempt, inside the caller's transaction."""
    db.insert("attempt", delivery=delivery_id, n=n, **attempt)
    db.update("delivery", {"id": delivery_id}, attempts_n=n)


def postpone(db: SandboxDatabase, delivery_id: str, round_n: int, due_us: int) -> None:
    """Set the next attempt of a pending delivery."""
    pending = {"id": delivery_id, "status": PENDING}
    db.update("delivery", pending, round_n=round_n, due_us=due_us)


def end(db: SandboxDatabase, delivery_id: str, status: str, now_us: int) -> None:
    """End a pending delivery as delivered or failed."""
    pending = {"id": delivery_id, "status": PENDING}
    db.update("delivery", pending, status=status, due_us=None, ended_us=now_us)


def replay(db: SandboxDatabase, delivery_id: str, url: str, now_us: int) -> bool:
    """Restart the schedule of a delivered or failed delivery (spec 3.2)."""
    changed = db.run(
        "UPDATE delivery SET status = 'pending', round_n = 0, due_us = ?, url = ?"
        " WHERE id = ? AND status IN ('delivered', 'failed')",
        now_us,
        url,
        delivery_id,
    )
    return bool(changed)


def _delivery(row: sqlite3.Row) -> DeliveryRow:
    return DeliveryRow(**{name: row[name] for name in DeliveryRow.__dataclass_fields__})
