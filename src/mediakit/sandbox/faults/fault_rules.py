"""Rules of scripted faults: which are accepted, and what each covers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

from mediakit.errors import InputError
from mediakit.records import ErrorCode

MEDIA_PREFIX = "/v1/media/"
MAX_TEXT = 500
MAX_COUNT = 1_000_000
MAX_LATENCY_S = 600
MAX_LATE_S = 366 * 86_400
MAX_FACTOR = 100
MAX_BYTES = 1 << 40
MIN_BYTES_PER_S = 0.01
REQUIRED = object()


class FaultKind(StrEnum):
    """The kinds of faults."""

    LATENCY = "latency"
    DROP_BEFORE = "drop_before"
    DROP_AFTER = "drop_after"
    TRUNCATE = "truncate"
    SLOW = "slow"
    STATUS = "status"
    STUCK_QUEUE = "stuck_queue"
    LATE_SETTLEMENT = "late_settlement"
    BILLING_UNAVAILABLE = "billing_unavailable"
    RATE_DRIFT = "rate_drift"
    FAIL_RENDER = "fail_render"
    OUTAGE = "outage"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kind of rule.

    Args:
        fits: Returns whether a value is accepted.
        accepted: What is accepted, in words.
        default: Its value when it is omitted; REQUIRED when it must be given.
    """

    fits: Callable[[Any], bool]
    accepted: str
    default: object = REQUIRED


def _number(least: float, most: float) -> Callable[[Any], bool]:
    return lambda value: _is(value, int, float) and least <= value <= most


def _whole(least: int, most: int) -> Callable[[Any], bool]:
    return lambda value: _is(value, int) and least <= value <= most


def _is(value: object, *types: type) -> bool:
    return isinstance(value, types) and not isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= MAX_TEXT


def _is_error_or_200(value: object) -> bool:
    return _whole(400, 599)(value) or _whole(200, 200)(value)


_MESSAGE = Parameter(_is_text, f"a text of 1 to {MAX_TEXT} characters", None)
_PARAMETERS: Mapping[FaultKind, Mapping[str, Parameter]] = {
    FaultKind.LATENCY: {
        "seconds": Parameter(
            _number(0, MAX_LATENCY_S), f"real seconds from 0 to {MAX_LATENCY_S}"
        )
    },
    FaultKind.TRUNCATE: {
        "bytes": Parameter(
            _whole(0, MAX_BYTES), f"whole bytes from 0 to {MAX_BYTES}, or null", None
        )
    },
    FaultKind.SLOW: {
        "bytes_per_s": Parameter(
            _number(MIN_BYTES_PER_S, MAX_BYTES),
            f"bytes a real second from {MIN_BYTES_PER_S} to {MAX_BYTES}",
        )
    },
    FaultKind.STATUS: {
        "status": Parameter(_is_error_or_200, "an HTTP status from 400 to 599, or 200"),
        "message": _MESSAGE,
        "text": _MESSAGE,
        "after": Parameter(
            lambda value: isinstance(value, bool), "true or false", default=False
        ),
        "retry_after": Parameter(
            _whole(0, 86_400), "whole seconds from 0 to 86400", None
        ),
    },
    FaultKind.LATE_SETTLEMENT: {
        "seconds": Parameter(
            _number(0, MAX_LATE_S), f"sandbox seconds from 0 to {MAX_LATE_S}"
        )
    },
    FaultKind.RATE_DRIFT: {
        "factor": Parameter(_number(0, MAX_FACTOR), f"a number from 0 to {MAX_FACTOR}")
    },
    FaultKind.FAIL_RENDER: {
        "code": Parameter(
            lambda value: isinstance(value, str) and value in set(ErrorCode),
            f"one of {', '.join(ErrorCode)}",
            ErrorCode.PROVIDER_ERROR.value,
        ),
        "message": _MESSAGE,
    },
}
# These apply to requests; all others to jobs, of which only the function is known.
_OF_REQUESTS = {
    FaultKind.LATENCY,
    FaultKind.DROP_BEFORE,
    FaultKind.DROP_AFTER,
    FaultKind.TRUNCATE,
    FaultKind.SLOW,
    FaultKind.STATUS,
}
# Characters of regular expressions that no path of the sandbox has.
_NEVER_IN_PATHS = frozenset("^$()|+\\")
_METHODS = ("DELETE", "GET", "HEAD", "POST", "PUT")


