"""Events: their content and receivers (spec 6.1, 6.3)."""

import uuid
from typing import Literal, get_args

from mediakit.clock import MS_PER_S
from mediakit.sandbox.clock import iso
from mediakit.sandbox.service import SandboxService
from mediakit.sandbox.store import deliveries, endpoints, jobs
from mediakit.sandbox.store.endpoints import EndpointRow
from mediakit.sandbox.store.jobs import JobRow
from mediakit.sandbox.wire import EndedJob, EventBody, PingData, job_fields
from mediakit.schema import canonical_json

Subscribable = Literal["media.job.completed", "media.job.failed"]
COMPLETED, FAILED = get_args(Subscribable)
TEST = "webhook.test"


def announce(service: SandboxService, job_id: str) -> None:
    """Record the event of a job that has just ended, with a delivery per receiver.

    Call it inside the transaction that ends the job, so that each ended job has exactly
    one event, even after a kill.
    """
    job = jobs.find(service.db, job_id)
    if job is None or not job.terminal:
        raise LookupError(f"{job_id} has not ended")
    kind = COMPLETED if job.status == "completed" else FAILED
    receivers: list[tuple[str | None, str]] = [
        (endpoint.id, endpoint.url)
        for endpoint in endpoints.of_org(service.db, job.org)
        if endpoint.receives(kind)
    ]
    if job.webhook_url is not None:
        receivers.append((None, job.webhook_url))
    if receivers:
        at_us = job.created_us if job.ended_us is None else job.ended_us
        event = EventBody(type=kind, timestamp=iso(at_us), data=_data(service, job))
        _add(service, event, receivers, org=job.org, job=job.id, at_us=at_us)


def announce_test(service: SandboxService, endpoint: EndpointRow) -> str:
    """Record a `webhook.test` for an endpoint; return its delivery's id (spec 6.1)."""
    at_us = service.clock.now_us()
    data = PingData(endpoint_id=endpoint.id)
    event = EventBody(type=TEST, timestamp=iso(at_us), data=data)
    to = (endpoint.id, endpoint.url)
    (delivery_id,) = _add(service, event, [to], org=endpoint.org, job=None, at_us=at_us)
    return delivery_id


def _add(
    service: SandboxService,
    event: EventBody,
    receivers: list[tuple[str | None, str]],
    *,
    org: str,
    job: str | None,
    at_us: int,
) -> list[str]:
    """Store an event; its body is serialised once, then signed and sent (spec 6.3)."""
    ids = deliveries.add_event(
        service.db,
        receivers,
        service.clock.now_us(),
        id=f"msg_{uuid.uuid4()}",
        org=org,
        job=job,
        type=event.type,
        body=canonical_json(event.model_dump(mode="json", exclude_unset=True)),
        at_us=at_us,
    )
    service.work.wake()
    return ids


def _data(service: SandboxService, job: JobRow) -> EndedJob:
    """Return a job as in its event: its state at its end (spec 2.1, 6.3)."""
    fields = {"error": None, **job_fields(job, job.base_url or service.base_url)}
    return EndedJob(
        **fields | {"billing": None},
        model_id=job.function,
        runtime_s=None if job.runtime_ms is None else job.runtime_ms / MS_PER_S,
    )
