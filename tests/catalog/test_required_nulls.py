"""A required field that can be null, like `x: str | None` in FastAPI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mediakit import Client
from mediakit.catalog import Catalog, Function
from mediakit.sandbox.server.running import Sandbox, start
from mediakit.widgets.form.state import FormState
from tests.widgets.form.test_properties import filled, make_view

Json = dict[str, Any]
OR_NULL: Json = {"type": ["string", "null"]}
SCHEMA: Json = {"properties": {"parent": OR_NULL}, "required": ["parent"]}
FUNCTION = Function.from_schema("acme/swift/make-image", SCHEMA)
NULL: Json = {"parent": None}
INNER = Function.from_schema(
    "acme/swift/make-image",
    {"properties": {"scene": {"type": "object", **SCHEMA}}, "required": ["scene"]},
)


def test_null_is_a_value_of_a_required_field_and_means_omitted_for_others() -> None:
    properties = {"parent": OR_NULL, "any": {}, "size": {**OR_NULL, "default": "s"}}
    required = ["parent", "any"]
    function = Function.from_schema(
        "acme/swift/make-image", {"properties": properties, "required": required}
    )
    nulls = dict.fromkeys(properties)

    assert function.check(nulls) == []
    assert function.canonical_body(nulls) == {"parent": None, "any": None, "size": "s"}
    assert function.estimate(nulls).high is None
    assert [problem.sentence for problem in FUNCTION.check({})] == [
        "parent is required (text, or null)"
    ]


@pytest.mark.parametrize(
    ("function", "body"), [(FUNCTION, NULL), (INNER, {"scene": NULL})]
)
def test_an_empty_form_sends_null(function: Function, body: Json) -> None:
    view = make_view(function)
    state = filled(view, FormState.start(function))

    assert state.body() == body
    assert state.problems == ()
    assert state.estimate is not None
    again = filled(view, FormState.start(function, body))
    assert again.body() == body


def test_a_nullable_field_is_not_marked_as_required_in_a_form() -> None:
    properties = {
        "style": {"enum": ["a", "b", None]},
        "steps": {"type": ["integer", "null"]},
    }
    function = Function.from_schema(
        "acme/swift/make-image", {"properties": properties, "required": [*properties]}
    )
    view = make_view(function)
    style, steps = (view.controls[name].named for name in properties)

    assert FormState.start(function).required == frozenset()
    assert (style.description, style.label) == ("Style", "Not set")
    assert (steps.description, steps.placeholder) == ("Steps", "Not set")


def test_the_sandbox_accepts_null_and_it_is_sent_as_null(tmp_path: Path) -> None:
    catalog = Catalog((FUNCTION,))
    running = start(Sandbox(tmp_path / "data", catalog=catalog, speed=20, sketch=True))
    with Client(
        running.base_url, running.api_key, home=tmp_path, catalog=catalog
    ) as client:
        job = client.submit("make-image", parent=None)

        assert job.core.state.body == NULL
        assert job.wait(60).status == "completed"
    running.stop()
