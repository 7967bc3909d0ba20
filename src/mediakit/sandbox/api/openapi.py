"""The machine-readable description of the interface (spec 9)."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from mediakit.catalog import Catalog, Function
from mediakit.catalog.function import bodies_in
from mediakit.sandbox.api.wire_schemas import (
    DELIVERY_FILTERS,
    NAME,
    SCHEMAS,
    TEXT,
    Json,
    ref,
)

Answers = dict[int, Json]

VERSION = "1.0.0"
DEFINITIONS = "#/$defs/"
MESSAGES = {
    400: "`webhook_url` violates the callback policy.",
    401: "The API key is missing or invalid.",
    403: "The API key is inactive.",
    404: "There is no such path, or nothing with this id in the organization.",
    409: "Not in this state, or the idempotency key was used with another request.",
    410: "The stored media were erased.",
    422: "The request is not valid; the message names the field.",
    500: "The organization has no billing plan; no job was created.",
}
ROLE_WORDS = "The key is inactive, or not that of an owner or admin."
RETRY_AFTER: Json = {"Retry-After": {"schema": {"type": "integer"}}}
# The operations on the job that a submission returns.
JOB_LINKS: Json = {
    name: {"operationId": name, "parameters": {"request_id": "$response.body#/id"}}
    for name in ("readJob", "readContent", "eraseJob")
}


def _answer(words: str, schema: Json, media_type: str = "application/json") -> Json:
    return {"description": words, "content": {media_type: {"schema": schema}}}


def _message(status: int) -> Json:
    return _answer(MESSAGES[status], ref("Message"))


def _operation(name: str, summary: str, answers: Answers, **more: object) -> Json:
    statuses = {str(status): answer for status, answer in answers.items()}
    statuses = {"401": _message(401), "403": _message(403), **statuses}
    return {"operationId": name, "summary": summary, "responses": statuses, **more}


def _parameter(name: str, where: str, schema: Json, *, required: bool = True) -> Json:
    return {"name": name, "in": where, "required": required, "schema": schema}


def _body(schema: Json) -> Json:
    return {"required": True, "content": {"application/json": {"schema": schema}}}


IDEMPOTENCY_KEY = _parameter(
    "Idempotency-Key",
    "header",
    {"type": "string", "minLength": 1, "maxLength": 255},
    required=False,
)
REQUEST_ID = _parameter("request_id", "path", TEXT)
# The calendar begins with the year 1.
DATED: Json = {"type": "string", "not": {"pattern": "^0000"}}
MONTH = _parameter("month", "path", DATED | {"pattern": "^[0-9]{4}-(0[1-9]|1[0-2])$"})
DAY = DATED | {"format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}


def _submit(function: Function) -> Json:
    either = {"anyOf": [ref("Message"), ref("Job")]}
    words = (
        "The key is inactive; or the balance, the cycle or a daily usage limit cannot "
        "carry the job; or the organization is suspended."
    )
    away = _answer("The model or its dispatch is not available.", ref("Job"))
    words_429 = "Too many submissions in a minute or a day, or the queue is full."
    full = _answer(words_429, ref("Job")) | {"headers": RETRY_AFTER}
    return _operation(
        function.kind,
        function.doc,
        {
            200: _answer("The job: accepted, repeated, or failed.", ref("Job"))
            | {"links": JOB_LINKS},
            400: _message(400),
            403: _answer(words, either) | {"headers": RETRY_AFTER},
            404: _message(404),
            409: _message(409),
            422: _message(422),
            429: full,
            500: _message(500),
            503: away,
        },
        parameters=[IDEMPOTENCY_KEY],
        requestBody=_body(ref(function.declared.name)),
    )


def _schemas(catalog: Catalog) -> Json:
    """Return all schemas, with the definitions of requests beside them.

    Client generators do not find definitions inside another schema.
    """
    requests = {f.declared.name: _request_schema(f) for f in catalog}
    schemas: Json = {**SCHEMAS, **requests}
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
        "description": "The end of this job is posted there (spec 6.2).",
    }
    for body in bodies_in(schema):
        body["properties"] = {**body["properties"], "webhook_url": callback}
    return schema


def _moved(schema: Any, names: Mapping[str, str]) -> Any:
    """Return a schema whose references name the definitions beside it."""
    if isinstance(schema, dict):
        return {key: _moved(value, names) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_moved(item, names) for item in schema]
    if isinstance(schema, str) and schema.startswith(DEFINITIONS):
        part = schema.removeprefix(DEFINITIONS)
        return f"#/components/schemas/{names.get(part, part)}"
    return schema


def _job_paths() -> Json:
    job, gone = _answer("The job.", ref("Job")), _message(404)
    url = _answer("Where the output is.", ref("Content"))
    content: Answers = {200: url, 404: gone, 409: _message(409), 410: _message(410)}
    erased: Answers = {200: job, 404: gone, 409: _message(409)}
    parameters = [REQUEST_ID]
    return {
        "/v1/media/jobs/{request_id}": {
            "parameters": parameters,
            "get": _operation("readJob", "Read a job.", {200: job, 404: gone}),
            "delete": _operation(
                "eraseJob", "Erase stored media and captured request.", erased
            ),
        },
        "/v1/media/jobs/{request_id}/content": {
            "parameters": parameters,
            "get": _operation("readContent", "Find the output.", content),
        },
    }


def _billing_paths() -> Json:
    def read(name: str, summary: str, answer: Json, *parameters: Json) -> Json:
        answers = {200: answer, 422: _message(422)} if parameters else {200: answer}
        return {"get": _operation(name, summary, answers, parameters=list(parameters))}

    days = (
        _parameter("start_date", "query", DAY),
        _parameter("end_date", "query", DAY),
        _parameter("api_key_id", "query", NAME, required=False),
        _parameter("model", "query", NAME, required=False),
    )
    balance = _answer("The balance, before holds.", ref("Balance"))
    daily = _answer("Charges by settlement day in UTC.", ref("DailySpend"))
    monthly = _answer("The month's charges.", ref("MonthlyReport"))
    table = _answer("A row for each model and a totals row.", TEXT, "text/csv")
    return {
        "/billing/balance": read("readBalance", "Spending capacity.", balance),
        "/billing/spend/daily": read("readDailySpend", "Daily spend.", daily, *days),
        "/billing/monthly/{month}": read(
            "readMonth", "Monthly usage report.", monthly, MONTH
        ),
        "/billing/monthly/{month}/csv": read(
            "readMonthCsv", "The same month as CSV.", table, MONTH
        ),
    }


def _uploads_path() -> Json:
    granted = _answer("The grant, valid for 5 minutes.", ref("UploadGrant"))
    operation = _operation(
        "grantUpload",
        "Request an upload grant.",
        {200: granted, 422: _message(422)},
        requestBody=_body(ref("UploadRequest")),
    )
    return {"/v1/media/uploads": {"post": operation}}


def _webhook_paths() -> Json:
    delivery = _answer("The delivery.", ref("Delivery"))
    detail = _answer("The delivery, with its event.", ref("DeliveryDetail"))
    page = _answer("A page of the log, newest first.", ref("DeliveryPage"))
    tries = _answer("Its attempts, in order.", ref("AttemptList"))
    secret = _answer("The secret.", ref("Secret"))
    rotated = _answer("The new secret.", ref("RotatedSecret"))
    absent = _message(404)
    one, log = [_parameter("delivery_id", "path", TEXT)], "/v1/webhooks/deliveries"
    filters = [
        _parameter(name, "query", schema, required=False)
        for name, schema in DELIVERY_FILTERS.items()
    ]
    read = _operation("readDelivery", "One delivery.", {200: detail, 404: absent})
    attempts = _operation(
        "listAttempts", "Attempts of a delivery.", {200: tries, 404: absent}
    )
    again: Answers = {200: delivery, 404: absent, 409: _message(409)}
    return {
        log: {
            "get": _operation(
                "listDeliveries",
                "List deliveries.",
                {200: page, 422: _message(422)},
                parameters=filters,
            )
        },
        f"{log}/{{delivery_id}}": {"parameters": one, "get": read},
        f"{log}/{{delivery_id}}/attempts": {"parameters": one, "get": attempts},
        f"{log}/{{delivery_id}}/replay": {
            "parameters": one,
            "post": _operation("replayDelivery", "Re-send a delivery.", again),
        },
        "/v1/webhooks/secret": {
            "get": _operation(
                "readSecret", "Read the organization's secret.", {200: secret}
            )
        },
        "/v1/webhooks/secret/rotate": {
            "post": _operation(
                "rotateSecret",
                "Rotate the organization's secret.",
                {200: rotated, 403: _answer(ROLE_WORDS, ref("Message"))}
                | {422: _message(422)},
                requestBody=_body(ref("Rotation")),
            )
        },
    }


def _events() -> Json:
    received = {"2XX": {"description": "Delivered; anything else is retried."}}
    post = {
        "operationId": "receiveEvent",
        "summary": "Sent to endpoints and to the webhook_url of a job (spec 6.3).",
        "security": [],
        "requestBody": _body(ref("Event")),
        "responses": received,
    }
    return {"jobEnded": {"post": post}}


def describe(catalog: Catalog, base_url: str) -> Mapping[str, Any]:
    """Describe the interface as OpenAPI 3.1, each function at its own path.

    Args:
        catalog: The functions that are served.
        base_url: The URL of the service.
    """
    return {
        "openapi": "3.1.0",
        "info": {"title": "Media generation sandbox", "version": VERSION},
        "servers": [{"url": base_url}],
        **_operations(catalog),
    }


@lru_cache(maxsize=8)
def _operations(catalog: Catalog) -> Mapping[str, Any]:
    # Each client that connects asks for it.
    submits = {f"/v1/media/{f.path}": {"post": _submit(f)} for f in catalog}
    key = {"type": "apiKey", "in": "header", "name": "X-API-Key"}
    return {
        "security": [{"ApiKey": []}],
        "paths": {
            **_uploads_path(),
            **submits,
            **_job_paths(),
            **_billing_paths(),
            **_webhook_paths(),
        },
        "webhooks": _events(),
        "components": {
            "securitySchemes": {"ApiKey": key},
            "schemas": _schemas(catalog),
        },
    }
