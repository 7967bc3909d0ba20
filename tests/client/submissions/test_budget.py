"""Balance and budget: what is in flight is held, and what does not fit is not sent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mediakit import AsyncClient, BudgetError, Client, InputError
from mediakit.errors import (
    BalanceError,
    ConflictError,
    JobFailedError,
    NotFoundError,
    RateLimitError,
)
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from tests.support.advancing_clock import AdvancingClock
from tests.support.servers.lossy_proxy import LossyProxy

VIDEO_5_S = 340_000


@pytest.fixture
def still(tmp_path: Path) -> Iterator[RunningSandbox]:
    """Serve a sandbox with $1 in which nothing leaves the queue."""
    running = start(
        Sandbox(tmp_path / "still", balance_micro_usd=1_000_000, concurrency=0)
    )
    yield running
    running.stop()


def test_a_budget_lets_through_what_fits_and_names_itself_when_it_is_full(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    with Client(
        sandbox.base_url, sandbox.api_key, home=tmp_path, budget="$0.50"
    ) as client:
        client.submit("text-to-video", prompt="a", duration=5)

        with pytest.raises(BudgetError, match=r"\$0\.50.*\$0\.18 over") as caught:
            client.submit("text-to-video", prompt="b", duration=5)

        assert "Nothing was sent" in str(caught.value)
        assert caught.value.available_micro_usd == 500_000 - VIDEO_5_S
        state = client.budget()
        assert state is not None
        assert state.reserved_micro_usd + state.spent_micro_usd == VIDEO_5_S
        assert state.left_micro_usd == 500_000 - VIDEO_5_S
        assert list(client.history.frame()["prompt"]) == ["a"]


def test_a_budget_of_a_project_is_one_for_all_its_clients_and_starts(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    def client(budget: str | None) -> Client:
        return Client(
            sandbox.base_url,
            sandbox.api_key,
            home=tmp_path,
            project="kites",
            budget=budget,
        )

    with client(None) as first:
        first.submit("text-to-video", prompt="a", duration=5)
        assert first.budget() is None
    with client("$0.50") as second, pytest.raises(BudgetError, match="kites"):
        second.submit("text-to-video", prompt="b", duration=5)
    with Client(
        sandbox.base_url, sandbox.api_key, home=tmp_path, budget="$0.50"
    ) as other:
        other.submit("text-to-video", prompt="c", duration=5)

        projects = other.history.frame()["project"]
        assert sorted(projects.dropna()) == ["kites"]
        assert len(projects) == 2


@pytest.mark.parametrize("budget", ["-1", "five", 0.5, True])
def test_a_budget_is_an_amount_in_dollars(
    sandbox: RunningSandbox, tmp_path: Path, budget: Any
) -> None:
    with pytest.raises(InputError, match="budget"):
        Client(sandbox.base_url, sandbox.api_key, home=tmp_path, budget=budget)


def test_of_fifty_submits_at_once_only_those_pass_that_the_balance_carries(
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


def test_a_balance_that_was_just_read_is_not_read_for_every_submit(
    still: RunningSandbox, tmp_path: Path
) -> None:
    with (
        LossyProxy(still.base_url, "NEVER", 0) as proxy,
        Client(proxy.base_url, still.api_key, home=tmp_path) as client,
    ):
        for number in range(2):
            client.submit("text-to-video", prompt=f"{number}", duration=5)
        asked = [each for each in proxy.requests if b"/billing/balance" in each]
        assert len(asked) == 1

        with pytest.raises(BalanceError):
            client.submit("text-to-video", prompt="too much", duration=5)
        asked = [each for each in proxy.requests if b"/billing/balance" in each]
        assert len(asked) == 2  # to say no, it is read again


def test_a_top_up_is_seen_at_once(still: RunningSandbox, tmp_path: Path) -> None:
    with Client(still.base_url, still.api_key, home=tmp_path) as client:
        with pytest.raises(BalanceError):
            client.submit("text-to-video", prompt="a", duration=15, resolution="1080p")
        with httpx.Client(
            base_url=f"{still.base_url}/sandbox", headers={"X-API-Key": still.api_key}
        ) as console:
            org = console.get("/orgs").json()["data"][0]["id"]
            granted = console.post(
                f"/orgs/{org}/grants", json={"usd": 100, "kind": "fund"}
            )
            assert granted.is_success, granted.text

        assert client.submit("text-to-video", prompt="a", duration=15).id


def test_a_failed_job_is_tried_again_only_when_asked(
    client: Client, sandbox: RunningSandbox
) -> None:
    ask: dict[str, Any] = {"prompt": "fails once", "duration": 3}
    sandbox.fault("fail_render", count=1)
    with pytest.raises(JobFailedError) as caught:
        client.run("text-to-video", **ask)
    failed = caught.value.job

    with pytest.raises(JobFailedError) as again:
        client.run("text-to-video", **ask)
    assert again.value.job.id == failed.id

    second = client.job(failed.id).retry()
    assert second.id != failed.id
    assert client.job(failed.id).retry().id == second.id
    assert sorted(client.history.frame()["attempt"]) == [1, 2]


def test_what_has_not_failed_cannot_be_tried_again(client: Client) -> None:
    job = client.run("text-to-video", prompt="fine", duration=3)

    with pytest.raises(ConflictError, match="has not failed"):
        job.retry()


def test_a_job_of_elsewhere_cannot_be_tried_again(
    client: Client, sandbox: RunningSandbox, tmp_path: Path
) -> None:
    with pytest.raises(JobFailedError) as caught:
        client.run("text-to-video", prompt="sandbox:fail=internal", duration=3)
    with (
        Client(sandbox.base_url, sandbox.api_key, home=tmp_path / "else") as other,
        pytest.raises(NotFoundError, match="not in this history"),
    ):
        other.job(caught.value.job.id).retry()


def test_a_fresh_attempt_must_fit_the_budget_too(tmp_path: Path) -> None:
    running = start(
        Sandbox(tmp_path / "data", concurrency=0, queue_size=1, speed=20, sketch=True)
    )
    with Client(
        running.base_url,
        running.api_key,
        home=tmp_path,
        budget="$0.70",
        clock=AdvancingClock(),
    ) as client:
        client.submit("text-to-video", prompt="a", duration=5)
        with pytest.raises(RateLimitError):
            client.submit("text-to-video", prompt="b", duration=5)
        state = client.budget()
        assert state is not None
        assert state.reserved_micro_usd == VIDEO_5_S
    running.stop()
