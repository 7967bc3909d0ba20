"""The document describes what is served, and answers agree with it (spec 9)."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import create_model

from mediakit.catalog import Catalog
from mediakit.sandbox.api.openapi import describe
from mediakit.sandbox.server.app import ROUTES
from mediakit.schema import MediaRequest, Part
from tests.sandbox.conftest import KITE, Api, without_key

DAY = "2026-01-01"


@pytest.fixture(scope="module")
def document(idle: Api) -> dict[str, Any]:
    answer = without_key("GET", f"{idle.running.base_url}/openapi.json")
    found: dict[str, Any] = answer.json()
    return found


def assert_agrees(document: dict[str, Any], schema: str, value: object) -> None:
    root = {"$ref": f"#/components/schemas/{schema}", **document}
    Draft202012Validator(root).validate(value)


def test_it_is_version_1_0_0_and_names_the_key_header(document: dict[str, Any]) -> None:
    assert document["openapi"] == "3.1.0"
    assert document["info"]["version"] == "1.0.0"
    scheme = document["components"]["securitySchemes"]["ApiKey"]
    assert scheme == {"type": "apiKey", "in": "header", "name": "X-API-Key"}


def test_every_path_of_the_interface_that_is_served_is_described(
    idle: Api, document: dict[str, Any]
) -> None:
    served = {
        route.path
        for route in ROUTES
        if route.path.startswith(("/v1/", "/billing/")) and "{vendor}" not in route.path
    }
    functions = {idle.path(kind) for kind in idle.running.functions}

    assert set(document["paths"]) == served | functions


def test_every_schema_is_a_schema(document: dict[str, Any]) -> None:
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def references(part: object) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for value in part.values():
            yield from references(value)
    elif isinstance(part, list):
        for item in part:
            yield from references(item)


def test_every_reference_leads_to_a_schema_that_generators_of_clients_find(
    document: dict[str, Any],
) -> None:
    schemas = document["components"]["schemas"]

    assert {"ComposeVideo", "VideoTrack", "VideoKeyframe"} <= set(schemas)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", name) for name in schemas)
    places = {f"#/components/schemas/{name}" for name in schemas}
    assert set(references(document)) <= places
    assert '"$defs"' not in json.dumps(document)


def test_parts_of_one_name_stay_apart() -> None:
    def function(name: str, kind: type) -> type[MediaRequest]:
        part: Any = create_model("Frame", __base__=Part, size=(kind, ...))
        return create_model(
            name.capitalize(),
            __base__=MediaRequest,
            __cls_kwargs__={"kind": name},
            frame=(part, ...),
        )

    catalog = Catalog.of(
        function("draw", int), function("sing", int), function("dub", str)
    )
    document = describe(catalog, "https://a.test")
    again = Catalog.from_openapi(document)

    assert {"Frame", "DubFrame"} <= set(document["components"]["schemas"])
    assert "SingFrame" not in document["components"]["schemas"]
    assert [dict(f.fields) for f in again] == [dict(f.fields) for f in catalog]


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ("Balance", "/billing/balance"),
        ("MonthlyReport", "/billing/monthly/2026-01"),
        (
            "DailySpend",
            f"/billing/spend/daily?start_date={DAY}&end_date={DAY}",
        ),
        ("Message", "/v1/media/jobs/media_nothing"),
    ],
)
def test_answers_agree_with_their_schemas(
    idle: Api, document: dict[str, Any], schema: str, path: str
) -> None:
    assert schema in document["components"]["schemas"]
    assert_agrees(document, schema, idle.http.get(path).json())


def test_jobs_agree_with_their_schema_in_every_state(
    api: Api, document: dict[str, Any]
) -> None:
    bodies = ({"image_url": "https://10.0.0.1/a.png"}, KITE)
    for kind, body in zip(("image-upscale", "text-to-video"), bodies, strict=True):
        queued = api.submit(kind, body)
        assert_agrees(document, "Job", queued)
        assert_agrees(document, "Job", api.ended(queued["id"]))
        assert_agrees(document, "Job", api.settled(queued["id"]))


def test_a_functions_schema_takes_what_the_function_takes(
    document: dict[str, Any],
) -> None:
    schemas = document["components"]["schemas"]
    validator = Draft202012Validator(schemas["TextToVideo"])

    assert validator.is_valid(KITE | {"webhook_url": "https://example.com/hook"})
    assert not validator.is_valid(KITE | {"duration": 99})
    assert not validator.is_valid(KITE | {"unknown": 1})
