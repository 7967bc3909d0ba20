"""Follows references and wrappers in a JSON document, in limited steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from mediakit.media_limits import EXTENSION

Json = dict[str, Any]
Plain = tuple[Json, str | None]
"""A schema without references, and the target of the last reference to it."""

MAX_STEPS = 100
UNIONS = ("anyOf", "oneOf")
_PARTS = ("properties", "items", "prefixItems", "additionalProperties")
# Keywords without an effect on accepted values, like all keywords that start with "x-".
WORDS = {
    "$comment",
    "$defs",
    "$id",
    "$schema",
    "components",
    "default",
    "deprecated",
    "description",
    "discriminator",
    "example",
    "examples",
    "externalDocs",
    "format",
    "nullable",
    "readOnly",
    "title",
    "writeOnly",
    "xml",
}


def changes_values(keyword: str) -> bool:
    """Return whether a keyword of JSON Schema affects the accepted values."""
    return keyword not in WORDS and not keyword.startswith("x-")


def dict_of(value: object) -> Json:
    """Return a JSON object unchanged, and an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    """Return a list unchanged, and an empty one for anything else."""
    return value if isinstance(value, list) else []


def text_of(value: object, name: str) -> str:
    """Return the text at a key of a JSON object; empty for anything else."""
    text = dict_of(value).get(name)
    return text if isinstance(text, str) else ""


class References:
    """Resolves `$ref`."""

    def __init__(self, *roots: object) -> None:
        self._roots = roots

    def plain(self, schema: object) -> Plain | None:
        """Follow references and wrappers to the schema inside.

        Null is removed from the schema, and `nullable` records it, whether it was a
        type, a value or a member of a union. A union with one member becomes that
        member. Returns None if a reference leads outside, nowhere or in a circle, or if
        the parts cannot be combined in one schema.
        """
        # All wrappings share the steps, because nested ones could double them.
        return self._plain(schema, iter(range(MAX_STEPS)))

    def _plain(self, schema: object, steps: Iterator[int]) -> Plain | None:
        pointer = None
        for _ in steps:
            if not isinstance(schema, dict):
                return None
            wrapping = _wrapping(schema := _without_null(schema))
            if wrapping is None:
                return schema, pointer
            beside = {k: v for k, v in schema.items() if k != wrapping}
            inner = schema[wrapping]
            if wrapping == "$ref":
                pointer, inner = inner, [self.target(inner)]
            if not isinstance(inner, list):
                return None
            if not beside and len(inner) == 1:
                [schema] = inner
                continue
            plain = [self._plain(member, steps) for member in (*inner, beside)]
            schema = _combined([each and each[0] for each in plain])
            pointers = [each[1] for each in plain if each and each[1]]
            pointer = pointer or (pointers[0] if len(pointers) == 1 else None)
        return None

    def is_read_only(self, schema: object) -> bool:
        """Return whether only the service sets a property."""
        plain = self.plain(schema)
        return plain is not None and plain[0].get("readOnly") is True

    def tags(self, member: object, discriminator: Json) -> list[str]:
        """Return the discriminator's values for a member of a union.

        Without a mapping, that is the name of its schema.
        """
        plain = self.plain(member)
        pointer = plain[1] if plain else None
        if not pointer:
            return []
        name = pointer.rsplit("/", 1)[-1]
        mapping = discriminator.get("mapping")
        if mapping is None:
            return [name]
        targets = dict_of(mapping).items()
        return [value for value, target in targets if target in (pointer, name)]

    def missing(self, schema: object, *, in_fields: bool = False) -> Iterator[str]:
        """Yield the unresolvable references of a schema.

        References are those of the schema itself and, with `in_fields`, of its fields.
        """
        parts, seen = [schema], set[object]()
        while parts:
            part = parts.pop()
            if isinstance(part, list):
                parts += part
            if not isinstance(part, dict):
                continue
            reference = part.get("$ref")
            if "$ref" in part and str(reference) not in seen:
                seen.add(str(reference))
                parts.append(self.target(reference))
                if parts[-1] is None:
                    yield str(reference)
            for keyword in ("allOf", *UNIONS, *(_PARTS if in_fields else ())):
                inner = part.get(keyword)
                if keyword == "properties" and isinstance(inner, dict):
                    parts += inner.values()
                else:
                    parts.append(inner)

    def target(self, pointer: object) -> object:
        """Resolve a pointer such as "#/$defs/Url"; None if it leads nowhere."""
        if not isinstance(pointer, str) or not pointer.startswith("#"):
            return None
        tokens = [
            unquote(token).replace("~1", "/").replace("~0", "~")
            for token in pointer[1:].split("/")[1:]
        ]
        for place in self._roots:
            for token in tokens:
                if isinstance(place, list) and token.isdecimal():
                    place = dict(enumerate(place)).get(int(token))
                else:
                    place = place.get(token) if isinstance(place, dict) else None
            if place is not None:
                return place
        return None


def _wrapping(schema: Json) -> str | None:
    """Return the keyword that contains the actual schema, or None if there is none."""
    for keyword in ("$ref", "allOf"):
        if keyword in schema:
            return keyword
    return next((k for k in UNIONS if len(list_of(schema.get(k))) == 1), None)


def _without_null(schema: Json) -> Json:
    changed, nullable = dict(schema), None in list_of(schema.get("enum"))
    types = schema.get("type")
    if isinstance(types, list):
        names = [name for name in types if name != "null"]
        nullable |= len(names) < len(types)
        if sorted(map(str, names)) == ["integer", "number"]:
            names = ["number"]
        changed["type"] = names[0] if len(names) == 1 else names
    for keyword in UNIONS:
        members = schema.get(keyword)
        if isinstance(members, list):
            changed[keyword] = [each for each in members if not _is_null(each)]
            nullable |= len(changed[keyword]) < len(members)
    return changed | {"nullable": True} if nullable else changed


def _is_null(schema: object) -> bool:
    keywords = dict_of(schema)
    is_null = keywords.get("type") == "null" or keywords.get("enum") == [None]
    return is_null or ("const" in keywords and keywords["const"] is None)


def _combined(members: list[Json | None]) -> Json | None:
    """Combine schemas that all apply; None if no single schema is equivalent.

    The descriptions of the last part count.
    """
    whole: Json = {}
    for member in members:
        if member is None:
            return None
        for keyword, value in member.items():
            earlier = whole.get(keyword)
            if keyword in ("properties", EXTENSION):
                whole[keyword] = {**dict_of(earlier), **dict_of(value)}
            elif keyword == "required":
                whole[keyword] = [*list_of(earlier), *list_of(value)]
            elif keyword in whole and earlier != value and changes_values(keyword):
                return None
            else:
                whole[keyword] = value
    if sum("properties" in each for each in members if each) > 1:
        # Each object schema would reject the properties of the others.
        whole.pop("additionalProperties", None)
    return whole
