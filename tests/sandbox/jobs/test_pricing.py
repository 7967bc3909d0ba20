"""What jobs used and cost, against numbers made by hand (spec 2.2, 8)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.catalog import Catalog
from mediakit.sandbox.jobs.pricing import charge_of, usage_of

CATALOG = Catalog.default()
PLENTY_MICRO_USD = 10**9


def settle(kind: str, body: dict[str, Any], output_ms: int | None) -> tuple[Any, int]:
    function = CATALOG.function(kind)
    canonical = function.canonical_body(body)
    usage = usage_of(function, canonical, output_ms)
    charge = charge_of(
        function, canonical, usage, seconds={}, hold_micro_usd=PLENTY_MICRO_USD
    )
    return usage, charge


@pytest.mark.parametrize(
    ("change", "output_ms", "tokens", "charge_micro_usd"),
    [
        ({"duration": 5}, 5_000, 108_000, 1_213_380),
        ({"duration": 4, "resolution": "480p"}, 4_000, 40_000, 449_400),
        ({"duration": 4, "resolution": "1080p"}, 4_000, 194_400, 2_388_204),
        ({"duration": 4, "resolution": "1080p", "draft": True}, 4_000, 40_000, 449_400),
        ({"duration": "auto"}, 12_000, 259_200, 2_912_112),
        (
            {"duration": "auto", "video_urls": ["http://a.test/a.mp4"]},
            2_500,
            108_000,
            725_760,
        ),
    ],
)
def test_r1_is_charged_on_nominal_tokens_of_the_seconds_that_came_out(
    change: dict[str, Any], output_ms: int, tokens: int, charge_micro_usd: int
) -> None:
    usage, charge = settle("r1", {"prompt": "a", **change}, output_ms)

    assert usage["video_output_tokens"] == tokens
    assert usage["output_seconds"] == output_ms / 1_000
    assert charge == charge_micro_usd


def test_a_picture_reports_nothing_and_is_charged_by_the_piece() -> None:
    body = {"image_url": "http://a.test/a.png", "model": "redefine"}

    assert settle("image-upscale", body, None) == (None, 756_000)


@given(
    duration=st.integers(3, 15),
    resolution=st.sampled_from(["720p", "1080p", "4k"]),
    audio=st.sampled_from(["native", "off"]),
)
def test_the_charge_of_an_exact_estimate_is_the_estimate(
    duration: int, resolution: str, audio: str
) -> None:
    body = {
        "prompt": "a",
        "duration": duration,
        "resolution": resolution,
        "audio": audio,
    }
    usage, charge = settle("text-to-video", body, duration * 1_000)
    estimate = CATALOG.function("text-to-video").estimate(body)

    assert type(charge) is int
    assert charge == estimate.low == estimate.high
    assert usage == {"output_seconds": duration}


def test_a_job_never_costs_more_than_was_held() -> None:
    function = CATALOG.function("text-to-video")
    body = function.canonical_body({"prompt": "a"})

    assert charge_of(function, body, None, seconds={}, hold_micro_usd=7) == 7
