"""Reads and erases jobs, and serves the files of outputs and uploads (spec 4.18)."""

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from mediakit.sandbox.files import name_in
from mediakit.sandbox.http import (
    RequestError,
    WireResponse,
    message_response,
)
from mediakit.sandbox.service import SandboxService, base_url_of, caller_of, service_of
from mediakit.sandbox.store import jobs
from mediakit.sandbox.store.jobs import JobRow
from mediakit.sandbox.wire import (
    Content,
    JobBody,
    job_fields,
    output_url,
)

FILE_HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "Accept-Ranges, Content-Length, Content-Range",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Content-Type-Options": "nosniff",
}


async def read_job(request: Request) -> Response:
    """Read a job."""
    return job_response(request, _asked_for(request))


def job_response(request: Request, job: JobRow) -> Response:
    """Return the current job, with its charge unless billing is unavailable."""
    service = service_of(request)
    unavailable = job.terminal and service.faults.hides_billing(job.id)
    fields = job_fields(job, base_url_of(request), billing_unavailable=unavailable)
    return WireResponse(JobBody(**fields))


async def read_content(request: Request) -> Response:
    """Find the output."""
    job = _asked_for(request)
    if job.deleted_us is not None:
        raise RequestError(410, "The stored media of this job were erased.")
    if job.status != "completed":
        raise RequestError(409, f"The job is {job.status}: it has no output.")
    return WireResponse(Content(url=output_url(job, base_url_of(request))))


async def erase_job(request: Request) -> Response:
    """Erase stored media and captured request."""
    service, job = service_of(request), _asked_for(request)
    if not job.terminal:
        raise RequestError(
            409, f"The job is {job.status}: only an ended job can be erased."
        )
    # Update the row first: after a kill in between, the next start removes the file.
    jobs.erase(service.db, job, service.clock.now_us())
    service.files.remove(job.file)
    return job_response(request, _asked_for(request))


def _asked_for(request: Request) -> JobRow:
    service, caller = service_of(request), caller_of(request)
    job = jobs.find(service.db, request.path_params["request_id"])
    if job is None or job.org != caller.org:
        raise RequestError(404, "There is no job with this id in your organization.")
    return job


async def file(request: Request) -> Response:
    """Handle GET and HEAD of a file by its unguessable name, with ranges."""
    service = service_of(request)
    name = name_in(request.url.path)
    content_type = None if name is None else _content_type(service, name)
    if name is None or content_type is None:
        return message_response(404, "There is no such file.", FILE_HEADERS)
    path = service.files.path(name)
    if content_type == "" or not path.is_file():
        return message_response(410, "The file was removed.", FILE_HEADERS)
    response = FileResponse(path, media_type=content_type, headers=FILE_HEADERS)
    response.chunk_size = 256 * 1024
    return response


def _content_type(service: SandboxService, name: str) -> str | None:
    """Return a file's type; "" if it was removed, None if it never existed."""
    upload = service.db.one("SELECT * FROM upload WHERE file = ?", name)
    if upload is not None and upload["stored_us"] is not None:
        return str(upload["content_type"])
    if upload is not None:
        return "" if upload["expires_us"] < service.clock.now_us() else None
    job = jobs.find_by_file(service.db, name)
    if job is None or job.status != "completed":
        return None
    return job.content_type if job.has_output else ""
