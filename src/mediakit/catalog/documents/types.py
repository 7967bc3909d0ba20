"""Converting JSON Schema to annotated types, as far as forms and checks support it.

An unsupported schema becomes `Any`, which only the service checks. No type refuses a
value that its schema accepts.
"""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from types import GenericAlias
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from mediakit.catalog.documents import facts
from mediakit.catalog.documents.classes import (
    class_name,
    is_attribute,
    made_class,
    origin_of,
)
from mediakit.catalog.documents.facts import MAX_CHOICES, UnreadableError
from mediakit.catalog.documents.hints import ExtensionHints, Hints, NameHints
from mediakit.catalog.documents.references import (
    UNREAD,
    Json,
    References,
    dict_of,
    is_text,
    list_of,
    text_of,
)
from mediakit.catalog.documents.scalars import (
    ANYTHING,
    UNREADABLE,
    Typed,
    constrained,
    marked,
    scalar,
    type_of,
)
from mediakit.catalog.documents.unions import Plain, tagged, tags_of, without_null
from mediakit.schema import NotNull, Part, Shape, Unique, by_shape
from mediakit.schema.json_schemas import EXTENSION

MAX_DEPTH = 12
MAX_FIELDS = 1_000
MAX_READ = 5_000
MAX_MEMBERS = 100
CHECKED_BY_SERVICE = "Checked by the service alone."

Above = tuple[str | None, ...]
Fields = dict[str, tuple[Any, FieldInfo]]


@dataclass
class Budget:
    """How much more of a document is read; the service checks the rest.

    Args:
        left: The number of schemas and of fields of objects. Without it, references
            that double at each level would not end.
    """

    left: int = MAX_READ

    def spend(self, count: int = 1) -> bool:
        """Use some; return False if fewer are left."""
        self.left -= count
        return self.left >= 0


