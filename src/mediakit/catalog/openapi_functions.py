"""Functions from OpenAPI documents and JSON Schemas, which have no prices.

The user's rates for such functions are in `own_rates`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import get_args
from urllib.parse import urlsplit

from mediakit.catalog.documents import checked_json
from mediakit.catalog.function import SEGMENT, Function, SchemaDeclaration, is_segment
from mediakit.errors import InputError
from mediakit.media_limits import EXTENSION, MediaName
from mediakit.rules import NeededWhen, OnlyWhen, Rule, ValueDescription, when
from mediakit.safe_text import shown
from mediakit.schema import Declared, FieldSpec, MediaRequest, body_of, fields_of
from mediakit.schema.conformance import Conformance
from mediakit.schema.from_json_schema import Reader, medium_in, type_of
from mediakit.schema.references import Json, References, dict_of, list_of, text_of

MAX_NAME_LENGTH = 60
# A gateway may put a prefix before `/v1`.
_PATH = re.compile(rf"(?:/[^/]+)*?/v1/media/({SEGMENT}/{SEGMENT}/{SEGMENT})/?")
_VARIABLE = re.compile(r"\{([^{}]*)\}")


class NoObjectError(Exception):
    """A body is not a JSON object; the message says what it is."""


def described(
    schema: Mapping[str, object],
    *,
    kind: str | None = None,
    function: str | None = None,
    media_type: MediaName | None = None,
) -> SchemaDeclaration:
    """Read a request from the JSON Schema of its body; see `Function.from_schema`."""
    schema = checked_json("schema", schema)
    for reference in References(schema).missing(schema):
        text = f"a reference to {shown(reference)}, which was not found"
        raise InputError("schema", got=text, accepted="a schema without missing parts")
    return _described(schema, schema, kind, function, media_type)


def functions_in(
    document: Json, declared: Mapping[str, type[MediaRequest]]
) -> tuple[tuple[Function, ...], dict[str, str]]:
    """Return the function of each path that accepts submissions.

    Returns:
        The functions, and the bodies of those that do not take JSON objects, by path.
    """
    if "swagger" in document:
        raise InputError(
            "document",
            got=ValueDescription(f"Swagger {document['swagger']}"),
            accepted="an OpenAPI document of version 3.0 or 3.1; convert it first",
        )
    submits = list(_submits(document))
    if not submits:
        posts = [
            path
            for path, item in dict_of(document.get("paths")).items()
            if "post" in dict_of(item)
        ]
        example = f" (it has POST {shown(posts[0])})" if posts else ""
        raise InputError(
            "document",
            got=ValueDescription(f"a document without a path to submit to{example}"),
            accepted="an OpenAPI document with POST /v1/media/vendor/model/function",
        )
    functions, left_out = [], {}
    for path, operation in submits:
        try:
            function = _function(path, operation, document, declared)
        except NoObjectError as error:
            left_out[path] = str(error)
        else:
            functions.append(function)
    return tuple(functions), left_out


def _submits(document: Json) -> Iterator[tuple[str, Json]]:
    references = References(document)
    for name, item in dict_of(document.get("paths")).items():
        plain = references.plain(item)
        own = plain[0] if plain else {}
        path = _submit_path(name, [own.get("post"), own, document])
        # A path that is described elsewhere may be a submission, too.
        is_elsewhere = plain is None and "$ref" in dict_of(item)
        if path and (is_elsewhere or isinstance(own.get("post"), dict)):
            yield path, item if is_elsewhere else own["post"]


def _submit_path(name: str, places: list[object]) -> str | None:
    """Return the function path in a document's path, alone or below a server's."""
    servers = next(
        filter(None, (list_of(dict_of(p).get("servers")) for p in places)), ()
    )
    for prefix in ("", *map(_server_path, servers)):
        if match := _PATH.fullmatch(prefix + name):
            return match[1]
    return None


def _server_path(server: object) -> str:
    variables = dict_of(dict_of(server).get("variables"))
    url = _VARIABLE.sub(
        lambda match: text_of(variables.get(match[1]), "default"),
        text_of(server, "url"),
    )
    try:
        return urlsplit(url).path.rstrip("/")
    except ValueError:
        return ""


def _body_schema(operation: Json, document: Json) -> object:
    """Return the schema of a body; without one, any field is accepted."""
    references = References(document)
    _need_all(references, operation, operation.get("requestBody"))
    body = references.plain(operation.get("requestBody"))
    contents = dict_of(body and body[0].get("content"))
    for media_type, content in contents.items():
        if "json" in media_type or media_type == "*/*":
            schema = dict_of(content).get("schema", {})
            _need_all(References(document, schema), schema)
            plain = references.plain(schema)
            name = "object" if plain is None else _name_of_type(plain[0])
            if name != "object":
                raise NoObjectError(f"a JSON {name}")
            return schema
    if contents:
        raise NoObjectError(next(iter(contents)))
    return {}


def _need_all(references: References, *parts: object) -> None:
    """Raise an error if a body's description refers to something missing."""
    for part in parts:
        for reference in references.missing(part):
            raise NoObjectError(f"a body whose schema ({shown(reference)}) is missing")


