"""Reads and erases jobs (spec 4.18)."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mediakit.sandbox.core.responses import RequestError, job_object, output_url
from mediakit.sandbox.core.service import base_url_of, caller_of, service_of
from mediakit.sandbox.store import jobs
from mediakit.sandbox.store.jobs import JobRow


async def read(request: Request) -> Response:
    """Handle GET /v1/media/jobs/{request_id} with the job."""
    return job_response(request, _asked_for(request))


def job_response(request: Request, job: JobRow) -> Response:
    """Return the current job, with its charge unless billing is unavailable."""
    service = service_of(request)
    unavailable = job.terminal and service.faults.billing_unavailable(job.id)
    shown = job_object(job, base_url_of(request), billing_unavailable=unavailable)
    return JSONResponse(shown)


async def content(request: Request) -> Response:
    """Handle GET .../content with the URL of the output."""
    job = _asked_for(request)
    if job.deleted_us is not None:
        raise RequestError(410, "The stored media of this job were erased.")
    if job.status != "completed":
        raise RequestError(409, f"The job is {job.status}: it has no output.")
    return JSONResponse({"url": output_url(job, base_url_of(request))})


async def erase(request: Request) -> Response:
    """Handle DELETE: erase the stored media and the captured request."""
    service, job = service_of(request), _asked_for(request)
    if not job.terminal:
        raise RequestError(
            409, f"The job is {job.status}: only an ended job can be erased."
        )
    # The row first: after a kill in between, the next start removes the file.
    jobs.erase(service.db, job, service.clock.now_us())
    service.files.remove(job.file)
    return job_response(request, _asked_for(request))


def _asked_for(request: Request) -> JobRow:
    service, caller = service_of(request), caller_of(request)
    job = jobs.find_in_org(service.db, caller.org, request.path_params["request_id"])
    if job is None:
        raise RequestError(404, "There is no job with this id in your organization.")
    return job
