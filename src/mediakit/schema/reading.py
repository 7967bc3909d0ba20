"""Reading JSON Schema as fields: pydantic's of a declared function, and a service's.

What a form cannot show and a sentence cannot say becomes a field of any JSON value,
which only the service checks. No field refuses a value that its schema accepts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from threading import Lock
from typing import Any

from mediakit.forks import no_fork
from mediakit.media_limits import EXTENSION
from mediakit.schema.checking import is_pattern, problems_in
from mediakit.schema.fields import FieldSpec, Shape
from mediakit.schema.hints import hinted, with_facts
from mediakit.schema.references import (
    NARROWING,
    UNREAD,
    Json,
    Plain,
    References,
    dict_of,
    list_of,
    text_of,
)
from mediakit.schema.requests import MediaRequest

CHECKED_BY_SERVICE = "Checked by the service alone."

MAX_DEPTH = 12
MAX_READ = 5_000
MAX_FIELDS = 1_000
MAX_MEMBERS = 100
MAX_CHOICES = 1_000
MAX_COUNT = 2**53
MAX_BOUND = 2**64

ANYTHING = FieldSpec("", "json")
UNREADABLE = FieldSpec("", "json", partial=True)

# Every function accepts it, so no function has it as a field.
WEBHOOK_URL = "webhook_url"
# With one of these beside `properties`, there can be further properties.
_COMPOSITE = {"anyOf", "oneOf", "allOf", "if", "patternProperties", "$ref"}

Above = tuple[str | None, ...]
_KEYWORDS = {
    "properties": "object",
    "items": "array",
    "pattern": "string",
    "minLength": "string",
    "maxLength": "string",
    "minimum": "number",
    "maximum": "number",
}
_IS_A: Mapping[object, Callable[[object], bool]] = {
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "number": lambda v: is_number(v),
    "integer": lambda v: is_number(v) and not isinstance(v, float),
}


# Before 2.12 pydantic builds a validator in two threads at once when both need it.
_BUILDING = Lock()


class UnreadableError(Exception):
    """A schema has keywords that no field expresses."""


@dataclass
class Budget:
    """How much more of a document is read.

    Args:
        left: The number of schemas. Without it, references that double at each level
            would not end.
    """

    left: int = MAX_READ

    def spend(self, count: int) -> None:
        """Use some.

        Raises:
            UnreadableError: Fewer are left.
        """
        self.left -= count
        if self.left < 0:
            raise UnreadableError


@dataclass
class Reader:
    """Reads the schemas of one request.

    Args:
        references: The targets of its references.
        guess: Take hints from the names of fields.
        budget: How much can be read.
    """

    references: References
    guess: bool = False
    budget: Budget = field(default_factory=Budget)
    _objects: dict[tuple[str | None, str], tuple[FieldSpec, int]] = field(
        default_factory=dict
    )

    def body(self, schema: Json, pointer: str | None = None) -> FieldSpec:
        """Read a whole body: an object, or alternative objects with a tag.

        Args:
            schema: Its schema, without references.
            pointer: The target of the reference to it.

        Raises:
            UnreadableError: It has too many fields.
        """
        members = list_of(schema.get("oneOf", schema.get("anyOf")))
        plain = [each for m in members if (each := self.references.plain(m))]
        tags = tags_of(schema, plain)
        objects = all(type_of(each) == "object" for each, _ in plain)
        if tags and objects and len(plain) == len(members) <= MAX_MEMBERS:
            tag, values = tags
            try:
                return self._variants(tag, values, plain, (), whole=True)
            except UnreadableError:
                pass
        if len(dict_of(schema.get("properties"))) > MAX_FIELDS:
            raise UnreadableError
        return self._fields_of(schema, (pointer,), whole=True)

    def read(self, schema: object, name: str = "", above: Above = ()) -> FieldSpec:
        """Read one schema.

        Args:
            schema: The schema.
            name: The name of the field, which hints at its media and units.
            above: The pointers of the objects that enclose it.
        """
        plain = self.references.plain({} if schema is True else schema)
        if plain is None or len(above) >= MAX_DEPTH:
            return UNREADABLE
        if NARROWING.isdisjoint(plain[0]):
            return ANYTHING
        try:
            self.budget.spend(1)
            return self._read(*plain, name, above)
        except UnreadableError:
            return UNREADABLE

    def _read(
        self, schema: Json, pointer: str | None, name: str, above: Above
    ) -> FieldSpec:
        if not UNREAD.isdisjoint(schema):
            raise UnreadableError
        said = schema.get(EXTENSION)
        if said is not None:
            name = ""
        schema, nullable = without_null(schema)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                members = list_of(schema[key])
                if len(members) == 1:
                    beside = {k: v for k, v in schema.items() if k != key}
                    whole = {"allOf": [members[0], beside]}
                    spec = self.read(whole, name, (*above, None))
                else:
                    spec = self._union(schema, members, name, (*above, None))
                break
        else:
            spec = self._single(schema, pointer, name, above)
        spec = with_facts(spec, said) if said is not None else spec
        if name and self.guess:
            spec = hinted(spec, name, schema)
        return replace(spec, nullable=spec.nullable or nullable)

    def _single(
        self, schema: Json, pointer: str | None, name: str, above: Above
    ) -> FieldSpec:
        match type_of(schema):
            case "choice":
                values = [schema["const"]] if "const" in schema else schema["enum"]
                return _choice(values, schema.get("type"))
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
                    partial=item.partial,
                    **_counts(schema, "minItems", "maxItems"),
                )
            case "object":
                return self._object(schema, pointer, above)
        raise UnreadableError

    def _object(
        self,
        schema: Json,
        pointer: str | None,
        above: Above,
        tag: str = "",
        *,
        whole: bool = False,
    ) -> FieldSpec:
        if pointer is not None and pointer in above:
            raise UnreadableError  # it holds itself
        place = (pointer, tag)
        if place in self._objects:
            spec, size = self._objects[place]
            self.budget.spend(size)
            return spec
        before = self.budget.left
        spec = self._fields_of(schema, (*above, pointer), whole=whole)
        if pointer is not None:
            self._objects[place] = spec, before - self.budget.left
        return spec

    def _fields_of(
        self, schema: Json, above: Above, *, whole: bool = False
    ) -> FieldSpec:
        required = list_of(schema.get("required"))
        properties = dict_of(schema.get("properties"))
        if whole:
            properties = {n: p for n, p in properties.items() if n != WEBHOOK_URL}
        self.budget.spend(len(properties))
        further = schema.get("additionalProperties")
        more = self.read(further, above=above) if isinstance(further, dict) else None
        return FieldSpec(
            "",
            "object",
            fields={
                name: self._field(name, part, above, required=name in required)
                for name, part in properties.items()
            },
            closed=further is False or (whole and _is_silent(schema, properties)),
            further=None if more is None or more.kind == "json" else more,
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
        doc = text_of(words, "description")
        if spec.partial and not doc.endswith(CHECKED_BY_SERVICE):
            doc = f"{doc} {CHECKED_BY_SERVICE}".strip()
        return replace(
            spec,
            name=name,
            required=required and default is None,
            default=deepcopy(default),
            doc=doc,
        )

    def _union(
        self, schema: Json, members: list[object], name: str, above: Above
    ) -> FieldSpec:
        if not members or len(members) > MAX_MEMBERS or "properties" in schema:
            raise UnreadableError
        plain = [each for m in members if (each := self.references.plain(m))]
        tags = tags_of(schema, plain) if len(plain) == len(members) else None
        if tags is not None:
            return self._variants(*tags, plain, above)
        shapes = [self._shape(member) for member in members]
        if len(set(shapes)) > 1:
            return self._either(schema, shapes, members, name, above)
        specs = [self.read(member, above=above) for member in members]
        if any(spec.partial for spec in specs):
            raise UnreadableError
        nullable = any(spec.nullable for spec in specs)
        choices = [_choices_of(spec) for spec in specs]
        known = tuple(value for some in choices for value in some or ())
        if None not in choices and len(known) <= MAX_CHOICES:
            unique = dict.fromkeys((type(value), value) for value in known)
            values = tuple(value for _, value in unique)
            return FieldSpec("", "choice", choices=values, nullable=nullable)
        if all(map(_is_text, specs)):
            return FieldSpec("", "text", nullable=nullable, partial=True)
        raise UnreadableError

    def _shape(self, schema: object, *, deeper: bool = True) -> Shape | None:
        """Return the only shape of a schema's values; None if others are possible."""
        plain = self.references.plain(schema)
        if plain is None:
            return None
        own, _ = without_null(plain[0])
        members = own.get("anyOf", own.get("oneOf"))
        if isinstance(members, list) and members and deeper:
            shapes = {self._shape(member, deeper=False) for member in members}
            return shapes.pop() if len(shapes) == 1 else None
        name = type_of(own)
        if name == "array":
            return "list"
        if name == "object":
            return "object"
        return None if name is None else "value"

    def _either(
        self,
        schema: Json,
        shapes: list[Shape | None],
        members: list[object],
        name: str,
        above: Above,
    ) -> FieldSpec:
        """Read a union whose members differ in the shape of their values."""
        options: dict[str, FieldSpec] = {}
        tag = {k: v for k, v in schema.items() if k == "discriminator"}
        for shape in dict.fromkeys(shapes):
            some = [m for m, s in zip(members, shapes, strict=True) if s == shape]
            option = self.read({"anyOf": some, **tag}, name, above)
            if shape is None or option.kind == "json":
                raise UnreadableError
            options[shape] = option
        return FieldSpec(
            "",
            "either",
            variants={
                shape: replace(option, nullable=False)
                for shape, option in options.items()
            },
            nullable=any(option.nullable for option in options.values()),
            partial=any(option.partial for option in options.values()),
        )

    def _variants(
        self,
        tag: str,
        values: list[str],
        members: Sequence[Plain],
        above: Above,
        *,
        whole: bool = False,
    ) -> FieldSpec:
        variants = {}
        for value, (schema, pointer) in zip(values, members, strict=True):
            nested = {"anyOf", "oneOf"} & schema.keys()
            if nested or not UNREAD.isdisjoint(schema) or type_of(schema) != "object":
                raise UnreadableError
            chosen = _tagged(schema, tag, value)
            spec = self._object(chosen, pointer, above, f"{tag}={value}", whole=whole)
            if spec.fields[tag].choices != (value,):
                raise UnreadableError
            variants[value] = spec
        if len(variants) == 1:
            return variants[values[0]]
        return FieldSpec("", "variants", tag=tag, variants=variants)


