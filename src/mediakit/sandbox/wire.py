"""The wire format: one model validates, serialises and describes each message."""

import json
import math
import re
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
)
from starlette.responses import Response

from mediakit.api_models import BillingState, ErrorCode, JobStatus
from mediakit.sandbox.clock import SandboxClock, iso
from mediakit.sandbox.files import address_of
from mediakit.sandbox.http import WireResponse
from mediakit.sandbox.store.admission import Refusal
from mediakit.sandbox.store.deliveries import DeliveryRow
from mediakit.sandbox.store.jobs import JobRow

# -- Requests ----------------------------------------------------------------------


def absent() -> Any:
    """Declare a field that may be omitted, but is never null."""
    return Field(default_factory=lambda: None)


class RequestBody(BaseModel):
    """The base class of request bodies, which rejects unknown fields."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    def given(self) -> dict[str, Any]:
        """Return the fields in the request, including null ones."""
        return self.model_dump(exclude_unset=True)


class QueryParameters(BaseModel):
    """The base class of query parameters, which ignores unknown ones."""

    model_config = ConfigDict(frozen=True)


def _whole(text: object) -> object:
    # int() would also take " 5", "5.0" and digits of other scripts.
    if isinstance(text, str) and not re.fullmatch("[0-9]{1,9}", text):
        raise ValueError("a whole number")
    return text


def _day(text: object) -> date:
    try:
        if isinstance(text, str) and re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise ValueError("a day as YYYY-MM-DD")


def _month(text: object) -> date:
    if not isinstance(text, str) or not re.fullmatch("[0-9]{4}-[0-9]{2}", text):
        raise ValueError("a month as YYYY-MM")
    try:
        return date.fromisoformat(f"{text}-01")
    except ValueError:
        raise ValueError("a month as YYYY-MM") from None


def _media_type(content_type: str) -> str:
    # Image types that can contain scripts are excluded: a browser would run them.
    if content_type.endswith("+xml"):
        raise ValueError("a type that contains no scripts")
    return content_type


# The calendar begins with the year 1.
CalendarDay = date
_DATED: dict[str, Any] = {"type": "string", "not": {"pattern": "^0000"}}
_DAY = {"format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
_MONTH = {"pattern": "^[0-9]{4}-(0[1-9]|1[0-2])$"}

Name = Annotated[str, Field(min_length=1)]
Day = Annotated[date, BeforeValidator(_day), WithJsonSchema({**_DATED, **_DAY})]
Month = Annotated[date, BeforeValidator(_month), WithJsonSchema({**_DATED, **_MONTH})]
# Only media can be model inputs.
MediaType = Annotated[
    str,
    Field(
        pattern=r"^(image|video|audio)/[a-z0-9][a-z0-9.+-]{0,60}$",
        json_schema_extra={"not": {"pattern": r"\+xml$"}},
    ),
    AfterValidator(_media_type),
]
DeliveryStatus = Literal["pending", "delivered", "failed", "canceled"]


class UploadRequest(RequestBody):
    """The file to upload."""

    content_type: MediaType
    size_bytes: Annotated[int, Field(ge=1, le=1024**3)]


class Rotation(RequestBody):
    """The time for which the old secret still signs, in sandbox seconds."""

    expire_in_seconds: Annotated[int, Field(ge=0, le=86_400)] = 86_400


class DailyQuery(QueryParameters):
    """The days, and the key and model, of a daily report."""

    start_date: Day
    end_date: Day
    api_key_id: Name = absent()
    model: Name = absent()


class MonthPath(QueryParameters):
    """The month of a report."""

    month: Month


class DeliveryQuery(QueryParameters):
    """A filter and a cursor for deliveries."""

    endpoint_id: Name = absent()
    status: DeliveryStatus = absent()
    source_id: Annotated[Name, Field(description="The id of a job.")] = absent()
    limit: Annotated[int, Field(ge=1, le=100), BeforeValidator(_whole)] = 20
    # The cursor is opaque to clients; after the dash is a position in the log.
    cursor: Annotated[str, Field(pattern="^before-[1-9][0-9]{0,17}$")] = absent()


# -- Responses ---------------------------------------------------------------------


class ResponseBody(BaseModel):
    """The base class of responses, which omits fields that were not set."""


Count = Annotated[int, Field(ge=0)]
MicroUsd = Annotated[int, Field(description="Micro-USD.")]
Instant = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
JobId = Annotated[str, Field(pattern="^media_")]
SigningSecret = Annotated[str, Field(pattern="^whsec_")]
Usage = Annotated[
    dict[str, int | float] | None,
    Field(description="Only the units that the job reported."),
]
EventType = Literal["media.job.completed", "media.job.failed", "webhook.test"]


class Message(ResponseBody):
    """A request-level error."""

    message: str


class MediaFileBody(ResponseBody):
    """A file of an output."""

    url: str
    content_type: str


class OutputBody(ResponseBody):
    """The output of a completed job."""

    media_type: Literal["video", "image", "audio"]
    video: MediaFileBody = absent()
    image: MediaFileBody = absent()
    audio: MediaFileBody = absent()


class JobErrorBody(ResponseBody):
    """Why a job failed."""

    code: ErrorCode
    message: str


class BillingBody(ResponseBody):
    """The state of a job's charge."""

    state: BillingState
    charge_micro_usd: MicroUsd = absent()


