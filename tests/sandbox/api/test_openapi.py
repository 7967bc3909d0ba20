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


@pytest.fixture(scope="module")
def document(idle: Api) -> dict[str, Any]:
    answer = without_key("GET", f"{idle.running.base_url}/openapi.json")
    found: dict[str, Any] = answer.json()
    return found


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


def test_a_functions_schema_takes_what_the_function_takes(
    document: dict[str, Any],
) -> None:
    schemas = document["components"]["schemas"]
    validator = Draft202012Validator(schemas["TextToVideo"])

    assert validator.is_valid(KITE | {"webhook_url": "https://example.com/hook"})
    assert not validator.is_valid(KITE | {"duration": 99})
    assert not validator.is_valid(KITE | {"unknown": 1})
