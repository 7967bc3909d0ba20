"""Reads JSON Schema as fields: of pydantic classes, and of services.

Anything that a form cannot show becomes a field of any JSON value, which `conformance`
checks against the schema. No field rejects what its schema accepts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from threading import Lock
from typing import Any

from pydantic import TypeAdapter, ValidationError

from mediakit.forks import no_fork
from mediakit.media_limits import EXTENSION, MediaName
from mediakit.schema.facts import FACTS, NUMBERS, FieldFacts
from mediakit.schema.fields import MAX_CHOICES, FieldSpec, Shape, joined
from mediakit.schema.references import (
    UNIONS,
    Json,
    References,
    changes_values,
    dict_of,
    list_of,
    text_of,
)
from mediakit.schema.requests import MediaRequest
from mediakit.schema.validation import is_pattern, problems_in

MAX_DEPTH = 12
MAX_READ = 5_000
MAX_NUMBER = 2**64

ANYTHING = FieldSpec("", "json")

# Every function accepts this property, so no function has it as a field.
WEBHOOK_URL = "webhook_url"
# Keywords that change the meaning of others; restrictions are ignored.
UNREAD = {"patternProperties", "prefixItems"}
# With one of these beside `properties`, there can be further properties.
_COMPOSITE = {"anyOf", "oneOf", "allOf", "if", "patternProperties", "$ref"}
_KEYWORDS = {
    "properties": "object",
    "items": "array",
    "pattern": "string",
    "minLength": "string",
    "maxLength": "string",
    "minimum": "number",
    "maximum": "number",
}

Above = tuple[str | None, ...]
"""The targets of the references around a schema; None for a union or list."""

# Before 2.12 pydantic builds a validator in two threads at once when both need it.
_BUILDING = Lock()


class UnreadableError(Exception):
    """A schema has keywords that no field can express."""


@cache
def body_of(request_type: type[MediaRequest]) -> FieldSpec:
    """Return the body of a declared function."""
    with no_fork(), _BUILDING:
        schema = request_type.model_json_schema()
    return Reader(References(schema)).body(schema)


@dataclass
class Reader:
    """Reads the schemas of one request."""

    references: References
    guess: bool = False  # whether to take hints from the names of fields
    # The number of schemas that may still be read: references that double at each level
    # never end.
    reads_left: int = MAX_READ

    def body(self, schema: object) -> FieldSpec:
        """Read a whole body: an object, or alternative objects with a tag."""
        own, pointer = self.references.plain(schema) or (dict_of(schema), None)
        if any(keyword in own for keyword in UNIONS):
            union = self.read(own)
            if union.kind == "variants":
                return union
        return self._object(own, pointer, ())

    def read(self, schema: object, name: str = "", above: Above = ()) -> FieldSpec:
        """Read one schema."""
        plain = self.references.plain({} if schema is True else schema)
        if plain is None or len(above) >= MAX_DEPTH:
            return ANYTHING
        own, pointer = plain
        if not any(map(changes_values, own)):
            return ANYTHING
        try:
            return self._read(own, pointer, name, above)
        except UnreadableError:
            return ANYTHING

    def _read(
        self, schema: Json, pointer: str | None, name: str, above: Above
    ) -> FieldSpec:
        self.reads_left -= 1 + len(dict_of(schema.get("properties")))
        if self.reads_left < 0 or not UNREAD.isdisjoint(schema):
            raise UnreadableError
        facts = schema.get(EXTENSION)
        if facts is not None or not self.guess:
            name = ""
        if any(keyword in schema for keyword in UNIONS):
            spec = self._union(schema, name, (*above, None))
        else:
            spec = self._single(schema, pointer, name, above)
        spec = _with_facts(spec, facts) if facts is not None else spec
        spec = _hinted(spec, name.lower(), schema) if name else spec
        nullable = spec.nullable or schema.get("nullable") is True
        return replace(spec, nullable=nullable)

    def _single(
        self, schema: Json, pointer: str | None, name: str, above: Above
    ) -> FieldSpec:
        match type_of(schema):
            case "choice":
                return _choice(schema.get("enum", [schema.get("const")]))
            case "string":
                return _text(schema)
            case "integer":
                return FieldSpec("", "integer", **_bounds(schema, whole=True))
            case "number":
                return FieldSpec("", "number", **_bounds(schema, whole=False))
            case "boolean":
                return FieldSpec("", "boolean")
            case "array":
                item = self.read(schema.get("items", True), name, (*above, None))
                return FieldSpec(
                    "",
                    "list",
                    item=item,
                    unique=schema.get("uniqueItems") is True,
                    **_counts(schema, "minItems", "maxItems"),
                )
            case "object":
                return self._object(schema, pointer, above)
        raise UnreadableError

    def _object(self, schema: Json, pointer: str | None, above: Above) -> FieldSpec:
        if pointer is not None and pointer in above:
            raise UnreadableError  # a recursive schema
        is_body = not any(above)
        above = (*above, pointer or "#")
        properties = dict_of(schema.get("properties"))
        if is_body:
            properties = {n: p for n, p in properties.items() if n != WEBHOOK_URL}
        required = [
            name
            for name in list_of(schema.get("required"))
            if not self.references.is_read_only(properties.get(name))
        ]
        further = schema.get("additionalProperties")
        extra = self.read(further, above=above) if isinstance(further, dict) else None
        return FieldSpec(
            "",
            "object",
            fields={
                name: self._field(name, part, above, required=name in required)
                for name, part in properties.items()
            },
            closed=further is False or (is_body and _is_silent(schema, properties)),
            further=None if extra is None or extra.kind == "json" else extra,
            doc=text_of(schema, "description"),
        )

    def _field(
        self, name: str, schema: object, above: Above, *, required: bool
    ) -> FieldSpec:
        spec = self.read(schema, name, above)
        plain = self.references.plain(schema)
        words = plain[0] if plain else dict_of(schema)
        default = words.get("default")
        if default is not None and any(problems_in(spec, default)):
            default = None
        return replace(
            spec,
            name=name,
            required=required and default is None,
            default=deepcopy(default),
            doc=text_of(words, "description"),
        )

    def _union(self, schema: Json, name: str, above: Above) -> FieldSpec:
        """Read a union of values, of tagged objects, or of both, and lists."""
        members = list_of(schema.get("anyOf", schema.get("oneOf")))
        if not members or "properties" in schema:
            raise UnreadableError
        by_shape: dict[Shape, list[tuple[object, FieldSpec]]] = {}
        for member in members:
            spec = self.read(member, name, above)
            by_shape.setdefault(_shape(spec), []).append((member, spec))
        options = {s: self._one_of(some, schema) for s, some in by_shape.items()}
        if len(options) == 1:
            return options.popitem()[1]
        return FieldSpec(
            "",
            "either",
            variants={s: replace(o, nullable=False) for s, o in options.items()},
            nullable=any(option.nullable for option in options.values()),
        )

    def _one_of(
        self, members: list[tuple[object, FieldSpec]], union: Json
    ) -> FieldSpec:
        """Read members of one shape; objects need a distinguishing property."""
        specs = [spec for _, spec in members]
        if len(specs) > 1 and all(spec.kind == "object" for spec in specs):
            discriminator = dict_of(union.get("discriminator"))
            # Without a mapping, services often use other values than OpenAPI
            # prescribes.
            mapped = discriminator | {"mapping": dict_of(discriminator.get("mapping"))}
            tags = [self.references.tags(member, mapped) for member, _ in members]
            named = [next(iter(each), None) for each in tags]
            return _variants(specs, named, discriminator.get("propertyName"))
        spec = joined(specs)
        if spec.kind == "json":
            raise UnreadableError
        return spec


def _shape(spec: FieldSpec) -> Shape:
    match spec.kind:
        case "json" | "either":
            raise UnreadableError
        case "list":
            return "list"
        case "object" | "variants":
            return "object"
    return "value"


def _variants(
    specs: list[FieldSpec], named: list[str | None], tag_name: object
) -> FieldSpec:
    """Distinguish objects by a property: the named one, or the first suitable one."""
    for tag in [str(tag_name)] if tag_name else specs[0].fields:
        values = [
            _constant(spec.fields.get(tag)) or value
            for spec, value in zip(specs, named, strict=True)
        ]
        tags = [value for value in values if value is not None]
        if len({*tags}) == len(specs):
            variants = {
                value: _tagged(spec, tag, value)
                for value, spec in zip(tags, specs, strict=True)
            }
            return FieldSpec("", "variants", tag=tag, variants=variants)
    raise UnreadableError


def _constant(spec: FieldSpec | None) -> str | None:
    """Return the only text that a field accepts; None if there are others."""
    choices = () if spec is None else spec.choices
    return choices[0] if len(choices) == 1 and isinstance(choices[0], str) else None


def _tagged(spec: FieldSpec, tag: str, value: str) -> FieldSpec:
    """Return an object with a fixed, required tag."""
    doc = spec.fields[tag].doc if tag in spec.fields else ""
    own = FieldSpec(tag, "choice", choices=(value,), required=True, doc=doc)
    return replace(spec, fields={**spec.fields, tag: own})


def _is_silent(schema: Json, properties: Json) -> bool:
    """Return whether a body's schema says nothing about further properties.

    Unknown names are then rejected locally: a misspelled name is more likely than one
    that the schema lacks.
    """
    speaks = schema.get("additionalProperties") is not None
    return not speaks and bool(properties) and _COMPOSITE.isdisjoint(schema)


def type_of(schema: Json) -> object:
    """Return the JSON type of a schema; None if it has several or none."""
    if "const" in schema or "enum" in schema:
        return "choice"
    named = schema.get("type")
    if named is not None:
        return named if isinstance(named, str) else None
    # Strictly, a schema without a type accepts any type; nobody intends that.
    return next((name for key, name in _KEYWORDS.items() if key in schema), None)


def _choice(values: object) -> FieldSpec:
    choices = tuple(value for value in list_of(values) if value is not None)
    if not 0 < len(choices) <= MAX_CHOICES:
        raise UnreadableError
    if not all(isinstance(value, str | int | float) for value in choices):
        raise UnreadableError
    return FieldSpec("", "choice", choices=choices)


def _text(schema: Json) -> FieldSpec:
    pattern, counts = schema.get("pattern"), _counts(schema, "minLength", "maxLength")
    pattern = pattern if is_pattern(pattern) else None
    return FieldSpec(
        "", "text", pattern=pattern, format=text_of(schema, "format"), **counts
    )


def _counts(schema: Json, least: str, most: str) -> dict[str, Any]:
    """Read the limits of the number of characters or items."""
    names = {"min_length": least, "max_length": most}
    counts = {name: schema[key] for name, key in names.items() if key in schema}
    if not all(_is_number(count) and count >= 0 for count in counts.values()):
        raise UnreadableError
    return {name: int(count) for name, count in counts.items()}


def _bounds(schema: Json, *, whole: bool) -> dict[str, Any]:
    """Read the limits of a number; those of a whole number are whole."""
    bounds: dict[str, Any] = {}
    for inclusive, exclusive, with_end, without_end in (
        ("minimum", "exclusiveMinimum", "low", "above"),
        ("maximum", "exclusiveMaximum", "high", "below"),
    ):
        if schema.get(exclusive) is True:  # the form of OpenAPI 3.0
            bounds[without_end] = schema.get(inclusive)
            continue
        if inclusive in schema:
            bounds[with_end] = schema[inclusive]
        if schema.get(exclusive, False) is not False:
            bounds[without_end] = schema[exclusive]
    if "multipleOf" in schema:
        bounds["step"] = schema["multipleOf"]
    if not all(map(_is_number, bounds.values())):
        raise UnreadableError
    step = bounds.get("step", 1)
    if step <= 0 or (whole and step != int(step)):
        raise UnreadableError
    if whole:
        up = ("low", "below")
        bounds = {
            n: math.ceil(b) if n in up else math.floor(b) for n, b in bounds.items()
        }
    return bounds


def _is_number(value: object) -> bool:
    """Return whether a value is a number that messages and controls can show."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= MAX_NUMBER


