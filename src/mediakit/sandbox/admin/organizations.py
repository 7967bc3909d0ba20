"""Organizations, members and keys."""

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mediakit.errors import InputError
from mediakit.money import MICRO_PER_USD, parse_usd
from mediakit.sandbox.http import (
    NO_STORE,
    RequestError,
    invalid_field_error,
    read_body,
)
from mediakit.sandbox.service import SandboxService, caller_of, service_of
from mediakit.sandbox.store import orgs
from mediakit.sandbox.store.orgs import MAX_MICRO_USD, Role
from mediakit.sandbox.wire import RequestBody, absent

MADE = 201


def _micro_usd(amount: object) -> int:
    """Parse dollars in JSON: a number, or a string such as "12.50"."""
    accepted = (
        f"US dollars from 0 to {MAX_MICRO_USD // MICRO_PER_USD}, to the micro-dollar"
    )
    if isinstance(amount, float):
        # repr returns the number as written.
        amount = Decimal(repr(amount))
    if isinstance(amount, str | int | Decimal):
        try:
            micro_usd = parse_usd(amount)
        except InputError:
            raise ValueError(accepted) from None
        if micro_usd <= MAX_MICRO_USD:
            return micro_usd
    raise ValueError(accepted)


Usd = Annotated[int, BeforeValidator(_micro_usd)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Count = Annotated[int, Field(ge=0, le=1_000_000)]


class OrgLimits(RequestBody):
    """The limits of an organization."""

    cycle_limit_usd: Usd = absent()
    concurrency: Count = absent()
    queue_size: Count = absent()
    per_minute: Count | None = None
    per_day: Count | None = None


class OrgRequest(OrgLimits):
    """A new organization; the balance includes the credits."""

    name: Name
    mode: Literal["prepaid", "postpaid"] = "prepaid"
    balance_usd: Usd = 0
    credit_usd: Usd = 0
    concurrency: Count = 2
    queue_size: Count = 50


class OrgChange(OrgLimits):
    """A change of an organization; omitted fields stay."""

    name: Name = absent()
    suspended: bool = absent()
    billing_plan: bool = absent()


class GrantRequest(RequestBody):
    """Credits or funds to add to a balance."""

    usd: Usd
    kind: Literal["credit", "fund"]


class MemberRequest(RequestBody):
    """A new member."""

    name: Name
    role: Role = "member"
    daily_limit_usd: Usd | None = None


class KeyRequest(RequestBody):
    """A new key of a member or of the organization itself."""

    member: str | None = None
    daily_limit_usd: Usd | None = None


class KeyChange(RequestBody):
    """A change of a key; omitted fields stay."""

    state: Literal["active", "inactive"] = absent()
    daily_limit_usd: Usd | None = None


async def list_orgs(request: Request) -> Response:
    """Handle GET /sandbox/orgs: all organizations, with members and keys."""
    service = service_of(request)
    rows = service.db.all("SELECT id FROM org ORDER BY rowid")
    return JSONResponse({"data": [_org(service, row["id"]) for row in rows]})


async def make_org(request: Request) -> Response:
    """Handle POST /sandbox/orgs; respond with the organization, which has no key."""
    service, body = service_of(request), await read_body(request, OrgRequest)
    if body.credit_usd > body.balance_usd:
        raise RequestError(
            422, "credit_usd: it is part of balance_usd and cannot exceed it."
        )
    if (body.mode == "postpaid") != (body.cycle_limit_usd is not None):
        raise RequestError(
            422, "cycle_limit_usd: required for a postpaid organization, and only then."
        )
    columns = _columns(body.model_dump())
    org_id = orgs.add_org(service.db, service.clock.now_us(), **columns)
    return JSONResponse(_org(service, org_id), status_code=MADE)


async def change_org(request: Request) -> Response:
    """Handle PATCH /sandbox/orgs/{org_id}; respond with the organization."""
    changes = _columns((await read_body(request, OrgChange)).given())
    service, org = _asked_for(request)
    if "cycle_limit_micro_usd" in changes and org["mode"] != "postpaid":
        raise RequestError(
            422, "cycle_limit_usd: only a postpaid organization has cycles."
        )
    if changes:
        service.db.update("org", {"id": org["id"]}, **changes)
    service.work.wake()
    return JSONResponse(_org(service, org["id"]))


async def make_grant(request: Request) -> Response:
    """Handle POST /sandbox/orgs/{org_id}/grants: add credits or funds."""
    body = await read_body(request, GrantRequest)
    service, org = _asked_for(request)
    if org["balance_micro_usd"] + body.usd > MAX_MICRO_USD:
        raise RequestError(422, "usd: the balance would exceed the maximum.")
    is_credit, now_us = body.kind == "credit", service.clock.now_us()
    orgs.grant(service.db, org["id"], body.usd, is_credit=is_credit, now_us=now_us)
    return JSONResponse(_org(service, org["id"]), status_code=MADE)


async def add_member(request: Request) -> Response:
    """Handle POST /sandbox/orgs/{org_id}/members; respond with the member."""
    body = await read_body(request, MemberRequest)
    service, org = _asked_for(request)
    columns = {"org": org["id"], **_columns(body.model_dump())}
    member_id = orgs.add_member(service.db, **columns)
    return JSONResponse({"id": member_id, **columns}, status_code=MADE)


async def make_key(request: Request) -> Response:
    """Handle POST /sandbox/orgs/{org_id}/keys; show the key this once."""
    body = await read_body(request, KeyRequest)
    service, org = _asked_for(request)
    members = [member["id"] for member in org["members"]]
    if body.member is not None and body.member not in members:
        raise invalid_field_error(
            "member", body.member, "the id of a member of the organization"
        )
    columns = {"org": org["id"], **_columns(body.model_dump())}
    key_id, secret = orgs.add_key(service.db, service.clock.now_us(), **columns)
    fields = {**_key(service, key_id), "key": secret}
    return JSONResponse(fields, status_code=MADE, headers=NO_STORE)


async def change_key(request: Request) -> Response:
    """Handle PATCH /sandbox/keys/{key_id}; respond without the key itself."""
    changes = _columns((await read_body(request, KeyChange)).given())
    service, key_id = service_of(request), request.path_params["key_id"]
    _key(service, key_id)
    if changes.get("state") == "inactive" and key_id == caller_of(request).api_key:
        raise RequestError(
            409,
            "This call uses that key: use another key to deactivate it, so that one "
            "stays active. Nothing was changed.",
        )
    if changes:
        service.db.update("api_key", {"id": key_id}, **changes)
    return JSONResponse(_key(service, key_id))


def _asked_for(request: Request) -> tuple[SandboxService, dict[str, Any]]:
    # Called after the body was read: no other request is handled from here on.
    service = service_of(request)
    return service, _org(service, request.path_params["org_id"])


def _org(service: SandboxService, org_id: str) -> dict[str, Any]:
    org = orgs.describe(service.db, org_id)
    if org is None:
        raise RequestError(404, "There is no organization with this id.")
    return org


def _key(service: SandboxService, key_id: str) -> dict[str, Any]:
    key = orgs.find_key(service.db, key_id)
    if key is None:
        raise RequestError(404, "There is no key with this id.")
    return key


def _columns(fields: dict[str, Any]) -> dict[str, Any]:
    """Rename fields in dollars to columns in micro-dollars."""
    return {name.replace("_usd", "_micro_usd"): value for name, value in fields.items()}
