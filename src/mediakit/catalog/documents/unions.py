"""Unions in JSON Schema: null beside a type, and objects distinguished by a tag."""

from collections.abc import Mapping, Sequence
from typing import Any

from mediakit.catalog.documents.references import Json, dict_of, list_of

Plain = tuple[Json, str | None]

MAX_NAMES = 1_000


def without_null(schema: Json) -> tuple[Json, bool]:
    """Remove null from a schema.

    Returns:
        The schema without null, and whether it had null: as a type beside another one,
        as a member of a union, as a value, or as OpenAPI 3.0's `nullable`.
    """
    changed, nullable = dict(schema), schema.get("nullable") is True
    types = schema.get("type")
    if isinstance(types, list):
        nullable |= "null" in types
        names = [name for name in types if name != "null"]
        changed["type"] = names[0] if len(names) == 1 else _number(names)
    for key in ("anyOf", "oneOf"):
        members = schema.get(key)
        if isinstance(members, list):
            changed[key] = [member for member in members if not _is_null(member)]
            nullable |= len(changed[key]) < len(members)
    values = schema.get("enum")
    if isinstance(values, list):
        nullable |= None in values
    return changed, nullable


def _number(names: list[object]) -> object:
    return "number" if sorted(map(str, names)) == ["integer", "number"] else names


def _is_null(member: object) -> bool:
    if not isinstance(member, dict):
        return False
    is_null = member.get("type") == "null" or member.get("enum") == [None]
    return is_null or ("const" in member and member["const"] is None)


def tags_of(union: Json, members: Sequence[Plain]) -> tuple[str, list[str]] | None:
    """Find the property that distinguishes the objects of a union.

    Args:
        union: The schema of the union; it can name the property.
        members: The schemas of the objects, and the targets of their references.

    Returns:
        The property, and its value in each object; None without one.
    """
    discriminator = union.get("discriminator")
    if isinstance(discriminator, dict):
        mapping = discriminator.get("mapping")
        names = [discriminator.get("propertyName")]
    else:
        mapping, names = None, list(_properties(members[0])) if members else []
    for name in names[:MAX_NAMES]:
        values = [_tag(str(name), member, mapping) for member in members]
        tags = [value for value in values if value is not None]
        if len(tags) == len(members) and len(set(tags)) == len(tags):
            return str(name), tags
    return None


def _properties(member: Plain) -> Mapping[str, Any]:
    return dict_of(member[0].get("properties"))


def _tag(name: str, member: Plain, mapping: object) -> str | None:
    constant = constant_of(_properties(member).get(name))
    if constant is not None:
        return constant
    pointer = member[1]
    if not isinstance(mapping, dict) or pointer is None:
        return None
    short = pointer.rsplit("/", 1)[-1]
    named = [value for value, place in mapping.items() if place in (pointer, short)]
    return named[0] if len(named) == 1 else None


def constant_of(schema: object) -> str | None:
    """Return the only text that a schema accepts; None if it accepts others."""
    if not isinstance(schema, dict):
        return None
    values = schema.get("enum", [schema.get("const")])
    only = values[0] if isinstance(values, list) and len(values) == 1 else None
    return only if isinstance(only, str) else None


def tagged(schema: Json, tag: str, value: str) -> Json:
    """Return the schema of an object with this value of its tag, which is required."""
    properties = dict_of(schema.get("properties"))
    own: Json = dict_of(properties.get(tag))
    if constant_of(own) is None:
        own = {"const": value}
    required = list_of(schema.get("required"))
    if tag not in required:
        own = {k: v for k, v in own.items() if k != "default"}
        required = [*required, tag]
    return {**schema, "properties": {**properties, tag: own}, "required": required}
