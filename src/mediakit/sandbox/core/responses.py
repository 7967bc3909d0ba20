"""The responses of the service: the job object and two error shapes (spec 2.1, 7)."""

import math
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse

from mediakit.records import BillingState, ErrorCode
from mediakit.sandbox.core.files import address_of
from mediakit.sandbox.store.job_queue import JobRow
from mediakit.sandbox.store.limits import Refusal
from mediakit.sandbox.timing.clock import SandboxClock, iso

# A rejection after the job row exists returns the failed job (spec 4.3).
ENVELOPE_STATUS = {
    ErrorCode.ADMISSION_SUSPENDED: 403,
    ErrorCode.CYCLE_LIMIT_EXCEEDED: 403,
    ErrorCode.INSUFFICIENT_BALANCE: 403,
    ErrorCode.PROVIDER_UNAVAILABLE: 503,
    ErrorCode.RATE_LIMITED: 429,
}
USAGE_LIMIT_STATUS = 403
QUEUE_RETRY_AFTER_S = 2


class RequestError(Exception):
    """A request-level error: no job was created (spec 7.1).

    Args:
        status: The HTTP status.
        message: One sentence for people.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def message_response(
    status: int, message: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Return the response of a request-level error, `{message}`."""
    return JSONResponse({"message": message}, status_code=status, headers=headers)


def rejection_response(
    job: JobRow, refusal: Refusal, base_url: str, clock: SandboxClock
) -> JSONResponse:
    """Return the response of a rejected submission: its failed job (spec 7.1).

    Args:
        job: The failed job.
        refusal: Why it was rejected.
        base_url: The URL of this service.
        clock: The sandbox's clock, by which the limits are measured.
    """
    body = job_object(job, base_url) | {"billing": None}
    return JSONResponse(
        body, status_code=_status_of(refusal), headers=_retry_after(refusal, clock)
    )


def _status_of(refusal: Refusal) -> int:
    if refusal.over_usage_limit:
        return USAGE_LIMIT_STATUS
    return ENVELOPE_STATUS.get(refusal.code, 200)


def _retry_after(refusal: Refusal, clock: SandboxClock) -> dict[str, str] | None:
    if refusal.retry_at_us is not None:
        # Clients wait in real seconds, whatever the speed of the sandbox's clock.
        seconds = max(1, math.ceil(clock.real_s_until(refusal.retry_at_us)))
        return {"Retry-After": str(seconds)}
    if _status_of(refusal) == ENVELOPE_STATUS[ErrorCode.RATE_LIMITED]:
        return {"Retry-After": str(QUEUE_RETRY_AFTER_S)}
    return None


def output_url(job: JobRow, base_url: str) -> str:
    """Return the URL of a completed job's file."""
    return base_url + address_of(job.file, job.content_type)


def job_object(
    job: JobRow, base_url: str, *, billing_unavailable: bool = False
) -> dict[str, Any]:
    """Return a job as the interface shows it (spec 2.1).

    Fields that the specification lists as present "once completed", "when failed" or
    "after DELETE" are absent before; billing is null until the job has ended.

    Args:
        job: The job.
        base_url: The URL of this service.
        billing_unavailable: Its charge cannot be read at the moment (spec 2.2).
    """
    shown: dict[str, Any] = {"id": job.id, "status": job.status}
    if job.status == "completed" and job.deleted_us is None:
        shown["output"] = _output(job, base_url)
    if job.status == "failed":
        shown["error"] = {"code": job.error_code, "message": job.error_message}
    if job.terminal:
        shown["usage"] = job.usage
    shown["billing"] = _billing(job, unavailable=billing_unavailable)
    if job.deleted_us is not None:
        shown["deleted_at"] = iso(job.deleted_us)
    return shown


def _output(job: JobRow, base_url: str) -> dict[str, Any]:
    file = {"url": output_url(job, base_url), "content_type": job.content_type}
    return {"media_type": job.media_type, str(job.media_type): file}


def _billing(job: JobRow, *, unavailable: bool) -> dict[str, Any] | None:
    if job.billing_state is None:
        return None
    if unavailable:
        return {"state": BillingState.UNAVAILABLE}
    if job.billing_state != "settled":
        return {"state": job.billing_state}
    return {"state": "settled", "charge_micro_usd": job.charge_micro_usd}
