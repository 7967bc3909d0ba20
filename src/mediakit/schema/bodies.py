"""Bodies in one form only: defaults filled, nulls dropped, keys sorted."""

import json
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from json.encoder import encode_basestring

from mediakit.schema.fields import fields_of, infos_of
from mediakit.schema.requests import MediaRequest


@cache
def _defaults(request_type: type[MediaRequest]) -> Mapping[str, object]:
    return {
        name: info.get_default(call_default_factory=True)
        for name, info in infos_of(request_type).items()
        if not info.is_required()
    }


_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


def with_defaults(
    request_type: type[MediaRequest], body: Mapping[str, object]
) -> dict[str, object]:
    """Return the body with defaults in place of what is omitted or null."""
    values = dict(body)
    for name, default in _defaults(request_type).items():
        if values.get(name) is None:
            values[name] = default
    return values


def canonical_body(
    request_type: type[MediaRequest], body: Mapping[str, object]
) -> dict[str, object]:
    """Return the body with defaults filled and nulls dropped.

    Two bodies that ask for the same thing have the same canonical body. A property
    that the request does not know stays as it was given, null included.
    """
    known = fields_of(request_type)
    values = with_defaults(request_type, body)
    return {
        name: deepcopy(value) if isinstance(value, dict | list) else value
        for name, value in values.items()
        if value is not None or name not in known
    }


def text_json(text: str) -> str:
    """Write a text as canonical JSON does."""
    return encode_basestring(text)


def canonical_json(value: object) -> bytes:
    """Write JSON in one way only: sorted keys, no spaces, UTF-8."""
    return _CANONICAL.encode(value).encode()
