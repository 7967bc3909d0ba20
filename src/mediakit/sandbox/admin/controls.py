"""Controls of the sandbox: status, clock, faults and reset."""

from datetime import datetime
from sqlite3 import Row
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, Field, model_validator
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mediakit.clock import US_PER_S, to_us
from mediakit.sandbox.clock import iso
from mediakit.sandbox.http import (
    RequestError,
    invalid_field_error,
    read_body,
    read_object,
)
from mediakit.sandbox.service import SandboxService, service_of
from mediakit.sandbox.store import deliveries, jobs
from mediakit.sandbox.store.admission import left_micro_usd
from mediakit.sandbox.store.deliveries import DeliveryRow
from mediakit.sandbox.store.jobs import JobRow
from mediakit.sandbox.store.orgs import DEFAULT_ORG
from mediakit.sandbox.wire import RequestBody, delivery_fields
from mediakit.sandbox.work_loop import CLOCK

MAX_SKIP_S = 10 * 366 * 86_400
SHOWN_JOBS = 20
SHOWN_DELIVERIES = 10


async def status(request: Request) -> Response:
    """Handle GET /sandbox/status: the sandbox's identity, jobs and faults.

    The response has neither prompts nor keys.
    """
    service = service_of(request)
    settings, db = service.settings, service.db
    rows = db.all("SELECT * FROM org ORDER BY rowid")
    orgs = [_org(service, row) for row in rows]
    default = next(org for org in orgs if org["id"] == DEFAULT_ORG)
    counts = db.all("SELECT status, count(*) AS n FROM delivery GROUP BY 1")
    return JSONResponse(
        {
            "identity": service.identity,
            "base_url": service.base_url,
            **_time(service),
            "concurrency": settings.concurrency,
            "queue_size": settings.queue_size,
            "allow_loopback_callbacks": settings.allow_loopback_callbacks,
            "running": default["running"],
            "queued": default["queued"],
            "functions": {f.kind: f.path for f in service.catalog},
            "orgs": orgs,
            "jobs": [_job(job) for job in jobs.latest(db, SHOWN_JOBS)],
            "deliveries": {row["status"]: row["n"] for row in counts},
            "undelivered": _undelivered(service),
            "faults": [fault.as_json() for fault in service.faults.in_force()],
        }
    )


def _org(service: SandboxService, row: Row) -> dict[str, Any]:
    return {
        "id": row["id"],
        "name": row["name"],
        "mode": row["mode"],
        "balance_micro_usd": row["balance_micro_usd"],
        "available_micro_usd": left_micro_usd(service.db, row, service.clock.now_us()),
        "running": row["running_n"],
        "queued": row["queued_n"],
        "suspended": bool(row["suspended"]),
    }


def _job(job: JobRow) -> dict[str, Any]:
    return {
        "id": job.id,
        "org": job.org,
        "function": job.function,
        "status": job.status,
        "error_code": job.error_code,
        "billing_state": job.billing_state,
        "charge_micro_usd": job.charge_micro_usd,
        "created_at": iso(job.created_us),
        "deleted_at": None if job.deleted_us is None else iso(job.deleted_us),
    }


def _undelivered(service: SandboxService) -> list[dict[str, Any]]:
    rows: list[DeliveryRow] = []
    for state in ("pending", "failed"):
        rows += deliveries.listed(service.db, status=state, limit=SHOWN_DELIVERIES)
    rows.sort(key=lambda row: row.seq, reverse=True)
    return [_delivery(service, row) for row in rows[:SHOWN_DELIVERIES]]


def _delivery(service: SandboxService, row: DeliveryRow) -> dict[str, Any]:
    attempts = deliveries.attempts_of(service.db, row.id)
    reason = attempts[-1]["reason"] if attempts else None
    return {**delivery_fields(row), "org": row.org, "reason": reason}


# -- Clock ------------------------------------------------------------------------


class Skip(RequestBody):
    """The time to skip, in sandbox seconds, or the instant to skip to."""

    seconds: Annotated[float, Field(ge=0, le=MAX_SKIP_S)] | None = None
    to: Annotated[AwareDatetime, Field(strict=False)] | None = None

    @model_validator(mode="after")
    def _either(self) -> "Skip":
        if (self.seconds is None) == (self.to is None):
            raise ValueError("give either seconds or to")
        return self


async def read_clock(request: Request) -> Response:
    """Handle GET /sandbox/clock: the time, its speed and its lead over real time."""
    return JSONResponse(_time(service_of(request)))


def _time(service: SandboxService) -> dict[str, Any]:
    return {
        "now": iso(service.clock.now_us()),
        "speed": service.settings.speed,
        "ahead_s": service.clock.ahead_s(),
    }


async def advance(request: Request) -> Response:
    """Handle POST /sandbox/clock/advance; respond once all due work is done."""
    service, skip = service_of(request), await read_body(request, Skip)
    try:
        if skip.to is None:
            done = await service.work.advance(skip.seconds or 0)
        else:
            done = await service.work.advance_to(_target_us(service, skip.to))
    finally:
        service.work.wake()
    return JSONResponse({"now": iso(service.clock.now_us())} | done)


def _target_us(service: SandboxService, target: datetime) -> int:
    now_us = service.clock.now_us()
    if not now_us <= to_us(target) <= now_us + MAX_SKIP_S * US_PER_S:
        accepted = f"from {iso(now_us)}, which is now, to {MAX_SKIP_S} seconds later"
        raise invalid_field_error("to", str(target), accepted)
    return to_us(target)


# -- Faults -----------------------------------------------------------------------


async def add_fault(request: Request) -> Response:
    """Handle POST /sandbox/faults; respond with the new fault."""
    service, body = service_of(request), await read_object(request)
    fault = service.faults.add(body, service.clock.now_us())
    return JSONResponse(fault.as_json(), status_code=201)


async def list_faults(request: Request) -> Response:
    """Handle GET /sandbox/faults: the active faults."""
    faults = service_of(request).faults.in_force()
    return JSONResponse({"data": [fault.as_json() for fault in faults]})


async def remove_fault(request: Request) -> Response:
    """Handle DELETE /sandbox/faults/{fault_id}."""
    service = service_of(request)
    if not service.faults.remove(request.path_params["fault_id"]):
        raise RequestError(404, "There is no fault with this id; it may have ended.")
    return _removed(service, 1)


async def clear_faults(request: Request) -> Response:
    """Handle DELETE /sandbox/faults."""
    service = service_of(request)
    return _removed(service, service.faults.clear())


def _removed(service: SandboxService, n: int) -> Response:
    service.work.wake()  # a queue may have been stuck
    return JSONResponse({"removed_n": n})


# -- Reset ------------------------------------------------------------------------


def _require_confirmation(confirm: bool) -> bool:  # noqa: FBT001 - pydantic calls it
    if not confirm:
        raise ValueError("true")
    return confirm


class Reset(RequestBody):
    """A confirmed reset."""

    confirm: Annotated[bool, AfterValidator(_require_confirmation)]


async def reset(request: Request) -> Response:
    """Handle POST /sandbox/reset; only name, key and time are kept."""
    service = service_of(request)
    await read_body(request, Reset)
    async with service.work.paused():
        # No await from here on: no request sees a partial reset.
        with service.db.transaction():
            service.db.clear(besides=CLOCK)
            service.open_accounts()
        service.faults.clear()
        service.files.remove_all()
    return JSONResponse({"now": iso(service.clock.now_us())})