class JobBody(ResponseBody):
    """A job (spec 2.1)."""

    id: JobId
    status: JobStatus
    output: OutputBody = absent()
    error: JobErrorBody = absent()
    usage: Usage = absent()
    billing: BillingBody | None
    deleted_at: Instant = absent()


class EndedJob(ResponseBody):
    """A job as in its event (spec 6.3)."""

    id: JobId
    status: Literal["completed", "failed"]
    output: OutputBody = absent()
    error: JobErrorBody | None
    usage: Usage
    billing: None
    model_id: str
    runtime_s: float | None
    deleted_at: Instant = absent()


class PingData(ResponseBody):
    """The content of a test event."""

    endpoint_id: str


class EventBody(ResponseBody):
    """An event as sent."""

    type: EventType
    timestamp: Instant
    data: EndedJob | PingData


class UploadGrantBody(ResponseBody):
    """A grant, valid for 5 minutes."""

    upload_url: str
    headers: dict[str, str]
    url: str


class Content(ResponseBody):
    """The URL of an output."""

    url: str


class Cycle(ResponseBody):
    """An invoice cycle."""

    remaining_micro_usd: MicroUsd
    limit_micro_usd: MicroUsd
    start: Instant
    end: Instant


class PostpaidBody(ResponseBody):
    """The funds of a postpaid organization."""

    cycle: Cycle


class BalanceBody(ResponseBody):
    """The balance, before holds."""

    balance_micro_usd: MicroUsd
    postpaid: PostpaidBody = absent()


class DailyRow(ResponseBody):
    """The settled charges of one day, key and function."""

    date: CalendarDay
    api_key_id: str
    model: str
    function: str
    model_id: str
    jobs: Count
    charge_micro_usd: MicroUsd


class DailySpend(ResponseBody):
    """Charges by settlement day in UTC."""

    start_date: CalendarDay
    end_date: CalendarDay
    rows: list[DailyRow]
    total_micro_usd: MicroUsd


class MonthlyRow(ResponseBody):
    """The settled charges of one function in one month."""

    model: str
    function: str
    model_id: str
    jobs: Count
    usage: Usage
    charge_micro_usd: MicroUsd
    credits_applied_micro_usd: MicroUsd


class Invoice(ResponseBody):
    """The invoice of a month."""

    id: str
    status: Literal["open", "issued"]
    amount_micro_usd: MicroUsd


class MonthlyReport(ResponseBody):
    """The month's charges; only owners and admins see the balances (spec 4.19)."""

    month: str
    rows: list[MonthlyRow]
    total_micro_usd: MicroUsd
    credits_applied_micro_usd: MicroUsd
    invoices: list[Invoice]
    opening_balance_micro_usd: MicroUsd = absent()
    credits_granted_micro_usd: MicroUsd = absent()
    top_ups_micro_usd: MicroUsd = absent()
    closing_balance_micro_usd: MicroUsd = absent()


