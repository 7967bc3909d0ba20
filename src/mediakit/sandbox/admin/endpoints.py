"""Registered webhook endpoints, managed outside the interface (spec 6.2)."""

import uuid
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mediakit.safe_text import shown
from mediakit.sandbox.api import webhooks
from mediakit.sandbox.clock import iso
from mediakit.sandbox.events import Subscribable, announce_test
from mediakit.sandbox.http import NO_STORE, RequestError, WireResponse, read_body
from mediakit.sandbox.service import service_of
from mediakit.sandbox.store import deliveries, endpoints
from mediakit.sandbox.store.endpoints import MAX_ENDPOINTS, EndpointRow, distinct
from mediakit.sandbox.store.orgs import DEFAULT_ORG
from mediakit.sandbox.wire import (
    DeliveryBody,
    RequestBody,
    Rotation,
    absent,
    delivery_fields,
)

MADE = 201
UNCHANGED = "Nothing was changed."

Filter = Annotated[list[Subscribable], Field(min_length=1)]


class EndpointRequest(RequestBody):
    """A new endpoint; without `events` it receives all of them."""

    url: str
    events: Filter | None = None


class EndpointChange(RequestBody):
    """A change of an endpoint; omitted fields stay."""

    url: str = absent()
    events: Filter | None = None
    state: Literal["enabled", "disabled"] = absent()


async def add(request: Request) -> Response:
    """Handle POST /sandbox/endpoints: register an endpoint and show its secret."""
    service, org = service_of(request), _org(request)
    body = await read_body(request, EndpointRequest)
    await webhooks.check_callback(service, "url", body.url, UNCHANGED)
    now_us = service.clock.now_us()
    endpoint = EndpointRow(
        id=f"endpoint_{uuid.uuid4()}",
        org=org,
        url=body.url,
        events=distinct(body.events),
        state="enabled",
        created_us=now_us,
    )
    if not endpoints.add(service.db, endpoint):
        raise RequestError(
            409,
            f"The organization has {MAX_ENDPOINTS} endpoints, which is the maximum. "
            "Delete one first.",
        )
    secret = endpoints.current_secret(service.db, endpoint.id, now_us)
    fields = endpoint_object(endpoint) | {"secret": secret}
    return JSONResponse(fields, status_code=MADE, headers=NO_STORE)


async def read_all(request: Request) -> Response:
    """Handle GET /sandbox/endpoints: an organization's, oldest first."""
    rows = endpoints.of_org(service_of(request).db, _org(request))
    return JSONResponse({"data": [endpoint_object(endpoint) for endpoint in rows]})


async def read(request: Request) -> Response:
    """Handle GET /sandbox/endpoints/{endpoint_id}."""
    return JSONResponse(endpoint_object(_asked_for(request)))


async def change(request: Request) -> Response:
    """Handle PATCH .../{endpoint_id}: change its URL, filter or state."""
    service = service_of(request)
    changes = (await read_body(request, EndpointChange)).given()
    if "url" in changes:
        await webhooks.check_callback(service, "url", changes["url"], UNCHANGED)
    if "events" in changes:
        changes["events"] = distinct(changes["events"])
    # Read the endpoint after the host has been resolved, because it may have changed in
    # the meantime.
    changed = replace(_asked_for(request), **changes)
    endpoints.change(service.db, changed, service.clock.now_us())
    return JSONResponse(endpoint_object(changed))


async def remove(request: Request) -> Response:
    """Handle DELETE .../{endpoint_id}: pending deliveries to it are canceled."""
    service, endpoint = service_of(request), _asked_for(request)
    endpoints.remove(service.db, endpoint.id, service.clock.now_us())
    return JSONResponse(endpoint_object(endpoint) | {"state": "deleted"})


async def send_test(request: Request) -> Response:
    """Handle POST .../{endpoint_id}/test: deliver a `webhook.test`."""
    service, endpoint = service_of(request), _asked_for(request)
    if endpoint.state != "enabled":
        raise RequestError(
            409, f"The endpoint is {endpoint.state}: enable it, then send a test."
        )
    delivery = deliveries.find(service.db, announce_test(service, endpoint))
    if delivery is None:
        raise LookupError("the delivery that was just created is missing")
    return WireResponse(DeliveryBody(**delivery_fields(delivery)))


async def read_secret(request: Request) -> Response:
    """Handle GET .../{endpoint_id}/secret."""
    return webhooks.secret_response(service_of(request), _asked_for(request).id)


async def rotate_secret(request: Request) -> Response:
    """Handle POST .../{endpoint_id}/secret/rotate."""
    rotation = await read_body(request, Rotation)
    service, endpoint = service_of(request), _asked_for(request)
    return webhooks.rotation_response(service, endpoint.id, rotation)


def endpoint_object(endpoint: EndpointRow) -> dict[str, Any]:
    """Return an endpoint as JSON fields, without its secret."""
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
    if service_of(request).db.one("SELECT id FROM org WHERE id = ?", org) is None:
        raise RequestError(404, f"There is no organization {shown(org)}.")
    return org


def _asked_for(request: Request) -> EndpointRow:
    endpoint_id = request.path_params["endpoint_id"]
    endpoint = endpoints.find(service_of(request).db, endpoint_id)
    if endpoint is None:
        raise RequestError(404, "There is no endpoint with this id.")
    return endpoint
