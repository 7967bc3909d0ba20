"""Failures requested in the prompt, one for each `error.code` (spec 7.3)."""

from __future__ import annotations

import pytest

from mediakit.api_models import ErrorCode
from mediakit.sandbox.faults import requested_failure
from tests.sandbox.conftest import Api, png

REJECTION_STATUS = {
    "insufficient_balance": 403,
    "cycle_limit_exceeded": 403,
    "admission_suspended": 403,
    "rate_limited": 429,
    "provider_unavailable": 503,
}
CODES = [code.value for code in ErrorCode]


@pytest.mark.spec("7.3")
@pytest.mark.parametrize("code", CODES)
def test_a_job_fails_with_the_code_that_its_prompt_asks_for(
    api: Api, code: str
) -> None:
    before = api.balance()
    answer = api.post("text-to-video", {"prompt": f"a kite sandbox:fail={code}"})
    job = api.settled(answer.json()["id"])

    assert answer.status_code == REJECTION_STATUS.get(code, 200)
    assert ("Retry-After" in answer.headers) == (code == "rate_limited")
    assert (job["status"], job["error"]["code"]) == ("failed", code)
    assert f"sandbox:fail={code}" in job["error"]["message"]
    assert job["billing"] == {"state": "settled", "charge_micro_usd": 0}
    assert "output" not in job
    assert api.balance() == before


@pytest.mark.spec("7.3")
def test_a_function_without_a_prompt_is_asked_in_the_url_of_a_medium(api: Api) -> None:
    url = api.upload("image/png", png()) + "#sandbox:fail=content_moderation"
    job = api.ended(api.submit("image-upscale", {"image_url": url})["id"])

    assert job["error"]["code"] == "content_moderation"


@pytest.mark.parametrize(
    "prompt",
    ["fail", "sandbox:fail=", "sandbox:fail=nonsense", "sandbox fail=internal"],
)
def test_other_texts_ask_for_nothing(prompt: str) -> None:
    assert requested_failure({"prompt": prompt}) is None
