"""Typed records of the service's responses; unknown keys are kept."""

import re
from datetime import UTC, datetime
from enum import StrEnum
from mimetypes import guess_type
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from mediakit.money import LARGEST_MICRO_USD, MicroUSD, format_usd
from mediakit.safe_text import quoted, shown, with_shown_urls
from mediakit.web_urls import is_http, without_white_space

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# No server accepts URLs of this length, and each card repeats the URL of its file.
LONGEST_URL = 16_384


def without_lone_surrogates(value: Any) -> Any:
    """Return a JSON value with valid strings: half an emoji becomes U+FFFD.

    JSON can escape half a character, which can be neither stored nor shown.
    """
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [without_lone_surrogates(each) for each in value]
    if isinstance(value, dict):
        plain = without_lone_surrogates
        return {plain(key): plain(each) for key, each in value.items()}
    return value


def _in_utc(instant: datetime) -> datetime:
    aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    try:
        return aware.astimezone(UTC)
    except OverflowError:
        raise ValueError("it is before year 1 or after year 9999 in UTC") from None


UTCInstant = Annotated[datetime, AfterValidator(_in_utc)]
"""An instant in UTC; an instant without an offset is taken as UTC."""


class Record(BaseModel):
    """A frozen record of a response; unknown keys are available as extras."""

    model_config = ConfigDict(frozen=True, extra="allow")

    def __repr__(self) -> str:
        return with_shown_urls(super().__repr__())

    def __str__(self) -> str:
        return with_shown_urls(super().__str__())


