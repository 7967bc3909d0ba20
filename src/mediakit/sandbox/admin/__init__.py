"""The admin interface of the sandbox, `/sandbox/`, which the interface leaves out.

Each line of the table is one call; all of them check the caller in the same way.
"""

from starlette.routing import Route

from mediakit.sandbox.admin import (
    clock,
    endpoints,
    faults,
    organizations,
    reset,
    seed,
)
from mediakit.sandbox.admin.access import Handler, require_admin

Call = tuple[str, str, Handler]
"""A method, a path and its handler."""

ENDPOINTS = "/sandbox/endpoints"
ENDPOINT = f"{ENDPOINTS}/{{endpoint_id}}"

CALLS: tuple[Call, ...] = (
    ("GET", "/sandbox/clock", clock.read_clock),
    ("POST", "/sandbox/clock/advance", clock.advance),
    ("GET", "/sandbox/faults", faults.list_faults),
    ("POST", "/sandbox/faults", faults.add_fault),
    ("DELETE", "/sandbox/faults", faults.clear_faults),
    ("DELETE", "/sandbox/faults/{fault_id}", faults.remove_fault),
    ("POST", "/sandbox/seed", seed.seed),
    ("POST", "/sandbox/reset", reset.reset),
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

ROUTES = tuple(
    Route(path, require_admin(handler), methods=[method])
    for method, path, handler in CALLS
)
