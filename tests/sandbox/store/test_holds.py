"""Holds for jobs whose price depends on a clip (spec 4.13, 8)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.conftest import Api, StartSandbox, png
from tests.support.samples.media_samples import make_mp4


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A clip of 2.5 s."""
    path = tmp_path_factory.mktemp("clips") / "clip.mp4"
    return make_mp4(path, (160, 90), duration_s=2.5).read_bytes()


def upscaled(api: Api, clip: bytes, **more: Any) -> dict[str, Any]:
    body = {"video_url": api.upload("video/mp4", clip), "h264_output": True, **more}
    return api.settled(api.submit("video-upscale", body)["id"])


def test_a_clip_that_costs_more_than_is_left_fails_without_a_charge(
    sandboxes: StartSandbox, clip: bytes
) -> None:
    poor = sandboxes(balance_micro_usd=189_999, settle_after_s=0.05)
    job = upscaled(poor, clip)

    assert job["error"]["code"] == "insufficient_balance"
    assert "190000 micro-USD" in job["error"]["message"]
    assert job["billing"]["charge_micro_usd"] == 0
    # Nothing stays held: the whole balance can be spent.
    picture = poor.upload("image/png", png())
    body = {"prompt": "a", "reference_image_urls": [picture], "duration": 3}
    job = poor.ended(poor.submit("r6", body)["id"])  # 0.1611
    assert job["status"] == "completed"
