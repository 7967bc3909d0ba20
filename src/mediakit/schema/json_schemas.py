"""The JSON Schema of a request, with an extension for forms.

`x-mediakit` holds what JSON Schema has no keyword for: units, media, rules. A reader
that ignores it loses convenience; the service makes every check anyway.
"""

from collections.abc import Iterator
from dataclasses import asdict
from functools import reduce
from operator import or_
from typing import Annotated, Any

from pydantic import Field, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import ModelSchema

from mediakit.schema.fields import FieldSpec, fields_of
from mediakit.schema.requests import MediaRequest, Part
from mediakit.schema.rule_documents import described

EXTENSION = "x-mediakit"

Json = dict[str, Any]


class PartSchemas(GenerateJsonSchema):
    """Adds the facts of `FieldSpec` to pydantic's schemas, such as units."""

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        """Return the schema of an object inside a request, or of a request."""
        known = super().model_schema(schema)
        of_fields = self.resolve_ref_schema(known)
        return (
            completed(schema["cls"], of_fields)
            if issubclass(schema["cls"], Part)
            else known
        )


def json_schema(request_type: type[MediaRequest]) -> Json:
    """Return the JSON Schema of a request's body."""
    declared, one_of = request_type.declared, request_type.one_of
    if one_of is None:
        schema = request_type.model_json_schema(schema_generator=PartSchemas)
    else:
        some = reduce(or_, one_of.types.values())
        whole: Any = Annotated[some, Field(discriminator=one_of.tag)]
        schema = TypeAdapter(whole).json_schema(schema_generator=PartSchemas)
    types = [request_type] if one_of is None else [*one_of.types.values()]
    for body, each in zip(bodies_in(schema), types, strict=True):
        if not each.declared.closed and body.get("additionalProperties") is False:
            # Only the client refuses unknown names; the service accepts them.
            del body["additionalProperties"]
    schema["title"] = request_type.__name__
    schema[EXTENSION] = {
        "kind": declared.kind,
        "media_type": declared.media_type,
        "closed": declared.closed,
        "rules": [described(rule) for rule in request_type.rules],
    }
    return schema


def bodies_in(schema: Json) -> list[Json]:
    """Return the schemas of the alternative bodies of a request."""
    names = [each["$ref"].rsplit("/", 1)[-1] for each in schema.get("oneOf", ())]
    return [schema["$defs"][name] for name in names] or [schema]


def completed(part_type: type[Part], schema: Json) -> Json:
    """Return pydantic's schema of an object with the facts of its fields."""
    for name, spec in fields_of(part_type).items():
        entry = schema.get("properties", {}).get(name)
        if entry is None:
            continue
        entry.pop("title", None)
        if spec.doc:
            entry["description"] = spec.doc
        if spec.default is None and not spec.nullable:
            entry.pop("default", None)
        extension = dict(_extension(spec))
        if extension:
            entry[EXTENSION] = extension
    return schema


def _extension(spec: FieldSpec) -> Iterator[tuple[str, object]]:
    for name in ("unit", "media_kind", "mask_of", "multiline", "seed"):
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
