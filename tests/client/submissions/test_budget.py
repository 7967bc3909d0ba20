"""Balance and budget hold jobs in flight, and block requests that do not fit."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mediakit import AsyncClient, Client
from mediakit.errors import (
    BalanceError,
    ConflictError,
    JobFailedError,
    NotFoundError,
)
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start


@pytest.fixture
def still(tmp_path: Path) -> Iterator[RunningSandbox]:
    """Serve a sandbox with $1 in which all jobs stay queued."""
    running = start(
        Sandbox(tmp_path / "still", balance_micro_usd=1_000_000, concurrency=0)
    )
    yield running
    running.stop()


def test_of_fifty_concurrent_submits_only_those_within_the_balance_are_sent(
    still: RunningSandbox, tmp_path: Path
) -> None:
    async def main() -> list[Any]:
        async with AsyncClient(still.base_url, still.api_key, home=tmp_path) as client:
            submits = (
                client.submit("text-to-video", prompt=f"{number}", duration=5)
                for number in range(50)
            )
            return list(await asyncio.gather(*submits, return_exceptions=True))

    answers = asyncio.run(main())

    refused = [each for each in answers if isinstance(each, BalanceError)]
    assert len(refused) == 48  # $1 carries two of $0.34
    assert all("Nothing was sent" in str(each) for each in refused)


def test_a_top_up_is_seen_at_once(still: RunningSandbox, tmp_path: Path) -> None:
    with Client(still.base_url, still.api_key, home=tmp_path) as client:
        with pytest.raises(BalanceError):
            client.submit("text-to-video", prompt="a", duration=15, resolution="1080p")
        with httpx.Client(
            base_url=f"{still.base_url}/sandbox",
            headers={"X-API-Key": still.api_key},
            timeout=120,
        ) as console:
            org = console.get("/orgs").json()["data"][0]["id"]
            granted = console.post(
                f"/orgs/{org}/grants", json={"usd": 100, "kind": "fund"}
            )
            assert granted.is_success, granted.text

        assert client.submit("text-to-video", prompt="a", duration=15).id


def test_a_job_submitted_elsewhere_cannot_be_retried(
    client: Client, sandbox: RunningSandbox, tmp_path: Path
) -> None:
    with pytest.raises(JobFailedError) as caught:
        client.run("text-to-video", prompt="sandbox:fail=internal", duration=3)
    with (
        Client(sandbox.base_url, sandbox.api_key, home=tmp_path / "else") as other,
        pytest.raises(NotFoundError, match="not in this history"),
    ):
        other.job(caught.value.job.id).retry()


def test_a_job_that_has_not_failed_cannot_be_retried(client: Client) -> None:
    job = client.run("text-to-video", prompt="fine", duration=3)

    with pytest.raises(ConflictError, match="has not failed"):
        job.retry()