class JobStatus(StrEnum):
    """The states of a job (spec 3.1)."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"

    @property
    def terminal(self) -> bool:
        """Return whether this is a final state."""
        return self in (JobStatus.COMPLETED, JobStatus.FAILED)


_STATUSES = frozenset(JobStatus)


class ErrorCode(StrEnum):
    """The values of `error.code` (spec 7.3)."""

    INVALID_INPUT = "invalid_input"
    CONTENT_MODERATION = "content_moderation"
    PROVIDER_ERROR = "provider_error"
    PROVIDER_TIMEOUT = "provider_timeout"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    RATE_LIMITED = "rate_limited"
    INSUFFICIENT_BALANCE = "insufficient_balance"
    MEMBERSHIP_REQUIRED = "membership_required"
    CYCLE_LIMIT_EXCEEDED = "cycle_limit_exceeded"
    ADMISSION_SUSPENDED = "admission_suspended"
    TIMED_OUT = "timed_out"
    INTERNAL = "internal"


# Rejected on submission: no generation ran, so the next call submits a new attempt.
REJECTIONS = frozenset(
    {
        ErrorCode.RATE_LIMITED,
        ErrorCode.PROVIDER_UNAVAILABLE,
        ErrorCode.INSUFFICIENT_BALANCE,
        ErrorCode.CYCLE_LIMIT_EXCEEDED,
        ErrorCode.ADMISSION_SUSPENDED,
        ErrorCode.MEMBERSHIP_REQUIRED,
    }
)


def normal_error_code(value: object) -> ErrorCode:
    """Parse an error code; an unknown one becomes `provider_error`."""
    try:
        return ErrorCode(str(value))
    except ValueError:
        return ErrorCode.PROVIDER_ERROR


class JobError(Record):
    """Why a job failed (spec 2.1); decide by `code`, never by `message`."""

    code: Annotated[ErrorCode, BeforeValidator(normal_error_code)] = (
        ErrorCode.PROVIDER_ERROR
    )
    message: Annotated[
        str, BeforeValidator(lambda said: "" if said is None else quoted(str(said)))
    ] = ""


_Url = Annotated[
    str, Field(max_length=LONGEST_URL), AfterValidator(without_white_space)
]


class MediaFile(Record):
    """One output file of a job."""

    url: _Url
    content_type: str | None = None


_MEDIA = ("video", "image", "audio")


class Output(Record):
    """The output of a completed job (spec 2.1).

    If the service sends no `media_type`, the file that is present determines it.
    """

    media_type: str = "unknown"
    video: MediaFile | None = None
    image: MediaFile | None = None
    audio: MediaFile | None = None

    @model_validator(mode="before")
    @classmethod
    def _set_media_type_from_file(cls, raw: Any) -> Any:
        if not isinstance(raw, dict) or raw.get("media_type") is not None:
            return raw
        media = [medium for medium in _MEDIA if raw.get(medium) is not None]
        return {**raw, "media_type": media[0] if media else "unknown"}

    @property
    def file(self) -> MediaFile | None:
        """Return the only file of this output, whatever its media type."""
        return self.video or self.image or self.audio


class BillingState(StrEnum):
    """The billing state of a job (spec 2.2)."""

    SETTLED = "settled"
    PENDING = "pending"
    UNAVAILABLE = "unavailable"


# The largest integer that every program reads exactly: beyond it JSON numbers are
# rounded, and a sum of few such amounts would not fit a column of the history.
LARGEST_CHARGE_MICRO_USD = LARGEST_MICRO_USD


def _whole_number(value: object) -> object:
    """Return a whole number as an integer, because JSON may have 340000.0."""
    if type(value) is float and value.is_integer():
        return int(value)
    return value


_WholeNumber = Annotated[int, Field(strict=True), BeforeValidator(_whole_number)]


class JobBilling(Record):
    """The charge of a job (spec 2.2).

    `state` is None if the service sends an unspecified state. An unreadable billing
    never counts as a charge and is read again; `raw` has the original value.
    """

    state: BillingState | None
    charge_micro_usd: _WholeNumber | None = None
    raw: Any = Field(default=None, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _parse_leniently(cls, raw: Any) -> Any:
        if raw is None or isinstance(raw, JobBilling):
            return raw
        fields = raw if isinstance(raw, dict) else {}
        state = _billing_state(fields)
        charge = _whole_number(fields.get("charge_micro_usd"))
        is_open = state in (BillingState.PENDING, BillingState.UNAVAILABLE)
        if state is not None and (_is_charge(charge) or (is_open and charge is None)):
            return raw
        return {"raw": raw, **fields, "state": state, "charge_micro_usd": None}

    @property
    def is_unreadable(self) -> bool:
        """Return whether it neither contains nor announces a charge."""
        is_charge = self.charge_micro_usd is not None
        return self.state is None or (
            self.state is BillingState.SETTLED and not is_charge
        )


def _billing_state(fields: dict[str, Any]) -> BillingState | None:
    try:
        return BillingState(str(fields.get("state")))
    except ValueError:
        return None


def _is_charge(amount: object) -> bool:
    # A boolean is not an amount, though it is an integer in Python.
    return type(amount) is int and 0 <= amount <= LARGEST_CHARGE_MICRO_USD


def _has_file(raw: dict[str, Any]) -> bool:
    try:
        file = Output.model_validate(raw.get("output")).file
    except ValidationError:
        return False
    return file is not None and is_http(file.url)


def _is_settled(raw: dict[str, Any]) -> bool:
    try:
        billing = JobBilling.model_validate(raw.get("billing"))
    except ValidationError:
        return False
    is_charge = billing.charge_micro_usd is not None
    return is_charge and billing.state is BillingState.SETTLED


def _as_error(value: object) -> object:
    """Return an error record from a bare message."""
    return {"message": value} if isinstance(value, str) and value else value


class JobRecord(Record):
    """A job as the service reports it (spec 2.1).

    An unknown status counts as running; `unknown_status` is then its name. With an
    output, it counts as completed, and with a settled charge alone, as failed. Only
    `id` and `status` must be readable: any other field that cannot be parsed is None
    here, and its original value is in `unreadable`.
    """

    id: str
    status: JobStatus
    unknown_status: str | None = None
    output: Output | None = None
    error: Annotated[JobError | None, BeforeValidator(_as_error)] = None
    usage: dict[str, Any] | None = None
    billing: JobBilling | None = None
    deleted_at: UTCInstant | None = None
    model_id: str | None = None
    runtime_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    unreadable: dict[str, Any] = Field(default_factory=dict, repr=False)

    @model_validator(mode="wrap")
    @classmethod
    def _parse_leniently(cls, raw: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return read(raw)
        except ValidationError as error:
            names = {str(each["loc"][0]) for each in error.errors() if each["loc"]}
            if not names or not isinstance(raw, dict) or names & {"id", "status"}:
                raise
        fields = {name: value for name, value in raw.items() if name not in names}
        return read(fields | {"unreadable": {name: raw[name] for name in names}})

    @model_validator(mode="before")
    @classmethod
    def _read_unknown_status(cls, raw: Any) -> Any:
        status = raw.get("status") if isinstance(raw, dict) else None
        if not status or not isinstance(status, str) or status in _STATUSES:
            return raw
        if status.lower() in _STATUSES:
            return {**raw, "status": status.lower()}
        if _has_file(raw):
            return {**raw, "status": JobStatus.COMPLETED}
        if _is_settled(raw):
            # An ended job has an output or an error (spec 2.1), and this job has no
            # output.
            text = f"The job has ended with the status {shown(status)}."
            error = raw.get("error") or {"code": "provider_error", "message": text}
            return {**raw, "status": JobStatus.FAILED, "error": error}
        return {**raw, "status": JobStatus.RUNNING, "unknown_status": status}

    @property
    def has_unread_output(self) -> bool:
        """Return whether its output has an unknown shape."""
        if self.status is not JobStatus.COMPLETED or self.deleted_at is not None:
            return False
        if self.output is None:
            return "output" in self.unreadable
        return self.output.file is None or not is_http(self.output.file.url)

    def with_file(self, url: str) -> Self:
        """Return this job with an output file at a URL."""
        medium = self.output.media_type if self.output else ""
        if medium not in _MEDIA:
            medium = (guess_type(url)[0] or "").partition("/")[0]
        if medium not in _MEDIA:
            medium = "video"
        file = MediaFile(url=url)
        output = Output.model_validate({"media_type": medium, medium: file})
        return self.model_copy(update={"output": output})

    @property
    def settled_charge_micro_usd(self) -> MicroUSD | None:
        """Return the settled charge, or None if there is none (spec 2.2).

        A null, pending or unavailable billing is not a charge; 0 is a charge.
        """
        if self.billing is None or self.billing.state is not BillingState.SETTLED:
            return None
        charge = self.billing.charge_micro_usd
        return None if charge is None else MicroUSD(charge)


_Header = Annotated[
    str, BeforeValidator(lambda value: str(value) if type(value) is int else value)
]


class UploadGrant(Record):
    """Where and how to upload one file (spec 2.3).

    The upload URL is a secret while it is valid, so the repr omits it.
    """

    upload_url: _Url = Field(repr=False)
    headers: dict[str, _Header] = Field(repr=False)
    url: _Url


class PostpaidCycle(Record):
    """The current invoice cycle of a postpaid organization."""

    remaining_micro_usd: _WholeNumber | None = None


class Postpaid(Record):
    """Present when the organization pays by invoice (spec 2.4)."""

    cycle: PostpaidCycle | None = None


class Balance(Record):
    """The balance and other funds that can be spent (spec 2.4)."""

    balance_micro_usd: _WholeNumber
    """0 if the service reports only the rest of an invoice cycle."""
    postpaid: Postpaid | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_prepaid_funds(cls, fields: object) -> object:
        if isinstance(fields, dict) and fields.get("balance_micro_usd") is None:
            cycle = fields.get("postpaid")
            for name in ("cycle", "remaining_micro_usd"):
                cycle = cycle.get(name) if isinstance(cycle, dict) else None
            if cycle is not None:
                return {**fields, "balance_micro_usd": 0}
        return fields

    @property
    def spendable_micro_usd(self) -> MicroUSD:
        """Return the rest of an active cycle, else the balance (spec 2.4, 8).

        The specification does not define an inactive cycle: a cycle with nothing left
        counts as inactive if there is a balance. The service decides on each
        submission, and charges nothing for rejected submissions.
        """
        of_cycle = self._cycle_micro_usd
        return MicroUSD(self.balance_micro_usd if of_cycle is None else of_cycle)

    @property
    def _cycle_micro_usd(self) -> int | None:
        cycle = self.postpaid.cycle if self.postpaid else None
        remaining = None if cycle is None else cycle.remaining_micro_usd
        return None if remaining == 0 and self.balance_micro_usd > 0 else remaining

    def __str__(self) -> str:
        of = "" if self._cycle_micro_usd is None else " left of the invoice cycle"
        return f"{format_usd(self.spendable_micro_usd)}{of}"

    def __repr__(self) -> str:
        return f"<balance {self}>"


class DeliveryStatus(StrEnum):
    """The states of a delivery (spec 3.2)."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"
    CANCELED = "canceled"


