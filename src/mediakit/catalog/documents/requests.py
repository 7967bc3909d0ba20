"""Making a request class from a JSON Schema."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from mediakit.catalog.documents.classes import (
    class_name,
    is_attribute,
    made_class,
    origin_of,
)
from mediakit.catalog.documents.facts import UnreadableError
from mediakit.catalog.documents.hints import medium_in
from mediakit.catalog.documents.loading import checked_json
from mediakit.catalog.documents.references import (
    Json,
    References,
    dict_of,
    list_of,
    text_of,
)
from mediakit.catalog.documents.rules import rules_in
from mediakit.catalog.documents.scalars import type_of
from mediakit.catalog.documents.types import MAX_FIELDS, MAX_MEMBERS, Budget, Reader
from mediakit.catalog.documents.unions import tagged, tags_of, without_null
from mediakit.catalog.paths import is_segment
from mediakit.errors import InputError
from mediakit.rules import NeededWhen, OnlyWhen, Rule, when
from mediakit.schema import FieldSpec, MediaName, MediaRequest, OneOf, fields_of
from mediakit.schema.json_schemas import EXTENSION

# Every function accepts it, so no function has it as a field.
WEBHOOK_URL = "webhook_url"
# With one of these beside `properties`, there can be further properties.
_COMPOSITE = ("anyOf", "oneOf", "allOf", "if", "patternProperties", "$ref")


def request_type_of(
    schema: Mapping[str, object],
    *,
    kind: str | None = None,
    function: str | None = None,
    media_type: MediaName | None = None,
    doc: str = "",
) -> type[MediaRequest]:
    """Make the declaration of a model function from the JSON Schema of its body.

    Fields that cannot be read take any JSON value, and only the service checks them.
    `x-mediakit` completes the schema: units, media, rules.

    Args:
        schema: The schema, in draft 2020-12 or in the form of OpenAPI 3.0 or 3.1.
        kind: The short name that users type; by default the one in the schema, else
            the function.
        function: The last segment of its path; the kind by default.
        media_type: The medium of its output; by default the one in the schema, else
            the one in the function's name, else a video.
        doc: One sentence about it, for a schema without a description.

    Raises:
        InputError: It is not the JSON Schema of an object, has too many fields, or
            names no kind.
    """
    schema = checked_json("schema", schema)
    return read_request(
        schema, schema, kind=kind, function=function, media_type=media_type, doc=doc
    )


def read_request(
    schema: object,
    document: Json,
    *,
    kind: str | None = None,
    function: str | None = None,
    media_type: MediaName | None = None,
    doc: str = "",
    name: str = "",
    budget: Budget | None = None,
) -> type[MediaRequest]:
    """Make a declaration from a schema that is part of a document.

    Args:
        schema: The schema.
        document: The target of its references.
        kind: See `request_type_of`.
        function: See `request_type_of`.
        media_type: See `request_type_of`.
        doc: See `request_type_of`.
        name: The name of the class; made from the kind by default.
        budget: How much of the document can still be read.

    Raises:
        InputError: See `request_type_of`.
    """
    own, pointer = References(document).plain(schema) or (dict_of(schema), None)
    if name_of_type(own) != "object":
        raise InputError("schema", got=own.get("type"), accepted="type: object")
    said = dict_of(own.get(EXTENSION))
    kind = _kind(kind, text_of(said, "kind"), function)
    function = function or kind
    bodies = _Bodies(
        References(document, own),
        budget or Budget(),
        guess=EXTENSION not in own,
        declared={
            "kind": kind,
            "function": function,
            "media_type": media_type or _media_type(said, function, kind),
        },
    )
    own = {"description": doc, **own}
    name = name or class_name(kind)
    made = bodies.one_of(own, pointer, name)
    if made is None:
        made = bodies.request(own, pointer, name)
        made.rules = rules_in(said.get("rules"), fields_of(made))
    return made


@dataclass(frozen=True)
class _Bodies:
    """Makes the types of the bodies in a schema.

    Args:
        references: The targets of references.
        budget: How much can still be read.
        guess: Derive hints from the names of fields.
        declared: The class keywords.
    """

    references: References
    budget: Budget
    guess: bool
    declared: Mapping[str, str]

    def request(
        self, schema: Json, pointer: str | None, name: str
    ) -> type[MediaRequest]:
        """Make the type of an object.

        Raises:
            InputError: It has too many fields.
        """
        schema = {**schema, "properties": _properties(schema)}
        reader = Reader(self.references, self.budget, guess=self.guess)
        try:
            fields, _ = reader.fields(schema, (pointer,))
        except UnreadableError:
            accepted = f"at most {MAX_FIELDS:,} fields, those inside others included"
            got = f"that of {self.declared['kind']}"
            raise InputError("schema", got=got, accepted=accepted) from None
        return made_class(
            MediaRequest,
            name,
            schema,
            fields,
            is_open=_is_open(schema),
            further=reader.further(schema, (pointer,)),
            closed=schema.get("additionalProperties") is False,
            **self.declared,
        )

    def one_of(
        self, schema: Json, pointer: str | None, name: str
    ) -> type[MediaRequest] | None:
        """Make the type of alternative objects; None if no property names the type.

        Raises:
            InputError: One of them has too many fields.
        """
        members = list_of(schema.get("oneOf", schema.get("anyOf")))
        plain = [each for m in members if (each := self.references.plain(m))]
        if len(plain) != len(members) or len(plain) > MAX_MEMBERS:
            return None
        if not plain or schema.get("properties"):
            return None
        tag, values = tags_of(schema, plain) or ("", [])
        if not is_attribute(tag) or {name_of_type(own) for own, _ in plain} != {
            "object"
        }:
            return None
        types = {
            value: self.request(
                tagged(own, tag, value), place, name + class_name(value)
            )
            for value, (own, place) in zip(values, plain, strict=True)
        }
        if any(origin_of(each, tag) is not Literal for each in types.values()):
            return None
        whole = {"properties": {tag: {"enum": values}}, "required": [tag]}
        made = self.request(
            {**schema, **whole, "additionalProperties": True}, pointer, name
        )
        closed = all(each.declared.closed for each in types.values())
        made.declared = replace(made.declared, closed=closed)
        made.one_of = OneOf(tag, types)
        made.rules = tuple(_switches(made.one_of, fields_of(made)))
        return made


def _switches(one_of: OneOf, fields: Mapping[str, FieldSpec]) -> Iterator[Rule]:
    """Return rules for the fields that each type has and requires."""
    known = {value: fields_of(each) for value, each in one_of.types.items()}
    for name, spec in fields.items():
        having = [value for value, each in known.items() if name in each]
        needed = [value for value in having if known[value][name].to_fill_in]
        if len(having) < len(known):
            yield OnlyWhen((name,), when(one_of.tag, *having))
        if needed and not spec.required:
            yield NeededWhen((name,), when(one_of.tag, *needed))


def name_of_type(schema: Json) -> str:
    """Return the JSON type of a body; an object if the schema has none."""
    name = type_of(without_null(schema)[0])
    return name if isinstance(name, str) and name != "choice" else "object"


def _kind(asked: str | None, said: str, function: str | None) -> str:
    kind = asked or (said if is_segment(said) else None) or function
    if kind is None or not is_segment(kind):
        accepted = "a short name of letters, digits and hyphens"
        raise InputError("kind", got=kind, accepted=accepted)
    return kind


def _properties(schema: Json) -> Json:
    properties = dict_of(schema.get("properties"))
    return {name: part for name, part in properties.items() if name != WEBHOOK_URL}


def _is_open(schema: Json) -> bool:
    """Return whether to send any further field unchanged.

    Without that in the schema, unknown names are refused before sending: a misspelled
    name is more likely than a missing one in the schema.
    """
    further = schema.get("additionalProperties")
    if further is None:
        return not schema["properties"] or any(key in schema for key in _COMPOSITE)
    return further is not False


def _media_type(said: Json, function: str, kind: str) -> MediaName:
    named = said.get("media_type")
    for medium in get_args(MediaName):
        if named == medium:
            return medium  # type: ignore[no-any-return]
    return medium_in(function) or medium_in(kind) or "video"
