"""Upload grants and the signed PUT (spec 2.3, 4.2)."""

import asyncio
import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field
from starlette.datastructures import URL
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from mediakit.sandbox.core.files import address_of, new_name
from mediakit.sandbox.core.request_body import RequestBody, read_body
from mediakit.sandbox.core.service import Service, base_url_of, caller_of, service_of
from mediakit.sandbox.store import uploads
from mediakit.sandbox.store.uploads import UploadRow
from mediakit.sandbox.timing.clock import US_PER_S

GRANT_VALID_S = 5 * 60
MAX_UPLOAD_BYTES = 1024**3
# Real seconds, unlike the grant's; a slower upload is rejected.
UPLOAD_TIMEOUT_S = 5 * 60.0

# Only media can be model inputs. Image types that can contain scripts are excluded:
# a browser would run them.
MEDIA_TYPE_PATTERN = r"^(image|video|audio)/[a-z0-9][a-z0-9.+-]{0,60}$"
SCRIPTED_SUFFIX = "+xml"
_MEDIA_TYPE = re.compile(MEDIA_TYPE_PATTERN)


def _media_type(content_type: str) -> str:
    known = _MEDIA_TYPE.fullmatch(content_type) is not None
    if known and not content_type.endswith(SCRIPTED_SUFFIX):
        return content_type
    raise ValueError("a media type of an image, a video or audio, such as image/png")


class GrantRequest(RequestBody):
    """The file of an upload."""

    content_type: Annotated[str, AfterValidator(_media_type)]
    size_bytes: Annotated[int, Field(ge=1, le=MAX_UPLOAD_BYTES)]


async def grant(request: Request) -> Response:
    """Handle POST /v1/media/uploads with a grant."""
    service, caller = service_of(request), caller_of(request)
    asked = await read_body(request, GrantRequest)
    now_us = service.clock.now_us()
    upload = UploadRow(
        file=new_name(),
        content_type=asked.content_type,
        size_bytes=asked.size_bytes,
        expires_us=now_us + GRANT_VALID_S * US_PER_S,
        stored=False,
    )
    uploads.grant(
        service.db, upload, org=caller.org, api_key=caller.api_key, now_us=now_us
    )
    return JSONResponse(_grant_object(service, upload, base_url_of(request)))


def _grant_object(service: Service, upload: UploadRow, base_url: str) -> dict[str, Any]:
    length, expires = str(upload.size_bytes), str(upload.expires_us)
    signature = service.signer.sign(upload.file, upload.content_type, length, expires)
    query = {"expires": expires, "signature": signature}
    url = URL(f"{base_url}/uploads/{upload.file}").include_query_params(**query)
    return {
        "upload_url": str(url),
        "headers": {"Content-Type": upload.content_type, "Content-Length": length},
        "url": base_url + address_of(upload.file, upload.content_type),
    }


async def put(request: Request) -> Response:
    """Handle PUT to an upload URL: 200 with nothing, or a bare 403 (408: too slow)."""
    service = service_of(request)
    upload = _granted(service, request)
    if upload is None:
        return Response(status_code=403)
    part = service.files.part(upload.file)
    try:
        async with asyncio.timeout(UPLOAD_TIMEOUT_S):
            if not await _receive(request, part, upload.size_bytes):
                return Response(status_code=403)
        await service.files.keep(part, upload.file)
    except TimeoutError:
        return Response(status_code=408)
    finally:
        part.unlink(missing_ok=True)
    if not uploads.mark_stored(service.db, upload.file, service.clock.now_us()):
        # The sandbox was reset meanwhile, including the grant.
        service.files.remove(upload.file)
        return Response(status_code=403)
    return Response(status_code=200)


def _granted(service: Service, request: Request) -> UploadRow | None:
    file = request.path_params["file"]
    expires = request.query_params.get("expires", "")
    signed = service.signer.accepts(
        request.query_params.get("signature", ""),
        file,
        request.headers.get("content-type", ""),
        request.headers.get("content-length", ""),
        expires,
    )
    if not signed or int(expires) < service.clock.now_us():
        return None
    return uploads.find_upload(service.db, file)


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
