"""Organizations, members and keys."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mediakit.sandbox.admin.org_requests import (
    GrantAsked,
    KeyAsked,
    KeyChange,
    MemberAsked,
    OrgAsked,
    OrgChange,
)
from mediakit.sandbox.core.request_body import read_body, refused
from mediakit.sandbox.core.responses import RequestError
from mediakit.sandbox.core.service import Service, caller_of, service_of
from mediakit.sandbox.store.organizations import keys, organization_records
from mediakit.sandbox.store.organizations.organization_records import (
    MAX_MICRO_USD,
    NewOrg,
)

MADE = 201
# A cache must not keep a key.
NO_STORE = {"Cache-Control": "no-store"}


async def list_orgs(request: Request) -> Response:
    """Handle GET /sandbox/orgs: all of them, with members and keys."""
    return JSONResponse(
        {"data": organization_records.describe_all(service_of(request).db)}
    )


async def make_org(request: Request) -> Response:
    """Handle POST /sandbox/orgs with the new organization; it has no key yet."""
    service, asked = service_of(request), await read_body(request, OrgAsked)
    if asked.credit_usd > asked.balance_usd:
        raise RequestError(422, "credit_usd: it is part of balance_usd, not more.")
    if (asked.mode == "postpaid") != (asked.cycle_limit_usd is not None):
        raise RequestError(
            422, "cycle_limit_usd: required for a postpaid organization, and only then."
        )
    org_id = organization_records.make(
        service.db,
        NewOrg(
            name=asked.name,
            mode=asked.mode,
            balance_micro_usd=asked.balance_usd,
            credit_micro_usd=asked.credit_usd,
            cycle_limit_micro_usd=asked.cycle_limit_usd,
            concurrency=asked.concurrency,
            queue_size=asked.queue_size,
            per_minute=asked.per_minute,
            per_day=asked.per_day,
        ),
        service.clock.now_us(),
    )
    return JSONResponse(_org(service, org_id), status_code=MADE)


async def change_org(request: Request) -> Response:
    """Handle PATCH /sandbox/orgs/{org_id} with the organization as it is now."""
    changes = _columns((await read_body(request, OrgChange)).given())
    service, org = _asked_for(request)
    if "cycle_limit_micro_usd" in changes and org["mode"] != "postpaid":
        raise RequestError(
            422, "cycle_limit_usd: only a postpaid organization has cycles."
        )
    organization_records.change(service.db, org["id"], changes)
    service.starts.wake()
    return JSONResponse(_org(service, org["id"]))


async def make_grant(request: Request) -> Response:
    """Handle POST /sandbox/orgs/{org_id}/grants: credits, or funds topped up."""
    asked = await read_body(request, GrantAsked)
    service, org = _asked_for(request)
    if org["balance_micro_usd"] + asked.usd > MAX_MICRO_USD:
        raise RequestError(422, "usd: the balance would exceed the maximum.")
    organization_records.grant(
        service.db,
        org["id"],
        asked.usd,
        is_credit=asked.kind == "credit",
        now_us=service.clock.now_us(),
    )
    return JSONResponse(_org(service, org["id"]), status_code=MADE)


async def add_member(request: Request) -> Response:
    """Handle POST /sandbox/orgs/{org_id}/members with the new member."""
    asked = await read_body(request, MemberAsked)
    service, org = _asked_for(request)
    member_id = organization_records.add_member(
        service.db, org["id"], asked.name, asked.role, asked.daily_limit_usd
    )
    made = {"id": member_id, "org": org["id"], **_columns(asked.model_dump())}
    return JSONResponse(made, status_code=MADE)


async def make_key(request: Request) -> Response:
    """Handle POST /sandbox/orgs/{org_id}/keys with the key, shown only once."""
    asked = await read_body(request, KeyAsked)
    service, org = _asked_for(request)
    members = [member["id"] for member in org["members"]]
    if asked.member is not None and asked.member not in members:
        raise refused("member", asked.member, "the id of a member of the organization")
    key_id, secret = keys.make_key(
        service.db,
        org["id"],
        asked.member,
        asked.daily_limit_usd,
        service.clock.now_us(),
    )
    made = {**_key(service, key_id), "key": secret}
    return JSONResponse(made, status_code=MADE, headers=NO_STORE)


async def change_key(request: Request) -> Response:
    """Handle PATCH /sandbox/keys/{key_id} with the key's state, without the key."""
    changes = _columns((await read_body(request, KeyChange)).given())
    service, key_id = service_of(request), request.path_params["key_id"]
    _key(service, key_id)
    if changes.get("state") == "inactive" and key_id == caller_of(request).api_key:
        raise RequestError(
            409,
            "This call uses that key: use another key to deactivate it, so that one "
            "stays active. Nothing was changed.",
        )
    organization_records.change_key(service.db, key_id, changes)
    return JSONResponse(_key(service, key_id))


def _asked_for(request: Request) -> tuple[Service, dict[str, Any]]:
    # After the body was read: no other request is handled from here on.
    service = service_of(request)
    return service, _org(service, request.path_params["org_id"])


def _org(service: Service, org_id: str) -> dict[str, Any]:
    org = organization_records.describe(service.db, org_id)
    if org is None:
        raise RequestError(404, "There is no organization with this id.")
    return org


def _key(service: Service, key_id: str) -> dict[str, Any]:
    key = organization_records.find_key(service.db, key_id)
    if key is None:
        raise RequestError(404, "There is no key with this id.")
    return key


def _columns(given: dict[str, Any]) -> dict[str, Any]:
    """Rename the fields in dollars to the columns in micro-dollars."""
    return {name.replace("_usd", "_micro_usd"): value for name, value in given.items()}
