"""The OpenAPI description of the interface (spec 9)."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from mediakit.catalog import Catalog, Function
from mediakit.catalog.function import bodies_in
from mediakit.sandbox.api import OPERATIONS, Operation
from mediakit.sandbox.wire import EventBody, JobBody, Message, RequestBody

Json = dict[str, Any]

VERSION = "1.0.0"
DEFINITIONS = "#/$defs/"
COMPONENTS = "#/components/schemas/{model}"
MESSAGES = {
    400: "`webhook_url` violates the callback policy.",
    401: "The API key is missing or invalid.",
    403: "The API key is inactive, or its role does not allow this.",
    404: "There is no such path, or nothing with this id in the organization.",
    409: "Not in this state, or the idempotency key was used with another request.",
    410: "The stored media were erased.",
    422: "The request is not valid; the message names the field.",
    500: "The organization has no billing plan; no job was created.",
}
REJECTIONS = {
    403: (
        "The key is inactive; or the balance, the cycle or a daily usage limit does "
        "not cover the job; or the organization is suspended."
    ),
    429: "Too many submissions in a minute or a day, or the queue is full.",
    503: "The model or its dispatch is not available.",
}
RETRY_AFTER: Json = {"Retry-After": {"schema": {"type": "integer"}}}


def describe(catalog: Catalog, base_url: str) -> Mapping[str, Any]:
    """Describe the interface in OpenAPI 3.1, each function at its own path."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Media generation sandbox", "version": VERSION},
        "servers": [{"url": base_url}],
        **_parts(catalog),
    }


@lru_cache(maxsize=8)
def _parts(catalog: Catalog) -> Mapping[str, Any]:
    # Cached because each client requests the document when it connects.
    paths: Json = {f"/v1/media/{f.path}": {"post": _submit(f)} for f in catalog}
    for operation in OPERATIONS:
        at_path = paths.setdefault(operation.path, {})
        at_path[operation.method.lower()] = _described(operation)
    key = {"type": "apiKey", "in": "header", "name": "X-API-Key"}
    return {
        "security": [{"ApiKey": []}],
        "paths": paths,
        "webhooks": _events(),
        "components": {
            "securitySchemes": {"ApiKey": key},
            "schemas": _schemas(catalog),
        },
    }


def _ref(model: type[BaseModel] | str) -> Json:
    name = model if isinstance(model, str) else model.__name__
    return {"$ref": COMPONENTS.format(model=name)}


def _answer(words: str, schema: Json, media_type: str = "application/json") -> Json:
    return {"description": words, "content": {media_type: {"schema": schema}}}


def _message(status: int) -> Json:
    return _answer(MESSAGES[status], _ref(Message))


def _body(schema: Json) -> Json:
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _described(operation: Operation) -> Json:
    if operation.answer is None:
        done = _answer("The table.", {"type": "string"}, "text/csv")
    else:
        done = _answer(_summary(operation.answer), _ref(operation.answer))
    errors = sorted({401, 403, *operation.errors})
    described: Json = {
        "operationId": operation.handler.__name__,
        "summary": _summary(operation.handler),
        "parameters": _parameters(operation),
        "responses": {"200": done, **{str(e): _message(e) for e in errors}},
    }
    if operation.body is not None:
        described["requestBody"] = _body(_ref(operation.body))
    return described


def _summary(described: object) -> str:
    return (described.__doc__ or "").partition("\n")[0]


def _parameters(operation: Operation) -> list[Json]:
    schema = {} if operation.query is None else operation.query.model_json_schema()
    fields, required = schema.get("properties", {}), schema.get("required", ())
    in_path = re.findall(r"{(\w+)}", operation.path)
    text = {name: {"type": "string"} for name in in_path}
    return [
        {
            "name": name,
            "in": "path" if name in in_path else "query",
            "required": name in in_path or name in required,
            "schema": field,
        }
        for name, field in {**text, **fields}.items()
    ]


def _submit(function: Function) -> Json:
    job = _ref(JobBody)
    either = {"anyOf": [_ref(Message), job]}
    retry = {"headers": RETRY_AFTER}
    accepted = _answer("The job: accepted, repeated, or failed.", job)
    key = {"type": "string", "minLength": 1, "maxLength": 255}
    return {
        "operationId": function.kind,
        "summary": function.doc,
        "parameters": [
            {"name": "Idempotency-Key", "in": "header", "required": False}
            | {"schema": key}
        ],
        "requestBody": _body(_ref(function.declared.name)),
        "responses": {
            "200": accepted,
            **{str(status): _message(status) for status in MESSAGES if status != 410},
            "403": _answer(REJECTIONS[403], either) | retry,
            "429": _answer(REJECTIONS[429], job) | retry,
            "503": _answer(REJECTIONS[503], job),
        },
    }


def _events() -> Json:
    received = {"2XX": {"description": "Delivered; anything else is retried."}}
    post = {
        "operationId": "receiveEvent",
        "summary": "Sent to endpoints and to the webhook_url of a job (spec 6.3).",
        "security": [],
        "requestBody": _body(_ref(EventBody)),
        "responses": received,
    }
    return {"jobEnded": {"post": post}}


def _wire_schemas() -> Json:
    models: set[tuple[type[BaseModel], JsonSchemaMode]] = {
        (model, "validation" if issubclass(model, RequestBody) else "serialization")
        for operation in OPERATIONS
        for model in (operation.answer, operation.body)
        if model is not None
    }
    models |= {(Message, "serialization"), (EventBody, "serialization")}
    ordered = sorted(models, key=lambda pair: pair[0].__name__)
    _, document = models_json_schema(ordered, ref_template=COMPONENTS)
    schemas: Json = document["$defs"]
    return schemas


def _schemas(catalog: Catalog) -> Json:
    """Return all schemas, with the definitions of requests at the top level.

    Client generators do not find definitions inside another schema.
    """
    requests = {f.declared.name: _request_schema(f) for f in catalog}
    schemas: Json = {**_wire_schemas(), **requests}
    for request, schema in requests.items():
        parts = schema.pop("$defs", {})
        names = {part: part for part in parts}
        while clashing := [
            part
            for part, name in names.items()
            if name in schemas and schemas[name] != _moved(parts[part], names)
        ]:
            names |= {part: f"{request}{names[part]}" for part in clashing}
        schemas[request] = _moved(schema, names)
        schemas |= {names[part]: _moved(parts[part], names) for part in parts}
    return schemas


def _request_schema(function: Function) -> Json:
    schema: Json = function.json_schema()
    callback = {
        "type": ["string", "null"],
        "format": "uri",
        "pattern": "^https?://[^/]",
        "description": "The URL that is notified when this job has ended (spec 6.2).",
    }
    for body in bodies_in(schema):
        body["properties"] = {**body["properties"], "webhook_url": callback}
    return schema


def _moved(schema: Any, names: Mapping[str, str]) -> Any:
    """Return a schema whose references name the top-level definitions."""
    if isinstance(schema, dict):
        return {key: _moved(value, names) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_moved(item, names) for item in schema]
    if isinstance(schema, str) and schema.startswith(DEFINITIONS):
        part = schema.removeprefix(DEFINITIONS)
        return f"#/components/schemas/{names.get(part, part)}"
    return schema
