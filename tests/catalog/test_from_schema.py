"""Request classes made from JSON Schema."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from mediakit.catalog import Function
from mediakit.errors import InputError
from mediakit.schema import FieldSpec
from tests.support.rows import assert_each
from tests.support.soak import trials

Json = dict[str, Any]
IS_INTEGER: Json = {"type": "integer"}
LETTERS: Json = {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True}
SIZE: Json = {
    "anyOf": [
        {
            "type": "object",
            "properties": {"width": {**IS_INTEGER, "maximum": 9}, "height": IS_INTEGER},
        },
        {"enum": ["square", "portrait"], "type": "string"},
    ]
}
ONE_OR_MORE: Json = {
    "oneOf": [
        {"type": "string"},
        {"type": "array", "items": {"type": "string"}, "maxItems": 3},
    ]
}
TWO_SHAPES: Json = {
    "oneOf": [
        {
            "type": "object",
            "properties": {"shape": {"const": "disc"}, "radius": {"type": "number"}},
            "required": ["shape", "radius"],
        },
        {
            "type": "object",
            "properties": {"shape": {"const": "box"}, "side": {"type": "integer"}},
            "required": ["shape", "side"],
            "additionalProperties": False,
        },
    ]
}


def function_of(properties: Json, **more: Any) -> Function:
    schema = {"type": "object", "properties": properties, **more}
    return Function.from_schema("acme/swift/make-video", schema)


def field_of(schema: object, name: str = "x", **more: Any) -> FieldSpec:
    return function_of({name: schema}, **more).fields[name]


def problems_of(schema: object, value: object, **more: Any) -> list[str]:
    function = function_of({"x": schema}, **more)
    return [problem.field for problem in function.check({"x": value})]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (
            {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^a"},
            FieldSpec("x", "text", min_length=1, max_length=9, pattern="^a"),
        ),
        (
            {"type": "integer", "minimum": 1.5, "exclusiveMaximum": 8.5, "default": 3},
            FieldSpec("x", "integer", low=2, below=9, default=3),
        ),
        (
            {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5},
            FieldSpec("x", "number", above=0, step=0.5),
        ),
        (
            {"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 1},
            FieldSpec("x", "number", above=0, high=1),
        ),
        ({"const": 5}, FieldSpec("x", "choice", choices=(5,))),
        (
            {"anyOf": [{"type": "boolean"}, {"type": "null"}], "description": "Words."},
            FieldSpec("x", "boolean", nullable=True, doc="Words."),
        ),
        ({"type": "string", "nullable": True}, FieldSpec("x", "text", nullable=True)),
        (
            {"anyOf": [{"const": "auto"}, {**IS_INTEGER, "minimum": 3, "maximum": 5}]},
            FieldSpec("x", "choice", choices=("auto", 3, 4, 5)),
        ),
        (
            {"type": "array", "items": {"type": ["integer", "null"]}, "minItems": 1},
            FieldSpec(
                "x", "list", min_length=1, item=FieldSpec("", "integer", nullable=True)
            ),
        ),
        ({}, FieldSpec("x", "json")),
        # Bounds in several parts all apply.
        (
            {"allOf": [{"type": "string", "minLength": 2}, {"maxLength": 3}]},
            FieldSpec("x", "text", min_length=2, max_length=3),
        ),
        # Free text beside choices is text.
        (
            {"anyOf": [{"enum": ["a", "b"]}, {"type": "string"}]},
            FieldSpec("x", "text"),
        ),
        # Keywords that only refuse more change no control.
        (
            {"type": "object", "minProperties": 1},
            FieldSpec("x", "object", closed=False),
        ),
        # A pattern that cannot be checked, or a default that its own schema refuses.
        *(
            (
                {"type": "string", "pattern": pattern},
                FieldSpec("x", "text"),
            )
            for pattern in ("(?=a)b", "(", "a{1000000000}", 5)
        ),
        ({"type": "integer", "default": "3"}, FieldSpec("x", "integer")),
        # Values or null, as documents write them.
        *(
            (schema, FieldSpec("x", "choice", choices=("a", "b"), nullable=True))
            for schema in (
                {"enum": ["a", "b", None], "type": ["string", "null"]},
                {"anyOf": [{"enum": ["a"]}, {"enum": ["b", None]}]},
                {"oneOf": [{"enum": ["a", "b"], "nullable": True}, {"type": "null"}]},
                {"allOf": [{"enum": ["a", "b"], "type": "string"}], "nullable": True},
            )
        ),
    ],
    ids=lambda value: "" if isinstance(value, FieldSpec) else json.dumps(value)[:60],
)
def test_a_schema_is_read_as_a_field(schema: object, expected: FieldSpec) -> None:
    assert field_of(schema) == expected


@pytest.mark.parametrize(
    ("schema", "accepted", "refused"),
    [
        ({"type": "string", "minLength": 2}, "ab", "a"),
        ({"type": "integer"}, 5, 5.5),
        ({"type": "integer"}, 5, True),
        ({"type": "integer"}, 5, "5"),
        ({"type": "integer", "multipleOf": 4}, 8, 9),
        ({"type": "number", "exclusiveMinimum": 0}, 0.1, 0),
        ({"type": "boolean"}, False, 0),
        ({"type": "string"}, "", None),
        ({"enum": [5, 10]}, 10, 7),
        ({"enum": [0, 1]}, 1, True),
        ({"enum": [True]}, True, 1),
        ({"enum": [5, 10]}, 5, 5.0),
        ({"enum": [0.5, 1.0]}, 1, True),
        ({"const": "a"}, "a", "b"),
        ({"type": "array", "items": IS_INTEGER, "maxItems": 1}, [1], [1, 2]),
        ({"type": "object"}, {"any": "thing"}, "text"),
        ({"type": "object", "additionalProperties": False}, {}, {"a": 1}),
        ({"type": "object", "additionalProperties": IS_INTEGER}, {"a": 1}, 1),
        ({"type": "object", "additionalProperties": IS_INTEGER}, {"a": 1}, {"a": "b"}),
        (LETTERS, ["a", "b"], ["a", "b", "a"]),
        (LETTERS, [], "a"),
        ({"type": "array", "uniqueItems": True}, [1, True, {}], [1, {}, {}]),
        (SIZE, "square", "oval"),
        (SIZE, {"width": 5}, {"width": "5"}),
        (SIZE, {}, []),
        (SIZE, "square", None),
        ({"anyOf": [SIZE, {"type": "null"}]}, None, 5),
        (ONE_OR_MORE, "a", 5),
        (ONE_OR_MORE, ["a", "b"], ["a", 5]),
        (ONE_OR_MORE, ["a"], ["a", "b", "c", "d"]),
    ],
    ids=str,
)
def test_the_check_is_as_strict_as_the_schema(
    schema: Json, accepted: object, refused: object
) -> None:
    assert problems_of(schema, accepted) == []
    assert len(problems_of(schema, refused)) == 1


def test_nested_objects_are_checked_and_named() -> None:
    camera = {
        "type": "object",
        "properties": {"zoom": {"type": "number", "minimum": 1}, "seed": IS_INTEGER},
        "required": ["zoom"],
        "additionalProperties": False,
    }
    function = function_of({"camera": camera, "looks": LETTERS}, required=["camera"])

    def sentences(camera: object, **more: object) -> list[str]:
        body = {} if camera is None else {"camera": camera}
        return [problem.sentence for problem in function.check(body | more)]

    assert function.canonical_body({"camera": {"zoom": 2}}) == {"camera": {"zoom": 2}}
    assert sentences({"zoom": 2}) == []
    assert sentences(None) == ["camera is required (an object with zoom and seed)"]
    assert sentences({}) == ["camera.zoom is required (a number of at least 1)"]
    assert sentences({"zoom": 0, "seed": None}) == [
        "camera.zoom must be a number of at least 1 (got 0)",
        "camera.seed must be a whole number (got null)",
    ]
    assert sentences({"zoom": 2, "sed": 1}) == [
        "camera.sed is not a known field (did you mean seed?)"
    ]
    assert sentences({"zoom": 2}, looks=["a", "a"]) == [
        "looks must be a list of different items, each a or b (got ['a', 'a'])"
    ]


def test_one_medium_or_several_are_a_choice_of_the_two() -> None:
    function = function_of({"image_url": ONE_OR_MORE})
    one, two = "https://a.test/1.png", "https://a.test/2.png"

    several = [(m.label, m.value) for m in function.media({"image_url": [one, two]})]
    assert [item.value for item in function.media({"image_url": one})] == [one]
    assert several == [("image_url[0]", one), ("image_url[1]", two)]
    swapped = function.with_media({"image_url": [one, two]}, {two: one})
    assert swapped == {"image_url": [one, one]}
    assert problems_of(ONE_OR_MORE, [one, 5]) == ["x[1]"]


def test_objects_are_distinguished_by_a_constant() -> None:
    shape = {"anyOf": [{"type": "string"}, *TWO_SHAPES["oneOf"]]}
    function = function_of(
        {"shapes": {"type": "array", "items": TWO_SHAPES}, "shape": shape}
    )

    def fields(body: Json) -> list[str]:
        return [problem.field for problem in function.check(body)]

    assert fields({"shapes": [{"shape": "disc", "radius": 1}], "shape": "any"}) == []
    assert fields({"shapes": [{"shape": "box", "side": 0.5}]}) == ["shapes[0].side"]
    assert fields({"shapes": [{"shape": "star"}]}) == ["shapes[0].shape"]
    assert fields({"shape": {"shape": "box", "side": 0.5}}) == ["shape.side"]


def test_references_and_wrappings_are_followed() -> None:
    schema: Json = {
        "$ref": "#/components/schemas/Request",
        "components": {
            "schemas": {
                "Size": {"type": "string", "enum": ["s", "m"], "description": "Size."},
                "Base": {
                    "type": "object",
                    "properties": {"prompt": {"type": "string"}},
                    "required": ["prompt"],
                },
                "Request": {
                    "allOf": [{"$ref": "#/components/schemas/Base"}],
                    "type": "object",
                    "properties": {
                        "size": {
                            "allOf": [{"$ref": "#/components/schemas/Size"}],
                            "default": "m",
                            "nullable": True,
                        }
                    },
                },
            }
        },
    }
    fields = Function.from_schema("acme/swift/make-video", schema).fields

    assert fields["prompt"].required
    assert fields["size"] == FieldSpec(
        "size",
        "choice",
        choices=("s", "m"),
        nullable=True,
        default="m",
        doc="Size.",
    )


# A form has no control for them, but the check reads them.
WITHOUT_CONTROL: list[Json] = [
    {"not": {"type": "string"}},
    {"if": {"type": "string"}, "then": {"minLength": 5}},
    {"type": "object", "patternProperties": {"^a": {"type": "string"}}},
    {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    {"oneOf": [{"type": "object"}, {"type": "object"}]},
    {"type": ["string", "integer"]},
    {"enum": [[1], {"a": 1}]},
    {"enum": list(range(2_000))},
    {"anyOf": [{"const": 0}, {**IS_INTEGER, "minimum": 1, "maximum": 10**12}]},
    {"type": "integer", "multipleOf": 0.5},
    {"type": "integer", "minimum": 10**400},
    {"enum": []},
]
UNREADABLE: list[object] = [
    {"$ref": "https://elsewhere.test/schema.json"},
    {"$ref": "#/nowhere"},
    {"$ref": 5},
    {"minLength": "1"},
    {"multipleOf": 0},
    {"type": "mystery"},
    {"anyOf": []},
    {"anyOf": "text"},
    {"not": {"$ref": "#/nowhere"}},
    {"oneOf": [{"type": "string"}, {"$ref": "#/nowhere"}]},
    *("text", None, []),
]
ANY_VALUES = ("text", 5, [1], {"a": {"b": None}})


def test_a_field_without_a_control_takes_json_and_is_validated() -> None:
    def check(schema: Json) -> None:
        function = function_of({"x": schema})
        oracle = jsonschema.Draft202012Validator(schema)
        assert function.fields["x"].kind == "json"
        for value in ANY_VALUES:
            assert bool(function.check({"x": value})) is not oracle.is_valid(value)
        json.dumps(function.json_schema())

    assert_each(WITHOUT_CONTROL, check)


def test_a_schema_that_cannot_be_read_is_left_to_the_service() -> None:
    function = function_of({f"x{n}": each for n, each in enumerate(UNREADABLE)})

    def check(name: str) -> None:
        assert function.fields[name].kind == "json"
        for value in ANY_VALUES:
            assert function.check({name: value}) == []

    assert_each(list(function.fields), check)
    json.dumps(function.json_schema())


def test_references_that_loop_end() -> None:
    endless: Json = {"type": "string"}
    for _ in range(300):
        endless = {"type": "array", "items": endless}
    tree = {"type": "array", "items": {"$ref": "#/$defs/Tree"}}
    wrapped = [{"$ref": "#/$defs/Wrapped"}, {"$ref": "#/$defs/Wrapped"}]
    definitions = {
        "Tree": {"type": "object", "properties": {"name": {}, "children": tree}},
        "A": {"$ref": "#/$defs/B"},
        "B": {"$ref": "#/$defs/A"},
        "Wrapped": {"allOf": wrapped},
    }
    names = {"tree": "Tree", "loop": "A", "wrapped": "Wrapped"}
    references = {name: {"$ref": f"#/$defs/{each}"} for name, each in names.items()}
    properties = {**references, "self": {"$ref": "#"}, "endless": endless}
    function = function_of(properties, **{"$defs": definitions})
    children = function.fields["tree"].fields["children"]

    assert children.item is not None
    assert children.item.kind == "json"
    assert function.fields["loop"].kind == "json"
    assert function.fields["wrapped"].kind == "json"
    deep = {"name": "a", "children": [{"name": "b", "children": []}]}
    assert function.check({"tree": deep, "self": {"tree": deep}}) == []
    value: object = "text"
    for _ in range(300):
        value = [value]
    assert function.check({"endless": value}) == []
    assert [p.field for p in function.check({"endless": "text"})] == ["endless"]


def test_references_that_double_at_each_level_end() -> None:
    levels = {
        f"L{n}": {
            "type": "object",
            "properties": {
                side: {"$ref": f"#/$defs/L{n + 1}"} for side in ("left", "right")
            },
        }
        for n in range(60)
    }
    wide = {
        f"W{n}": {
            "type": "object",
            "properties": {
                f"p{side}": {"allOf": [{"$ref": f"#/$defs/W{n + 1}"}] * 2}
                for side in range(30)
            },
        }
        for n in range(30)
    }
    schema: Json = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/L0"}, "b": {"$ref": "#/$defs/W0"}},
        "$defs": {**levels, **wide},
    }
    function = Function.from_schema("acme/swift/make-video", schema)

    assert len(repr(function.fields)) < 3_000_000
    assert function.check({"a": {"left": {"right": {}}}}) == []


@pytest.mark.parametrize(
    "name",
    [
        "__class__",
        "model_fields",
        "rules",
        "self",
        "frame-rate",
        "größe",
        "",
        "x" * 500,
    ],
)
def test_any_name_is_sent_unchanged(name: str) -> None:
    function = function_of({name: {**IS_INTEGER, "minimum": 1, "default": 2}})

    assert list(function.fields) == [name]
    assert function.check({name: 5}) == []
    assert [p.field for p in function.check({name: 0})] == [name]
    assert function.canonical_body({name: 5}) == {name: 5}
    assert function.canonical_body({}) == {name: 2}
    assert list(function.json_schema()["properties"]) == [name]
    assert function.estimate({name: 5}).high is None


def test_hints_follow_from_names_if_the_document_has_none() -> None:
    text, whole = {"type": "string"}, {"type": "integer"}
    link = {"type": "string", "format": "uri"}
    fields = function_of(
        {
            "prompt": text,
            "negative_prompt": text,
            "seed": whole,
            "duration": whole,
            "fade_s": {"type": "number"},
            "delay_ms": whole,
            "image_url": text,
            "mask": link,
            "video": {"type": "string", "pattern": "^https?://"},
            "audio_urls": {"type": "array", "items": text},
            "image": text,
            "webhook": link,
        }
    ).fields

    assert fields["prompt"].multiline
    assert fields["negative_prompt"].multiline
    assert fields["seed"].seed
    units = [fields[name].unit for name in ("duration", "fade_s", "delay_ms")]
    assert units == ["s", "s", "ms"]
    kinds = {name: spec.media_kind for name, spec in fields.items() if spec.media_kind}
    assert kinds == {"image_url": "image", "mask": "image", "video": "video"}
    item = fields["audio_urls"].item
    assert item is not None
    assert item.media_kind == "audio"


SELF: Json = {"type": "object"}
SELF["properties"] = {"a": SELF}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "array"}, "type: object"),
        ({"type": "object", "properties": {"a": float("nan")}}, "not JSON"),
        ({"type": "object", "properties": {"a": {1, 2}}}, "not JSON"),
        ({"type": "object", "description": "\ud800"}, "not JSON"),
        (SELF, "not JSON"),
        ("text", "JSON object"),
        (None, "JSON object"),
    ],
    ids=["array", "nan", "set", "surrogate", "self", "text", "none"],
)
def test_a_schema_that_is_not_of_an_object_is_refused_with_a_readable_error(
    schema: Any, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        Function.from_schema("a/b/made-up", schema)


def test_the_schema_decides_whether_further_names_are_accepted() -> None:
    properties = {"prompt": {"type": "string"}, "webhook_url": {"type": "string"}}
    silent = function_of(properties)
    closed = function_of(properties, additionalProperties=False)
    is_open = function_of(properties, additionalProperties=True)
    either = function_of(properties, oneOf=[{"required": ["a"]}, {"required": ["b"]}])
    empty = function_of({}, additionalProperties=False)
    body = {"promt": "a"}

    # Without the keyword, the client refuses unknown names; the service accepts them.
    assert "did you mean prompt" in silent.check(body)[0].sentence
    assert list(silent.fields) == ["prompt"]
    assert silent.check(body, strict_names=False) == []
    assert len(closed.check(body, strict_names=False)) == 1
    assert is_open.check(body) == either.check({**body, "a": 1}) == []
    assert function_of({}).check({"anything": 1}) == []
    assert "there are none" in empty.check({"a": 1})[0].sentence


@pytest.mark.parametrize(
    "beside",
    [{"description": "Words."}, {"description": "Words.", "title": "X"}, {"x-a": 1}],
    ids=str,
)
def test_keywords_beside_a_reference_change_no_values(beside: Json) -> None:
    definitions = {"C": {"type": "string", "enum": ["a", "b"]}}
    for schema in (
        {"allOf": [{"$ref": "#/$defs/C"}, beside]},
        {"allOf": [{"$ref": "#/$defs/C"}], **beside},
        {"$ref": "#/$defs/C", **beside},
        {"$ref": "#/$defs/C", "allOf": [beside]},
    ):
        function = function_of({"x": schema}, **{"$defs": definitions})

        assert function.fields["x"].choices == ("a", "b")
        assert function.fields["x"].doc == beside.get("description", "")
        assert [p.field for p in function.check({"x": "zzz"})] == ["x"]


# Schemas of any shape, with the keywords that are read and values that do not fit.
KEYWORD_NAMES = [
    *sorted(jsonschema.Draft202012Validator.VALIDATORS),
    *("default", "description", "discriminator", "nullable", "x-mediakit"),
]
KEYWORDS = st.sampled_from(KEYWORD_NAMES)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["object", "array", "string", "integer", "#", "#/$defs/a", "^a"])
    | st.text(st.characters(codec="utf-8"), max_size=5)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(KEYWORDS | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=trials(8, soak=100))
@given(
    properties=st.dictionaries(
        st.text(st.characters(codec="utf-8"), max_size=8), VALUES, max_size=4
    ),
    definition=VALUES,
    extension=VALUES,
    body=st.dictionaries(st.text(max_size=3), VALUES, max_size=3),
)
def test_every_document_and_body_is_handled(
    properties: Json, definition: object, extension: object, body: Json
) -> None:
    schema: Json = {
        "type": "object",
        "properties": properties,
        "$defs": {"a": definition},
        "x-mediakit": extension,
    }
    function = Function.from_schema("a/b/made-up", schema)
    names = set(properties) - {"webhook_url"}
    filled = {**dict.fromkeys(names), **body}

    assert names <= set(function.fields)
    for problem in [*function.check(body), *function.check(filled)]:
        assert problem.sentence
    function.canonical_body(filled)
    json.dumps(function.json_schema())


MALFORMED = (None, True, 5, "a", [5], [[5]], {"p": None}, {"p": 5}, {"p": [[5]]})


def test_a_keyword_with_an_invalid_value_raises_no_internal_error() -> None:
    values = ({"p": 1}, [1, 1], "a", 1, None)

    def check(row: tuple[str, object]) -> None:
        keyword, malformed = row
        for schema in ({keyword: malformed}, {"not": {keyword: malformed}}):
            function = function_of({"x": schema})
            for value in values:
                assert all(each.sentence for each in function.check({"x": value}))

    assert_each(product(KEYWORD_NAMES, MALFORMED), check)


# Valid schemas, and values close to accepted ones.
COUNTS = st.integers(0, 3)
BOUNDS = st.integers(-3, 3) | st.sampled_from([0.5, 1.5])
PLAIN_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-4, 4) | st.sampled_from([0.5, "a", "ab"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from("pqr"), inner, max_size=3)
    ),
    max_leaves=5,
)


def keywords(**each: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({}, optional=each)


def objects(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.builds(
        lambda properties, more: {"type": "object", "properties": properties, **more},
        st.dictionaries(st.sampled_from("pqr"), inner, max_size=3),
        keywords(
            required=st.lists(st.sampled_from("pq"), max_size=2, unique=True),
            additionalProperties=st.booleans() | inner,
        ),
    )


def larger(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    lists = keywords(
        items=inner, minItems=COUNTS, maxItems=COUNTS, uniqueItems=st.booleans()
    )
    unions = st.lists(inner, min_size=1, max_size=3)
    return (
        lists.map(lambda schema: {"type": "array", **schema})
        | objects(inner)
        | unions.map(lambda members: {"anyOf": members})
        | unions.map(lambda members: {"oneOf": members})
        | unions.map(lambda members: {"allOf": members})
        | inner.map(lambda schema: {"anyOf": [schema, {"type": "null"}]})
    )


VALID = st.recursive(
    st.builds(
        lambda name, more: {"type": name, **more},
        st.sampled_from(["integer", "number", "string", "boolean"])
        | st.just(["integer", "null"]),
        keywords(
            minimum=BOUNDS,
            maximum=BOUNDS,
            exclusiveMinimum=BOUNDS,
            multipleOf=st.sampled_from([1, 2, 0.5]),
            minLength=COUNTS,
            maxLength=COUNTS,
            pattern=st.sampled_from(["^a", "b$"]),
        ),
    )
    | st.lists(PLAIN_VALUES, min_size=1, max_size=3).map(lambda v: {"enum": v})
    | st.sampled_from(["a", 1, None]).map(lambda v: {"const": v})
    | st.sampled_from([{"$ref": "#/$defs/d"}, {}, {"not": {"type": "string"}}]),
    larger,
    max_leaves=6,
)


@given(schema=VALID, definition=VALID, value=PLAIN_VALUES)
def test_values_that_the_schema_accepts_are_not_refused(
    schema: Json, definition: Json, value: object
) -> None:
    whole = {
        "type": "object",
        "properties": {"x": schema},
        "$defs": {"d": definition},
    }
    # A definition that only refers to itself is ambiguous.
    assume("$ref" not in json.dumps(definition))
    body = {"x": value}
    accepted = jsonschema.Draft202012Validator(whole).is_valid(body)
    problems = Function.from_schema("a/b/c", whole).check(body)

    event(f"accepted: {accepted}, problems: {bool(problems)}")
    assert not (accepted and problems)


def test_a_long_list_of_values_is_shortened_in_a_message() -> None:
    function = function_of({"voice": {"enum": [f"voice-{n:03}" for n in range(300)]}})
    [problem] = function.check({"voice": "mine"})

    assert "voice-000, voice-001" in problem.accepted
    assert problem.accepted.endswith(" or one of 256 others")
