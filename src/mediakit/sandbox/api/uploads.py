"""Grants uploads, and receives the files (spec 2.3, 4.2)."""

from pathlib import Path
from sqlite3 import Row

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from mediakit.clock import US_PER_S
from mediakit.sandbox.files import address_of, new_name
from mediakit.sandbox.http import WireResponse, read_body
from mediakit.sandbox.service import SandboxService, base_url_of, caller_of, service_of
from mediakit.sandbox.wire import UploadGrantBody, UploadRequest

GRANT_VALID_S = 5 * 60


async def grant_upload(request: Request) -> Response:
    """Request an upload grant."""
    service = service_of(request)
    caller = caller_of(request)
    body = await read_body(request, UploadRequest)
    now_us = service.clock.now_us()
    base_url = base_url_of(request)
    # The upload URL has a name of its own, so that readers of the file cannot replace
    # it.
    file = new_name()
    ticket = new_name()
    service.db.insert(
        "upload",
        file=file,
        ticket=ticket,
        org=caller.org,
        api_key=caller.api_key,
        content_type=body.content_type,
        size_bytes=body.size_bytes,
        expires_us=now_us + GRANT_VALID_S * US_PER_S,
        created_us=now_us,
    )
    return WireResponse(
        UploadGrantBody(
            upload_url=f"{base_url}/uploads/{ticket}",
            headers={
                "Content-Type": body.content_type,
                "Content-Length": str(body.size_bytes),
            },
            url=base_url + address_of(file, body.content_type),
        )
    )


async def put_upload(request: Request) -> Response:
    """Handle PUT to an upload URL: an empty 200, or a bare 403."""
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
        # The sandbox was reset in the meantime, including the grant.
        service.files.remove(upload["file"])
        return Response(status_code=403)
    return Response(status_code=200)


def _granted(service: SandboxService, request: Request) -> Row | None:
    ticket = request.path_params["ticket"]
    upload = service.db.one("SELECT * FROM upload WHERE ticket = ?", ticket)
    if upload is None or upload["expires_us"] < service.clock.now_us():
        return None
    granted = (upload["content_type"], str(upload["size_bytes"]))
    headers = (request.headers.get(name) for name in ("content-type", "content-length"))
    return upload if tuple(headers) == granted else None


async def _receive(request: Request, part: Path, size_bytes: int) -> bool:
    """Write a body to a file; return False if its length was not granted."""
    left_bytes = size_bytes
    with part.open("wb") as file:
        try:
            async for chunk in request.stream():
                left_bytes -= len(chunk)
                if left_bytes < 0:
                    return False
                # Writing one network chunk to the page cache is faster than starting a
                # thread.
                file.write(chunk)
        except ClientDisconnect:
            return False
    return left_bytes == 0
