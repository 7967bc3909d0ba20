"""JSON in a form: read, shown, and never sent when it is none."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.schema import FieldSpec
from mediakit.widgets.controls.json_box import JsonBox
from mediakit.widgets.controls.json_values import (
    NotJson,
    read_further,
    read_json,
    sendable,
    unreadable,
)
from tests.support.samples.field_values import JSON
from tests.support.widgets import make_context


def box() -> JsonBox:
    return JsonBox(FieldSpec("settings", "json"), make_context())


@given(JSON)
def test_json_is_read_as_what_it_says(value: object) -> None:
    assert read_json(json.dumps(value)) == value


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    value = read_json(text)

    assert value is None or isinstance(value, NotJson) or json.loads(text) == value


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
    ],
)
def test_what_is_no_json_is_kept_with_its_reason(text: str, reason: str) -> None:
    value = read_json(text)

    assert isinstance(value, NotJson)
    assert value == text
    assert reason in value.reason
    assert copy.deepcopy(value).reason == value.reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1]", "must be an object"),
        ('"a"', "must be an object"),
        ('{"prompt": "a"}', "prompt has its own control"),
        ("{", "line 1"),
    ],
)
def test_further_fields_are_an_object_without_the_known_ones(
    text: str, reason: str
) -> None:
    value = read_further(text, {"prompt": None})

    assert isinstance(value, NotJson)
    [problem] = unreadable("further fields", value)
    assert reason in problem.accepted
    assert ("this is not valid JSON" in problem.accepted) is (text == "{")


def test_what_is_no_json_is_found_and_taken_out_at_any_depth() -> None:
    bad = NotJson("{", "line 1")
    value = {"a": [1, bad], "b": {"c": bad}, "d": None}

    assert sendable(value) == {"a": [1, None], "b": {}, "d": None}
    assert [p.field for p in unreadable("x", value)] == ["x.a[1]", "x.b.c"]
    assert "line 1" in next(unreadable("x", value)).accepted


def test_a_box_shows_small_things_on_one_line_and_large_ones_on_several() -> None:
    settings = box()

    settings.value = {"strength": 0.5, "names": ["ä"]}
    assert settings.widget.value == '{"strength": 0.5, "names": ["ä"]}'
    settings.value = {"names": ["a long name of something"] * 4}
    assert settings.widget.value.count("\n") > 4


def test_a_text_that_means_the_value_stays_as_it_was_typed() -> None:
    settings = box()

    settings.widget.value = '{ "a":1 }'
    settings.value = {"a": 1}
    assert settings.widget.value == '{ "a":1 }'
    settings.value = {"a": True}
    assert settings.widget.value == '{"a": true}'
    settings.widget.value = '{"a": '  # this is no JSON, and comes back as it is
    after = box()
    after.value = settings.value
    assert after.widget.value == '{"a": '
    for value in ({"a": {1, 2}}, float("nan")):
        with pytest.raises(ValueError, match="JSON"):
            after.value = value
