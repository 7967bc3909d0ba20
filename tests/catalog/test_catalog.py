import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.catalog import Catalog, Function
from mediakit.errors import InputError
from mediakit.schema import InputFacts, MediaRequest

CATALOG = Catalog.default()
PNG = "https://a.test/1.png"


def test_a_function_is_found_by_kind_and_by_path() -> None:
    by_path = CATALOG.function("sandbox/keyframes/image-to-video")

    assert CATALOG.function("keyframes") is by_path


def test_an_unknown_function_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(InputError, match="text-to-video") as caught:
        CATALOG.function("text2video")

    assert caught.value.field == "function"


def test_a_name_unlike_any_other_is_answered_with_the_whole_list() -> None:
    kinds = sorted(function.kind for function in CATALOG)

    with pytest.raises(InputError) as caught:
        CATALOG.function("zzzzz")

    assert f"{', '.join(kinds[:-1])} or {kinds[-1]}" in str(caught.value)


@pytest.mark.parametrize("path", ["r1", "a/b", "a//c", "a/b/c/d", ""])
def test_a_path_has_three_segments(path: str) -> None:
    with pytest.raises(InputError, match="vendor/model/function"):
        Catalog.bind({"r1": path})


def test_media_are_replaced_at_any_depth() -> None:
    body = {"image_urls": ["cat.png", PNG, "cat.png"], "prompt": "cat.png"}
    function = CATALOG.function("r1")

    changed = function.with_media(body, {"cat.png": "https://u.test/cat"})

    assert changed["image_urls"] == ["https://u.test/cat", PNG, "https://u.test/cat"]
    assert changed["prompt"] == "cat.png"
    assert body["image_urls"] == ["cat.png", PNG, "cat.png"]


@given(tokens=st.integers(0, 10**9))
def test_reported_tokens_make_the_price_exact(tokens: int) -> None:
    body = {"duration": "auto", "prompt": "a"}
    facts = InputFacts(output_tokens=tokens)
    estimate = CATALOG.function("r1").estimate(body, facts)

    assert estimate.kind == "exact"
    assert estimate.low == estimate.high == (tokens * 11_235_000 + 500_000) // 1_000_000


def every_value(spec):
    """Return a value of a field with media in every place that accepts them."""
    if spec.media_kind:
        return "cat.png"
    if spec.item is not None:
        return [every_value(spec.item)] * 2
    if spec.kind == "object":
        return {name: every_value(inner) for name, inner in spec.fields.items()}
    if spec.kind == "variants":
        tag, variant = next(iter(spec.variants.items()))
        return {**every_value(variant), spec.tag: tag}
    return None


@pytest.mark.parametrize("kind", sorted(f.kind for f in Catalog.default()))
def test_all_media_of_a_body_are_found(kind):
    function = Catalog.default().function(kind)
    body = {name: every_value(spec) for name, spec in function.fields.items()}
    named = str(body).count("cat.png")
    assert len(function.media(body)) == named
    changed = function.with_media(body, {"cat.png": "dog.png"})
    assert str(changed).count("dog.png") == named


def test_a_function_is_described_when_python_drops_docstrings() -> None:
    class Paint(MediaRequest, kind="paint", choose="A picture from words."):
        prompt: str

    assert Function("acme/swift/paint", Paint).doc == "A picture from words."
