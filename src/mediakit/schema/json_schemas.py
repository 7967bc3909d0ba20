"""The JSON Schema of a request, with what forms need beyond the standard.

What JSON Schema has no word for stands under `x-mediakit`: units, media, rules. Who
reads the document without knowing it loses words and comfort, and no check that the
service would not make.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from mediakit.schema.fields import FieldSpec, fields_of, is_open
from mediakit.schema.requests import MediaRequest, Part
from mediakit.schema.rule_documents import described

EXTENSION = "x-mediakit"

Json = dict[str, Any]


def json_schema(request_type: type[MediaRequest]) -> Json:
    """Return the JSON Schema of a request's body."""
    schema = request_type.model_json_schema()
    declared = request_type.declared
    if not declared.closed and not is_open(request_type):
        # The client alone refuses unknown names; the service lets them pass.
        schema.pop("additionalProperties", None)
    schema["title"] = request_type.__name__
    schema[EXTENSION] = {
        "kind": declared.kind,
        "media_type": declared.media_type,
        "closed": declared.closed,
        "rules": [described(rule) for rule in request_type.rules],
    }
    return schema


def completed(part_type: type[Part], schema: Json) -> Json:
    """Return pydantic's schema of an object with what only its fields know."""
    for name, spec in fields_of(part_type).items():
        entry = schema.get("properties", {}).get(name)
        if entry is None:
            continue
        entry.pop("title", None)
        if spec.default is None and not spec.nullable:
            entry.pop("default", None)
        extension = dict(_extension(spec))
        if extension:
            entry[EXTENSION] = extension
    return schema


def _extension(spec: FieldSpec) -> Iterator[tuple[str, object]]:
    for name in ("unit", "media_kind", "multiline", "seed"):
        value = getattr(spec, name)
        if value:
            yield name, value
    if spec.limits is not None:
        limits = asdict(spec.limits)
        yield "limits", {k: v for k, v in limits.items() if v not in (None, ())}
    inside = {"item": spec.item} if spec.item else {}
    if spec.kind == "either":
        inside = dict(spec.variants)
    for name, inner in inside.items():
        if inner.kind not in ("object", "variants") and (
            more := dict(_extension(inner))
        ):
            yield name, more
