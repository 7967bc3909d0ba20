"""Scripted faults, and the failures that requests ask for.

A fault says what goes wrong, where and how often. Each look-up that finds a counted
rule counts it down. Faults are kept in memory: a restarted sandbox has none.
"""

import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from mediakit.api_models import ErrorCode
from mediakit.catalog import Catalog
from mediakit.sandbox.clock import iso
from mediakit.sandbox.http import first_refusal, invalid_field_error
from mediakit.sandbox.store.database import SandboxDatabase
from mediakit.sandbox.wire import RequestBody
from mediakit.schema import canonical_json

# The admin interface is exempt, so that a fault can always be cleared.
_ADMIN_PATH = "/sandbox/"
MEDIA_PREFIX = "/v1/media/"
_REQUESTED = re.compile(r"sandbox:fail=([a-z_]+)")

Text = Annotated[str, Field(min_length=1, max_length=500)]
# Excludes the special characters of regular expressions, which no path has: matching a
# long path could take forever.
PathPart = Annotated[Text, Field(pattern=r"^[^$()|+\\^]*$")]
Seconds = Annotated[float, Field(ge=0, le=600)]
LateSeconds = Annotated[float, Field(ge=0, le=366 * 86_400)]
BytesPerSecond = Annotated[float, Field(ge=0.01, le=1 << 40)]
Times = Annotated[int, Field(ge=1, le=1_000_000)]


def _error_or_200(status: int) -> int:
    if status != 200 and not 400 <= status <= 599:
        raise ValueError("an HTTP status from 400 to 599, or 200")
    return status


class FunctionPlace(RequestBody):
    """Only one function, by its kind or its path."""

    function: Text | None = None


class RequestPlace(FunctionPlace):
    """A filter for requests.

    A path matches the beginning of the request's path, or any part of it if it does not
    begin with a slash; `*` matches any text.
    """

    method: Literal["DELETE", "GET", "HEAD", "POST", "PUT"] | None = None
    path: PathPart | None = None


class FaultRule(RequestBody):
    """What goes wrong, where, and how often; always, without a count."""

    where: FunctionPlace | None = None
    count: Times | None = None


class RequestRule(FaultRule):
    """A rule for requests; all other rules are for jobs."""

    where: RequestPlace | None = None


class Latency(RequestRule):
    """Delays a response, in real seconds."""

    kind: Literal["latency"]
    seconds: Seconds


class DropBefore(RequestRule):
    """Closes the connection before the request is handled."""

    kind: Literal["drop_before"]


class DropAfter(RequestRule):
    """Closes the connection after the request has been handled."""

    kind: Literal["drop_after"]


class Truncate(RequestRule):
    """Sends only the first bytes of a body; half of them by default."""

    kind: Literal["truncate"]
    bytes: Annotated[int, Field(ge=0, le=1 << 40)] | None = None


class Slow(RequestRule):
    """Throttles a response, in bytes per real second."""

    kind: Literal["slow"]
    bytes_per_s: BytesPerSecond


class Status(RequestRule):
    """Replaces the response, before or after the request is handled."""

    kind: Literal["status"]
    status: Annotated[int, AfterValidator(_error_or_200)]
    message: Text | None = None
    text: Text | None = None
    after: bool = False
    retry_after: Annotated[int, Field(ge=0, le=86_400)] | None = None

    @property
    def words(self) -> str:
        """Return the message of the response."""
        handled = "handled" if self.after else "not handled"
        return self.message or (
            f"A scripted fault of the sandbox returned {self.status}. "
            f"The request was {handled}."
        )


class StuckQueue(FaultRule):
    """Keeps queued jobs from starting until the fault is cleared."""

    kind: Literal["stuck_queue"]
    count: None = None


class LateSettlement(FaultRule):
    """Delays the settlement, in sandbox seconds."""

    kind: Literal["late_settlement"]
    seconds: LateSeconds


class BillingUnavailable(FaultRule):
    """Makes a charge unreadable."""

    kind: Literal["billing_unavailable"]


class RateDrift(FaultRule):
    """Multiplies a charge, up to the hold."""

    kind: Literal["rate_drift"]
    factor: Annotated[float, Field(ge=0, le=100)]


class FailRender(FaultRule):
    """Makes a job fail when it starts."""

    kind: Literal["fail_render"]
    code: Annotated[ErrorCode, Field(strict=False)] = ErrorCode.PROVIDER_ERROR
    message: Text | None = None


class Outage(FaultRule):
    """Makes the service unavailable for submissions."""

    kind: Literal["outage"]


AnyRule = (
    Latency
    | DropBefore
    | DropAfter
    | Truncate
    | Slow
    | Status
    | StuckQueue
    | LateSettlement
    | BillingUnavailable
    | RateDrift
    | FailRender
    | Outage
)
_RULES: TypeAdapter[AnyRule] = TypeAdapter(
    Annotated[AnyRule, Field(discriminator="kind")]
)
KINDS = tuple(get_args(rule.__annotations__["kind"])[0] for rule in get_args(AnyRule))

Found = TypeVar("Found", bound=FaultRule)


