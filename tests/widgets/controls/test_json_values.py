"""JSON as people type it: read, kept with what is wrong, and taken out."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.widgets.controls.json_values import (
    NotJson,
    read_further,
    read_json,
    sendable,
    unreadable,
)
from tests.support.samples.field_values import JSON


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