# -- facts beyond the types: from `x-mediakit`, or from the names of fields --------

_WORDS: Mapping[str, MediaName] = {
    "animation": "video",
    "audio": "audio",
    "frame": "image",
    "image": "image",
    "mask": "image",
    "music": "audio",
    "photo": "image",
    "picture": "image",
    "song": "audio",
    "sound": "audio",
    "speech": "audio",
    "video": "video",
    "voice": "audio",
}
# Keyframes are moments, not pictures.
_WORD = re.compile(f"(?<!key)(?:{'|'.join(_WORDS)})")


_FACTS_READER = TypeAdapter(FieldFacts)


def _with_facts(spec: FieldSpec, raw: object) -> FieldSpec:
    """Return a field with the facts in its `x-mediakit` that fit it."""
    try:
        facts = vars(_FACTS_READER.validate_python(raw))
    except ValidationError:
        return spec
    fitting = {n: v for n, v in facts.items() if v and spec.kind in FACTS[n]}
    return _with(spec, fitting)


def _with(spec: FieldSpec, facts: Mapping[str, Any]) -> FieldSpec:
    return replace(spec, **facts, kind="media" if "media_kind" in facts else spec.kind)


def _hinted(spec: FieldSpec, name: str, schema: Json) -> FieldSpec:
    """Return a field with hints from its name, or the name of its list."""
    facts: dict[str, Any] = {}
    if spec.kind == "text":
        medium = medium_in(name) if _is_link(name, schema) else None
        if medium is not None:
            facts["media_kind"] = medium
        elif name == "prompt" or name.endswith("_prompt"):
            facts["multiline"] = True
    if spec.kind == "integer" and name == "seed":
        facts["seed"] = True
    if spec.kind in NUMBERS and (unit := _unit_in(name)):
        facts["unit"] = unit
    return _with(spec, facts)


def medium_in(name: str) -> MediaName | None:
    """Return the medium in a name; the last one counts."""
    words = _WORD.findall(name.lower())
    return _WORDS[words[-1]] if words else None


def _is_link(name: str, schema: Json) -> bool:
    return (
        name.endswith(("_url", "_urls"))
        or schema.get("format") in ("uri", "url")
        or str(schema.get("pattern")).startswith("^http")
    )


def _unit_in(name: str) -> str | None:
    if name.endswith("_ms"):
        return "ms"
    in_seconds = name in ("duration", "seconds") or name.endswith(("_s", "_seconds"))
    return "s" if in_seconds else None
