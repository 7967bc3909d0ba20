"""The functions in a service's OpenAPI document."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from mediakit.catalog.declarations import REQUEST_TYPES
from mediakit.catalog.documents.classes import class_name
from mediakit.catalog.documents.references import Json, References, dict_of, text_of
from mediakit.catalog.documents.requests import name_of_type, read_request
from mediakit.catalog.documents.types import Budget
from mediakit.catalog.function import Function
from mediakit.catalog.paths import SEGMENT
from mediakit.errors import InputError
from mediakit.schema import FieldSpec, MediaRequest, fields_of, is_open
from mediakit.schema.json_schemas import EXTENSION

MAX_FUNCTIONS = 1_000
MAX_READ = 50_000
_PATH = re.compile(rf"/v1/media/({SEGMENT}/{SEGMENT}/{SEGMENT})/?")


Described = tuple[tuple[Function, ...], dict[str, str]]


class NoObjectError(Exception):
    """A body is not a JSON object; the message says what it is."""


def functions_in(document: Json, *, recognise: bool) -> Described:
    """Make a function of each path that accepts submissions.

    Args:
        document: An OpenAPI document, 3.0 or 3.1.
        recognise: Use a declared function, with its rules and rates, if the document
            describes one.

    Returns:
        The functions, and the bodies of those that do not take JSON objects, by path.

    Raises:
        InputError: The document has no such path, or too many.
    """
    submits = list(_submits(document))
    if not submits:
        raise InputError(
            "document",
            got="one without them",
            accepted="an OpenAPI document with POST /v1/media/vendor/model/function",
        )
    if len(submits) > MAX_FUNCTIONS:
        accepted = f"at most {MAX_FUNCTIONS:,} functions"
        raise InputError("document", got=len(submits), accepted=accepted)
    budget = Budget(MAX_READ)
    functions, left_out = [], {}
    for path, operation in submits:
        try:
            schema = _body_schema(operation, References(document))
        except NoObjectError as error:
            left_out[path] = str(error)
        else:
            known = _named(schema, document) if recognise else None
            if known is None:
                made = _made(path, operation, schema, document, budget)
                known = (_twin(made) if recognise else None) or made
            functions.append(Function(path, known))
    return tuple(functions), left_out


def _submits(document: Json) -> Iterator[tuple[str, Json]]:
    references = References(document)
    for path, item in dict_of(document.get("paths")).items():
        match = _PATH.fullmatch(path)
        plain = references.plain(item)
        if match and plain and isinstance(plain[0].get("post"), dict):
            yield match[1], plain[0]["post"]


def _made(
    path: str, operation: Json, schema: object, document: Json, budget: Budget
) -> type[MediaRequest]:
    read = partial(
        read_request,
        document=document,
        function=path.rsplit("/", 1)[-1],
        doc=text_of(operation, "summary") or text_of(operation, "description"),
        name=class_name(path),
        budget=budget,
    )
    try:
        return read(schema)
    except InputError:  # it has too many fields
        return read({})


def _body_schema(operation: Json, references: References) -> object:
    """Return the schema of a body; one without a schema accepts any field.

    Raises:
        NoObjectError: The body is not a JSON object.
    """
    body = references.plain(operation.get("requestBody"))
    contents = dict_of(body and body[0].get("content"))
    for media_type, content in contents.items():
        if "json" in media_type or media_type == "*/*":
            schema = dict_of(content).get("schema", {})
            plain = references.plain(schema)
            name = "object" if plain is None else name_of_type(plain[0])
            if name != "object":
                raise NoObjectError(f"a JSON {name}")
            return schema
    if contents:
        raise NoObjectError(next(iter(contents)))
    return {}


def _named(schema: object, document: Json) -> type[MediaRequest] | None:
    plain = References(document).plain(schema)
    kind = text_of(dict_of(plain[0] if plain else {}).get(EXTENSION), "kind")
    return REQUEST_TYPES.get(kind)


def _twin(made: type[MediaRequest]) -> type[MediaRequest] | None:
    """Return the only declaration with the same fields for such a path."""
    fields = _on_the_wire(fields_of(made))
    twins = [
        declaration
        for declaration in REQUEST_TYPES.values()
        if declaration.declared.function == made.declared.function
        and is_open(declaration) == is_open(made)
        and _on_the_wire(fields_of(declaration)) == fields
    ]
    return twins[0] if len(twins) == 1 else None


def _on_the_wire(fields: object) -> dict[str, FieldSpec]:
    return {name: _bare(spec) for name, spec in dict(fields).items()}  # type: ignore[call-overload]


def _bare(spec: FieldSpec) -> FieldSpec:
    """Return a field without its description."""
    return replace(
        spec,
        kind="text" if spec.kind == "media" else spec.kind,
        choices=tuple(sorted(spec.choices, key=repr)),
        item=None if spec.item is None else _bare(spec.item),
        fields=_on_the_wire(spec.fields),
        variants=_on_the_wire(spec.variants),
        unit=None,
        media_kind=None,
        mask_of=None,
        limits=None,
        multiline=False,
        seed=False,
        doc="",
    )
