"""The signing secret of an organization, and its rotation (spec 4.20, 6.6)."""

from typing import Annotated

from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mediakit.sandbox.core.request_body import RequestBody, read_body
from mediakit.sandbox.core.responses import RequestError
from mediakit.sandbox.core.service import Service, caller_of, service_of
from mediakit.sandbox.scheduling.clock import US_PER_S, iso
from mediakit.sandbox.store.events import signing_secrets

MAX_OVERLAP_S = 86_400
# A cache must not keep a secret.
NO_STORE = {"Cache-Control": "no-store"}


class RotationRequest(RequestBody):
    """For how long the old secret still signs, sandbox seconds."""

    expire_in_seconds: Annotated[int, Field(ge=0, le=MAX_OVERLAP_S)] = MAX_OVERLAP_S


async def read(request: Request) -> Response:
    """Handle GET /v1/webhooks/secret; the first read creates the secret."""
    service, caller = service_of(request), caller_of(request)
    return secret_response(service, caller.org)


async def rotate(request: Request) -> Response:
    """Handle POST /v1/webhooks/secret/rotate, for owners and admins."""
    service, caller = service_of(request), caller_of(request)
    if not caller.manages:
        raise RequestError(403, "Only owners and admins may rotate the secret.")
    asked = await read_body(request, RotationRequest)
    return rotation_response(service, caller.org, asked.expire_in_seconds)


def secret_response(service: Service, owner: str) -> Response:
    """Return the response with the secret of an organization or an endpoint."""
    secret = signing_secrets.current(service.db, owner, service.clock.now_us())
    return JSONResponse({"secret": secret}, headers=NO_STORE)


def rotation_response(service: Service, owner: str, overlap_s: int) -> Response:
    """Rotate the secret of an organization or an endpoint, and return the new one.

    Args:
        service: The shared state of the sandbox.
        owner: The id of the organization or the endpoint.
        overlap_s: For how long the old secret still signs, sandbox seconds.
    """
    now_us = service.clock.now_us()
    overlap_us = overlap_s * US_PER_S
    secret, overlaps = signing_secrets.rotate(service.db, owner, now_us, overlap_us)
    until = iso(now_us + overlap_us) if overlaps else None
    shown = {"secret": secret, "previous_expires_at": until}
    return JSONResponse(shown, headers=NO_STORE)
