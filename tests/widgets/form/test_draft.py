"""Drafts: the values of a form as text that outlives its kernel."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.widgets.controls.json_values import Unreadable
from mediakit.widgets.form.draft import LONGEST_BYTES, Draft, digest_of

KEY = "mk_key_0123456789"

leaves = (
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"))
)
json_values = st.recursive(
    leaves | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abcxyz"), inner),
    max_leaves=8,
)


def there_and_back(draft: Draft, secret: str = "") -> Draft:
    read = Draft.read(draft.text(secret))
    assert read is not None
    return read


@given(st.dictionaries(st.text("abcxyz", min_size=1), json_values))
def test_a_draft_comes_back_as_it_was_written(values: dict[str, Any]) -> None:
    draft = Draft(
        values,
        given={"prompt": digest_of("a")},
        touched=frozenset({"prompt", "seed"}),
        submitted={"media_1": "abc"},
        after=7,
    )
    assert there_and_back(draft) == draft


def test_invalid_json_text_is_restored_unchanged() -> None:
    typed = Unreadable('{"a": ', "this is no JSON")
    back = there_and_back(Draft({"further": typed, "list": [{"inner": typed}]}))
    for found in (back.values["further"], back.values["list"][0]["inner"]):  # type: ignore[index]
        assert isinstance(found, Unreadable)
        assert (found, found.reason) == (typed, typed.reason)


@pytest.mark.parametrize(
    "secret",
    [
        f"key {KEY} in words",
        "https://bucket.test/a.png?X-Amz-Signature=0a1b2c3d4e5f",
        "https://media.test/a.mp4?v=1&sig=abcdef012345",
        "https://media.test/a.mp4?token=abcdef012345",
        "https://me:pass@media.test/a.png",
    ],
)
def test_no_secret_is_written_wherever_it_stands(secret: str) -> None:
    values = {
        "text": secret,
        "list": ["https://a.test/1.png", secret],
        "object": {"url": secret, "at": 3},
        "typed": Unreadable(secret, "no JSON"),
        "prompt": "a kite",
    }
    text = Draft(values, given={"text": digest_of(secret)}).text(KEY)
    assert secret not in text
    assert json.loads(text)["values"] == {
        "list": ["https://a.test/1.png"],
        "object": {"at": 3},
        "prompt": "a kite",
    }


def test_a_webhook_url_may_hold_a_token_and_is_not_written() -> None:
    draft = Draft({"further": {"webhook_url": "https://me.test/hook", "steps": 3}})
    assert there_and_back(draft).values == {"further": {"steps": 3}}


def test_a_value_beyond_the_limit_gives_way_to_all_others() -> None:
    values = {"long": "a" * LONGEST_BYTES, "prompt": "b" * 3_072, "duration": 5}
    back = there_and_back(Draft(values))
    assert set(back.values) == {"prompt", "duration"}


@pytest.mark.parametrize(
    "text", [None, "", "no JSON", "[]", "{}", '{"values": 3}', '{"values": {}}']
)
def test_an_unreadable_draft_is_ignored(text: str | None) -> None:
    assert Draft.read(text) is None


def test_code_wins_where_it_has_changed_and_the_form_everywhere_else() -> None:
    draft = Draft(
        {"prompt": "by hand", "duration": 7, "seed": 3},
        given={"prompt": digest_of("from code"), "duration": digest_of(5)},
    )
    assert draft.begun_with({"prompt": "from code", "duration": 5}) == {
        "prompt": "by hand",
        "duration": 7,
        "seed": 3,
    }
    assert draft.begun_with({"prompt": "new code"})["prompt"] == "new code"
    assert draft.begun_with({"seed": 9})["seed"] == 9
    assert draft.begun_with({"resolution": "1080p"})["resolution"] == "1080p"


def test_a_value_that_was_a_secret_comes_from_the_code_again() -> None:
    url = "https://bucket.test/a.png?X-Amz-Signature=0a1b2c3d4e5f"
    draft = there_and_back(Draft({"image": url}, given={"image": digest_of(url)}))
    assert draft.begun_with({"image": url}) == {"image": url}


def test_a_medium_from_memory_is_the_same_in_each_kernel() -> None:
    first, second, other = (
        f"/tmp/mediakit-{kernel}/0a1b2c3d4e5f/{name}.png"
        for kernel, name in (("abcd_123", "a"), ("wxyz_789", "a"), ("wxyz_789", "b"))
    )
    assert digest_of([first]) == digest_of([second])
    assert digest_of(first) != digest_of(other)
    draft = Draft({"image": "by hand.png"}, given={"image": digest_of(first)})
    assert draft.begun_with({"image": second}) == {"image": "by hand.png"}