def _function(
    path: str,
    operation: Json,
    document: Json,
    declared: Mapping[str, type[MediaRequest]],
) -> Function:
    """Return the function at a path: a declared one, or as described."""
    schema = _body_schema(operation, document)
    plain = References(document).plain(schema)
    own = dict_of(plain[0] if plain else schema)
    kind = text_of(own.get(EXTENSION), "kind")
    if kind in declared:
        return Function(path, declared[kind])
    segment = path.rsplit("/", 1)[-1]
    request = _described(schema, document, None, segment)
    for reference in References(document, own).missing(schema, in_fields=True):
        text = (
            f"{path}: {shown(reference)} was not found, so any value is accepted for "
        )
        warnings.warn(f"{text}the fields that it describes.", stacklevel=4)
    body = _on_the_wire(request.body)
    twins = [
        declaration
        for declaration in declared.values()
        if declaration.declared.function == segment
        and _on_the_wire(body_of(declaration)) == body
    ]
    if len(twins) == 1:
        return Function(path, twins[0])
    words = text_of(operation, "summary") or text_of(operation, "description")
    doc = request.declared.doc or words
    return Function(
        path,
        replace(
            request, declared=replace(request.declared, name=_name_of(path), doc=doc)
        ),
    )


def _on_the_wire(spec: FieldSpec) -> FieldSpec:
    """Return a field without display-only properties."""
    return replace(
        spec,
        kind="text" if spec.kind == "media" else spec.kind,
        choices=tuple(sorted(spec.choices, key=repr)),
        item=None if spec.item is None else _on_the_wire(spec.item),
        fields={name: _on_the_wire(each) for name, each in spec.fields.items()},
        variants={name: _on_the_wire(each) for name, each in spec.variants.items()},
        unit=None,
        media_kind=None,
        mask_of=None,
        limits=None,
        multiline=False,
        seed=False,
        doc="",
    )


def _described(
    schema: object,
    document: Json,
    kind: str | None,
    function: str | None,
    media_type: MediaName | None = None,
) -> SchemaDeclaration:
    own, _ = References(document).plain(schema) or (dict_of(schema), None)
    if _name_of_type(own) != "object":
        raise InputError("schema", got=own.get("type"), accepted="type: object")
    extension = dict_of(own.get(EXTENSION))
    kind = _kind(kind, text_of(extension, "kind"), function)
    function = function or kind
    reader = Reader(References(document, own), guess=EXTENSION not in own)
    body = reader.body(schema)
    media: Mapping[object, MediaName] = {name: name for name in get_args(MediaName)}
    guessed = medium_in(function) or medium_in(kind) or "video"
    members = list_of(own.get("oneOf", own.get("anyOf"))) if body.tag else [own]
    bodies = [reader.references.plain(member) or ({}, None) for member in members]
    declared = Declared(
        kind,
        function,
        media_type=media_type or media.get(text_of(extension, "media_type"), guessed),
        closed=all(each.get("additionalProperties") is False for each, _ in bodies),
        name=_name_of(kind),
        doc=text_of(own, "description"),
    )
    names = tuple(fields_of(body))
    conformance = Conformance(schema, reader.references, names)
    return SchemaDeclaration(declared, body, tuple(_switches(body)), conformance)


def _switches(body: FieldSpec) -> Iterator[Rule]:
    """Return rules for the fields that each kind of body has and requires."""
    if body.tag is None:
        return
    for name, spec in fields_of(body).items():
        some = {
            v: each.fields[name]
            for v, each in body.variants.items()
            if name in each.fields
        }
        needed = [value for value, each in some.items() if each.to_fill_in]
        if len(some) < len(body.variants):
            yield OnlyWhen((name,), when(body.tag, *some))
        if needed and not spec.required:
            yield NeededWhen((name,), when(body.tag, *needed))


def _name_of_type(schema: Json) -> str:
    """Return the JSON type of a body; an object if the schema has none."""
    name = type_of(schema)
    return name if isinstance(name, str) and name != "choice" else "object"


def _name_of(text: str) -> str:
    """Return a schema name from the letters and digits of a text."""
    words = re.findall(r"[A-Za-z0-9]+", text)
    name = "".join(word[0].upper() + word[1:] for word in words)
    return name.lstrip("0123456789")[:MAX_NAME_LENGTH] or "Object"


def _kind(argument: str | None, declared: str, function: str | None) -> str:
    kind = argument or (declared if is_segment(declared) else None) or function
    if kind is None or not is_segment(kind):
        accepted = "a short name of letters, digits and hyphens"
        raise InputError("kind", got=kind, accepted=accepted)
    return kind
