"""Our validation of bodies compared with jsonschema's, for a service's whole schema."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from mediakit.catalog import Function
from tests.support.rows import assert_each
from tests.support.soak import trials

Json = dict[str, Any]
TEXT: Json = {"type": "string"}
WHOLE: Json = {"type": "integer"}


def function_of(schema: Json) -> Function:
    return Function.from_schema("acme/swift/make-video", {"type": "object", **schema})


def obj(required: str = "", **properties: Any) -> Json:
    return {"type": "object", "properties": properties, "required": required.split()}


def closed(required: str = "", **properties: Any) -> Json:
    return {**obj(required, **properties), "additionalProperties": False}


def field(schema: Json) -> Json:
    return {"properties": {"x": schema}}


URL, FILE = obj("url", url=TEXT), obj("id", id=WHOLE)
# A schema, bodies that it accepts, and bodies that it rejects, with the message.
Row = tuple[Json, list[Json], list[tuple[Json, str]]]
ROWS: list[Row] = [
    (
        field({"oneOf": [URL, FILE]}),
        [{}, {"x": {"url": "a"}}, {"x": {"id": 1}}],
        [
            ({"x": {}}, "x.url is required unless x.id is given"),
            ({"x": {"url": "a", "id": 1}}, "x.id cannot be given together with url"),
            ({"x": {"url": 5}}, "x.url must be text (got 5)"),
            ({"x": "a"}, "x must be an object with url, or an object with id"),
        ],
    ),
    (
        {
            "properties": {"image": TEXT, "video": TEXT, "prompt": TEXT},
            "oneOf": [{"required": ["image"]}, {"required": ["video"]}],
        },
        [{"image": "a"}, {"video": "a", "prompt": "b"}],
        [
            ({"prompt": "a"}, "image is required unless video is given"),
            (
                {"image": "a", "video": "b"},
                "video cannot be given together with image",
            ),
        ],
    ),
    (
        {
            "properties": {"image": TEXT, "video": TEXT},
            "not": {"required": ["image", "video"]},
        },
        [{}, {"image": "a"}],
        [({"image": "a", "video": "b"}, "video cannot be given together with image")],
    ),
    (
        field({"type": ["string", "integer"]}),
        [{"x": "a"}, {"x": 5}],
        [({"x": 1.5}, "x must"), ({"x": [1]}, "x must"), ({"x": True}, "x must")],
    ),
    (
        field({"anyOf": [TEXT, {**WHOLE, "minimum": 3}]}),
        [{"x": "a"}, {"x": 3}],
        [({"x": 2}, "x must be text, or a whole number of at least 3 (got 2)")],
    ),
    (
        # As a text, no value can be only the first.
        field({"oneOf": [{"enum": ["soft", "loud"]}, TEXT]}),
        [{"x": "soft"}, {"x": "any"}],
        [({"x": 5}, "x must be")],
    ),
    (
        field({"type": "object", "patternProperties": {"^a": WHOLE}}),
        [{"x": {"a": 1, "b": "c"}}],
        [({"x": {"a": "b"}}, "x.a must be a whole number")],
    ),
    (
        field({"type": "array", "prefixItems": [TEXT, WHOLE], "items": False}),
        [{"x": ["a", 1]}, {"x": []}],
        [({"x": [1]}, "x[0] must be text"), ({"x": ["a", 1, 2]}, "x[2] is not")],
    ),
    (
        {
            "properties": {"mode": TEXT, "mask": TEXT},
            "if": {"properties": {"mode": {"const": "edit"}}, "required": ["mode"]},
            "then": {"required": ["mask"]},
        },
        [{"mode": "make"}, {"mode": "edit", "mask": "a"}, {}],
        [({"mode": "edit"}, "mask is required")],
    ),
    (
        {
            "properties": {"seed": WHOLE, "noise": WHOLE},
            "dependentRequired": {"noise": ["seed"]},
        },
        [{"seed": 1}, {}, {"seed": 1, "noise": 2}],
        [({"noise": 1}, "seed is required when noise is given")],
    ),
    (
        field({"type": "object", "minProperties": 1}),
        [{"x": {"a": 1}}],
        [({"x": {}}, "x must")],
    ),
    (
        field({"type": "array", "contains": {"const": "a"}}),
        [{"x": ["b", "a"]}],
        [({"x": ["b"]}, "x")],
    ),
    (
        field(
            {
                "anyOf": [
                    {"enum": ["a"]},
                    {"type": "array", "items": {"anyOf": [URL, WHOLE]}},
                ]
            }
        ),
        [{"x": "a"}, {"x": [1, {"url": "a"}]}],
        [
            ({"x": ["a"]}, "x[0] must be"),
            ({"x": [{"url": 1}]}, "x[0].url must be text"),
        ],
    ),
    (
        field(
            {
                "type": "array",
                "items": {
                    "oneOf": [
                        obj("kind", kind={"const": "cut"}, at=WHOLE),
                        obj(
                            "kind",
                            kind={"const": "fade"},
                            of={"type": "array", "items": {"not": TEXT}},
                        ),
                        {"not": {"type": "object"}},
                    ]
                },
            }
        ),
        [{"x": [{"kind": "cut"}, {"kind": "fade", "of": [1]}, 5]}],
        [
            ({"x": [{"kind": "zoom"}]}, "x[0].kind must be cut or fade (got 'zoom')"),
            ({"x": [{}]}, "x[0].kind is required (cut or fade)"),
        ],
    ),
    (
        # The tag need not be sent where the document does not require it.
        {
            "oneOf": [
                closed("prompt", kind={"const": "words"}, prompt=TEXT),
                closed("image", kind={"const": "picture"}, image=TEXT),
            ]
        },
        [{"prompt": "a"}, {"kind": "words", "prompt": "a"}, {"image": "b"}],
        [
            ({"kind": "words"}, "prompt is required"),
            ({"kind": "picture", "image": 5}, "image must be"),
        ],
    ),
]


def test_a_body_is_refused_if_and_only_if_the_document_refuses_it() -> None:
    def check(row: Row) -> None:
        schema, right, wrong = row
        function = function_of(schema)
        oracle = jsonschema.Draft202012Validator({"type": "object", **schema})
        for body in right:
            assert [each.sentence for each in function.check(body)] == []
            assert lenient(schema).is_valid(body)
        for body, sentence in wrong:
            sentences = [each.sentence for each in function.check(body)]
            assert [each for each in sentences if each.startswith(sentence)], sentences
            assert not oracle.is_valid(body)

    assert_each(ROWS, check)


def test_a_default_that_the_document_refuses_beside_other_fields_is_not_sent() -> None:
    function = function_of(
        {
            "properties": {
                "seed": {**WHOLE, "default": 7},
                "prompt": TEXT,
                "image": TEXT,
            },
            "not": {"required": ["image", "seed"]},
        }
    )

    assert function.canonical_body({"prompt": "a"}) == {"prompt": "a", "seed": 7}
    assert function.canonical_body({"image": "a"}) == {"image": "a"}
    assert function.check({"image": "a"}) == []
    assert len(function.check({"image": "a", "seed": 7})) == 1


def test_read_only_fields_and_the_webhook_are_not_required() -> None:
    schema = obj(
        "id prompt webhook_url",
        id={**TEXT, "readOnly": True},
        prompt=TEXT,
        webhook_url=TEXT,
    )

    assert function_of(schema).check({"prompt": "a"}) == []
    assert [each.field for each in function_of(schema).check({})] == ["prompt"]


def test_a_discriminator_names_the_alternative_that_counts() -> None:
    parts = {"Cat": obj("pet", pet=TEXT, lives=WHOLE), "Dog": obj("pet", pet=TEXT)}
    members = [{"$ref": f"#/$defs/{name}"} for name in parts]
    pet: Json = {"oneOf": members, "discriminator": {"propertyName": "pet"}}
    function = function_of({**field(pet), "$defs": parts})

    assert function.check({"x": {"pet": "Dog", "lives": "many"}}) == []
    [problem] = function.check({"x": {"pet": "Cat", "lives": "many"}})
    assert problem.sentence == "x.lives must be a whole number (got 'many')"


def test_schemas_combined_with_all_of_accept_the_names_of_each_other() -> None:
    parts = [closed("prompt", prompt=TEXT), closed("", seed=WHOLE)]
    function = function_of({"allOf": parts})

    assert function.check({"prompt": "a", "seed": 1}) == []
    assert [each.field for each in function.check({"seed": "a"})] == ["prompt", "seed"]


def _one_of(validator: Any, members: Any, value: Any, schema: Any) -> Any:
    name = "oneOf" if isinstance(value, dict | list) else "anyOf"
    return jsonschema.Draft202012Validator.VALIDATORS[name](
        validator, members, value, schema
    )


def lenient(schema: Json) -> Any:
    """Return jsonschema's verdict, with strings and numbers of several alternatives."""
    cls = jsonschema.validators.extend(
        jsonschema.Draft202012Validator, {"oneOf": _one_of}
    )
    return cls({"type": "object", **schema})


