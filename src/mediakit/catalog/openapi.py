"""Functions that a service describes: by a JSON Schema, or in an OpenAPI document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any, get_args

from mediakit.catalog.function import SEGMENT, Described, Function, is_segment
from mediakit.errors import InputError
from mediakit.media_limits import EXTENSION, MediaName
from mediakit.rules import NeededWhen, OnlyWhen, Rule, when
from mediakit.schema import Declared, FieldSpec, MediaRequest, body_of, fields_of
from mediakit.schema.from_json_schema import Reader, medium_in, type_of
from mediakit.schema.references import Json, References, dict_of, list_of, text_of

FIELD = "document"
TIMEOUT_S = 10.0
_YAML = re.compile(r"\s*(#|---|%YAML|(openapi|swagger)\s*:)")
ACCEPTED = "a JSON object, or its text, file or http(s) URL"


def load(source: Mapping[str, Any] | str | Path) -> Json:
    """Read a JSON object: from a mapping, text, a file, or a URL, which gets no key."""
    if isinstance(source, Mapping):
        return checked_json(FIELD, source)
    where = str(source)
    if isinstance(source, str) and source.lstrip().startswith("{"):
        where = "the text"
        content = source.encode(errors="surrogatepass")
    elif where.startswith(("http://", "https://")):
        content = _download(where)
    else:
        path = Path(source).expanduser()
        try:
            content = path.read_bytes()
        except (OSError, ValueError) as error:
            got = f"{path} ({error})"
            raise InputError(FIELD, got=got, accepted=ACCEPTED) from None
    try:
        return checked_json(FIELD, json.loads(content))
    except RecursionError:
        reason: object = "it is nested too deeply"
    except ValueError as error:
        start = content[:1_000].decode(errors="replace")
        reason = "it looks like YAML" if _YAML.match(start) else error
    got = f"{where}, which is not JSON ({reason})"
    raise InputError(FIELD, got=got, accepted="JSON") from None


def checked_json(field: str, value: object) -> Json:
    """Return a deep copy of a JSON object."""
    if not isinstance(value, Mapping):
        raise InputError(field, got=type(value).__name__, accepted=ACCEPTED)
    try:
        text = json.dumps(dict(value), allow_nan=False, ensure_ascii=False)
        copy: Json = json.loads(text.encode())
    except (RecursionError, TypeError, ValueError) as error:
        got = f"an object that is not JSON ({error})"
        raise InputError(field, got=got, accepted="JSON") from None
    return copy


def _download(url: str) -> bytes:
    import httpx  # takes 0.1 s, and is needed only here

    try:
        with httpx.Client(
            follow_redirects=True,
            timeout=TIMEOUT_S,
            # The environment's proxies do not apply to loopback; its certificates do.
            trust_env=not _is_loopback(httpx.URL(url).host),
            verify=httpx.create_ssl_context(),
        ) as http:
            answer = http.get(url, headers={"Accept": "application/json"})
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        got = f"{url} ({str(error) or type(error).__name__})"
        raise InputError(FIELD, got=got, accepted="a URL that answers") from None
    if not answer.is_success:
        got = f"{url}, which answers {answer.status_code}"
        accepted = "a document that is served without a key"
        raise InputError(FIELD, got=got, accepted=accepted)
    return answer.content


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# -- the functions in it ---------------------------------------------------------------


MAX_NAME_LENGTH = 60
_PATH = re.compile(rf"/v1/media/({SEGMENT}/{SEGMENT}/{SEGMENT})/?")


class NoObjectError(Exception):
    """A body is not a JSON object; the message says what it is."""


def described(
    schema: Mapping[str, object],
    *,
    kind: str | None = None,
    function: str | None = None,
    media_type: MediaName | None = None,
) -> Described:
    """Read a request from the JSON Schema of its body; see `Function.from_schema`."""
    schema = checked_json("schema", schema)
    return _described(schema, schema, kind, function, media_type)


def functions_in(
    document: Json, declared: Mapping[str, type[MediaRequest]]
) -> tuple[tuple[Function, ...], dict[str, str]]:
    """Make a function of each path that accepts submissions.

    Returns:
        The functions, and the bodies of those that do not take JSON objects, by path.
    """
    if "swagger" in document:
        raise InputError(
            "document",
            got=f"Swagger {document['swagger']}",
            accepted="an OpenAPI document of version 3.0 or 3.1; convert it first",
        )
    submits = list(_submits(document))
    if not submits:
        raise InputError(
            "document",
            got="a document without a path to submit to",
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
    for path, item in dict_of(document.get("paths")).items():
        match = _PATH.fullmatch(path)
        plain = references.plain(item)
        if match and plain and isinstance(plain[0].get("post"), dict):
            yield match[1], plain[0]["post"]


def _body_schema(operation: Json, references: References) -> object:
    """Return the schema of a body; one without a schema accepts any field."""
    body = references.plain(operation.get("requestBody"))
    contents = dict_of(body and body[0].get("content"))
    for media_type, content in contents.items():
        if "json" in media_type or media_type == "*/*":
            schema = dict_of(content).get("schema", {})
            plain = references.plain(schema)
            name = "object" if plain is None else _name_of_type(plain[0])
            if name != "object":
                raise NoObjectError(f"a JSON {name}")
            return schema
    if contents:
        raise NoObjectError(next(iter(contents)))
    return {}


def _function(
    path: str,
    operation: Json,
    document: Json,
    declared: Mapping[str, type[MediaRequest]],
) -> Function:
    """Return the function of a path, declared by us or described by the document."""
    schema = _body_schema(operation, References(document))
    plain = References(document).plain(schema)
    kind = text_of(dict_of(plain[0] if plain else {}).get(EXTENSION), "kind")
    if kind in declared:
        return Function(path, declared[kind])
    segment = path.rsplit("/", 1)[-1]
    made = _described(schema, document, None, segment)
    body = _on_the_wire(made.body)
    twins = [
        declaration
        for declaration in declared.values()
        if declaration.declared.function == segment
        and _on_the_wire(body_of(declaration)) == body
    ]
    if len(twins) == 1:
        return Function(path, twins[0])
    words = text_of(operation, "summary") or text_of(operation, "description")
    doc = made.declared.doc or words
    return Function(
        path,
        replace(made, declared=replace(made.declared, name=_name_of(path), doc=doc)),
    )


def _on_the_wire(spec: FieldSpec) -> FieldSpec:
    """Return a field without what only people see."""
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
) -> Described:
    own, _ = References(document).plain(schema) or (dict_of(schema), None)
    if _name_of_type(own) != "object":
        raise InputError("schema", got=own.get("type"), accepted="type: object")
    said = dict_of(own.get(EXTENSION))
    kind = _kind(kind, text_of(said, "kind"), function)
    function = function or kind
    reader = Reader(References(document, own), guess=EXTENSION not in own)
    body = reader.body(schema)
    known: Mapping[object, MediaName] = {name: name for name in get_args(MediaName)}
    guessed = medium_in(function) or medium_in(kind) or "video"
    members = list_of(own.get("oneOf", own.get("anyOf"))) if body.tag else [own]
    bodies = [reader.references.plain(member) or ({}, None) for member in members]
    declared = Declared(
        kind,
        function,
        media_type=media_type or known.get(text_of(said, "media_type"), guessed),
        closed=all(each.get("additionalProperties") is False for each, _ in bodies),
        name=_name_of(kind),
        doc=text_of(own, "description"),
    )
    return Described(declared, body, tuple(_switches(body)))


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
    """Make the name of a schema from the letters and digits of a text."""
    words = re.findall(r"[A-Za-z0-9]+", text)
    name = "".join(word[0].upper() + word[1:] for word in words)
    return name.lstrip("0123456789")[:MAX_NAME_LENGTH] or "Object"


def _kind(asked: str | None, said: str, function: str | None) -> str:
    kind = asked or (said if is_segment(said) else None) or function
    if kind is None or not is_segment(kind):
        accepted = "a short name of letters, digits and hyphens"
        raise InputError("kind", got=kind, accepted=accepted)
    return kind
