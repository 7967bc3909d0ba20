"""Failed jobs that were charged: every message says so, and none is paid again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import mediakit as mk
from tests.support.service_in_memory import (
    CHARGE_MICRO_USD,
    SETTLED,
    ServiceInMemory,
    says,
    tells,
)

CLIP: dict[str, Any] = {"prompt": "a kite", "duration": 5}
CHARGED = r"It was charged \$0\.34, although failed jobs should not be"
FREE = {"state": "settled", "charge_micro_usd": 0}


def failed(code: str, billing: object = SETTLED) -> dict[str, Any]:
    error = {"code": code, "message": "No luck."}
    return {"status": "failed", "error": error, "billing": billing}


@pytest.fixture
def client(service: ServiceInMemory, tmp_path: Path) -> Iterator[mk.Client]:
    with service.client(tmp_path, budget=mk.Budget("kites", "$1")) as client:
        yield client


def rejects(service: ServiceInMemory, status: int, code: str, *billings: object) -> Any:
    """Return responses that reject each submission with a new job."""

    async def answer(key: str, before: int) -> httpx.Response:
        job_id = service.jobs.setdefault(key, f"media_{len(service.jobs) + 1}")
        billing = billings[min(before, len(billings) - 1)]
        return httpx.Response(status, json={"id": job_id, **failed(code, billing)})

    service.on_read = tells(**failed(code))
    return answer


def test_a_failed_job_that_was_charged_is_not_called_free(
    service: ServiceInMemory, client: mk.Client
) -> None:
    fails = tells(**failed("provider_error"))
    service.on_read = service.in_turn(service.runs, fails)
    job = client.submit("text-to-video", **CLIP)
    with pytest.raises(mk.JobFailedError, match=CHARGED) as caught:
        job.wait()
    assert "not charged" not in str(caught.value)
    results = client.sweep("text-to-video", **{**CLIP, "prompt": ["a kite"]}).run()
    results.wait()
    assert results.frame().problem.str.contains(CHARGED).all()
    assert not results.frame().problem.str.contains("not charged").any()


def test_a_failed_job_that_was_free_is_called_free(
    service: ServiceInMemory, client: mk.Client
) -> None:
    service.on_read = tells(**failed("provider_error", FREE))
    with pytest.raises(mk.JobFailedError, match="Failed jobs are not charged"):
        client.run("text-to-video", **CLIP)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (403, "insufficient_balance"),
        (429, "rate_limited"),
        (503, "provider_unavailable"),
        (200, "provider_unavailable"),
        (200, "rate_limited"),
    ],
)
def test_a_rejection_that_was_charged_says_so_and_is_not_sent_again(
    service: ServiceInMemory, client: mk.Client, status: int, code: str
) -> None:
    service.on_submit = rejects(service, status, code, SETTLED)
    with pytest.raises(mk.MediakitError, match=CHARGED) as caught:
        client.submit("text-to-video", **CLIP)
    assert caught.value.sent is True
    assert "Nothing was charged" not in str(caught.value)
    with pytest.raises(mk.MediakitError, match=CHARGED):
        client.submit("text-to-video", **CLIP)
    assert len(service.posts) == 1
    used = client.budget()
    assert used is not None
    assert used.spent_micro_usd == CHARGE_MICRO_USD


def test_a_replaced_attempt_that_was_charged_is_counted(
    service: ServiceInMemory, client: mk.Client
) -> None:
    code = "provider_unavailable"
    service.on_submit = rejects(service, 503, code, FREE, None, SETTLED)

    service.on_read = service.by_job(media_3=tells(**failed(code)))
    with pytest.raises(mk.ServiceError, match=CHARGED) as caught:
        client.submit("text-to-video", **CLIP)
    assert len(service.posts) == 3
    service.on_submit = service.accepts
    assert caught.value.job_id == "media_3"
    client.job("media_3").retry().settle()
    assert client.spend.charges().job_id.tolist() == ["media_4", "media_3"]
    frame = client.history.frame()
    assert frame.charge_micro_usd.sum() == 2 * CHARGE_MICRO_USD


def test_a_budget_that_ends_retries_does_not_claim_that_nothing_was_sent(
    service: ServiceInMemory, client: mk.Client
) -> None:
    unavailable = rejects(service, 503, "provider_unavailable", None)
    billing = {"state": "settled", "charge_micro_usd": 900_000}

    async def spends_meanwhile(key: str, before: int) -> httpx.Response:
        if before:
            job = {"id": "media_boat", "status": "completed", "billing": billing}
            return httpx.Response(200, json=job)
        boat = client.core.submit("text-to-video", **{**CLIP, "prompt": "a boat"})
        await asyncio.create_task(boat)
        response: httpx.Response = await unavailable(key, before)
        return response

    service.on_submit = spends_meanwhile
    with pytest.raises(mk.ServiceError, match="Nothing was charged") as caught:
        client.submit("text-to-video", **CLIP)
    assert caught.value.sent is True
    assert "Nothing was sent" not in str(caught.value)


def is_unreachable(service: ServiceInMemory) -> None:
    service.on_submit = service.fails(httpx.ConnectError("refused"))


def is_refused(service: ServiceInMemory) -> None:
    service.on_submit = says(httpx.Response(422, json={"message": "prompt: no"}))


@pytest.mark.parametrize("happens", [is_unreachable, is_refused])
def test_a_repeated_retry_without_a_job_respects_budget_and_price(
    service: ServiceInMemory,
    client: mk.Client,
    happens: Callable[[ServiceInMemory], None],
) -> None:
    fails = tells(**failed("provider_error", FREE))
    service.on_read = service.by_job(media_1=fails)
    job = client.submit("text-to-video", **CLIP)
    with pytest.raises(mk.JobFailedError):
        job.wait()
    happens(service)
    for _ in range(2):
        with pytest.raises(mk.MediakitError) as caught:
            job.retry()
        assert caught.value.sent is (happens is is_refused)
        assert client.reserved_micro_usd() == 0

    service.on_submit = service.accepts
    posts = len(service.posts)
    with pytest.raises(mk.PriceError):
        job.retry(max_price="$0.10")
    for prompt in ("a boat", "a gull"):
        client.run("text-to-video", **{**CLIP, "prompt": prompt}).settle()
    with pytest.raises(mk.BudgetError):
        job.retry()
    assert len(service.posts) == posts + 2
