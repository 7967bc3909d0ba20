"""References in a JSON document, followed in a limited number of steps."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard
from urllib.parse import unquote

Json = dict[str, Any]

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
_OF_OBJECTS = frozenset({"additionalProperties", "properties", "required", "type"})


def is_annotation(keyword: str) -> bool:
    """Return whether a keyword of JSON Schema accepts all values."""
    return keyword not in NARROWING


def dict_of(value: object) -> Json:
    """Return a JSON object unchanged, and an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    """Return a list unchanged, and an empty one for anything else."""
    return value if isinstance(value, list) else []


def is_text(value: object) -> TypeGuard[str]:
    """Return whether a value is text."""
    return isinstance(value, str)


def text_of(value: object, name: str) -> str:
    """Return a text of a JSON object, and an empty one for anything else."""
    text = dict_of(value).get(name)
    return text if is_text(text) else ""


class References:
    """The targets of `$ref`.

    Args:
        roots: Documents; the first one with the target counts.
    """

    def __init__(self, *roots: object) -> None:
        self._roots = roots

    def plain(self, schema: object) -> tuple[Json, str | None] | None:
        """Follow references and wrappings to the schema inside.

        Args:
            schema: A schema.

        Returns:
            The schema, and the target of the last reference; None if it cannot be
            followed: it leads outside, nowhere, in a circle, or narrows its target.
        """
        return self._plain(schema, iter(range(MAX_STEPS)))

    def _plain(
        self, schema: object, steps: Iterator[int]
    ) -> tuple[Json, str | None] | None:
        pointer = None
        # All wrappings share the steps, because nested ones could double them.
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
        """Return the target of a pointer such as "#/$defs/Url"; None without one."""
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
    """Return the target of a wrapping, with the annotations of the wrapping."""
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
    """Join objects that extend each other; other schemas cannot be joined."""
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
