"""Events: their content and their receivers (spec 6.1, 6.3)."""

import uuid
from typing import Any, Literal, get_args

from mediakit.sandbox.core.responses import job_object
from mediakit.sandbox.core.service import Service
from mediakit.sandbox.store import job_queue, named_values
from mediakit.sandbox.store.events import deliveries, endpoints
from mediakit.sandbox.store.events.deliveries import NewEvent, Receiver
from mediakit.sandbox.store.events.endpoints import EndpointRow
from mediakit.sandbox.store.job_queue import JobRow
from mediakit.sandbox.timing.clock import iso
from mediakit.schema import canonical_json

Subscribable = Literal["media.job.completed", "media.job.failed"]
COMPLETED, FAILED = SUBSCRIBABLE = get_args(Subscribable)
TEST = "webhook.test"
MS_PER_S = 1_000


def announce(service: Service, job_id: str) -> None:
    """Record the event of a job that has just ended, with a delivery to each receiver.

    Call it inside the transaction that ends the job, so that each ended job has
    exactly one event, even after a kill.

    Args:
        service: The shared state of the sandbox.
        job_id: A job that is completed or failed.
    """
    job = job_queue.find(service.db, job_id)
    if job is None or not job.terminal:
        raise LookupError(f"{job_id} has not ended")
    kind = COMPLETED if job.status == "completed" else FAILED
    reached_at = named_values.take(service.db, _reached_at(job.id))
    receivers = _receivers(service, job, kind)
    if not receivers:
        return
    at_us = job.created_us if job.ended_us is None else job.ended_us
    event = NewEvent(
        id=new_event_id(),
        org=job.org,
        job=job.id,
        type=kind,
        body=envelope(kind, at_us, event_data(job, reached_at or service.base_url)),
        at_us=at_us,
    )
    deliveries.add_event(service.db, event, receivers, service.clock.now_us())
    service.deliveries.wake()


def remember_address(service: Service, job_id: str, base_url: str) -> None:
    """Store the URL at which the caller reached the service, for the job's event.

    A service on a network has several, and the receiver of the event may not reach
    this machine's loopback.
    """
    if base_url != service.base_url:
        named_values.write(service.db, _reached_at(job_id), base_url)


def _reached_at(job_id: str) -> str:
    return f"base_url of {job_id}"


def announce_test(service: Service, endpoint: EndpointRow) -> None:
    """Record a `webhook.test` for one endpoint, whatever its filter (spec 6.1)."""
    now_us = service.clock.now_us()
    data = {"endpoint_id": endpoint.id}
    event = NewEvent(
        id=new_event_id(),
        org=endpoint.org,
        job=None,
        type=TEST,
        body=envelope(TEST, now_us, data),
        at_us=now_us,
    )
    receiver = Receiver(endpoint.id, endpoint.url)
    deliveries.add_event(service.db, event, [receiver], now_us)
    service.deliveries.wake()


def new_event_id() -> str:
    """Return a new `webhook-id`, shape `msg_<uuid>` (spec 6.3)."""
    return f"msg_{uuid.uuid4()}"


def envelope(kind: str, at_us: int, data: dict[str, Any]) -> bytes:
    """Serialize an event once: these bytes are stored, signed and sent (spec 6.3)."""
    return canonical_json({"type": kind, "timestamp": iso(at_us), "data": data})


def event_data(job: JobRow, base_url: str) -> dict[str, Any]:
    """Return a job as its event shows it: its state at its end (spec 2.1, 6.3)."""
    runtime_s = None if job.runtime_ms is None else job.runtime_ms / MS_PER_S
    more = {"model_id": job.function, "runtime_s": runtime_s, "billing": None}
    return {"error": None, **job_object(job, base_url), **more}


def _receivers(service: Service, job: JobRow, kind: str) -> list[Receiver]:
    receivers = [
        Receiver(endpoint.id, endpoint.url)
        for endpoint in endpoints.of_org(service.db, job.org)
        if endpoint.receives(kind)
    ]
    if job.webhook_url is not None:
        receivers.append(Receiver(None, job.webhook_url))
    return receivers
