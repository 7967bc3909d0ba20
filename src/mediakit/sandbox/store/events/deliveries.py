"""Events, their deliveries and the attempts to deliver them (spec 3.2, 4.20)."""

import sqlite3
import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from mediakit.sandbox.store.database import Database

PENDING, DELIVERED, FAILED, CANCELED = "pending", "delivered", "failed", "canceled"
STATUSES = (PENDING, DELIVERED, FAILED, CANCELED)

_SELECT = """
SELECT delivery.*, event.type AS event_type, event.job AS job
FROM delivery JOIN event ON event.id = delivery.event
"""


@dataclass(frozen=True)
class NewEvent:
    """An event, the same for every receiver.

    Args:
        id: The value of `webhook-id`, shape `msg_<uuid>`.
        org: The organization.
        job: The job that ended; None for a test.
        type: The event type.
        body: The exact bytes that are sent.
        at_us: When it happened.
    """

    id: str
    org: str
    job: str | None
    type: str
    body: bytes
    at_us: int


@dataclass(frozen=True)
class Receiver:
    """The target of an event: a registered endpoint, or the `webhook_url` of a job."""

    endpoint: str | None
    url: str


@dataclass(frozen=True)
class DeliveryRow:
    """The delivery of one event to one receiver.

    Args:
        seq: Its position in the log.
        id: Its id, shape `delivery_<uuid>`.
        org: The organization.
        event: The event's id.
        event_type: The event's type.
        job: The job of the event; None for a test.
        endpoint: The endpoint; None for the `webhook_url` of a job.
        url: The URL to post to.
        status: One of the four of spec 3.2.
        attempts_n: The number of all attempts.
        round_n: The number of attempts that count since the last replay.
        due_us: When the next attempt is due; None unless it is pending.
        created_us: When it was created.
        ended_us: When it was last delivered, failed or canceled.
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


@dataclass(frozen=True)
class AttemptRow:
    """One attempt to deliver.

    Args:
        n: Its number, from 1, across replays.
        at_us: When it began.
        status_code: The receiver's status; None without a response.
        reason: Why it failed (spec 6.5); None when it succeeded.
        duration_ms: How long it took, in real milliseconds.
    """

    n: int
    at_us: int
    status_code: int | None
    reason: str | None
    duration_ms: int


@dataclass(frozen=True)
class Page:
    """A page of an organization's deliveries, newest first.

    Args:
        endpoint: Only those to this endpoint.
        status: Only those in this status.
        job: Only those of this job.
        before_seq: Only those before this position in the log.
        limit: The largest number of them.
    """

    endpoint: str | None = None
    status: str | None = None
    job: str | None = None
    before_seq: int | None = None
    limit: int = 20


def add_event(
    db: Database, event: NewEvent, receivers: Iterable[Receiver], due_us: int
) -> list[str]:
    """Store an event with a pending delivery to each receiver.

    Returns:
        The ids of the deliveries.
    """
    ids: list[str] = []
    with db.transaction():
        db.run(
            "INSERT INTO event (id, org, job, type, body, at_us)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            event.id,
            event.org,
            event.job,
            event.type,
            event.body,
            event.at_us,
        )
        for receiver in receivers:
            ids.append(f"delivery_{uuid.uuid4()}")
            db.run(
                "INSERT INTO delivery (id, org, event, endpoint, url, status, due_us,"
                " created_us) VALUES (?, ?, ?, ?, ?, 'pending', ?, ?)",
                ids[-1],
                event.org,
                event.id,
                receiver.endpoint,
                receiver.url,
                due_us,
                due_us,
            )
    return ids


def find(db: Database, delivery_id: str) -> DeliveryRow | None:
    """Read a delivery; None when there is none."""
    row = db.row(f"{_SELECT} WHERE delivery.id = ?", delivery_id)
    return None if row is None else _delivery(row)


def listed(db: Database, org: str, page: Page) -> list[DeliveryRow]:
    """Read a page of an organization's log, newest first."""
    conditions = {
        "delivery.endpoint = ?": page.endpoint,
        "delivery.status = ?": page.status,
        "event.job = ?": page.job,
        "delivery.seq < ?": page.before_seq,
    }
    given = {sql: value for sql, value in conditions.items() if value is not None}
    where = " AND ".join(["delivery.org = ?", *given])
    rows = db.rows(
        f"{_SELECT} WHERE {where} ORDER BY delivery.seq DESC LIMIT ?",
        org,
        *given.values(),
        page.limit,
    )
    return [_delivery(row) for row in rows]


