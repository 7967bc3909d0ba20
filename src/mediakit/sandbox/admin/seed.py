"""Generates past jobs and spend, so that there are earlier months."""

import json
import sqlite3
from typing import Annotated, Any
from uuid import UUID, uuid5

from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mediakit.safe_text import shown
from mediakit.sandbox.clock import iso
from mediakit.sandbox.exchange import RequestError, read_body
from mediakit.sandbox.service import Service, caller_of, service_of
from mediakit.sandbox.wire import RequestBody

MEMBERS = ("Studio", "Marketing")
PASTS = UUID("6c1d3f0e-6a3b-4f0c-9a55-0d8c1f2b7e41")


class SeedRequest(RequestBody):
    """How long a past, of how many jobs, and drawn from which seed."""

    days: Annotated[int, Field(ge=1, le=3_650)] = 90
    jobs: Annotated[int, Field(ge=1, le=10_000)] = 400
    seed: Annotated[int, Field(ge=0, le=2**32)] = 1
    requests: bool = False


async def seed(request: Request) -> Response:
    """Handle POST /sandbox/seed with the past, and how much of it was added now."""
    # Imported here, because few sandboxes have a past, and all of them start.
    from mediakit.sandbox.seeding import keys_of

    service = service_of(request)
    asked = await read_body(request, SeedRequest)
    org = _org(service, request)
    api_keys = keys_of(service.db, org, MEMBERS, service.clock.now_us())
    past, added_n = _past(service, org, api_keys, asked)
    summary = _summary(past) | {"api_key_ids": api_keys, "added": added_n}
    if asked.requests:
        summary["requests"] = [_request(row) for row in past]
    return JSONResponse(summary, status_code=201 if added_n else 200)


def _past(
    service: Service, org: str, api_keys: list[str], asked: SeedRequest
) -> tuple[list[sqlite3.Row], int]:
    """Return the jobs of a past, and the number added: all of them, or none."""
    from mediakit.sandbox.seeding import add_past, find_past, past_jobs

    db = service.db
    # Without the date, so that tomorrow's call finds the same past.
    past_name = f"{service.identity} {org} {asked.days} {asked.jobs} {asked.seed}"
    job_ids = [f"media_{uuid5(PASTS, f'{past_name} {n}')}" for n in range(asked.jobs)]
    known = find_past(db, job_ids)
    if known:
        return known, 0
    past = past_jobs(
        service.catalog,
        days=asked.days,
        jobs=asked.jobs,
        keys_n=len(api_keys),
        seed=asked.seed,
        now_us=service.clock.now_us(),
    )
    add_past(db, org, api_keys, past, job_ids)
    return find_past(db, job_ids), len(past)


def _summary(past: list[sqlite3.Row]) -> dict[str, Any]:
    return {
        "jobs": len(past),
        "completed": sum(row["status"] == "completed" for row in past),
        "failed": sum(row["status"] == "failed" for row in past),
        "spent_micro_usd": sum(row["charge_micro_usd"] for row in past),
        "first": iso(past[0]["created_us"]),
        "last": iso(past[-1]["ended_us"]),
    }


def _request(row: sqlite3.Row) -> dict[str, Any]:
    """Return the request of one job, and its result."""
    code, usage = row["error_code"], row["usage"]
    error = {"code": code, "message": row["error_message"]}
    return {
        "job_id": row["id"],
        "function": row["function"],
        "body": json.loads(row["body"]),
        "api_key_id": row["api_key"],
        "account": row["account"],
        "status": row["status"],
        "error": None if code is None else error,
        "usage": None if usage is None else json.loads(usage),
        "media_type": row["media_type"],
        "content_type": row["content_type"],
        "charge_micro_usd": row["charge_micro_usd"],
        "created_at": iso(row["created_us"]),
        "started_at": iso(row["started_us"]),
        "ended_at": iso(row["ended_us"]),
        "settled_at": iso(row["settled_us"]),
        "deleted_at": iso(row["deleted_us"]),
    }


def _org(service: Service, request: Request) -> str:
    """Return the organization that the request names, or else that of its key."""
    org = request.query_params.get("org", caller_of(request).org)
    if service.db.one("SELECT 1 FROM org WHERE id = ?", org) is None:
        raise RequestError(404, f"There is no organization {shown(org)}.")
    return org
