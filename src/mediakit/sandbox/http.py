"""Reads requests strictly and responds; an invalid request is a 422, never a 500."""

from collections.abc import Mapping
from itertools import takewhile
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from mediakit.safe_text import shown

MAX_BODY_BYTES = 1024 * 1024
MAX_INTEGER = 2**63 - 1
# A cache must not keep a key or a secret.
NO_STORE = {"Cache-Control": "no-store"}


# The beginnings of pydantic's messages, and how our messages continue after
# "accepted:".
_PHRASES = {
    "Value error, ": "",
    "Input should be ": "",
    "String should ": "text that must ",
    "List should ": "a list that must ",
}


class RequestError(Exception):
    """A request-level error: no job was created (spec 7.1)."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def invalid_field_error(field: str, value: object, accepted: str) -> RequestError:
    """Return the error of an invalid field."""
    return RequestError(422, f"{field}: got {shown(value)}, accepted: {accepted}.")


Model = TypeVar("Model", bound=BaseModel)


def validated(kind: type[Model], values: Mapping[str, Any]) -> Model:
    """Validate values as a model; the error names the first invalid field."""
    try:
        return kind.model_validate(values)
    except ValidationError as problem:
        raise first_refusal(problem, tuple(kind.model_fields)) from None


def first_refusal(
    problem: ValidationError, fields: tuple[str, ...] = (), *, skip: int = 0
) -> RequestError:
    """Return the error of the first invalid field."""
    first = problem.errors(include_url=False)[0]
    names = takewhile(lambda part: isinstance(part, str), first["loc"][skip:])
    field = ".".join(map(str, names))
    if first["type"].startswith("union_tag"):
        tags = str(first["ctx"].get("expected_tags", "")).replace("'", "")
        kind = first["input"].get("kind") if isinstance(first["input"], dict) else None
        return invalid_field_error("kind", kind, f"one of {tags}" if tags else "a kind")
    if first["type"] == "missing":
        return RequestError(422, f"{field}: missing; it is required.")
    words = first["msg"]
    if first["type"] == "extra_forbidden":
        words = f"only {', '.join(fields)} here" if fields else "nothing of this name"
    if first["type"] == "none_required":
        words = "nothing"
    for start, instead in _PHRASES.items():
        if words.startswith(start):
            words = instead + words.removeprefix(start)
    return invalid_field_error(field, first["input"], words)


async def read_body(request: Request, kind: type[Model]) -> Model:
    """Read a request's body as a model of this kind."""
    return validated(kind, await read_object(request))


def read_query(request: Request, kind: type[Model]) -> Model:
    """Read the query parameters of a request as a model of this kind."""
    names = [name for name, _ in request.query_params.multi_items()]
    for name in kind.model_fields:
        if names.count(name) > 1:
            raise RequestError(422, f"{name}: it is given more than once.")
    return validated(kind, dict(request.query_params))


async def read_object(request: Request) -> dict[str, Any]:
    """Read the JSON object of a request."""
    try:
        return parse_object(await _read(request))
    except ClientDisconnect:
        raise RequestError(422, "body: it is incomplete.") from None


async def _read(request: Request) -> bytes:
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > MAX_BODY_BYTES:
            raise RequestError(
                422, f"body: it is larger than {MAX_BODY_BYTES:,} bytes."
            )
    return bytes(raw)


def parse_object(raw: bytes) -> dict[str, Any]:
    """Parse a JSON object whose numbers can all be stored."""
    try:
        value = from_json(raw, allow_inf_nan=False)
    except ValueError as problem:
        raise RequestError(422, f"body: it is not valid JSON ({problem}).") from None
    if not isinstance(value, dict):
        raise RequestError(422, "body: it is not a JSON object.")
    for name, part in value.items():
        if not _fits(part):
            raise RequestError(422, f"{name[:200]}: a number is out of range.")
    return value


def _fits(value: object) -> bool:
    """Return whether all numbers are finite and fit into 64 bits."""
    if isinstance(value, int | float):
        return -MAX_INTEGER <= value <= MAX_INTEGER  # false for an infinity
    if isinstance(value, dict):
        value = list(value.values())
    return not isinstance(value, list) or all(_fits(item) for item in value)


class WireResponse(Response):
    """The response with a wire model."""

    media_type = "application/json"

    def __init__(
        self,
        answer: BaseModel,
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        content = answer.model_dump_json(exclude_unset=True)
        super().__init__(content, status_code, headers)


def message_response(
    status: int, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a request-level error, `{message}`."""
    return JSONResponse({"message": message}, status, headers)
