from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediakit.catalog import Catalog, Function
from mediakit.client import Service
from mediakit.client.idempotency_keys import (
    draw_key_of,
    key_of,
    name_of_job,
    next_attempt,
    submission_of,
    take_of,
)
from mediakit.estimates import Estimate
from mediakit.history import Submission
from mediakit.schema import canonical_json

SERVICE = Service("https://api.media.test", "key-1")
FUNCTION = Catalog.default().function("text-to-video")


def request(
    *,
    service: Service = SERVICE,
    function: Function = FUNCTION,
    webhook_url: str | None = None,
    **body: object,
) -> Submission:
    full = function.canonical_body({"prompt": "a kite", **body})
    estimate = FUNCTION.estimate(full)
    return submission_of(service, function, full, estimate, webhook_url=webhook_url)


def test_an_explicit_default_makes_the_same_request() -> None:
    assert request(duration=5, multi_shot=None).draw_key == request().draw_key
    assert request(duration=5).body == request().body


@pytest.mark.parametrize(
    "other",
    [
        request(prompt="a cat"),
        request(duration=6),
        request(webhook_url="https://hook.test/1"),
        request(service=Service("https://other.test", "key-1")),
        request(function=Catalog.default().function("r1")),
    ],
)
def test_a_different_content_service_or_function_makes_another_request(
    other: Submission,
) -> None:
    assert other.draw_key != request().draw_key


def test_a_different_api_key_makes_the_same_request() -> None:
    rotated = request(service=Service("https://api.media.test", "key-2"))

    assert rotated.key == request().key
    assert rotated.account != request().account


def test_a_job_and_a_file_are_identified_by_name_whatever_their_urls() -> None:
    function = Catalog.default().function("video-upscale")

    def upscaled(url: str, name: str | None = None) -> Submission:
        body = function.canonical_body({"video_url": url})
        names = {} if name is None else {url: name}
        return submission_of(SERVICE, function, body, Estimate.of([]), names=names)

    first, second = (
        upscaled(f"https://media.test/a.mp4?signature={n}", name_of_job("media_1"))
        for n in (1, 2)
    )
    assert first.asked_key == second.asked_key
    assert first.key != second.key
    assert first.asked_key != first.draw_key
    for url in ("https://media.test/a.mp4", "https://media.test/b.mp4"):
        assert upscaled(url).asked_key == upscaled(url).draw_key != first.asked_key


def test_an_unknown_price_holds_nothing_and_is_not_called_free() -> None:
    submission = submission_of(SERVICE, FUNCTION, {}, Estimate.of([]))

    assert submission.reserved_micro_usd == 0
    assert submission.estimate_high_micro_usd is None
    assert submission.estimate_kind == "unknown"


def test_the_next_attempt_keeps_the_bytes_and_changes_the_key() -> None:
    first = take_of(request(), SERVICE, take=2)
    second = next_attempt(first, SERVICE)

    assert second.body == first.body
    assert second.draw_key == first.draw_key
    assert (second.take, second.attempt) == (2, 2)
    assert second.key not in (first.key, next_attempt(second, SERVICE).key)


@settings(max_examples=20)
@given(st.text(), st.text(), st.integers(1, 9), st.integers(1, 9))
def test_a_key_is_the_digest_of_its_parts_as_canonical_json(
    service: str, draw_key: str, take: int, attempt: int
) -> None:
    """A key that changed with the version would pay again for existing jobs."""
    parts = ["mediakit-2", service, "a/b/c", '{"prompt":"a kite"}']
    found = draw_key_of(service, "a/b/c", b'{"prompt":"a kite"}')
    key = key_of(draw_key, take, attempt)

    assert found == sha256(canonical_json(parts)).hexdigest()
    assert key == sha256(canonical_json([draw_key, take, attempt])).hexdigest()
