"""References and wrappings in a JSON document, followed in limited steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from mediakit.media_limits import EXTENSION

Json = dict[str, Any]
Plain = tuple[Json, str | None]
"""A schema without references, and the target of the last reference to it."""

MAX_STEPS = 64
# Keywords whose checks no control and no message supports.
UNREAD = frozenset(
    {
        "$dynamicRef",
        "$recursiveRef",
        "additionalItems",
        "contains",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "else",
        "if",
        "maxProperties",
        "minProperties",
        "not",
        "patternProperties",
        "prefixItems",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
NARROWING = UNREAD | {
    "additionalProperties",
    "anyOf",
    "const",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "multipleOf",
    "oneOf",
    "pattern",
    "properties",
    "required",
    "type",
    "uniqueItems",
}


def dict_of(value: object) -> Json:
    """Return a JSON object unchanged, and an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    """Return a list unchanged, and an empty one for anything else."""
    return value if isinstance(value, list) else []


def text_of(value: object, name: str) -> str:
    """Return a text of a JSON object, and an empty one for anything else."""
    text = dict_of(value).get(name)
    return text if isinstance(text, str) else ""


class References:
    """The targets of `$ref`.

    Args:
        roots: Documents; the first one with the target counts.
    """

    def __init__(self, *roots: object) -> None:
        self._roots = roots

    def plain(self, schema: object) -> Plain | None:
        """Follow references and wrappings to the schema inside.

        Returns:
            None if it cannot be followed: it leads outside, nowhere or in a circle, or
            its parts cannot be combined in one schema.
        """
        # All wrappings share the steps, because nested ones could double them.
        return self._plain(schema, iter(range(MAX_STEPS)))

    def _plain(self, schema: object, steps: Iterator[int]) -> Plain | None:
        pointer = None
        for _ in steps:
            if not isinstance(schema, dict):
                return None
            if "$ref" in schema:
                pointer = schema["$ref"]
                target = self.target(pointer)
                beside = {k: v for k, v in schema.items() if k != "$ref"}
                schema = {"allOf": [target], **beside} if beside else target
            elif "allOf" in schema:
                members = schema["allOf"]
                if not isinstance(members, list):
                    return None
                plain = [self._plain(member, steps) for member in members]
                beside = {k: v for k, v in schema.items() if k != "allOf"}
                schema = _combined([each and each[0] for each in plain], beside)
                pointers = [each[1] for each in plain if each and each[1]]
                pointer = pointer or (pointers[0] if len(pointers) == 1 else None)
            else:
                return schema, pointer
        return None

    def target(self, pointer: object) -> object:
        """Return the target of a pointer such as "#/$defs/Url"; None without one."""
        if not isinstance(pointer, str) or not pointer.startswith("#"):
            return None
        tokens = [
            unquote(token).replace("~1", "/").replace("~0", "~")
            for token in pointer[1:].split("/")[1:]
        ]
        found = (_at(root, tokens) for root in self._roots)
        return next((place for place in found if place is not None), None)


def _at(place: Any, tokens: list[str]) -> object:
    for token in tokens:
        if isinstance(place, dict):
            place = place.get(token)
        elif isinstance(place, list) and token in map(str, range(len(place))):
            place = place[int(token)]
        else:
            return None
    return place


def _combined(members: list[Json | None], beside: Json) -> Json | None:
    """Combine schemas that all apply; None if no single schema says the same.

    Args:
        members: The schemas.
        beside: The keywords beside them; their descriptions count.
    """
    whole: Json = {}
    for member in [*members, beside]:
        if member is None:
            return None
        for keyword, value in member.items():
            known = whole.get(keyword)
            if keyword not in whole or known == value:
                whole[keyword] = value
            elif keyword in ("properties", EXTENSION):
                whole[keyword] = {**dict_of(known), **dict_of(value)}
            elif keyword == "required":
                whole[keyword] = [*list_of(known), *list_of(value)]
            elif keyword not in NARROWING:
                whole[keyword] = value
            else:
                return None
    objects = [each for each in (*members, beside) if each and "properties" in each]
    if len(objects) > 1:
        # Each object would refuse the properties of the others.
        whole.pop("additionalProperties", None)
    return whole
