import linecache
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from mediakit.catalog import Function
from mediakit.schema import (
    ImageUrl,
    InputFacts,
    Marker,
    MediaRequest,
    Omittable,
    Prompt,
    Seed,
    Title,
    Unit,
    canonical_json,
    schema_of,
)
from mediakit.schema.facts import MediaKind


class Sample(MediaRequest, kind="sample", function="sample", spec="1"):
    """Every shape of field that the declarations use."""

    prompt: Annotated[str, Field(min_length=1, max_length=9), Prompt()]
    """What it shows."""
    duration: Annotated[Literal["auto"] | Annotated[int, Field(ge=4, le=8)], Unit("s")]
    size: Literal["a", "b"] = "a"
    ratio: Omittable[Literal["x", "y"]] = None
    seed: Annotated[int | None, Seed()] = None
    share: Annotated[float | None, Field(ge=0, le=1)] = None
    images: Annotated[list[ImageUrl], Field(min_length=1, max_length=2)]


SAMPLE = Function("sandbox/sample/sample", Sample)
BODY: dict[str, Any] = {"prompt": "a", "duration": 4, "images": ["https://a.test/1"]}


def problem_fields(**changes: object) -> list[str]:
    return [p.field for p in SAMPLE.check({**BODY, **changes})]


def test_fields_have_the_values_that_a_control_needs() -> None:
    fields = SAMPLE.fields

    assert fields["prompt"].multiline
    assert fields["prompt"].doc == "What it shows."
    assert (fields["prompt"].min_length, fields["prompt"].max_length) == (1, 9)
    assert fields["duration"].choices == ("auto", 4, 5, 6, 7, 8)
    assert fields["duration"].unit == "s"
    assert fields["size"].default == "a"
    assert not fields["ratio"].nullable
    assert fields["seed"].seed
    assert fields["seed"].nullable
    assert (fields["share"].low, fields["share"].high) == (0, 1)
    images = fields["images"]
    assert images.kind == "list"
    assert images.item is not None
    assert images.item.media_kind == "image"
    assert [n for n, f in fields.items() if f.required] == [
        "prompt",
        "duration",
        "images",
    ]


class Marked(MediaRequest, kind="marked", function="marked"):
    """A field with a fact that has no marker of its own, and with two markers."""

    clip: Annotated[str, MediaKind("video"), Title("Take"), Marker(mask_of="size")]
    rate: Annotated[int, Field(ge=1), Unit("fps")] = 24
    wait: Annotated[int, Field(le=1), Unit("s")] = 1


def test_the_facts_on_markers_are_read_from_the_schema_that_they_are_written_to() -> (
    None
):
    declared = Function("sandbox/marked/marked", Marked)
    clip = declared.fields["clip"]
    assert (clip.kind, clip.media_kind, clip.title) == ("media", "video", "Take")
    assert (clip.mask_of, clip.unit, clip.seed) == ("size", None, False)

    served = Function.from_schema("acme/marked/marked", schema_of(declared.body))
    assert served.fields == declared.fields
    assert served.fields["clip"].title == "Take"


def test_a_unit_is_written_in_the_singular_only_where_it_has_one() -> None:
    fields = Function("sandbox/marked/marked", Marked).fields
    assert fields["rate"].accepted == "a whole number of at least 1 fps"
    assert fields["wait"].accepted == "a whole number of at most 1 second"


CELL = '''
from mediakit.schema import MediaRequest
class Weather(MediaRequest, kind="weather"):
    prompt: str
    """What it says."""
class Snow(Weather, kind="snow"):
    depth: int = 3
    """How deep."""
'''


def test_a_class_in_a_notebook_s_cell_keeps_the_docstrings_of_its_fields() -> None:
    file = "<a cell of a notebook>"
    linecache.cache[file] = (len(CELL), None, CELL.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(CELL, file, "exec"), names)

    docs = {n: s.doc for n, s in Function("a/b/c", names["Snow"]).fields.items()}
    assert docs == {"prompt": "What it says.", "depth": "How deep."}


def test_accepted_values_are_described_in_words() -> None:
    words = {name: spec.accepted for name, spec in SAMPLE.fields.items()}

    assert words == {
        "prompt": "text of 1 to 9 characters",
        "duration": "a whole number from 4 to 8 s or auto",
        "size": "a or b",
        "ratio": "x or y",
        "seed": "a whole number, or null",
        "share": "a number from 0 to 1, or null",
        "images": "a list of 1 to 2 image URLs",
    }


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("duration", ["4", 4.0, True, 3, 9, None, [4], "Auto"]),
        ("share", [float("nan"), float("inf"), True, "0.5", -0.1]),
        ("ratio", [None, "z"]),
        ("seed", [1.0, True, "1"]),
        ("images", [[], None, "https://a.test/1"]),
        ("prompt", ["", "0123456789", "\ud800", b"a"]),
    ],
)
def test_a_value_of_another_type_or_out_of_range_is_refused(
    field: str, values: list[object]
) -> None:
    assert problem_fields() == problem_fields(seed=None, share=1) == []
    for value in values:
        assert problem_fields(**{field: value}) == [field]
    assert problem_fields(images=["https://a.test/1", "cat.png"]) == ["images[1]"]


def test_defaults_are_filled_and_nulls_dropped_in_the_canonical_body() -> None:
    assert SAMPLE.canonical_body({**BODY, "seed": None}) == {**BODY, "size": "a"}
    assert SAMPLE.canonical_body({**BODY, "size": "a"}) == SAMPLE.canonical_body(BODY)


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.none()))
def test_canonical_json_does_not_depend_on_the_order_of_keys(
    value: dict[str, object],
) -> None:
    backwards = dict(reversed(value.items()))

    assert canonical_json(value) == canonical_json(backwards)


@pytest.mark.parametrize(
    ("given_number", "written"),
    [
        (1.0, b"1"),
        (-0.0, b"0"),
        (0.5, b"0.5"),
        ([1.0, {"at": 1_000.0}], b'[1,{"at":1000}]'),
        (True, b"true"),
        (1e300, b"1e+300"),
    ],
)
def test_a_number_has_one_canonical_form(given_number: object, written: bytes) -> None:
    body = SAMPLE.canonical_body({**BODY, "extra": given_number})
    assert canonical_json(body["extra"]) == written


def test_durations_are_read_exactly_to_the_millisecond() -> None:
    facts = InputFacts(seconds={"a": 2.5, "b": Decimal("0.0005"), "c": 0.1 + 0.2})

    assert [facts.ms(url) for url in "abcd"] == [2_500, 1, 300, None]