class Reader:
    """Reads the schemas of one request.

    Args:
        references: The targets of its references.
        budget: How much can be read.
        guess: Derive hints from the names of fields.
    """

    def __init__(self, references: References, budget: Budget, *, guess: bool) -> None:
        self._references = references
        self._budget = budget
        self._guess = guess
        self._objects: dict[object, Typed] = {}

    def fields(self, schema: Json, above: Above) -> tuple[Fields, int]:
        """Read the properties of an object.

        Args:
            schema: The object's schema.
            above: The pointers of the objects that enclose it.

        Returns:
            The fields by the names of their attributes, and their number, including
            those of nested objects.

        Raises:
            UnreadableError: It has too many fields.
        """
        made: Fields = {}
        size = 0
        required = set(filter(is_text, list_of(schema.get("required"))))
        for index, (name, part) in enumerate(dict_of(schema.get("properties")).items()):
            attribute = name if is_attribute(name) else f"field_{index}"
            alias = None if attribute == name else name
            field = self._field(name, part, above, alias, required=name in required)
            made[attribute] = field[:2]
            size += field[2]
            if size > MAX_FIELDS:
                raise UnreadableError
        return made, size

    def _field(
        self,
        name: str,
        schema: object,
        above: Above,
        alias: str | None,
        *,
        required: bool,
    ) -> tuple[Any, FieldInfo, int]:
        hints: Hints = NameHints(name) if self._guess else ExtensionHints()
        typed = self.read(schema, hints, above)
        plain = self._references.plain(schema)
        words = plain[0] if plain else dict_of(schema)
        annotation = with_null(typed)
        default = _default(words, annotation)
        if default is None and not required and not typed.nullable:
            annotation = Annotated[annotation | None, NotNull()]
        info: Any = Field(
            ... if required and default is None else default,
            alias=alias,
            description=_doc(words, typed),
        )
        return annotation, info, typed.size

    def read(self, schema: object, hints: Hints, above: Above = ()) -> Typed:
        """Read one schema.

        Args:
            schema: The schema.
            hints: Markers of its type, unless it has its own.
            above: The pointers of the objects that enclose it.
        """
        if schema is True or schema == {}:
            return ANYTHING
        if len(above) >= MAX_DEPTH or not self._budget.spend():
            return UNREADABLE
        plain = self._references.plain(schema)
        if plain is None:
            return UNREADABLE
        if EXTENSION in plain[0]:
            hints = ExtensionHints(plain[0][EXTENSION])
        try:
            return self._read(*plain, hints, above)
        except UnreadableError:
            return UNREADABLE

    def _read(
        self, schema: Json, pointer: str | None, hints: Hints, above: Above
    ) -> Typed:
        _refuse_unread(schema)
        schema, nullable = without_null(schema)
        members = schema.get("anyOf", schema.get("oneOf"))
        if isinstance(members, list) and len(members) == 1:
            typed = self.read(members[0], hints, (*above, None))
        else:
            typed = self._bare(schema, pointer, hints, above)
            marks = hints.marks(typed.kind, schema)
            typed = replace(typed, annotation=marked(typed.annotation, *marks))
        return replace(typed, nullable=typed.nullable or nullable)

    def _bare(
        self, schema: Json, pointer: str | None, hints: Hints, above: Above
    ) -> Typed:
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self._union(schema, list_of(schema[key]), hints, (*above, None))
        match type_of(schema):
            case "array":
                return self._list(schema, hints, (*above, None))
            case "object":
                return self._object(schema, pointer, above)
            case _:
                return scalar(schema)

    def _list(self, schema: Json, hints: Hints, above: Above) -> Typed:
        counts = facts.counts(schema, "minItems", "maxItems")
        item = self.read(schema.get("items", True), hints.item, above)
        made = constrained(GenericAlias(list, with_null(item)), counts)
        if schema.get("uniqueItems") is True:
            made = marked(made, Unique())
        return Typed(made, "list", whole=item.whole, size=1 + item.size)

    def _object(
        self, schema: Json, pointer: str | None, above: Above, tag: str = ""
    ) -> Typed:
        if pointer is not None and pointer in above:
            raise UnreadableError
        place = (pointer, tag)
        if place in self._objects:
            return self._objects[place]
        fields, size = self.fields(schema, (*above, pointer))
        if not self._budget.spend(size):
            raise UnreadableError
        name = class_name((pointer or "").rsplit("/", 1)[-1])
        is_open = schema.get("additionalProperties") is not False
        further = self.further(schema, (*above, pointer))
        made = made_class(Part, name, schema, fields, is_open=is_open, further=further)
        typed = Typed(made, "object", size=1 + size)
        if pointer is not None:
            self._objects[place] = typed
        return typed

    def further(self, schema: Json, above: Above) -> Any:
        """Return the type of an object's further properties."""
        further = schema.get("additionalProperties")
        if not isinstance(further, dict):
            return Any
        return with_null(self.read(further, ExtensionHints(), above))

    def _union(
        self, schema: Json, members: list[object], hints: Hints, above: Above
    ) -> Typed:
        if not members or len(members) > MAX_MEMBERS or "properties" in schema:
            raise UnreadableError
        plain = [self._references.plain(member) for member in members]
        objects = [each for each in plain if each is not None]
        tags = tags_of(schema, objects) if len(objects) == len(members) else None
        if tags is not None:
            return self._variants(*tags, objects, above)
        shapes = [self._shape(member) for member in members]
        if len(set(shapes)) > 1:
            return self._either(schema, shapes, members, hints, above)
        read = [self.read(member, ExtensionHints(), above) for member in members]
        if not all(typed.whole for typed in read):
            raise UnreadableError
        nullable = any(typed.nullable for typed in read)
        count = sum(typed.count or MAX_CHOICES + 1 for typed in read)
        if count <= MAX_CHOICES:
            return Typed(_any_of(read), "choice", nullable, count=count)
        if all(typed.kind == "text" or _are_texts(typed) for typed in read):
            return Typed(str, "text", nullable, whole=False)
        raise UnreadableError

    def _shape(self, schema: object, *, deeper: bool = True) -> Shape | None:
        """Return the only shape of a schema's values; None if others are possible."""
        plain = self._references.plain(schema)
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
        hints: Hints,
        above: Above,
    ) -> Typed:
        """Read a union whose members differ in the shape of their values."""
        read: dict[Shape, Typed] = {}
        tag = {k: v for k, v in schema.items() if k == "discriminator"}
        for shape in dict.fromkeys(shapes):
            if shape is None:
                raise UnreadableError
            some = [m for m, s in zip(members, shapes, strict=True) if s == shape]
            option = self.read({"anyOf": some, **tag}, hints.option(shape), above)
            if option.annotation is Any:
                raise UnreadableError
            read[shape] = option
        return Typed(
            by_shape({shape: option.annotation for shape, option in read.items()}),
            "either",
            nullable=any(option.nullable for option in read.values()),
            whole=all(option.whole for option in read.values()),
            size=sum(option.size for option in read.values()),
        )

    def _variants(
        self, tag: str, values: list[str], objects: list[Plain], above: Above
    ) -> Typed:
        if not is_attribute(tag):
            raise UnreadableError
        read = []
        for value, (schema, pointer) in zip(values, objects, strict=True):
            _refuse_unread(schema)
            if type_of(schema) != "object" or "anyOf" in schema or "oneOf" in schema:
                raise UnreadableError
            chosen = tagged(schema, tag, value)
            read.append(self._object(chosen, pointer, above, f"{tag}={value}"))
        size = sum(typed.size for typed in read)
        if size > MAX_FIELDS:
            raise UnreadableError
        # Beyond the budget, or with further keywords, the tag is not a constant.
        if any(origin_of(typed.annotation, tag) is not Literal for typed in read):
            raise UnreadableError
        if len(read) == 1:
            return Typed(read[0].annotation, "object", size=size)
        variants = marked(_any_of(read), Field(discriminator=tag))
        return Typed(variants, "variants", size=size)


def _any_of(members: list[Typed]) -> Any:
    return reduce(or_, (typed.annotation for typed in members))


def _refuse_unread(schema: Json) -> None:
    if not UNREAD.isdisjoint(schema):
        raise UnreadableError


def with_null(typed: Typed) -> Any:
    """Return the type, with null if that is accepted; `Any` includes it."""
    if typed.nullable and typed.annotation is not Any:
        return typed.annotation | None
    return typed.annotation


def _are_texts(typed: Typed) -> bool:
    values = get_args(typed.annotation)
    return typed.kind == "choice" and all(isinstance(v, str) for v in values)


def _default(words: Json, annotation: Any) -> object:
    """Return the default; None without one, or if the type does not accept it."""
    default = words.get("default")
    if default is None:
        return None
    try:
        text = json.dumps(default)
        TypeAdapter(annotation).validate_json(text, strict=True)
    except ValidationError:
        return None
    return deepcopy(default)


def _doc(words: Json, typed: Typed) -> str | None:
    doc = text_of(words, "description")
    if not typed.whole and not doc.endswith(CHECKED_BY_SERVICE):
        doc = f"{doc} {CHECKED_BY_SERVICE}".strip()
    return doc or None