class DeliveryBody(ResponseBody):
    """A delivery in the log; the shape is the sandbox's own."""

    id: Annotated[str, Field(pattern="^delivery_")]
    status: DeliveryStatus
    event_id: Annotated[str, Field(pattern="^msg_")]
    event_type: EventType
    source_id: str | None
    endpoint_id: str | None
    url: str
    attempts: Count
    created_at: Instant
    next_attempt_at: Instant | None
    ended_at: Instant | None


class DeliveryDetail(DeliveryBody):
    """A delivery, with its event."""

    event: EventBody


class DeliveryPage(ResponseBody):
    """A page of the log, newest first."""

    data: list[DeliveryBody]
    next_cursor: str | None


class AttemptBody(ResponseBody):
    """One attempt to deliver; `reason` says why it failed (spec 6.5)."""

    number: Count
    attempted_at: Instant
    status_code: int | None
    reason: str | None
    duration_ms: Count


class AttemptList(ResponseBody):
    """The attempts of a delivery, in order."""

    data: list[AttemptBody]


class SecretBody(ResponseBody):
    """The secret."""

    secret: SigningSecret


class RotatedSecret(ResponseBody):
    """The new secret."""

    secret: SigningSecret
    previous_expires_at: Instant | None


# -- Jobs and deliveries -----------------------------------------------------------

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


def rejection_response(
    job: JobRow, refusal: Refusal, base_url: str, clock: SandboxClock
) -> Response:
    """Return the response of a rejected submission: its failed job (spec 7.1)."""
    status = ENVELOPE_STATUS.get(refusal.code, 200)
    if refusal.over_usage_limit:
        status = USAGE_LIMIT_STATUS
    headers: dict[str, str] = {}
    if refusal.retry_at_us is not None:
        # Clients wait in real seconds, whatever the speed of the sandbox's clock.
        seconds = max(1, math.ceil(clock.real_s_until(refusal.retry_at_us)))
        headers["Retry-After"] = str(seconds)
    elif status == 429:
        headers["Retry-After"] = str(QUEUE_RETRY_AFTER_S)
    body = JobBody(**job_fields(job, base_url) | {"billing": None})
    return WireResponse(body, status, headers)


def output_url(job: JobRow, base_url: str) -> str:
    """Return the URL of a completed job's file."""
    return base_url + address_of(job.file, job.content_type)


def job_fields(
    job: JobRow, base_url: str, *, billing_unavailable: bool = False
) -> dict[str, Any]:
    """Return the fields of a job as the interface shows it (spec 2.1).

    Fields that the specification lists as present "once completed", "when failed" or
    "after DELETE" are absent before; billing is null until the job has ended.
    """
    fields: dict[str, Any] = {"id": job.id, "status": job.status}
    if job.has_output:
        file = {"url": output_url(job, base_url), "content_type": job.content_type}
        fields["output"] = {"media_type": job.media_type, str(job.media_type): file}
    if job.status == "failed":
        fields["error"] = {"code": job.error_code, "message": job.error_message}
    if job.terminal:
        fields["usage"] = job.usage
    fields["billing"] = _billing(job, unavailable=billing_unavailable)
    if job.deleted_us is not None:
        fields["deleted_at"] = iso(job.deleted_us)
    return fields


def _billing(job: JobRow, *, unavailable: bool) -> dict[str, Any] | None:
    if job.billing_state is None:
        return None
    if unavailable:
        return {"state": BillingState.UNAVAILABLE}
    if job.billing_state != "settled":
        return {"state": job.billing_state}
    return {"state": "settled", "charge_micro_usd": job.charge_micro_usd}


def delivery_fields(delivery: DeliveryRow) -> dict[str, Any]:
    """Return the fields of a delivery."""
    due_us, ended_us = delivery.due_us, delivery.ended_us
    return {
        "id": delivery.id,
        "status": delivery.status,
        "event_id": delivery.event,
        "event_type": delivery.event_type,
        "source_id": delivery.job,
        "endpoint_id": delivery.endpoint,
        "url": delivery.url,
        "attempts": delivery.attempts_n,
        "created_at": iso(delivery.created_us),
        "next_attempt_at": None if due_us is None else iso(due_us),
        "ended_at": None if ended_us is None else iso(ended_us),
    }


def detail_of(delivery: DeliveryRow, body: bytes) -> DeliveryDetail:
    """Return a delivery with its event."""
    return DeliveryDetail(**delivery_fields(delivery), event=json.loads(body))
