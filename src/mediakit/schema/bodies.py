"""Canonical bodies: defaults filled, nulls dropped, keys sorted."""

import json
from collections.abc import Mapping
from functools import cache
from json.encoder import encode_basestring

from mediakit.schema.fields import FieldSpec, fields_of, infos_of
from mediakit.schema.requests import MediaRequest

# From here on, a float does not represent every whole number exactly.
EXACT_BELOW = 2.0**53


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
    """Return the body with defaults for fields that are omitted or null."""
    values = dict(body)
    for name, default in _defaults(request_type.of(body)).items():
        if values.get(name) is None:
            values[name] = default
    return values


def canonical_body(
    request_type: type[MediaRequest], body: Mapping[str, object]
) -> dict[str, object]:
    """Return the body with defaults filled, nulls dropped, and `1.0` written as `1`.

    Equivalent bodies have the same canonical body. Required fields and unknown
    properties keep their nulls.
    """
    known = fields_of(request_type.of(body))
    values = with_defaults(request_type, body)
    return {
        name: _canonical(value)
        for name, value in values.items()
        if not is_left_out(known, name, value)
    }


def is_left_out(known: Mapping[str, FieldSpec], name: str, value: object) -> bool:
    """Return whether the value is null and the field is optional."""
    return value is None and name in known and not known[name].required


def _canonical(value: object) -> object:
    """Return a copy in which equal JSON numbers are equal in Python."""
    if isinstance(value, float) and value.is_integer():
        return int(value) if abs(value) < EXACT_BELOW else value
    if isinstance(value, dict):
        return {name: _canonical(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_canonical(each) for each in value]
    return value


def text_json(text: str) -> str:
    """Encode a text as in canonical JSON."""
    return encode_basestring(text)


def canonical_json(value: object) -> bytes:
    """Encode canonical JSON: sorted keys, no spaces, UTF-8."""
    return _CANONICAL.encode(value).encode()