@dataclass(frozen=True)
class Rule:
    """One rule: what goes wrong, where, and how often.

    Args:
        kind: What goes wrong.
        method: Only requests with this method.
        path: Only requests whose path begins with this, or contains it if it does not
            begin with a slash; `*` means any text. A regular expression could
            take forever on a long path.
        function: Only this function, by its kind or its path.
        count: How often it happens; None for no limit.
        parameters: The parameters of its kind.
    """

    kind: FaultKind
    method: str | None
    path: str | None
    function: str | None
    count: int | None
    parameters: Mapping[str, Any]

    def covers_request(self, method: str, path: str, kinds: Mapping[str, str]) -> bool:
        """Return whether the rule covers a request.

        Args:
            method: Its method.
            path: Its path.
            kinds: The kind of each function, by its path.
        """
        if self.method not in (None, method):
            return False
        if self.path is not None:
            start = "" if self.path.startswith("/") else "*"
            if not fnmatchcase(path, f"{start}{self.path}*"):
                return False
        return self.covers_function(path.removeprefix(MEDIA_PREFIX), kinds)

    def covers_function(self, function: str, kinds: Mapping[str, str]) -> bool:
        """Return whether the rule covers a function, by its path."""
        return self.function in (None, function, kinds.get(function))

    def as_json(self) -> dict[str, Any]:
        """Return the rule as the JSON that adds it."""
        where = {
            "method": self.method,
            "path": self.path,
            "function": self.function,
        }
        given = {name: value for name, value in where.items() if value is not None}
        head = {"kind": self.kind.value, "where": given, "count": self.count}
        return head | dict(self.parameters)


def read_rule(body: Mapping[str, Any]) -> Rule:
    """Read a rule from a request body.

    Args:
        body: `kind`, optionally `where` and `count`, and the kind's parameters.

    Raises:
        InputError: A field is missing, unknown or out of range.
    """
    kind = _kind(body.get("kind"))
    declared = _PARAMETERS.get(kind, {})
    _refuse_unknown(body, ("kind", "where", "count", *declared), "")
    where = _where(kind, body.get("where"))
    return Rule(
        kind=kind,
        method=where.get("method"),
        path=where.get("path"),
        function=where.get("function"),
        count=_count(kind, body.get("count")),
        parameters={n: _given(n, p, body.get(n)) for n, p in declared.items()},
    )


def _kind(value: object) -> FaultKind:
    if isinstance(value, str) and value in set(FaultKind):
        return FaultKind(value)
    raise _refused("kind", value, f"one of {', '.join(FaultKind)}")


def _where(kind: FaultKind, value: object) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _refused("where", value, "an object")
    of_requests = kind in _OF_REQUESTS
    names = ("method", "path", "function") if of_requests else ("function",)
    _refuse_unknown(value, names, "where.")
    for name, text in value.items():
        if not _is_text(text):
            raise _refused(f"where.{name}", text, _MESSAGE.accepted)
    if value.get("method", "GET") not in _METHODS:
        raise _refused("where.method", value["method"], f"one of {', '.join(_METHODS)}")
    if not _NEVER_IN_PATHS.isdisjoint(value.get("path", "")):
        accepted = "the beginning or a part of a path, with * for any text"
        raise _refused("where.path", value["path"], accepted)
    return value


def _count(kind: FaultKind, value: object) -> int | None:
    if value is None:
        return None
    if kind is FaultKind.STUCK_QUEUE:
        raise _refused("count", value, "nothing: a queue is stuck until it is cleared")
    if not isinstance(value, int) or not _whole(1, MAX_COUNT)(value):
        raise _refused("count", value, f"a whole number from 1 to {MAX_COUNT}, or null")
    return value


def _given(name: str, parameter: Parameter, value: object) -> object:
    if value is None and parameter.default is not REQUIRED:
        return parameter.default
    if not parameter.fits(value):
        raise _refused(name, value, parameter.accepted)
    return value


def _refuse_unknown(
    fields: Mapping[str, Any], known: tuple[str, ...], prefix: str
) -> None:
    for name in fields:
        if name not in known:
            accepted = f"only {', '.join(known)} here"
            raise _refused(f"{prefix}{name}", fields[name], accepted)


def _refused(field: str, got: object, accepted: str) -> InputError:
    return InputError(field, got=got, accepted=accepted, then="Nothing was changed.")
