"""What the service answers: the job object and the two error shapes (spec 2.1, 7)."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse

from mediakit.records import ErrorCode
from mediakit.sandbox.clock import iso
from mediakit.sandbox.files import address_of
from mediakit.sandbox.store.jobs import JobRow

# Rejections after the job row exists answer with the failed job (spec 4.3).
ENVELOPE_STATUS = {
    ErrorCode.ADMISSION_SUSPENDED: 403,
    ErrorCode.CYCLE_LIMIT_EXCEEDED: 403,
    ErrorCode.INSUFFICIENT_BALANCE: 403,
    ErrorCode.PROVIDER_UNAVAILABLE: 503,
    ErrorCode.RATE_LIMITED: 429,
}
QUEUE_RETRY_AFTER_S = 2


class RequestError(Exception):
    """A request-level error: no job was made (spec 7.1).

    Args:
        status: The HTTP status.
        message: One sentence for people.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def message_answer(
    status: int, message: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Answer a request-level error, `{message}`."""
    return JSONResponse({"message": message}, status_code=status, headers=headers)


def rejection_answer(job: JobRow, base_url: str) -> JSONResponse:
    """Answer a submit that was turned away with its failed job (spec 7.1)."""
    code = ErrorCode(job.error_code or ErrorCode.INTERNAL)
    status = ENVELOPE_STATUS.get(code, 200)
    headers = {"Retry-After": str(QUEUE_RETRY_AFTER_S)} if status == 429 else None
    body = job_object(job, base_url) | {"billing": None}
    return JSONResponse(body, status_code=status, headers=headers)


def output_url(job: JobRow, base_url: str) -> str:
    """Return where a completed job's file is served."""
    return base_url + address_of(job.file, job.content_type)


def job_object(job: JobRow, base_url: str) -> dict[str, Any]:
    """Write a job as the interface shows it (spec 2.1).

    What its table calls present "once completed", "when failed" or "after DELETE" is
    absent before; billing is null until the job has ended.
    """
    shown: dict[str, Any] = {"id": job.id, "status": job.status}
    if job.status == "completed" and job.deleted_us is None:
        shown["output"] = _output(job, base_url)
    if job.status == "failed":
        shown["error"] = {"code": job.error_code, "message": job.error_message}
    if job.terminal:
        shown["usage"] = job.usage
    shown["billing"] = _billing(job)
    if job.deleted_us is not None:
        shown["deleted_at"] = iso(job.deleted_us)
    return shown


def _output(job: JobRow, base_url: str) -> dict[str, Any]:
    file = {"url": output_url(job, base_url), "content_type": job.content_type}
    return {"media_type": job.media_type, str(job.media_type): file}


def _billing(job: JobRow) -> dict[str, Any] | None:
    if job.billing_state is None:
        return None
    if job.billing_state != "settled":
        return {"state": job.billing_state}
    return {"state": "settled", "charge_micro_usd": job.charge_micro_usd}
