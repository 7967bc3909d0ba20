"""Bodies of several types, fields that can be null, values of one of several shapes."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from mediakit import Client
from mediakit.catalog import Function
from mediakit.catalog.examples import example
from mediakit.widgets.controls import field_payload
from mediakit.widgets.form.controller import Form
from mediakit.widgets.form.state import FormState
from tests.support.rows import assert_each
from tests.support.widgets import edit, page
from tests.widgets.form.test_properties import filled

Json = dict[str, Any]
PNG = "https://a.test/1.png"


def variant(model: str, required: list[str], **properties: Json) -> Json:
    properties["model"] = {"const": model}
    return {
        "type": "object",
        "properties": properties,
        "required": ["model", *required],
        "additionalProperties": False,
    }


TEXT: Json = {"type": "string", "minLength": 1, "maxLength": 1_000}
SCHEMA: Json = {
    "oneOf": [
        variant(
            "swift",
            ["prompt"],
            prompt=TEXT,
            ratio={"enum": ["16:9", "9:16"], "default": "16:9"},
            duration={"type": "integer", "minimum": 2, "maximum": 10},
        ),
        variant(
            "grand",
            ["prompt", "image_url"],
            prompt={**TEXT, "maxLength": 500},
            ratio={"enum": ["1:1", "16:9"], "default": "1:1"},
            image_url={"type": "string", "format": "uri"},
            looks={"type": "array", "items": {"enum": ["noir", "pop"]}},
        ),
    ],
    "discriminator": {"propertyName": "model"},
}
FUNCTION = Function.from_schema("acme/swift/make-video", SCHEMA)
GOOD: list[Json] = [
    {"model": "swift", "prompt": "a"},
    {"model": "swift", "prompt": "a", "ratio": "9:16", "duration": 10},
    {"model": "grand", "prompt": "a", "image_url": PNG, "ratio": "1:1"},
    {"model": "grand", "prompt": "a", "image_url": PNG, "looks": ["noir"]},
]
BAD: list[tuple[Json, str]] = [
    ({}, "model is required (swift or grand"),
    ({"prompt": "a"}, "model is required (swift or grand"),
    ({"model": "slow"}, "model must be swift or grand (got 'slow')"),
    ({"model": ["swift"]}, "model must be swift or grand (got ['swift'])"),
    ({"model": "swift"}, "prompt is required (text of 1 to 1,000"),
    (GOOD[0] | {"ratio": "1:1"}, "ratio must be 16:9 or 9:16 (got '1:1')"),
    (GOOD[0] | {"image_url": PNG}, "image_url is not a known field"),
    (GOOD[2] | {"duration": 5}, "duration is not a known field"),
    (GOOD[2] | {"prompt": "a" * 501}, "prompt must be"),
    ({"model": "grand", "prompt": "a"}, "image_url is required"),
]


def test_a_body_of_any_variant_is_accepted_and_a_form_sends_it() -> None:
    def check(body: Json) -> None:
        state = filled(FormState.start(FUNCTION, body))
        assert FUNCTION.check(body) == []
        assert FUNCTION.estimate(body).high is None
        assert (state.problems, state.body()) == ((), body)
        jsonschema.validate(body, SCHEMA)

    assert_each([*GOOD, example(FUNCTION)], check)


def test_any_other_body_is_rejected_with_a_readable_message() -> None:
    def check(row: tuple[Json, str]) -> None:
        body, sentence = row
        [problem] = FUNCTION.check(body)
        assert problem.sentence.startswith(sentence)
        assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(body)

    assert_each(BAD, check)


def test_the_fields_are_those_of_all_variants() -> None:
    fields = FUNCTION.fields

    assert next(iter(fields)) == "model"
    assert fields["model"].choices == ("swift", "grand")
    assert fields["model"].required
    assert fields["prompt"].required
    assert fields["prompt"].multiline
    assert fields["ratio"].choices == ("16:9", "9:16", "1:1")
    assert not fields["image_url"].required
    assert not FUNCTION.is_open


def test_its_json_schema_is_equivalent_and_is_read_again() -> None:
    schema = FUNCTION.json_schema()
    validator = jsonschema.Draft202012Validator(schema)
    again = Function.from_schema(FUNCTION.path, schema)

    assert all(validator.is_valid(body) for body in GOOD)
    assert not any(validator.is_valid(body) for body, _ in BAD)
    assert dict(again.fields) == dict(FUNCTION.fields)
    assert [*map(str, again.rules)] == [*map(str, FUNCTION.rules)]
    assert again.json_schema() == schema


def test_a_form_has_the_fields_of_the_chosen_variant() -> None:
    begun = filled(FormState.start(FUNCTION))
    swift = begun.with_value("model", "swift")
    grand = begun.with_value("model", "grand")

    assert begun.submit_reason == "Choose a model."
    assert set(begun.disabled) == {"image_url", "looks", "duration"}
    assert set(swift.disabled) == {"image_url", "looks"}
    assert swift.disabled["looks"] == "applies only when model is grand"
    assert set(grand.disabled) == {"duration"}
    assert swift.required == {"model", "prompt"}
    assert grand.required == {"model", "prompt", "image_url"}


def test_a_value_that_the_chosen_variant_rejects_becomes_its_default(
    client: Client,
) -> None:
    form = Form(client, FUNCTION, {"model": "grand", "prompt": "a", "ratio": "1:1"})

    def field(name: str) -> Json:
        fields: list[Json] = page(form)["schema"]["fields"]
        return next(each for each in fields if each["name"] == name)

    assert form.values.ratio == "1:1"
    assert field("ratio")["options"] == ["1:1", "16:9"]
    edit(form, model=0)
    assert form.values.ratio == "16:9"
    assert form.values.prompt == "a"
    assert form.request() == {"model": "swift", "prompt": "a", "ratio": "16:9"}
    assert field("ratio")["options"] == ["16:9", "9:16"]
    assert "image_url" not in [each["name"] for each in page(form)["schema"]["fields"]]
    edit(form, ratio=1)
    assert form.request()["ratio"] == "9:16"
    form.values.update(model="grand", image_url=PNG)
    assert form.values.ratio == "1:1"
    assert form.state.problems == ()
    form.close()


# -- fields that can be null -----------------------------------------------------------


OR_NULL: Json = {"type": ["string", "null"]}
NULLABLE_SCHEMA: Json = {"properties": {"parent": OR_NULL}, "required": ["parent"]}
NULLABLE = Function.from_schema("acme/swift/make-image", NULLABLE_SCHEMA)
NULL: Json = {"parent": None}
INNER = Function.from_schema(
    "acme/swift/make-image",
    {
        "properties": {"scene": {"type": "object", **NULLABLE_SCHEMA}},
        "required": ["scene"],
    },
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
    assert [problem.sentence for problem in NULLABLE.check({})] == [
        "parent is required (text, or null)"
    ]


@pytest.mark.parametrize(
    ("function", "body"), [(NULLABLE, NULL), (INNER, {"scene": NULL})]
)
def test_an_empty_form_sends_null(function: Function, body: Json) -> None:
    state = filled(FormState.start(function))

    assert state.body() == body
    assert state.problems == ()
    assert state.estimate is not None
    again = filled(FormState.start(function, body))
    assert again.body() == body


def test_a_nullable_field_is_not_marked_as_required_in_a_form() -> None:
    properties = {
        "style": {"enum": ["a", "b", None]},
        "steps": {"type": ["integer", "null"]},
    }
    function = Function.from_schema(
        "acme/swift/make-image", {"properties": properties, "required": [*properties]}
    )
    style, steps = (field_payload(s, n) for n, s in function.fields.items())

    assert FormState.start(function).required == frozenset()
    assert (style.get("required"), style["none"]) == (None, "Not set")
    assert (steps.get("required"), steps["placeholder"]) == (None, "Not set")
