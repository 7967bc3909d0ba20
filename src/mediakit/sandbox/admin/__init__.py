"""The sandbox's admin API, `/sandbox/`, which is not part of the interface.

Each row of the table is one call. Every call requires an active API key of the sandbox,
like the interface: all users of the machine, and the web pages that they open, can
reach loopback, but only its owner can read the key.
"""

from collections.abc import Awaitable, Callable
from functools import wraps

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mediakit.sandbox.admin import controls, endpoints, organizations
from mediakit.sandbox.service import caller_of

Handler = Callable[[Request], Awaitable[Response]]

Call = tuple[str, str, Handler]
"""A method, a path and its handler."""

ENDPOINTS = "/sandbox/endpoints"
ENDPOINT = f"{ENDPOINTS}/{{endpoint_id}}"


async def _seed(request: Request) -> Response:
    # Imported here to keep the start fast: few sandboxes have a past.
    from mediakit.sandbox.admin.seeding import seed

    return await seed(request)


CALLS: tuple[Call, ...] = (
    ("GET", "/sandbox/status", controls.status),
    ("GET", "/sandbox/clock", controls.read_clock),
    ("POST", "/sandbox/clock/advance", controls.advance),
    ("GET", "/sandbox/faults", controls.list_faults),
    ("POST", "/sandbox/faults", controls.add_fault),
    ("DELETE", "/sandbox/faults", controls.clear_faults),
    ("DELETE", "/sandbox/faults/{fault_id}", controls.remove_fault),
    ("POST", "/sandbox/seed", _seed),
    ("POST", "/sandbox/reset", controls.reset),
    ("GET", ENDPOINTS, endpoints.read_all),
    ("POST", ENDPOINTS, endpoints.add),
    ("GET", ENDPOINT, endpoints.read),
    ("PATCH", ENDPOINT, endpoints.change),
    ("DELETE", ENDPOINT, endpoints.remove),
    ("POST", f"{ENDPOINT}/test", endpoints.send_test),
    ("GET", f"{ENDPOINT}/secret", endpoints.read_secret),
    ("POST", f"{ENDPOINT}/secret/rotate", endpoints.rotate_secret),
    ("GET", "/sandbox/orgs", organizations.list_orgs),
    ("POST", "/sandbox/orgs", organizations.make_org),
    ("PATCH", "/sandbox/orgs/{org_id}", organizations.change_org),
    ("POST", "/sandbox/orgs/{org_id}/grants", organizations.make_grant),
    ("POST", "/sandbox/orgs/{org_id}/members", organizations.add_member),
    ("POST", "/sandbox/orgs/{org_id}/keys", organizations.make_key),
    ("PATCH", "/sandbox/keys/{key_id}", organizations.change_key),
)


def _require_key(handler: Handler) -> Handler:
    @wraps(handler)
    async def checked(request: Request) -> Response:
        caller_of(request)
        return await handler(request)

    return checked


ROUTES = tuple(
    Route(path, _require_key(handler), methods=[method])
    for method, path, handler in CALLS
)
