"""Serves outputs and uploads without a key, by their unguessable names."""

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from mediakit.sandbox.core.files import name_in
from mediakit.sandbox.core.responses import message_response
from mediakit.sandbox.core.service import Service, service_of
from mediakit.sandbox.store.jobs import find_by_file
from mediakit.sandbox.store.uploads import find_upload

HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "Accept-Ranges, Content-Length, Content-Range",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Content-Type-Options": "nosniff",
}


async def file(request: Request) -> Response:
    """Handle GET and HEAD of a file, ranges included."""
    service = service_of(request)
    name = name_in(request.url.path)
    content_type = None if name is None else _content_type(service, name)
    if name is None or content_type is None:
        return message_response(404, "There is no such file.", HEADERS)
    path = service.files.path(name)
    if content_type == "" or not path.is_file():
        return message_response(410, "The file was removed.", HEADERS)
    response = FileResponse(path, media_type=content_type, headers=HEADERS)
    response.chunk_size = 256 * 1024
    return response


def _content_type(service: Service, name: str) -> str | None:
    """Return a file's type; "" when it was removed, None when it never existed."""
    upload = find_upload(service.db, name)
    if upload is not None:
        ended = "" if upload.expires_us < service.clock.now_us() else None
        return upload.content_type if upload.stored else ended
    job = find_by_file(service.db, name)
    if job is None or job.status != "completed":
        return None
    return "" if job.deleted_us is not None else job.content_type
