"""Upload grants and the PUT that uses one (spec 2.3, 4.2)."""

from pathlib import Path
from sqlite3 import Row

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from mediakit.sandbox.clock import US_PER_S
from mediakit.sandbox.exchange import WireResponse, read_body
from mediakit.sandbox.files import address_of, new_name
from mediakit.sandbox.service import Service, base_url_of, caller_of, service_of
from mediakit.sandbox.wire import UploadGrant, UploadRequest

GRANT_VALID_S = 5 * 60


async def grant_upload(request: Request) -> Response:
    """Request an upload grant."""
    service, caller = service_of(request), caller_of(request)
    asked = await read_body(request, UploadRequest)
    now_us, base_url = service.clock.now_us(), base_url_of(request)
    # Who may read the file must not be able to replace it: it has a second name.
    file, ticket = new_name(), new_name()
    service.db.insert(
        "upload",
        file=file,
        ticket=ticket,
        org=caller.org,
        api_key=caller.api_key,
        content_type=asked.content_type,
        size_bytes=asked.size_bytes,
        expires_us=now_us + GRANT_VALID_S * US_PER_S,
        created_us=now_us,
    )
    return WireResponse(
        UploadGrant(
            upload_url=f"{base_url}/uploads/{ticket}",
            headers={
                "Content-Type": asked.content_type,
                "Content-Length": str(asked.size_bytes),
            },
            url=base_url + address_of(file, asked.content_type),
        )
    )


async def put(request: Request) -> Response:
    """Handle PUT to an upload URL: 200 with nothing, or a bare 403."""
    service = service_of(request)
    upload = _granted(service, request)
    if upload is None:
        return Response(status_code=403)
    part = service.files.part(upload["file"])
    try:
        if not await _receive(request, part, upload["size_bytes"]):
            return Response(status_code=403)
        await service.files.keep(part, upload["file"])
    finally:
        part.unlink(missing_ok=True)
    stored = {"stored_us": service.clock.now_us()}
    if not service.db.update("upload", {"file": upload["file"]}, **stored):
        # The sandbox was reset meanwhile, including the grant.
        service.files.remove(upload["file"])
        return Response(status_code=403)
    return Response(status_code=200)


def _granted(service: Service, request: Request) -> Row | None:
    ticket = request.path_params["ticket"]
    upload = service.db.one("SELECT * FROM upload WHERE ticket = ?", ticket)
    if upload is None or upload["expires_us"] < service.clock.now_us():
        return None
    granted = (upload["content_type"], str(upload["size_bytes"]))
    given = (request.headers.get(name) for name in ("content-type", "content-length"))
    return upload if tuple(given) == granted else None


async def _receive(request: Request, part: Path, size_bytes: int) -> bool:
    """Write a body to a file; False when it is longer or shorter than granted."""
    left_bytes = size_bytes
    with part.open("wb") as file:
        try:
            async for chunk in request.stream():
                left_bytes -= len(chunk)
                if left_bytes < 0:
                    return False
                # A page-cache write of one network chunk is faster than a thread.
                file.write(chunk)
        except ClientDisconnect:
            return False
    return left_bytes == 0
