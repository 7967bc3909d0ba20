"""References inside a JSON document, followed without getting lost."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard
from urllib.parse import unquote

Json = dict[str, Any]

MAX_STEPS = 64
# Keywords that refuse values in ways that no control and no sentence is known for.
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
_OF_OBJECTS = frozenset({"additionalProperties", "properties", "required", "type"})


def is_annotation(keyword: str) -> bool:
    """Tell whether a keyword of JSON Schema refuses no value."""
    return keyword not in NARROWING


def dict_of(value: object) -> Json:
    """Return a JSON object as it is, and anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    """Return a list as it is, and anything else as an empty one."""
    return value if isinstance(value, list) else []


def is_text(value: object) -> TypeGuard[str]:
    """Tell whether a value is text."""
    return isinstance(value, str)


def text_of(value: object, name: str) -> str:
    """Return a text of a JSON object, and anything else as an empty one."""
    text = dict_of(value).get(name)
    return text if is_text(text) else ""


class References:
    """The places that `$ref` may point to.

    Args:
        roots: Documents; a reference is looked up in the first one that has it.
    """

    def __init__(self, *roots: object) -> None:
        self._roots = roots

    def plain(self, schema: object) -> tuple[Json, str | None] | None:
        """Follow references and wrappings until a schema says something itself.

        Args:
            schema: A schema.

        Returns:
            The schema, and where the last reference pointed; None when it cannot be
            followed: it leads outside, nowhere, in a circle, or narrows its target.
        """
        return self._plain(schema, iter(range(MAX_STEPS)))

    def _plain(
        self, schema: object, steps: Iterator[int]
    ) -> tuple[Json, str | None] | None:
        pointer = None
        # All wrappings share the steps: those inside others could double otherwise.
        for _ in steps:
            if not isinstance(schema, dict):
                return None
            if "$ref" in schema:
                pointer = schema["$ref"]
                schema = _merged(self.target(pointer), schema)
            elif "allOf" in schema:
                schema = self._all_of(schema, steps)
            else:
                return schema, pointer
        return None

    def target(self, pointer: object) -> object:
        """Return what a pointer such as "#/$defs/Url" names; None when nothing."""
        if not isinstance(pointer, str) or not pointer.startswith("#"):
            return None
        tokens = [
            unquote(token).replace("~1", "/").replace("~0", "~")
            for token in pointer[1:].split("/")[1:]
        ]
        found = (_at(root, tokens) for root in self._roots)
        return next((place for place in found if place is not None), None)

    def _all_of(self, schema: Json, steps: Iterator[int]) -> Json | None:
        members = schema["allOf"]
        if not isinstance(members, list):
            return None
        if len(members) == 1 and "properties" not in schema:
            return _merged(members[0], schema)
        if "properties" in schema:
            own = {k: v for k, v in schema.items() if k in _OF_OBJECTS}
            members = [*members, own]
        plain = [self._plain(member, steps) for member in members]
        joined = _joined([None if each is None else each[0] for each in plain])
        return None if joined is None else {**joined, **_annotations(schema)}


def _merged(target: object, wrapping: Json) -> Json | None:
    """Return what a wrapping is for: its target, with what it says more about it."""
    if not isinstance(target, dict):
        return None
    beside = {k: v for k, v in wrapping.items() if k not in ("$ref", "allOf")}
    narrow = [k for k in beside if not is_annotation(k) and k not in target]
    return None if narrow else {**beside, **target, **_annotations(beside)}


def _annotations(schema: Json) -> Json:
    wrapping = ("$ref", "allOf")
    return {k: v for k, v in schema.items() if is_annotation(k) and k not in wrapping}


def _at(place: Any, tokens: Iterable[str]) -> object:
    for token in tokens:
        if isinstance(place, dict):
            place = place.get(token)
        elif isinstance(place, list) and token in map(str, range(len(place))):
            place = place[int(token)]
        else:
            return None
    return place


def _joined(members: list[Json | None]) -> Json | None:
    """Join objects that extend each other; any other schemas cannot be joined."""
    whole: Json = {"type": "object", "properties": {}, "required": []}
    for member in members:
        if member is None or not isinstance(member.get("properties"), dict):
            return None
        narrow = [k for k in member if not is_annotation(k) and k not in _OF_OBJECTS]
        if narrow:
            return None
        whole["properties"] |= member["properties"]
        whole["required"] += list_of(member.get("required"))
    return whole if members else None
