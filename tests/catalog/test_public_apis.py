"""Functions in documents of public services: parsed, validated, shown and described."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import jsonschema
import pytest

from mediakit.catalog import Catalog, Function
from mediakit.catalog.examples import example
from mediakit.client.request_preparation import validate
from mediakit.errors import InputError
from mediakit.sandbox.api.openapi import describe
from mediakit.widgets.form.fields_payload import (
    axes_of,
    fields_of,
    schema_payload,
)
from mediakit.widgets.form.form_values import adapted
from mediakit.widgets.form.payload import state_payload
from mediakit.widgets.form.state import FormState
from tests.catalog.public_apis import APIS, Api, Json
from tests.widgets.form.test_properties import filled

CATALOGS = {api.name: Catalog.from_openapi(api.document) for api in APIS}
FUNCTIONS = [
    pytest.param(api, name, id=f"{api}-{name}")
    for api in APIS
    for name in api.bodies
    if api.path(name) not in api.left_out
]
every_api = pytest.mark.parametrize("api", APIS, ids=str)
every_function = pytest.mark.parametrize(("api", "name"), FUNCTIONS)


def function_of(api: Api, name: str) -> Function:
    return CATALOGS[api.name].function(api.path(name))


def schema_of(api: Api, name: str) -> Json:
    """Return the body's schema, with what it refers to."""
    return {"allOf": [api.bodies[name]], "components": {"schemas": api.schemas}}


@every_api
def test_each_function_is_offered_or_left_out_with_the_reason(api: Api) -> None:
    catalog = CATALOGS[api.name]

    assert catalog.left_out == api.left_out
    assert {*catalog.left_out} | {f.path for f in catalog} == {
        api.path(name) for name in (*api.bodies, *api.others)
    }


@every_function
def test_bodies_that_the_service_accepts_are_accepted(api: Api, name: str) -> None:
    function = function_of(api, name)

    for body in api.right[name]:
        assert validate(function, body).estimate.high is None
        sent = function.canonical_body(body)
        assert function.check(sent) == []
        assert jsonschema.Draft202012Validator(function.json_schema()).is_valid(body)


@every_function
def test_bodies_that_the_service_refuses_are_refused_by_field(
    api: Api, name: str
) -> None:
    function = function_of(api, name)

    assert api.wrong[name]
    for body, field in api.wrong[name]:
        with pytest.raises(InputError) as caught:
            validate(function, body)
        assert field in {problem.field for problem in caught.value.problems}
        assert str(caught.value).endswith("Nothing was sent.")
        assert not jsonschema.Draft202012Validator(schema_of(api, name)).is_valid(body)


def holds(sent: Any, given: Any) -> bool:
    """Return whether a form sends the given body, plus defaults of objects."""
    if isinstance(given, dict):
        return all(v is None or holds(sent.get(n), v) for n, v in given.items())
    if isinstance(given, list):
        return len(sent) == len(given) and all(map(holds, sent, given))
    return bool(sent == given)


@every_function
def test_a_form_makes_the_bodies_that_the_service_accepts(api: Api, name: str) -> None:
    function = function_of(api, name)

    for body in [example(function), *api.right[name]]:
        given = {name: value for name, value in body.items() if value is not None}
        state = adapted(filled(FormState.start(function, given)))
        fields = fields_of(function, state.values)
        assert json.dumps(schema_payload(function, fields, axes_of(function)))
        assert json.dumps(state_payload(state, fields))
        # An example is not complete below the depth to which unions are read.
        assert state.problems == tuple(function.check(state.body()))
        assert holds(function.canonical_body(state.body()), given)
    begun = FormState.start(function)
    assert begun.problems or function.check(begun.body()) == []


@every_api
def test_the_sandbox_describes_them_so_that_they_are_read_again(api: Api) -> None:
    catalog = CATALOGS[api.name]
    document = json.loads(json.dumps(describe(catalog, "https://a.test")))
    again = Catalog.from_openapi(document, recognise=False)

    assert [dict(f.fields) for f in again] == [dict(f.fields) for f in catalog]
    for schema in document["components"]["schemas"].values():
        check_schema(json.dumps(schema, sort_keys=True))


@cache
def check_schema(text: str) -> None:
    """Validate a schema; cached, because most parts of a document repeat."""
    jsonschema.Draft202012Validator.check_schema(json.loads(text))
