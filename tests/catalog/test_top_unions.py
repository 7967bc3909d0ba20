"""Bodies of several types, distinguished by a constant such as `model`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mediakit import Client
from mediakit.catalog import Catalog, Function
from mediakit.catalog.examples import example
from mediakit.client.requests import plain_fields
from mediakit.errors import InputError
from mediakit.sandbox.server.running import Sandbox, start
from mediakit.schema import FieldSpec
from mediakit.widgets.form.controller import Form
from mediakit.widgets.form.state import FormState
from tests.support.rows import assert_each
from tests.widgets.form.test_properties import filled, make_view

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


def test_a_body_of_any_of_them_is_accepted_and_a_form_sends_it() -> None:
    def check(body: Json) -> None:
        view = make_view(FUNCTION)
        state = filled(view, FormState.start(FUNCTION, body))
        assert FUNCTION.check(body) == []
        assert FUNCTION.estimate(body).high is None
        assert (state.problems, state.body()) == ((), body)
        jsonschema.validate(body, SCHEMA)

    assert_each([*GOOD, example(FUNCTION)], check)


def test_any_other_body_is_refused_in_a_sentence() -> None:
    def check(row: tuple[Json, str]) -> None:
        body, sentence = row
        [problem] = FUNCTION.check(body)
        assert problem.sentence.startswith(sentence)
        assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(body)

    assert_each(BAD, check)


def test_the_fields_are_those_of_all() -> None:
    fields = FUNCTION.fields

    assert next(iter(fields)) == "model"
    assert fields["model"].choices == ("swift", "grand")
    assert fields["model"].required
    assert fields["prompt"].required
    assert fields["prompt"].multiline
    assert fields["ratio"].choices == ("16:9", "9:16", "1:1")
    assert not fields["image_url"].required
    assert not FUNCTION.is_open


def test_media_are_found_in_the_chosen_one() -> None:
    body = plain_fields(FUNCTION, GOOD[2] | {"image_url": Path("cat.png")})

    assert [item.value for item in FUNCTION.media(body)] == ["cat.png"]
    assert FUNCTION.with_media(body, {"cat.png": PNG}) == GOOD[2]


def test_its_json_schema_is_equivalent_and_is_read_again() -> None:
    schema = FUNCTION.json_schema()
    validator = jsonschema.Draft202012Validator(schema)
    again = Function.from_schema(FUNCTION.path, schema)

    assert all(validator.is_valid(body) for body in GOOD)
    assert not any(validator.is_valid(body) for body, _ in BAD)
    assert dict(again.fields) == dict(FUNCTION.fields)
    assert [*map(str, again.rules)] == [*map(str, FUNCTION.rules)]
    assert again.json_schema() == schema


def test_a_form_has_the_fields_of_the_chosen_one() -> None:
    view = make_view(FUNCTION)
    begun = filled(view, FormState.start(FUNCTION))
    swift = begun.with_value("model", "swift")
    grand = begun.with_value("model", "grand")

    assert begun.submit_reason == "Model is required."
    assert set(begun.disabled) == {"image_url", "looks", "duration"}
    assert set(swift.disabled) == {"image_url", "looks"}
    assert swift.disabled["looks"] == "applies only when model is grand"
    assert set(grand.disabled) == {"duration"}
    assert swift.required == {"model", "prompt"}
    assert grand.required == {"model", "prompt", "image_url"}


def test_a_form_shows_the_controls_of_the_chosen_one_alone() -> None:
    def shown(**values: object) -> dict[str, FieldSpec]:
        view = make_view(FUNCTION)
        view.adapted(filled(view, FormState.start(FUNCTION, values)))
        [section] = view._sections
        lines = section.widget.children
        controls = view.controls.items()
        return {n: c.spec for n, c in controls if c.widget in lines}

    swift, grand = shown(model="swift"), shown(model="grand")

    assert list(shown()) == ["model", "prompt", "ratio"]
    assert list(swift) == ["model", "prompt", "ratio", "duration"]
    assert list(grand) == ["model", "prompt", "ratio", "image_url", "looks"]
    assert swift["ratio"].choices == ("16:9", "9:16")
    assert grand["ratio"].choices == ("1:1", "16:9")
    assert grand["prompt"].max_length == 500
    assert grand["image_url"].required


def test_a_value_that_the_chosen_one_refuses_becomes_its_default(
    client: Client,
) -> None:
    form = Form(client, FUNCTION, {"model": "grand", "prompt": "a", "ratio": "1:1"})
    before = form._view.controls["ratio"]

    assert form.values.ratio == "1:1"
    form._view.controls["model"].parts[0].value = "swift"
    assert form.values.ratio == "16:9"
    assert form.values.prompt == "a"
    assert form.request() == {"model": "swift", "prompt": "a", "ratio": "16:9"}
    after = form._view.controls["ratio"]
    assert after is not before
    after.parts[0].value = "9:16"
    assert form.request()["ratio"] == "9:16"
    form.values.update(model="grand", image_url=PNG)
    assert form.values.ratio == "1:1"
    assert form.state.problems == ()
    form.close()


def test_code_can_choose_another_one_together_with_its_values(client: Client) -> None:
    form = Form(client, FUNCTION, GOOD[1])

    form.values.update(GOOD[2])
    assert form.request() == GOOD[2]
    with pytest.raises(InputError, match="ratio"):
        form.values.update(GOOD[1] | {"ratio": "4:3"})
    assert form.request() == GOOD[2]
    assert form._view.controls["ratio"].spec.choices == ("1:1", "16:9")
    form.close()


def test_the_sandbox_runs_a_job_of_it(tmp_path: Path) -> None:
    catalog = Catalog((FUNCTION,))
    running = start(Sandbox(tmp_path / "data", catalog=catalog, speed=20, sketch=True))
    with Client(running.base_url, running.api_key, home=tmp_path) as client:
        job = client.submit("make-video", model="swift", prompt="a", duration=2)

        assert job.core.state.body == {
            "model": "swift",
            "prompt": "a",
            "ratio": "16:9",
            "duration": 2,
        }
        assert job.wait(60).status == "completed"
    running.stop()


def test_alternatives_without_a_distinguishing_property_take_any_field() -> None:
    members = [{"properties": {name: TEXT}, "required": [name]} for name in "ab"]
    function = Function.from_schema("acme/swift/make-video", {"oneOf": members})
    alone = Function.from_schema("acme/swift/make-video", {"oneOf": members[:1]})

    assert function.is_open
    assert function.check({"a": "text"}) == []
    assert [problem.field for problem in alone.check({"a": 5})] == ["a"]
