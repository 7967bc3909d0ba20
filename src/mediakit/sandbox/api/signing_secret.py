"""The signing secret of an organization, and its rotation (spec 4.20, 6.6)."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mediakit.errors import shown
from mediakit.sandbox.core.request_body import read_object
from mediakit.sandbox.core.responses import RequestError
from mediakit.sandbox.core.service import Service, caller_of, service_of
from mediakit.sandbox.scheduling.clock import US_PER_S, iso
from mediakit.sandbox.store.events import signing_secrets

MAX_OVERLAP_S = 86_400
OVERLAP_FIELD = "expire_in_seconds"
# A secret is not for a cache to keep.
NO_STORE = {"Cache-Control": "no-store"}


async def read(request: Request) -> Response:
    """Answer GET /v1/webhooks/secret; the first read mints it."""
    service, caller = service_of(request), caller_of(request)
    return secret_answer(service, caller.org)


async def rotate(request: Request) -> Response:
    """Answer POST /v1/webhooks/secret/rotate, for owners and admins."""
    service, caller = service_of(request), caller_of(request)
    if not caller.manages:
        raise RequestError(403, "Only owners and admins may rotate the secret.")
    overlap_s = overlap_asked(await read_object(request))
    return rotation_answer(service, caller.org, overlap_s)


def secret_answer(service: Service, owner: str) -> Response:
    """Answer with the secret of an organization or an endpoint."""
    secret = signing_secrets.current(service.db, owner, service.clock.now_us())
    return JSONResponse({"secret": secret}, headers=NO_STORE)


def rotation_answer(service: Service, owner: str, overlap_s: int) -> Response:
    """Rotate the secret of an organization or an endpoint, and answer with the new.

    Args:
        service: What the sandbox's parts share.
        owner: The id of the organization or the endpoint.
        overlap_s: For how long the old secret still signs, sandbox seconds.
    """
    now_us = service.clock.now_us()
    overlap_us = overlap_s * US_PER_S
    secret, overlaps = signing_secrets.rotate(service.db, owner, now_us, overlap_us)
    until = iso(now_us + overlap_us) if overlaps else None
    answer = {"secret": secret, "previous_expires_at": until}
    return JSONResponse(answer, headers=NO_STORE)


def overlap_asked(body: dict[str, Any]) -> int:
    """Read for how long the old secret still signs, seconds; a day by default.

    Raises:
        RequestError: 422; it is no whole number from 0 to 86400.
    """
    for name in body:
        if name != OVERLAP_FIELD:
            raise _refused(name, body[name], f"only {OVERLAP_FIELD} here")
    overlap_s = body.get(OVERLAP_FIELD, MAX_OVERLAP_S)
    whole = isinstance(overlap_s, int) and not isinstance(overlap_s, bool)
    if not whole or not 0 <= overlap_s <= MAX_OVERLAP_S:
        accepted = f"a whole number from 0 to {MAX_OVERLAP_S}"
        raise _refused(OVERLAP_FIELD, overlap_s, accepted)
    return int(overlap_s)


def _refused(field: str, got: object, accepted: str) -> RequestError:
    return RequestError(422, f"{field}: got {shown(got)}, accepted: {accepted}.")
