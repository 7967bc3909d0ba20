"""Registered webhook endpoints, which the interface leaves to a console (spec 6.2)."""

import uuid
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mediakit.errors import shown
from mediakit.sandbox.api import signing_secret
from mediakit.sandbox.api.deliveries import delivery_object
from mediakit.sandbox.core.request_body import read_object
from mediakit.sandbox.core.responses import RequestError
from mediakit.sandbox.core.service import Service, service_of
from mediakit.sandbox.delivery.callbacks import check_callback_url
from mediakit.sandbox.delivery.events import SUBSCRIBABLE, announce_test
from mediakit.sandbox.delivery.outbound_guard import BlockedError
from mediakit.sandbox.scheduling.clock import iso
from mediakit.sandbox.store.events import deliveries, endpoints, signing_secrets
from mediakit.sandbox.store.events.deliveries import Page
from mediakit.sandbox.store.events.endpoints import MAX_ENDPOINTS, EndpointRow
from mediakit.sandbox.store.organizations.keys import DEFAULT_ORG

MADE = 201
CHANGED_STATES = ("enabled", "disabled")


async def add(request: Request) -> Response:
    """Answer POST /sandbox/endpoints: register one, and show its secret."""
    service, org = service_of(request), _org(request)
    body = await read_object(request)
    _refuse_unknown(body, ("url", "events"))
    url = await _url(service, body.get("url"))
    now_us = service.clock.now_us()
    endpoint = EndpointRow(
        id=f"endpoint_{uuid.uuid4()}",
        org=org,
        url=url,
        events=_events(body.get("events")),
        state="enabled",
        created_us=now_us,
    )
    if not endpoints.add(service.db, endpoint):
        raise RequestError(
            409,
            f"The organization has {MAX_ENDPOINTS} endpoints, which is all that it "
            "may have. Delete one first.",
        )
    secret = signing_secrets.current(service.db, endpoint.id, now_us)
    answer = endpoint_object(endpoint) | {"secret": secret}
    return JSONResponse(answer, status_code=MADE, headers=signing_secret.NO_STORE)


async def read_all(request: Request) -> Response:
    """Answer GET /sandbox/endpoints with an organization's, oldest first."""
    found = endpoints.of_org(service_of(request).db, _org(request))
    return JSONResponse({"data": [endpoint_object(endpoint) for endpoint in found]})


async def read(request: Request) -> Response:
    """Answer GET /sandbox/endpoints/{endpoint_id}."""
    return JSONResponse(endpoint_object(_asked_for(request)))


async def change(request: Request) -> Response:
    """Answer PATCH .../{endpoint_id}: another address, filter or state."""
    service = service_of(request)
    body = await read_object(request)
    _refuse_unknown(body, ("url", "events", "state"))
    url = await _url(service, body["url"]) if "url" in body else None
    # Read after the name was resolved: it may have changed or gone meanwhile.
    endpoint = _asked_for(request)
    changed = replace(
        endpoint,
        url=url or endpoint.url,
        events=_events(body["events"]) if "events" in body else endpoint.events,
        state=_state(body["state"]) if "state" in body else endpoint.state,
    )
    endpoints.change(service.db, changed, service.clock.now_us())
    return JSONResponse(endpoint_object(changed))


async def remove(request: Request) -> Response:
    """Answer DELETE .../{endpoint_id}: what was on its way there is canceled."""
    service, endpoint = service_of(request), _asked_for(request)
    endpoints.remove(service.db, endpoint.id, service.clock.now_us())
    return JSONResponse(endpoint_object(endpoint) | {"state": "deleted"})


async def send_test(request: Request) -> Response:
    """Answer POST .../{endpoint_id}/test with the delivery of a `webhook.test`."""
    service, endpoint = service_of(request), _asked_for(request)
    if endpoint.state != "enabled":
        raise RequestError(
            409, f"The endpoint is {endpoint.state}: enable it, then send a test."
        )
    announce_test(service, endpoint)
    newest = Page(endpoint=endpoint.id, limit=1)
    (delivery,) = deliveries.listed(service.db, endpoint.org, newest)
    return JSONResponse(delivery_object(delivery))


async def read_secret(request: Request) -> Response:
    """Answer GET .../{endpoint_id}/secret."""
    return signing_secret.secret_answer(service_of(request), _asked_for(request).id)


async def rotate_secret(request: Request) -> Response:
    """Answer POST .../{endpoint_id}/secret/rotate."""
    overlap_s = signing_secret.overlap_asked(await read_object(request))
    endpoint = _asked_for(request)
    return signing_secret.rotation_answer(service_of(request), endpoint.id, overlap_s)


def endpoint_object(endpoint: EndpointRow) -> dict[str, Any]:
    """Write an endpoint, without its secret."""
    return {
        "id": endpoint.id,
        "org": endpoint.org,
        "url": endpoint.url,
        "events": endpoint.events,
        "state": endpoint.state,
        "created_at": iso(endpoint.created_us),
    }


def _org(request: Request) -> str:
    org = request.query_params.get("org", DEFAULT_ORG)
    if service_of(request).db.row("SELECT id FROM org WHERE id = ?", org) is None:
        raise RequestError(404, f"There is no organization {shown(org)}.")
    return org


def _asked_for(request: Request) -> EndpointRow:
    endpoint_id = request.path_params["endpoint_id"]
    endpoint = endpoints.find(service_of(request).db, endpoint_id)
    if endpoint is None:
        raise RequestError(404, "There is no endpoint with this id.")
    return endpoint


async def _url(service: Service, value: object) -> str:
    if not isinstance(value, str):
        raise _refused("url", value, "a URL")
    try:
        await check_callback_url(
            value,
            own_port=service.port,
            allow_loopback=service.settings.allow_loopback_callbacks,
        )
    except BlockedError as problem:
        raise RequestError(400, f"url: {problem}. Nothing was changed.") from None
    return value


def _events(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    known = isinstance(value, list) and all(kind in SUBSCRIBABLE for kind in value)
    if not isinstance(value, list) or not value or not known:
        accepted = f"null for all, or a list of {', '.join(SUBSCRIBABLE)}"
        raise _refused("events", value, accepted)
    return tuple(dict.fromkeys(value))


def _state(value: object) -> str:
    if value not in CHANGED_STATES:
        raise _refused("state", value, f"one of {', '.join(CHANGED_STATES)}")
    return str(value)


def _refuse_unknown(body: dict[str, Any], known: tuple[str, ...]) -> None:
    for name in body:
        if name not in known:
            raise _refused(name, body[name], f"only {', '.join(known)} here")


def _refused(field: str, got: object, accepted: str) -> RequestError:
    return RequestError(422, f"{field}: got {shown(got)}, accepted: {accepted}.")