def _readable(value: object, read: ValidatorFunctionWrapHandler) -> Any:
    try:
        return read(value)
    except ValidationError:
        return None


# The fields of the log are not specified (spec 2.5): a value of another type than
# declared here counts as unknown, and the rest of the record is still read.
_IfReadable = WrapValidator(_readable)
_Text = Annotated[Annotated[str, Field(strict=True)] | None, _IfReadable]
_Count = Annotated[Annotated[int, Field(strict=True)] | None, _IfReadable]
_Instant = Annotated[
    Annotated[AwareDatetime, AfterValidator(_in_utc)] | None, _IfReadable
]
_Object = Annotated[dict[str, Any] | None, _IfReadable]


class Delivery(Record):
    """One event sent to one receiver (spec 3.2, 4.20); None means unknown.

    The URL may contain the receiver's token, so the repr omits it.
    """

    id: _Text = None
    status: _Text = None
    event_id: _Text = None
    event_type: _Text = None
    source_id: _Text = None
    endpoint_id: _Text = None
    url: _Text = Field(default=None, repr=False)
    attempts: _Count = None
    created_at: _Instant = None
    next_attempt_at: _Instant = None
    ended_at: _Instant = None
    event: _Object = Field(default=None, repr=False)

    def __repr__(self) -> str:
        facts = (self.status, self.event_type, self.source_id)
        words = [self.id or "without an id", *(fact for fact in facts if fact)]
        return f"<delivery {' · '.join(words)}>"


_REASONS = {
    "timeout": "no response within 20 s",
    "connect": "the connection could not be opened",
    "blocked": "the address is private or not allowed, so no connection was made",
    "tls": "the TLS handshake or the certificate check failed",
    "signing": "the service could not sign it; this does not count as an attempt",
}


class Attempt(Record):
    """One attempt of a delivery (spec 6.5); None means unknown."""

    number: _Count = None
    attempted_at: _Instant = None
    status_code: _Count = None
    reason: _Text = None
    duration_ms: _Count = None

    @property
    def words(self) -> str:
        """Return the outcome in words (spec 6.5)."""
        if self.reason is None:
            return f"delivered: the receiver responded{_with(self.status_code)}"
        kind, _, code = self.reason.partition(":")
        if kind == "http_4xx":
            return f"the receiver rejected it{_with(code.strip())}"
        if kind == "http_5xx":
            return f"the receiver failed{_with(code.strip())}"
        return _REASONS.get(kind, self.reason)


def _with(status: int | str | None) -> str:
    return f" with {status}" if status else ""
