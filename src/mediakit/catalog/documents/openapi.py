"""The functions that a service describes in its OpenAPI document."""

import re
from collections.abc import Iterator
from dataclasses import replace

from mediakit.catalog.declarations import REQUEST_TYPES
from mediakit.catalog.documents.classes import class_name
from mediakit.catalog.documents.references import Json, References, dict_of, text_of
from mediakit.catalog.documents.requests import read_request
from mediakit.catalog.documents.types import Budget
from mediakit.catalog.function import Function
from mediakit.catalog.paths import SEGMENT
from mediakit.errors import InputError
from mediakit.schema import FieldSpec, MediaRequest, fields_of, is_open
from mediakit.schema.json_schemas import EXTENSION

MAX_FUNCTIONS = 1_000
MAX_READ = 50_000
_PATH = re.compile(rf"/v1/media/({SEGMENT}/{SEGMENT}/{SEGMENT})/?")


def functions_in(document: Json, *, recognise: bool) -> tuple[Function, ...]:
    """Make a function of each submit path that a service describes.

    Args:
        document: An OpenAPI document, 3.0 or 3.1.
        recognise: Take a declared function, with its rules and rates, where the
            document describes one.

    Raises:
        InputError: There is no such path, there are too many, or one has a schema
            of which no request can be made.
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
    return tuple(
        _function(path, operation, document, budget, recognise=recognise)
        for path, operation in submits
    )


def _submits(document: Json) -> Iterator[tuple[str, Json]]:
    references = References(document)
    for path, item in dict_of(document.get("paths")).items():
        match = _PATH.fullmatch(path)
        plain = references.plain(item)
        if match and plain and isinstance(plain[0].get("post"), dict):
            yield match[1], plain[0]["post"]


def _function(
    path: str, operation: Json, document: Json, budget: Budget, *, recognise: bool
) -> Function:
    schema = _body_schema(operation, References(document))
    plain = References(document).plain(schema)
    kind = text_of(dict_of(plain[0] if plain else {}).get(EXTENSION), "kind")
    if recognise and kind in REQUEST_TYPES:
        return Function(path, REQUEST_TYPES[kind])
    segment = path.rsplit("/", 1)[-1]
    try:
        made = read_request(
            schema,
            document,
            function=segment,
            doc=text_of(operation, "summary") or text_of(operation, "description"),
            name=class_name(path),
            budget=budget,
        )
    except InputError as error:
        field = f"paths./v1/media/{path}.{error.field}"
        raise InputError(field, got=error.got, accepted=error.accepted) from None
    return Function(path, (_twin(made) if recognise else None) or made)


def _body_schema(operation: Json, references: References) -> object:
    body = references.plain(operation.get("requestBody"))
    for media_type, content in dict_of(body and body[0].get("content")).items():
        if "json" in media_type or media_type == "*/*":
            return dict_of(content).get("schema", {})
    return {}


def _twin(made: type[MediaRequest]) -> type[MediaRequest] | None:
    """Find the only declaration that takes the same bodies at such a path."""
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
    """Return what a field accepts, without what it is for."""
    return replace(
        spec,
        kind="text" if spec.kind == "media" else spec.kind,
        choices=tuple(sorted(spec.choices, key=repr)),
        item=None if spec.item is None else _bare(spec.item),
        fields=_on_the_wire(spec.fields),
        variants=_on_the_wire(spec.variants),
        unit=None,
        media_kind=None,
        limits=None,
        multiline=False,
        seed=False,
        doc="",
    )
