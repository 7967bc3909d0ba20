"""The delivery log, and the signing secret with its rotation (spec 4.20, 6.6)."""

from starlette.requests import Request
from starlette.responses import Response

from mediakit.clock import US_PER_S
from mediakit.sandbox.clock import iso
from mediakit.sandbox.http import (
    NO_STORE,
    RequestError,
    WireResponse,
    read_body,
    read_query,
)
from mediakit.sandbox.outbound import BlockedError, check_callback_url
from mediakit.sandbox.service import SandboxService, caller_of, service_of
from mediakit.sandbox.store import deliveries, endpoints
from mediakit.sandbox.store.deliveries import DeliveryRow
from mediakit.sandbox.wire import (
    AttemptList,
    DeliveryBody,
    DeliveryPage,
    DeliveryQuery,
    RotatedSecret,
    Rotation,
    SecretBody,
    delivery_fields,
    detail_of,
)


async def list_deliveries(request: Request) -> Response:
    """List deliveries, newest first."""
    service, caller = service_of(request), caller_of(request)
    query = read_query(request, DeliveryQuery)
    cursor = query.cursor
    # One row more than the limit shows whether there is another page.
    rows = deliveries.listed(
        service.db,
        org=caller.org,
        endpoint=query.endpoint_id,
        status=query.status,
        job=query.source_id,
        before_seq=int(cursor.removeprefix("before-")) if cursor else None,
        limit=query.limit + 1,
    )
    page = rows[: query.limit]
    has_more = len(rows) > query.limit
    return WireResponse(
        DeliveryPage(
            data=[DeliveryBody(**delivery_fields(row)) for row in page],
            next_cursor=f"before-{page[-1].seq}" if has_more else None,
        )
    )


async def read_delivery(request: Request) -> Response:
    """Read a delivery, its event included."""
    delivery = _asked_for(request)
    body = deliveries.body_of(service_of(request).db, delivery.event)
    return WireResponse(detail_of(delivery, body))


async def list_attempts(request: Request) -> Response:
    """List the attempts of a delivery, in order."""
    delivery = _asked_for(request)
    rows = deliveries.attempts_of(service_of(request).db, delivery.id)
    data = [
        {**dict(row), "number": row["n"], "attempted_at": iso(row["at_us"])}
        for row in rows
    ]
    return WireResponse(AttemptList.model_validate({"data": data}))


async def replay_delivery(request: Request) -> Response:
    """Send a delivery again, under its `webhook-id` (spec 3.2)."""
    service, delivery = service_of(request), _asked_for(request)
    url, now_us = _receiver(service, delivery), service.clock.now_us()
    if not deliveries.replay(service.db, delivery.id, url, now_us):
        raise RequestError(
            409,
            f"The delivery is {delivery.status}: only a delivered or failed one can "
            "be sent again.",
        )
    service.work.wake()
    return WireResponse(DeliveryBody(**delivery_fields(_asked_for(request))))


def _asked_for(request: Request) -> DeliveryRow:
    service, caller = service_of(request), caller_of(request)
    delivery = deliveries.find(service.db, request.path_params["delivery_id"])
    if delivery is None or delivery.org != caller.org:
        raise RequestError(
            404, "There is no delivery with this id in your organization."
        )
    return delivery


def _receiver(service: SandboxService, delivery: DeliveryRow) -> str:
    if delivery.endpoint is None:
        return delivery.url
    endpoint = endpoints.find(service.db, delivery.endpoint)
    if endpoint is None or endpoint.state != "enabled":
        raise RequestError(
            409, "Its endpoint is no longer enabled: nothing can be sent to it."
        )
    return endpoint.url


async def check_callback(
    service: SandboxService, field: str, url: str, outcome: str
) -> None:
    """Reject, with 400, a callback URL that violates the policy (spec 6.2)."""
    try:
        await check_callback_url(
            url,
            own_port=service.port,
            allow_loopback=service.settings.allow_loopback_callbacks,
        )
    except BlockedError as problem:
        raise RequestError(400, f"{field}: {problem}. {outcome}") from None


# -- Secrets ----------------------------------------------------------------------


async def read_secret(request: Request) -> Response:
    """Read the organization's secret; the first read creates it."""
    return secret_response(service_of(request), caller_of(request).org)


async def rotate_secret(request: Request) -> Response:
    """Rotate the organization's secret, as an owner or an admin."""
    caller = caller_of(request)
    if not caller.manages:
        raise RequestError(403, "Only owners and admins may rotate the secret.")
    rotation = await read_body(request, Rotation)
    return rotation_response(service_of(request), caller.org, rotation)


def secret_response(service: SandboxService, owner: str) -> Response:
    """Return the response with the secret of an organization or an endpoint."""
    secret = endpoints.current_secret(service.db, owner, service.clock.now_us())
    return WireResponse(SecretBody(secret=secret), headers=NO_STORE)


def rotation_response(
    service: SandboxService, owner: str, rotation: Rotation
) -> Response:
    """Rotate the secret of an organization or an endpoint, and return the new one."""
    now_us, overlap_us = service.clock.now_us(), rotation.expire_in_seconds * US_PER_S
    secret, overlaps = endpoints.rotate_secret(service.db, owner, now_us, overlap_us)
    until = iso(now_us + overlap_us) if overlaps else None
    rotated = RotatedSecret(secret=secret, previous_expires_at=until)
    return WireResponse(rotated, headers=NO_STORE)