@dataclass
class Fault:
    """An active rule, and its remaining count; None for no limit."""

    id: str
    rule: AnyRule
    left_n: int | None
    created_us: int

    def as_json(self) -> dict[str, Any]:
        """Return the fault as listed by the API."""
        where = self.rule.where or FunctionPlace()
        return {
            "id": self.id,
            "created_at": iso(self.created_us),
            "left": self.left_n,
            **self.rule.model_dump(mode="json"),
            "where": where.model_dump(exclude_none=True),
        }


class Faults:
    """The scripted faults of one sandbox."""

    def __init__(self, db: SandboxDatabase, catalog: Catalog) -> None:
        self._db = db
        self._kinds = {function.path: function.kind for function in catalog}
        self._faults: list[Fault] = []

    @property
    def scripted(self) -> bool:
        """Return whether any fault is active."""
        return bool(self._faults)

    def in_force(self) -> list[Fault]:
        """List the active faults, oldest first."""
        return list(self._faults)

    def add(self, body: Mapping[str, Any], now_us: int) -> Fault:
        """Activate a rule."""
        rule = read_rule(body)
        function = rule.where and rule.where.function
        if function and function not in {*self._kinds, *self._kinds.values()}:
            kinds = ", ".join(sorted(set(self._kinds.values())))
            raise invalid_field_error(
                "where.function", function, f"one of {kinds}, or a path"
            )
        fault = Fault(f"fault_{uuid.uuid4()}", rule, rule.count, now_us)
        self._faults.append(fault)
        return fault

    def remove(self, fault_id: str) -> bool:
        """Remove a fault; return False for an unknown id."""
        before_n = len(self._faults)
        self._faults = [each for each in self._faults if each.id != fault_id]
        return len(self._faults) < before_n

    def clear(self) -> int:
        """Remove all faults; return how many were still active."""
        n = len(self._faults)
        self._faults = []
        return n

    def take_for_request(
        self, kind: type[Found], method: str, path: str
    ) -> Found | None:
        """Find the rule of a kind that applies to a request, and count it down."""
        if not self._faults or path.startswith(_ADMIN_PATH):
            return None
        function = path.removeprefix(MEDIA_PREFIX)
        return self._take(
            kind, lambda rule: _covers(rule, method, path) and self._is(rule, function)
        )

    def take_for_function(self, kind: type[Found], function: str) -> Found | None:
        """Find the rule of a kind that applies to a job, and count it down."""
        return self._take(kind, lambda rule: self._is(rule, function))

    def stuck_functions(self) -> list[str]:
        """List the paths of functions whose queued jobs do not start."""
        stuck = self._of_kind(StuckQueue)
        return [
            path for path in self._kinds if any(self._is(rule, path) for rule in stuck)
        ]

    def drifted_micro_usd(
        self, function: str, charge_micro_usd: int, *, hold_micro_usd: int
    ) -> int:
        """Return the charge of a completing job after any rate drift."""
        rule = self.take_for_function(RateDrift, function)
        if rule is None:
            return charge_micro_usd
        return min(round(charge_micro_usd * Fraction(str(rule.factor))), hold_micro_usd)

    def hides_billing(self, job_id: str) -> bool:
        """Return whether the charge of an ended job is unreadable."""
        if not self._of_kind(BillingUnavailable):
            return False
        function = self._db.value("SELECT function FROM job WHERE id = ?", job_id)
        return self.take_for_function(BillingUnavailable, function) is not None

    def _is(self, rule: FaultRule, function: str) -> bool:
        only = rule.where and rule.where.function
        return only in (None, function, self._kinds.get(function))

    def _take(self, kind: type[Found], covers: Callable[[Any], bool]) -> Found | None:
        """Find the oldest rule that applies, and count it down."""
        for fault in self._faults:
            if isinstance(fault.rule, kind) and covers(fault.rule):
                if fault.left_n is not None:
                    fault.left_n -= 1
                if fault.left_n == 0:
                    self.remove(fault.id)
                return fault.rule
        return None

    def _of_kind(self, kind: type[Found]) -> list[Found]:
        return [fault.rule for fault in self._faults if isinstance(fault.rule, kind)]


def read_rule(body: Mapping[str, Any]) -> AnyRule:
    """Parse a rule."""
    try:
        return _RULES.validate_python(body)
    except ValidationError as problem:
        raise first_refusal(problem, skip=1) from None


def _covers(rule: RequestRule, method: str, path: str) -> bool:
    where = rule.where
    if where is None or where.method not in (None, method):
        return where is None
    if where.path is None:
        return True
    start = "" if where.path.startswith("/") else "*"
    return fnmatchcase(path, f"{start}{where.path}*")


def requested_failure(body: Mapping[str, object]) -> tuple[ErrorCode, str] | None:
    """Find the failure that a body requests, anywhere in its text.

    `sandbox:fail=content_moderation` in the prompt, or after the `#` of a media URL,
    fails the job with that code (spec 7.3).
    """
    match = _REQUESTED.search(canonical_json(body).decode())
    if match is None or match[1] not in set(ErrorCode):
        return None
    message = f"The request asks for this failure ({match[0]})."
    return ErrorCode(match[1]), message
