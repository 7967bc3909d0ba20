"""Every value survives the round trip to the page."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediakit.catalog import Catalog, Function
from mediakit.schema import FieldSpec
from mediakit.widgets.controls import (
    Wire,
    field_payload,
    held,
    media_specs,
    shown,
)
from mediakit.widgets.controls.json_values import (
    FURTHER,
    Unreadable,
    sendable,
    unreadable,
)
from mediakit.widgets.controls.number import reach_of
from tests.catalog.test_from_schema import SIZE, function_of
from tests.support.rows import assert_each
from tests.support.samples.field_values import begins_filled, values_of
from tests.support.samples.sample_requests import MADE_UP
from tests.support.soak import trials
from tests.widgets.form.shapes import by_shape

CATALOG = Catalog.default()
every_shape = pytest.mark.parametrize(
    "function", by_shape([*CATALOG, MADE_UP]), ids=lambda function: function.kind
)


def field(kind: str, name: str) -> FieldSpec:
    return CATALOG.function(kind).fields[name]


def made_up(name: str) -> FieldSpec:
    return MADE_UP.fields[name]


def round_trip(spec: FieldSpec, value: object) -> object:
    return held(spec, json.loads(json.dumps(shown(spec, value))))


def test_a_field_begins_with_its_default() -> None:
    def check(function: Function) -> None:
        for spec in function.fields.values():
            value = round_trip(spec, None)
            assert begins_filled(spec) or value == spec.default
            assert json.dumps(field_payload(spec, spec.name))

    assert_each([*CATALOG, MADE_UP], check)


@every_shape
def test_every_value_survives_the_round_trip_to_the_page(
    function: Function,
) -> None:
    def check_field(spec: FieldSpec) -> None:
        @settings(max_examples=trials(3, 25))
        @given(values_of(spec))
        def check(value: object) -> None:
            assert round_trip(spec, value) == value
            assert type(round_trip(spec, value)) is type(value)

        check()

    assert_each(function.fields.values(), check_field)


@pytest.mark.parametrize(
    ("spec", "value", "sentence"),
    [
        (field("text-to-video", "resolution"), "8k", "'8k' is not 720p"),
        (field("text-to-video", "duration"), "7", "a whole number from 3 to 15 s"),
        (field("text-to-video", "duration"), 7.5, "a whole number from 3 to 15 s"),
        (field("text-to-video", "duration"), True, "a whole number from 3 to 15 s"),
        (field("keyframes", "images"), "cat.png", "is not a list"),
        *(
            (made_up(name), 7, "is not an? (object|list)")
            for name in ("camera", "stage", "source", "cameras")
        ),
        (made_up("source"), {"type": "sound"}, "object whose type is still or clip"),
        (FURTHER, {1, 2}, "JSON cannot hold it"),
    ],
)
def test_a_value_that_no_control_can_show_is_rejected(
    spec: FieldSpec, value: object, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        shown(spec, value)


@pytest.mark.parametrize(
    ("spec", "wire", "value"),
    [
        (field("text-to-video", "duration"), "99", 99),  # 1 may become 13
        (field("text-to-video", "duration"), "7.5", 7.5),
        (field("keyframes", "seed"), " 12 ", 12),
        (field("keyframes", "seed"), "1_0", "1_0"),  # Python would read 10
        (field("keyframes", "seed"), "many", "many"),
        (field("keyframes", "seed"), "", None),
        (field("text-to-video", "prompt"), "", None),
        (field("image-upscale", "image_url"), " cat.png ", "cat.png"),
        (field("keyframes", "images"), ["", " a.png", ""], ["a.png"]),
        (field("keyframes", "images"), ["", ""], None),
        (made_up("source"), None, None),
    ],
)
def test_anything_typed_becomes_a_value(
    spec: FieldSpec, wire: Wire, value: object
) -> None:
    assert held(spec, wire) == value
    assert type(held(spec, wire)) is type(value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "line 1, character 2: expecting property name"),
        ('{"a": 1,\n "b"}', "line 2, character 5: expecting"),
        ("NaN", "NaN is not a number in JSON"),
        ("[-Infinity]", "-Infinity is not a number in JSON"),
        ("[" * 100_000, "nested too deep"),
        ('"\\ud800"', "surrogates"),
        ("1" * 5_000, "digits"),
        ("[1]", "must be an object"),
        ('"a"', "must be an object"),
        ('{"place": "a pier"}', "place has its own control"),
    ],
)
@pytest.mark.usefixtures("no_garbage_collection")
def test_invalid_json_is_kept_with_its_reason_and_not_sent(
    text: str, reason: str
) -> None:
    stage: Any = held(made_up("stage"), {"of": {"place": "a", FURTHER.name: text}})
    wrong = stage[FURTHER.name]

    assert isinstance(wrong, Unreadable)
    assert wrong == text
    assert reason in wrong.reason
    assert copy.deepcopy(wrong).reason == wrong.reason
    [problem] = unreadable("stages", [1, stage])
    assert problem.field == f"stages[1].{FURTHER.name}"
    assert sendable({"b": stage, "a": [wrong]}) == {"b": {"place": "a"}, "a": [None]}


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    value = held(FieldSpec("any", "json"), text)

    assert value is None or isinstance(value, Unreadable) or json.loads(text) == value


def test_invalid_json_text_is_kept_with_its_error() -> None:
    wrong = held(FURTHER, '{"style": ')
    assert isinstance(wrong, Unreadable)
    assert "line 1, character 11" in wrong.reason
    assert shown(FURTHER, wrong) == '{"style": '
    assert held(FURTHER, "  ") is None
    assert held(FURTHER, '{"id": 12345678901234567890}') == {"id": 12345678901234567890}
    long = {"name": "x" * 80, "sizes": [1]}
    assert shown(FURTHER, long).startswith('{\n  "name"')


def test_undeclared_properties_of_an_object_are_kept_for_validation() -> None:
    unknown = {"lens": "wide", "lense": "wide"}
    assert round_trip(made_up("camera"), unknown) == unknown
    stage: Any = {"place": "a pier", "rain": True}
    wire = shown(made_up("stage"), stage)
    assert wire["of"][FURTHER.name] == '{"rain": true}'
    assert held(made_up("stage"), wire) == stage


def test_a_list_that_must_have_items_and_a_kind_that_must_be_chosen_begin_so() -> None:
    tracks = field("compose-video", "tracks")
    assert held(tracks, shown(tracks, None)) == [{"type": "video", "keyframes": [{}]}]
    assert held(made_up("stage"), shown(made_up("stage"), None)) == {}
    assert shown(made_up("source"), None) is None


def test_a_preset_or_an_object_is_one_of_two_shapes() -> None:
    size = function_of({"size": {**SIZE, "default": "square"}}).fields["size"]
    payload = field_payload(size, "size")

    assert payload["options"] == ["Width and height", "Preset"]
    assert round_trip(size, None) == "square"
    assert round_trip(size, {"width": 5, "height": 6}) == {"width": 5, "height": 6}
    assert round_trip(size, {}) == {}


def test_a_choice_says_what_it_offers() -> None:
    duration = field_payload(field("r1", "duration"), "duration")
    assert (duration["none"], duration["options"][:2]) == ("Choose…", ["Auto", "4 s"])
    few = field_payload(field("text-to-video", "resolution"), "resolution")
    assert (few["few"], few.get("none")) == (True, None)
    crop = field_payload(field("image-upscale", "crop_to_fill"), "crop_to_fill")
    assert (crop["none"], crop["options"]) == ("Service default", ["Yes", "No"])


def test_media_are_known_by_their_path_wherever_they_stand() -> None:
    found = media_specs(CATALOG.function("compose-video").fields)
    assert {spec.media_kind for spec in found.values()} == {"video", "image", "audio"}
    shape: Any = field_payload(field("compose-video", "tracks"), "tracks")
    keyframes = shape["item"]["variants"]["image"]["fields"][-1]["item"]["fields"]
    [url] = [each for each in keyframes if each["kind"] == "media"]
    assert found[url["path"]].media_kind == "image"


@pytest.mark.parametrize(
    ("spec", "reach"),
    [
        (FieldSpec("", "integer", low=1, high=9), (1, 9, 1)),
        (FieldSpec("", "integer", above=0, below=10), (1, 9, 1)),
        (FieldSpec("", "integer", above=-1, low=2, high=9, below=8), (2, 7, 1)),
        (FieldSpec("", "integer", low=0, high=100, step=8), (0, 96, 8)),
        (FieldSpec("", "number", low=0, high=0.25), (0, 0.25, 0.01)),
        (FieldSpec("", "number", low=0.1, high=0.3, step=0.1), (0.1, 0.3, 0.1)),
        (FieldSpec("", "number", low=0), None),
        (FieldSpec("", "number", above=0), None),
        (FieldSpec("", "integer", above=3, below=4), None),
        (FieldSpec("", "integer", low=1, high=3, step=5), None),
        (FieldSpec("", "number", low=0, high=1, step=1e-9), None),
    ],
)
def test_a_slider_reaches_what_the_field_accepts(
    spec: FieldSpec, reach: tuple[float, ...] | None
) -> None:
    assert reach_of(spec) == reach