def body_of(db: Database, event_id: str) -> bytes:
    """Return the bytes of an event, as they are sent."""
    row = db.row("SELECT body FROM event WHERE id = ?", event_id)
    if row is None:
        raise LookupError(f"no event {event_id}")
    body: bytes = row["body"]
    return body


def attempts_of(db: Database, delivery_id: str) -> list[AttemptRow]:
    """List the attempts of a delivery, in order."""
    rows = db.rows("SELECT * FROM attempt WHERE delivery = ? ORDER BY n", delivery_id)
    names = AttemptRow.__dataclass_fields__
    return [AttemptRow(**{name: row[name] for name in names}) for row in rows]


def due(
    db: Database, now_us: int, besides: Collection[str], limit: int
) -> list[DeliveryRow]:
    """List pending deliveries that are due, the most overdue first.

    Args:
        db: The database.
        now_us: The sandbox's time.
        besides: Ids to leave out.
        limit: The largest number of them.
    """
    rows = db.rows(
        f"{_SELECT} WHERE delivery.status = 'pending' AND delivery.due_us <= ?"
        " ORDER BY delivery.due_us, delivery.seq LIMIT ?",
        now_us,
        limit + len(besides),
    )
    return [_delivery(row) for row in rows if row["id"] not in besides][:limit]


def next_due_us(db: Database, besides: Collection[str]) -> int | None:
    """Return when the next delivery but `besides` is due; None if there is none."""
    rows = db.rows(
        "SELECT id, due_us FROM delivery WHERE status = 'pending'"
        " ORDER BY due_us LIMIT ?",
        1 + len(besides),
    )
    return next((row["due_us"] for row in rows if row["id"] not in besides), None)


def add_attempt(db: Database, delivery_id: str, attempt: AttemptRow) -> None:
    """Record an attempt, inside the caller's transaction."""
    db.run(
        "INSERT INTO attempt (delivery, n, at_us, status_code, reason, duration_ms)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        delivery_id,
        attempt.n,
        attempt.at_us,
        attempt.status_code,
        attempt.reason,
        attempt.duration_ms,
    )
    db.run("UPDATE delivery SET attempts_n = ? WHERE id = ?", attempt.n, delivery_id)


def postpone(db: Database, delivery_id: str, round_n: int, due_us: int) -> None:
    """Set the next attempt of a pending delivery.

    Args:
        db: The database.
        delivery_id: The delivery.
        round_n: The number of attempts that count since the last replay.
        due_us: When the next attempt is due.
    """
    db.run(
        "UPDATE delivery SET round_n = ?, due_us = ?"
        " WHERE id = ? AND status = 'pending'",
        round_n,
        due_us,
        delivery_id,
    )


def end(db: Database, delivery_id: str, status: str, now_us: int) -> None:
    """End a pending delivery as delivered or failed."""
    db.run(
        "UPDATE delivery SET status = ?, due_us = NULL, ended_us = ?"
        " WHERE id = ? AND status = 'pending'",
        status,
        now_us,
        delivery_id,
    )


def replay(db: Database, delivery_id: str, url: str, now_us: int) -> bool:
    """Restart the schedule of an ended delivery, with the same event (spec 3.2).

    Returns:
        False, with nothing changed, unless it was delivered or failed.
    """
    changed = db.run(
        "UPDATE delivery SET status = 'pending', round_n = 0, due_us = ?, url = ?"
        " WHERE id = ? AND status IN ('delivered', 'failed')",
        now_us,
        url,
        delivery_id,
    )
    return bool(changed)


def cancel_pending(db: Database, endpoint_id: str, now_us: int) -> None:
    """Cancel the pending deliveries to an endpoint that is no longer enabled."""
    db.run(
        "UPDATE delivery SET status = 'canceled', due_us = NULL, ended_us = ?"
        " WHERE endpoint = ? AND status = 'pending'",
        now_us,
        endpoint_id,
    )


def readdress_pending(db: Database, endpoint_id: str, url: str) -> None:
    """Send the pending deliveries to an endpoint to its new URL."""
    db.run(
        "UPDATE delivery SET url = ? WHERE endpoint = ? AND status = 'pending'",
        url,
        endpoint_id,
    )


def _delivery(row: sqlite3.Row) -> DeliveryRow:
    return DeliveryRow(**{name: row[name] for name in DeliveryRow.__dataclass_fields__})
