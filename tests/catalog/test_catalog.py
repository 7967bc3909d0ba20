from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.catalog import Catalog, Function, MediaItem
from mediakit.errors import InputError
from mediakit.schema import InputFacts, MediaRequest

CATALOG = Catalog.default()
PNG = "https://a.test/1.png"


def test_a_function_is_found_by_kind_and_by_path() -> None:
    by_path = CATALOG.function("sandbox/keyframes/image-to-video")

    assert CATALOG.function("keyframes") is by_path


def test_a_function_is_described_where_python_keeps_no_docstrings() -> None:
    class Paint(MediaRequest, kind="paint", choose="A picture from words."):
        prompt: str

    assert Function("acme/swift/paint", Paint).doc == "A picture from words."


def test_an_unknown_function_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(InputError, match="text-to-video") as caught:
        CATALOG.function("text2video")

    assert caught.value.field == "function"


def test_a_name_without_near_names_gets_the_whole_list() -> None:
    kinds = sorted(function.kind for function in CATALOG)

    with pytest.raises(InputError) as caught:
        CATALOG.function("zzzzz")

    assert f"{', '.join(kinds[:-1])} or {kinds[-1]}" in str(caught.value)


@pytest.mark.parametrize("name", [None, 3, ["text-to-video"], b"r1"], ids=repr)
def test_a_name_that_is_not_text_is_refused_with_the_whole_list(name: object) -> None:
    with pytest.raises(InputError, match=r"^function must be .*a known function: "):
        CATALOG.function(name)  # type: ignore[arg-type]


def test_an_unbound_function_of_a_service_says_how_to_bind_it() -> None:
    with pytest.raises(InputError, match=r"mediakit.toml, under \[functions\]"):
        Catalog.bind({}).function("r1")


@pytest.mark.parametrize("path", ["r1", "a/b", "a//c", "a/b/c/d", ""])
def test_a_path_has_three_segments(path: str) -> None:
    with pytest.raises(InputError, match="vendor/model/function"):
        Catalog.bind({"r1": path})


def test_an_unknown_kind_cannot_be_bound() -> None:
    with pytest.raises(InputError, match=f"a kind: {min(f.kind for f in CATALOG)}, "):
        Catalog.bind({"r99": "a/b/c"})


def test_the_media_of_a_body_are_listed_in_order() -> None:
    body = {"image_urls": ["a", "b"], "audio_urls": ["c"], "prompt": "d"}

    assert CATALOG.function("r1").media(body) == [
        MediaItem("image_urls[0]", "image", "a"),
        MediaItem("image_urls[1]", "image", "b"),
        MediaItem("audio_urls[0]", "audio", "c"),
    ]


def test_media_are_replaced_at_any_depth() -> None:
    body = {"image_urls": ["cat.png", PNG, "cat.png"], "prompt": "cat.png"}
    function = CATALOG.function("r1")

    changed = function.with_media(body, {"cat.png": "https://u.test/cat"})

    assert changed["image_urls"] == ["https://u.test/cat", PNG, "https://u.test/cat"]
    assert changed["prompt"] == "cat.png"
    assert body["image_urls"] == ["cat.png", PNG, "cat.png"]


def test_a_price_needs_only_the_fields_that_affect_it() -> None:
    assert CATALOG.function("text-to-video").estimate({}).high == 340_000
    with pytest.raises(InputError, match="duration"):
        CATALOG.function("text-to-video").estimate({"duration": 99})
    with pytest.raises(InputError, match="images"):
        CATALOG.function("keyframes").estimate({"prompt": "a"})


@given(
    duration=st.integers(3, 15),
    resolution=st.sampled_from(["720p", "1080p", "4k"]),
    audio=st.sampled_from(["native", "off"]),
)
def test_an_exact_price_is_an_integer_with_equal_ends(
    duration: int, resolution: str, audio: str
) -> None:
    body = {"duration": duration, "resolution": resolution, "audio": audio}
    estimate = CATALOG.function("text-to-video").estimate(body)

    assert estimate.high is not None
    assert estimate.low == estimate.high
    assert estimate.high % duration == 0
    assert type(estimate.high) is int


@given(
    duration=st.integers(4, 30) | st.just("auto"),
    resolution=st.sampled_from(["480p", "720p", "1080p"]),
    draft=st.booleans(),
    clips=st.integers(0, 3),
    seconds=st.none() | st.decimals(2, 30, places=3),
)
def test_a_token_metered_price_lies_between_its_ends(
    duration: object,
    resolution: str,
    *,
    draft: bool,
    clips: int,
    seconds: Decimal | None,
) -> None:
    urls = [f"https://a.test/{n}.mp4" for n in range(clips)]
    body = {"duration": duration, "resolution": resolution, "draft": draft}
    known = {urls[0]: seconds} if urls and seconds is not None else {}
    facts = InputFacts(seconds=known)
    estimate = CATALOG.function("r1").estimate({**body, "video_urls": urls}, facts)

    assert estimate.low is not None
    assert estimate.high is not None
    assert 0 < estimate.low <= estimate.high


@given(tokens=st.integers(0, 10**9))
def test_reported_tokens_make_the_price_exact(tokens: int) -> None:
    body = {"duration": "auto", "prompt": "a"}
    facts = InputFacts(output_tokens=tokens)
    estimate = CATALOG.function("r1").estimate(body, facts)

    assert estimate.kind == "exact"
    assert estimate.low == estimate.high == (tokens * 11_235_000 + 500_000) // 1_000_000


def every_value(spec):
    """Give a value for a field that names media in each place that can."""
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
def test_no_medium_of_a_body_is_overlooked(kind):
    function = Catalog.default().function(kind)
    body = {name: every_value(spec) for name, spec in function.fields.items()}
    named = str(body).count("cat.png")
    assert len(function.media(body)) == named
    changed = function.with_media(body, {"cat.png": "dog.png"})
    assert str(changed).count("dog.png") == named
