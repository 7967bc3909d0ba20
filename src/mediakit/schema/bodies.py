"""Canonical bodies: defaults filled, nulls dropped, keys sorted."""

import json
from collections.abc import Mapping
from json.encoder import encode_basestring

from mediakit.schema.fields import FieldSpec

# From here on, a float does not represent every whole number exactly.
EXACT_BELOW = 2.0**53
_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


def with_defaults(
    fields: Mapping[str, FieldSpec], body: Mapping[str, object]
) -> dict[str, object]:
    """Return the body with defaults for fields that are omitted or null.

    An optional field without a default counts as null.
    """
    values = dict(body)
    for name, spec in fields.items():
        if not spec.required and values.get(name) is None:
            values[name] = spec.default
    return values


def canonical_body(
    fields: Mapping[str, FieldSpec], body: Mapping[str, object]
) -> dict[str, object]:
    """Return the body with defaults filled, nulls dropped, and `1.0` written as `1`.

    Equivalent bodies have the same canonical body. Required fields and unknown
    properties keep their nulls.
    """
    return {
        name: _canonical(value)
        for name, value in with_defaults(fields, body).items()
        if value is not None or name not in fields or fields[name].required
    }


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