# -- schemas of any shape --------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-4, 4) | st.sampled_from([0.5, "a", "ab"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from("pqr"), inner, max_size=3)
    ),
    max_leaves=5,
)
NAMES = st.lists(st.sampled_from("pqr"), max_size=2, unique=True)
COUNTS = st.integers(0, 3)


def some(**each: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    """Draw some keywords, and always a type if there is one.

    Without a type a schema with `properties` accepts texts, too, and nobody means that.
    """
    always = {name: each.pop(name) for name in ("type",) if name in each}
    return st.fixed_dictionaries(always, optional=each)


def larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    members = st.lists(inner, min_size=1, max_size=3)
    by_name = st.dictionaries(st.sampled_from("pqr"), inner, max_size=2)
    return (
        some(
            type=st.sampled_from(["object", ["object", "string"]]),
            properties=by_name,
            required=NAMES,
            additionalProperties=inner,
            patternProperties=st.dictionaries(st.sampled_from(["^p", "q|r"]), inner),
            propertyNames=st.just({"pattern": "[pq]"}),
            minProperties=COUNTS,
            maxProperties=COUNTS,
            dependentRequired=st.dictionaries(st.sampled_from("pq"), NAMES),
            dependentSchemas=by_name,
        )
        | some(
            type=st.sampled_from(["array", ["array", "null"]]),
            items=inner,
            prefixItems=members,
            minItems=COUNTS,
            maxItems=COUNTS,
            uniqueItems=st.booleans(),
            contains=inner,
            maxContains=COUNTS,
        )
        | some(anyOf=members, oneOf=members, **{"not": inner})
        | some(**{"if": inner, "then": inner, "else": inner, "anyOf": members})
        | members.map(lambda each: {"oneOf": each})
    )


SCHEMAS = st.recursive(
    st.booleans()
    | some(
        type=st.sampled_from(["integer", "number", "string", "boolean", "null"])
        | st.just(["integer", "string"]),
        minimum=st.integers(-3, 3),
        exclusiveMaximum=st.sampled_from([-1, 0.5, 2]),
        multipleOf=st.sampled_from([1, 2, 0.5]),
        minLength=COUNTS,
        maxLength=COUNTS,
        pattern=st.sampled_from(["^a", "b$"]),
    )
    | st.lists(VALUES, min_size=1, max_size=3).map(lambda each: {"enum": each})
    | VALUES.map(lambda each: {"const": each})
    | st.just({"$ref": "#/$defs/d"}),
    larger,
    max_leaves=8,
)


@settings(max_examples=trials(200, soak=2_000))
@given(schema=SCHEMAS, definition=SCHEMAS, value=VALUES)
def test_validation_agrees_with_jsonschema_for_any_schema(
    schema: Any, definition: Any, value: object
) -> None:
    # A definition that refers to itself may have no value at all.
    assume("$ref" not in json.dumps(definition))
    whole = {**obj("x", x=schema), "$defs": {"d": definition}}
    accepted = lenient(whole).is_valid({"x": value})
    problems = Function.from_schema("a/b/c", whole).check({"x": value})

    event(f"accepted: {accepted}")
    assert bool(problems) is not accepted
