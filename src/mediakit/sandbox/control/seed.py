"""A past for the sandbox: jobs and spend, so that there are months to look at."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mediakit.errors import shown
from mediakit.sandbox.answers import RequestError
from mediakit.sandbox.clock import iso
from mediakit.sandbox.history import past_jobs
from mediakit.sandbox.reading import read_object
from mediakit.sandbox.service import Service, service_of
from mediakit.sandbox.store.accounts import DEFAULT_ORG
from mediakit.sandbox.store.history import add_past, keys_of

MEMBERS = ("Studio", "Marketing")
# Each is a default and the most that is accepted; the least is 1, of a seed 0.
DAYS = (90, 3_650)
JOBS = (400, 10_000)
SEED = (1, 2**32)


async def seed(request: Request) -> Response:
    """Answer POST /sandbox/seed with what was added."""
    service = service_of(request)
    asked = await read_object(request)
    org = _org(service, request)
    for name in asked:
        if name not in ("days", "jobs", "seed"):
            accepted = "days, jobs and seed only"
            raise _refused(name, asked[name], accepted)
    days = _whole(asked, "days", 1, *DAYS)
    jobs = _whole(asked, "jobs", 1, *JOBS)
    number = _whole(asked, "seed", 0, *SEED)
    return JSONResponse(_add(service, org, days, jobs, number), status_code=201)


def _add(
    service: Service, org: str, days: int, jobs: int, number: int
) -> dict[str, Any]:
    db, now_us = service.db, service.clock.now_us()
    past = past_jobs(
        service.catalog,
        days=days,
        jobs=jobs,
        buyers=1 + len(MEMBERS),
        seed=number,
        now_us=now_us,
    )
    with db.transaction():
        api_keys = keys_of(db, org, MEMBERS, now_us)
        add_past(db, org, api_keys, past)
    return {
        "jobs": len(past),
        "completed": sum(job.failure is None for job in past),
        "failed": sum(job.failure is not None for job in past),
        "spent_micro_usd": sum(job.charge_micro_usd for job in past),
        "first": iso(past[0].created_us),
        "last": iso(past[-1].ended_us),
        "api_key_ids": api_keys,
    }


def _org(service: Service, request: Request) -> str:
    org = request.query_params.get("org", DEFAULT_ORG)
    if service.db.row("SELECT 1 FROM org WHERE id = ?", org) is None:
        raise RequestError(404, f"There is no organization {shown(org)}.")
    return org


def _whole(
    asked: dict[str, Any], name: str, least: int, default: int, most: int
) -> int:
    value = asked.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _refused(name, value, f"a whole number from {least} to {most}")
    if not least <= value <= most:
        raise _refused(name, value, f"a whole number from {least} to {most}")
    return value


def _refused(field: str, got: object, accepted: str) -> RequestError:
    return RequestError(422, f"{field}: got {shown(got)}, accepted: {accepted}.")