@cache
def body_of(request_type: type[MediaRequest]) -> FieldSpec:
    """Return the body of a declared function."""
    with no_fork(), _BUILDING:
        schema = request_type.model_json_schema()
    return Reader(References(schema)).body(schema)


def _is_silent(schema: Json, properties: Json) -> bool:
    """Return whether the schema of a body does not speak of further properties.

    Then unknown names are refused before they are sent: a misspelled name is more
    likely than one that is missing in the schema.
    """
    speaks = schema.get("additionalProperties") is not None
    return not speaks and bool(properties) and _COMPOSITE.isdisjoint(schema)


def type_of(schema: Json) -> object:
    """Return the JSON type of a schema; None without a single one."""
    if "const" in schema or "enum" in schema:
        return "choice"
    named = schema.get("type")
    if named is not None:
        return named if isinstance(named, str) else None
    # Strictly, a schema without a type accepts other types, too; nobody means that.
    return next((name for key, name in _KEYWORDS.items() if key in schema), None)


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
        is_number = sorted(map(str, names)) == ["integer", "number"]
        changed["type"] = (
            "number" if is_number else names[0] if len(names) == 1 else names
        )
    for key in ("anyOf", "oneOf"):
        members = schema.get(key)
        if isinstance(members, list):
            changed[key] = [member for member in members if not _is_null(member)]
            nullable |= len(changed[key]) < len(members)
    return changed, nullable or None in list_of(schema.get("enum"))


