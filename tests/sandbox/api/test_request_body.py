"""Bodies are read or refused, whatever comes."""

import contextlib
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.sandbox.exchange import RequestError, parse_object

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.binary())
def test_any_bytes_are_an_object_or_422(raw: bytes) -> None:
    status, value = 200, None
    try:
        value = parse_object(raw)
    except RequestError as error:
        status = error.status

    assert status == 422 or isinstance(value, dict)


@given(st.dictionaries(st.text(), json_values, max_size=3))
def test_an_accepted_body_can_be_stored_and_equals_what_was_sent(body: object) -> None:
    raw = json.dumps(body).encode()
    with contextlib.suppress(RequestError):
        value = parse_object(raw)
        assert value == body
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63) + 1, 1.5, 0])
def test_numbers_of_64_bits_are_accepted(number: float) -> None:
    assert parse_object(json.dumps({"n": number}).encode()) == {"n": number}


@pytest.mark.parametrize("number", [2**63, -(2**63), 1e300, math.inf, math.nan])
def test_numbers_beyond_are_refused(number: float) -> None:
    with pytest.raises(RequestError):
        parse_object(json.dumps({"n": number}).encode())


def test_a_refusal_names_the_field() -> None:
    with pytest.raises(RequestError, match=r"^a: a number"):
        parse_object(b'{"a": [1, {"b": 9223372036854775808}]}')
