"""Reads a request's body strictly: an invalid body is a 422, never a 500."""

import asyncio
import json
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.requests import ClientDisconnect, Request

from mediakit.errors import shown
from mediakit.forks import no_fork
from mediakit.sandbox.core.responses import RequestError

MAX_BODY_BYTES = 1024 * 1024
BODY_TIMEOUT_S = 30.0
MAX_DEPTH = 32
MAX_PROPERTIES = 1_000
MAX_INTEGER = 2**63 - 1


async def read_object(request: Request) -> dict[str, Any]:
    """Read the JSON object of a request.

    Raises:
        RequestError: 422, saying what is wrong with it; 408 when it does not arrive.
    """
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            return parse_object(await _read(request))
    except ClientDisconnect:
        raise _refused("is incomplete") from None
    except TimeoutError:
        raise RequestError(
            408, f"body: it did not arrive within {BODY_TIMEOUT_S:g} s."
        ) from None


async def _read(request: Request) -> bytes:
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > MAX_BODY_BYTES:
            raise _refused(f"is larger than {MAX_BODY_BYTES:,} bytes")
    return bytes(raw)


def parse_object(raw: bytes) -> dict[str, Any]:
    """Parse a JSON object, more strictly than Python's parser does.

    NaN, Infinity, numbers beyond 64 bits, text that is not Unicode and deep nesting
    are rejected, because they cannot be stored or priced. So is a duplicate property,
    because two parsers could read two different requests.

    Raises:
        RequestError: 422, saying what is wrong with it.
    """
    try:
        value = json.loads(
            raw.decode(), parse_constant=_no_constant, object_pairs_hook=_once_each
        )
    except UnicodeDecodeError:
        raise _refused("is not UTF-8") from None
    except RecursionError:
        raise _refused("is nested too deeply") from None
    except ValueError as problem:
        raise _refused(f"is not valid JSON ({problem})") from None
    if not isinstance(value, dict):
        raise _refused("is not a JSON object")
    for name, part in value.items():
        _check(part, str(name), 1)
        _check_text(name, "a property's name")
    return value


def _once_each(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(pairs) > MAX_PROPERTIES:
        raise ValueError(f"an object has more than {MAX_PROPERTIES:,} properties")
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{_safe(name)!r} is a duplicate property")
        found[name] = value
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _check(value: object, field: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise RequestError(422, f"{_safe(field)}: it is nested too deeply.")
    if isinstance(value, str):
        _check_text(value, field)
    elif isinstance(value, int | float) and not -MAX_INTEGER <= value <= MAX_INTEGER:
        # The comparison is false for an infinity, such as 1e999.
        raise RequestError(422, f"{_safe(field)}: the number is out of range.")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check(item, f"{field}[{index}]", depth + 1)
    elif isinstance(value, dict):
        for name, item in value.items():
            _check_text(name, f"a property's name in {field}")
            _check(item, f"{field}.{name}", depth + 1)


def _check_text(text: str, field: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RequestError(422, f"{_safe(field)}: it is not Unicode text.") from None


def _safe(text: str) -> str:
    return text.encode("utf-8", "replace").decode()[:200]


def _refused(what: str) -> RequestError:
    return RequestError(422, f"body: it {what}.")


class RequestBody(BaseModel):
    """The base of request bodies; unknown fields are rejected."""

    # Built on first use: the admin API is not needed to serve the first requests.
    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, defer_build=True
    )

    def given(self) -> dict[str, Any]:
        """Return the fields that the request contains, null ones included."""
        return self.model_dump(exclude_unset=True)


Body = TypeVar("Body", bound=RequestBody)


async def read_body(request: Request, kind: type[Body]) -> Body:
    """Read a request's body as a model of this kind.

    Raises:
        RequestError: 422, naming the first invalid field.
    """
    body = await read_object(request)
    try:
        with no_fork():  # pydantic builds the class on first use
            return kind.model_validate(body)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_context=False)[0]
        field, words = str(first["loc"][0]), first["msg"]
        if first["type"] == "missing":
            raise RequestError(422, f"{field}: missing; it is required.") from None
        if first["type"] == "extra_forbidden":
            words = f"only {', '.join(kind.model_fields)} here"
        for start in ("Value error, ", "Input should be "):
            words = words.removeprefix(start)
        raise refused(field, first["input"], words) from None


def refused(field: str, got: object, accepted: str) -> RequestError:
    """Return the error of an invalid field."""
    return RequestError(422, f"{field}: got {shown(got)}, accepted: {accepted}.")