def _is_null(member: object) -> bool:
    known = dict_of(member)
    is_null = known.get("type") == "null" or known.get("enum") == [None]
    return is_null or ("const" in known and known["const"] is None)


def tags_of(union: Json, members: Sequence[Plain]) -> tuple[str, list[str]] | None:
    """Find the property that distinguishes the objects of a union.

    Args:
        union: The schema of the union; it can name the property.
        members: The schemas of the objects, and the targets of their references.

    Returns:
        The property, and its value in each object; None without one.
    """
    discriminator = dict_of(union.get("discriminator"))
    names = [discriminator.get("propertyName")] if discriminator else []
    if not names and members:
        names = list(dict_of(members[0][0].get("properties")))
    for name in names[:MAX_CHOICES]:
        values = [
            _tag(str(name), member, discriminator.get("mapping")) for member in members
        ]
        tags = [value for value in values if value is not None]
        if members and len({*tags}) == len(members):
            return str(name), tags
    return None


def _tag(name: str, member: Plain, mapping: object) -> str | None:
    schema, pointer = member
    constant = _constant(dict_of(schema.get("properties")).get(name))
    if constant is not None or pointer is None:
        return constant
    short = pointer.rsplit("/", 1)[-1]
    named = [v for v, place in dict_of(mapping).items() if place in (pointer, short)]
    return named[0] if len(named) == 1 else None


