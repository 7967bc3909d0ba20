"""The status of the sandbox at one moment, without prompts and keys."""

from sqlite3 import Row
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mediakit.sandbox.admin.faults import fault_object
from mediakit.sandbox.api.deliveries import delivery_object
from mediakit.sandbox.core.service import Service, service_of
from mediakit.sandbox.store import job_queue
from mediakit.sandbox.store.database import Database
from mediakit.sandbox.store.events import deliveries
from mediakit.sandbox.store.events.deliveries import DeliveryRow, Page
from mediakit.sandbox.store.job_queue import JobRow
from mediakit.sandbox.store.limits import left_micro_usd
from mediakit.sandbox.store.organizations.keys import DEFAULT_ORG
from mediakit.sandbox.timing.clock import iso

SHOWN_JOBS = 20
SHOWN_DELIVERIES = 10


async def status(request: Request) -> Response:
    """Handle GET /sandbox/status: the sandbox's identity, health, jobs and faults.

    The status is 503 while work fails and is retried.
    """
    service = service_of(request)
    settings, problems = service.settings, service.health.problems()
    rows = service.db.rows("SELECT * FROM org ORDER BY rowid")
    orgs = [_org(service, row) for row in rows]
    org_ids = [org["id"] for org in orgs]
    default = next(org for org in orgs if org["id"] == DEFAULT_ORG)
    counts = service.db.rows("SELECT status, count(*) AS n FROM delivery GROUP BY 1")
    return JSONResponse(
        {
            "identity": service.identity,
            "base_url": service.base_url,
            "now": iso(service.clock.now_us()),
            "ahead_s": service.clock.ahead_s(),
            "speed": settings.speed,
            "concurrency": settings.concurrency,
            "queue_size": settings.queue_size,
            "allow_loopback_callbacks": settings.allow_loopback_callbacks,
            "running": default["running"],
            "queued": default["queued"],
            "functions": {f.kind: f.path for f in service.catalog},
            "problems": problems,
            "orgs": orgs,
            "jobs": _latest_jobs(service.db, org_ids),
            "deliveries": {row["status"]: row["n"] for row in counts},
            "undelivered": _undelivered(service.db, org_ids),
            "faults": [fault_object(fault) for fault in service.faults.in_force()],
        },
        status_code=503 if problems else 200,
    )


def _org(service: Service, row: Row) -> dict[str, Any]:
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


def _latest_jobs(db: Database, org_ids: list[str]) -> list[dict[str, Any]]:
    jobs = [job for org in org_ids for job in job_queue.latest(db, org, SHOWN_JOBS)]
    jobs.sort(key=lambda job: job.created_us, reverse=True)
    return [_job(job) for job in jobs[:SHOWN_JOBS]]


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


def _undelivered(db: Database, org_ids: list[str]) -> list[dict[str, Any]]:
    pages = [Page(status=s, limit=SHOWN_DELIVERIES) for s in ("pending", "failed")]
    found = [
        row
        for org in org_ids
        for page in pages
        for row in deliveries.listed(db, org, page)
    ]
    found.sort(key=lambda row: row.seq, reverse=True)
    return [_delivery(db, row) for row in found[:SHOWN_DELIVERIES]]


def _delivery(db: Database, row: DeliveryRow) -> dict[str, Any]:
    attempts = deliveries.attempts_of(db, row.id)
    reason = attempts[-1].reason if attempts else None
    return {**delivery_object(row), "org": row.org, "reason": reason}
