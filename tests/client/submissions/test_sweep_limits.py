"""A sweep's submits fit its own limit, whatever call makes them and however often."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mediakit import AsyncClient, BudgetError, Client, JobFailedError
from mediakit.client.async_job import AsyncJob
from mediakit.client.submitting import Take
from mediakit.history import BudgetLimit, BudgetUse, History
from mediakit.sandbox.server.running import RunningSandbox
from tests.support.soak import BOTH_DATABASES
from tests.support.submissions import (
    HERE,
    completed,
    costing,
)

SWEEP = BudgetLimit("3f2a", 1_000_000)


def sweep_of(limit_micro_usd: int) -> BudgetLimit:
    return BudgetLimit(SWEEP.name, limit_micro_usd)


VIDEO_5_S = 340_000


@pytest.fixture(params=BOTH_DATABASES)
def history(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[History]:
    place: Any = tmp_path / "history.db"
    if request.param == "postgres":
        place = request.getfixturevalue("postgres_url")
    with History(place) as opened:
        yield opened


def test_a_sweep_refuses_what_does_not_fit_and_calls_its_budget_in_plain_words(
    history: History,
) -> None:
    history.claim(costing("k1", 400_000), sweep=SWEEP)
    history.claim(costing("k2", 500_000), sweep=SWEEP)
    history.record_job("k1", completed(300_000))
    with pytest.raises(BudgetError) as caught:
        history.claim(costing("k3", 250_000), sweep=SWEEP)
    assert str(caught.value) == (
        "It may cost up to $0.25, and of the sweep's budget of $1.00, $0.30 is spent "
        "and $0.50 is held for jobs in flight: it is $0.05 over. Nothing was sent. "
        "Raise the budget, or ask for less."
    )
    assert history.find_key("k3") is None
    assert history.sweep_use(SWEEP.name) == BudgetUse(300_000, 500_000)
    assert history.claim(costing("k4", 200_000), sweep=SWEEP)[1]


def test_a_claim_has_to_fit_both_the_budget_and_the_sweep(history: History) -> None:
    kites = BudgetLimit("kites", 500)
    history.claim(costing("k1", 400), budget=kites, sweep=sweep_of(1_000))
    with pytest.raises(BudgetError, match="the budget 'kites'"):
        history.claim(costing("k2", 200), budget=kites, sweep=sweep_of(1_000))
    with pytest.raises(BudgetError, match="the sweep's budget"):
        history.claim(
            costing("k2", 200),
            budget=BudgetLimit("kites", 700),
            sweep=sweep_of(500),
        )
    assert history.budget_use("kites") == BudgetUse(0, 400)
    assert history.sweep_use("3f2a") == BudgetUse(0, 400)
    assert history.account_use(**HERE) == BudgetUse(0, 400)


def test_an_entry_that_another_sweep_submitted_first_keeps_its_sweep(
    history: History,
) -> None:
    first, _ = history.claim(costing("k1", 400), sweep=BudgetLimit("first", 1_000))
    again, is_new = history.claim(costing("k1", 400), sweep=BudgetLimit("second", 0))
    assert (again, is_new) == (first, False)
    assert history.sweep_use("first") == BudgetUse(0, 400)
    assert history.sweep_use("second") == BudgetUse(0, 0)


def test_a_refused_entry_belongs_to_the_sweep_that_submits_again(
    history: History,
) -> None:
    history.claim(costing("k1", 400), sweep=BudgetLimit("first", 1_000))
    history.record_refusal("k1", code="422", message="no")
    entry, is_new = history.claim(costing("k1", 400), sweep=BudgetLimit("second", 400))
    assert (entry.sweep, is_new) == ("second", True)
    assert history.sweep_use("first") == BudgetUse(0, 0)
    assert history.sweep_use("second") == BudgetUse(0, 400)


# -- through a client -------------------------------------------------------------


async def submitted(
    client: AsyncClient,
    prompt: str,
    *,
    sweep: str | None = "3f2a",
    limit_micro_usd: int | None,
    take: Take = 1,
) -> AsyncJob:
    """Submit a cell of a sweep."""
    fields = {"prompt": prompt, "duration": 5}
    if sweep is not None:
        client.components.admission.limit_sweep(sweep, limit_micro_usd)
    request = await client.components.prepared("text-to-video", fields)
    return await client.components.submit_prepared(request, take, sweep=sweep)


def sweeps(client: AsyncClient) -> dict[str | None, list[int]]:
    """Return the attempts of each prompt's first take, with their sweeps."""
    found: dict[str | None, list[int]] = {}
    for entry in client.components.store.page(limit=100, order="oldest"):
        found.setdefault(entry.sweep, []).append(entry.attempt)
    return found


def test_cells_are_submitted_until_the_limit_and_owned_ones_are_free(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    async def main() -> None:
        async with AsyncClient(
            sandbox.base_url, sandbox.api_key, home=tmp_path
        ) as client:
            limit = 2 * VIDEO_5_S
            await submitted(client, "other", sweep=None, limit_micro_usd=None)
            first = await submitted(client, "a", limit_micro_usd=limit)
            await submitted(client, "b", limit_micro_usd=limit)
            with pytest.raises(BudgetError, match=r"the sweep's budget of \$0\.68"):
                await submitted(client, "c", limit_micro_usd=limit)
            again = await submitted(client, "a", limit_micro_usd=limit)
            assert again.id == first.id
            use = client.components.store.sweep_use("3f2a")
            assert use.spent_micro_usd + use.reserved_micro_usd == limit
            assert (await submitted(client, "c", limit_micro_usd=None)).id
            assert sweeps(client) == {None: [1], "3f2a": [1, 1, 1]}

    asyncio.run(main())


def test_a_retried_cell_keeps_its_sweep_and_must_fit_its_limit(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    async def main() -> None:
        async with AsyncClient(
            sandbox.base_url, sandbox.api_key, home=tmp_path
        ) as client:
            limit = VIDEO_5_S
            with pytest.raises(JobFailedError) as caught:
                await (
                    await submitted(
                        client, "sandbox:fail=internal", limit_micro_usd=limit
                    )
                ).wait(60)
            await submitted(client, "the last of it", limit_micro_usd=limit)
            failed_job = await client.job(caught.value.job.id)
            with pytest.raises(BudgetError, match="the sweep's budget"):
                await failed_job.retry()
            assert sweeps(client) == {"3f2a": [1, 1]}
            await submitted(client, "the last of it", limit_micro_usd=2 * limit)
            await failed_job.retry()
            assert sweeps(client) == {"3f2a": [1, 1, 2]}

    asyncio.run(main())


def test_another_draw_from_a_job_is_not_of_its_sweep(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    async def main() -> str:
        async with AsyncClient(
            sandbox.base_url, sandbox.api_key, home=tmp_path
        ) as client:
            first = await submitted(client, "a", limit_micro_usd=VIDEO_5_S)
            return first.id

    job_id = asyncio.run(main())
    with Client(sandbox.base_url, sandbox.api_key, home=tmp_path) as client:
        again = client.job(job_id).next_take()
        entry = client.components.store.find(again.id)
        assert entry is not None
        assert (entry.take, entry.sweep) == (2, None)