def _constant(schema: object) -> str | None:
    """Return the only text that a schema accepts; None if it accepts others."""
    known = dict_of(schema)
    values = list_of(known.get("enum", [known.get("const")]))
    return values[0] if len(values) == 1 and isinstance(values[0], str) else None


def _tagged(schema: Json, tag: str, value: str) -> Json:
    """Return the schema of an object with this value of its tag, which is required."""
    properties = dict_of(schema.get("properties"))
    own = dict_of(properties.get(tag))
    if _constant(own) is None:
        own = {"const": value}
    own = {k: v for k, v in own.items() if k != "default"}
    required = [*list_of(schema.get("required")), tag]
    return {**schema, "properties": {**properties, tag: own}, "required": required}


def _choice(values: object, type_name: object) -> FieldSpec:
    scalars = (str, int, float, bool, type(None))
    if not isinstance(values, list) or len(values) > MAX_CHOICES:
        raise UnreadableError
    if not all(isinstance(value, scalars) for value in values):
        raise UnreadableError
    is_a = _IS_A.get(type_name) if isinstance(type_name, str) else None
    choices = tuple(v for v in values if v is not None and (is_a is None or is_a(v)))
    if not choices:
        raise UnreadableError
    return FieldSpec("", "choice", choices=choices)


def _choices_of(spec: FieldSpec) -> tuple[object, ...] | None:
    """Return the values to choose from; None if they are no short list."""
    if spec.kind == "choice":
        return spec.choices
    bare = FieldSpec("", "integer", low=spec.low, high=spec.high)
    if spec.low is None or spec.high is None or replace(spec, nullable=False) != bare:
        return None
    if not 0 <= spec.high - spec.low < MAX_CHOICES:
        return None
    return tuple(range(int(spec.low), int(spec.high) + 1))


def _is_text(spec: FieldSpec) -> bool:
    if spec.kind == "choice":
        return all(isinstance(choice, str) for choice in spec.choices)
    return spec.kind == "text"


def _text(schema: Json) -> FieldSpec:
    pattern, counts = schema.get("pattern"), _counts(schema, "minLength", "maxLength")
    if pattern is None or is_pattern(pattern):
        return FieldSpec("", "text", pattern=pattern, **counts)
    return FieldSpec("", "text", partial=True, **counts)


def _counts(schema: Json, least: str, most: str) -> dict[str, Any]:
    """Read the bounds of the number of characters or items."""
    names = {"min_length": least, "max_length": most}
    found = {name: schema[key] for name, key in names.items() if key in schema}
    for count in found.values():
        if not is_number(count) or count != int(count) or not 0 <= count <= MAX_COUNT:
            raise UnreadableError
    return {name: int(count) for name, count in found.items()}


def _bounds(schema: Json, *, whole: bool) -> dict[str, Any]:
    """Read the bounds of a number; those of a whole number are whole, too."""
    found: dict[str, Any] = {}
    for inclusive, exclusive, with_end, without_end in (
        ("minimum", "exclusiveMinimum", "low", "above"),
        ("maximum", "exclusiveMaximum", "high", "below"),
    ):
        if schema.get(exclusive) is True:  # the form of OpenAPI 3.0
            found[without_end] = schema.get(inclusive)
            continue
        if inclusive in schema:
            found[with_end] = schema[inclusive]
        if schema.get(exclusive, False) is not False:
            found[without_end] = schema[exclusive]
    if "multipleOf" in schema:
        found["step"] = schema["multipleOf"]
    if not all(is_number(b) and abs(b) <= MAX_BOUND for b in found.values()):
        raise UnreadableError
    step = found.get("step", 1)
    if step <= 0 or (whole and step != int(step)):
        raise UnreadableError
    if whole:
        up = ("low", "below")
        found = {
            n: math.ceil(b) if n in up else math.floor(b) for n, b in found.items()
        }
    return found


def is_number(value: object) -> bool:
    """Return whether a value is a finite number, and no boolean."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)
