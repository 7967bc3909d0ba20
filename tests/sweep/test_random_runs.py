"""Random runs against the sandbox keep their budget whatever fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mediakit import Client, InputError
from mediakit.client.polling import ReadLimiter
from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from mediakit.sweep import Plan
from tests.support.advancing_clock import AdvancingClock
from tests.support.samples.media_samples import make_png
from tests.support.soak import trials

RUNS = trials(5, soak=100)
OPENING_MICRO_USD = 10**11
FUNCTION = "image-upscale"
MODELS = ("standard-v2", "wonder-3", "redefine")  # each at a price of its own
SUBMITS = {"method": "POST", "path": "/v1/media/sandbox"}
READS = {"method": "GET", "path": "/v1/media/jobs"}


@pytest.fixture(scope="module")
def stormy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """Serve a sandbox for all runs; each injects its own faults."""
    running = start(
        Sandbox(
            tmp_path_factory.mktemp("stormy"),
            balance_micro_usd=OPENING_MICRO_USD,
            speed=100,
            queue_size=20,
        )
    )
    yield running
    running.stop()


@pytest.fixture(scope="module")
def picture(stormy: RunningSandbox, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Upload a picture that all cells upscale."""
    folder = tmp_path_factory.mktemp("picture")
    file = make_png(folder / "small.png", (16, 12), (9, 9, 9))
    with Client(stormy.base_url, stormy.api_key, home=folder) as client:
        return client.upload(file)


def make_weather(running: RunningSandbox, random: Random) -> None:
    """Inject a few faults from now on."""
    running.clear_faults()
    few = random.randint(1, 4)
    chances: list[tuple[float, str, dict[str, Any]]] = [
        (0.5, "rate_drift", {"factor": random.choice([0.0, 0.3, 0.9, 1.1, 2.0])}),
        (0.5, "fail_render", {"count": few}),
        (0.3, "late_settlement", {"seconds": random.choice([5, 60])}),
        (0.3, "billing_unavailable", {"count": few}),
        (0.3, "latency", {"seconds": random.uniform(0, 0.05), "count": 10 * few}),
        (0.3, "drop_after", {"where": SUBMITS, "count": few}),
        (0.2, "drop_before", {"where": SUBMITS, "count": few}),
        (0.2, "status", {"where": SUBMITS, "status": 429, "count": few}),
        (0.2, "status", {"where": SUBMITS, "status": 503, "count": few}),
        (0.2, "status", {"where": SUBMITS, "status": 422, "count": 1}),
        (0.2, "truncate", {"where": READS, "count": few}),
    ]
    for chance, kind, rule in chances:
        if random.random() < chance:
            running.fault(kind, **rule)


def client_of(running: RunningSandbox, home: Path) -> Client:
    clock = AdvancingClock(pause_s=0.1)  # the renders take real time
    client = Client(running.base_url, running.api_key, home=home, clock=clock)
    # These tests read more jobs than the default limit of a process allows in their
    # time.
    client.components.jobs.poller.limiter = ReadLimiter(2_000, clock=clock)
    return client


def plan_of(client: Client, picture: str, seed: int, random: Random) -> Plan:
    """Return a plan that no other run has made, of cells of several prices."""
    cells = random.randint(1, 6)
    sharpnesses = [(seed * 10 + number) / 100_000 for number in range(cells)]
    models = random.sample(MODELS, random.randint(1, 3))
    return client.sweep(FUNCTION, image_url=picture, sharpen=sharpnesses, model=models)


@pytest.mark.parametrize("seed", range(RUNS))
def test_a_run_in_the_sandbox_never_spends_more_than_its_budget(
    stormy: RunningSandbox, picture: str, tmp_path: Path, seed: int
) -> None:
    random = Random(seed)
    with client_of(stormy, tmp_path) as client:
        plan = plan_of(client, picture, seed, random)
        prices = plan.frame().high_micro_usd
        budget_micro_usd = random.randint(int(prices.min() // 2), int(prices.sum()))
        before_micro_usd = client.balance().balance_micro_usd
        make_weather(stormy, random)
        budget = f"{budget_micro_usd / 1e6:.6f}"
        try:
            results = plan.run(budget, random.choice([1, 3, 16]))
        except InputError:
            assert budget_micro_usd < prices.min()
            return
        results.wait()
        if random.random() < 0.5:
            results.retry().wait()
        stormy.clear_faults()
        client.resume()
        stormy.advance(hours=1)
        for job in client.resume():
            job.settle()
        progress = results.progress
        drop_micro_usd = before_micro_usd - client.balance().balance_micro_usd
        assert progress.spent_micro_usd == drop_micro_usd <= budget_micro_usd
        assert progress.held_micro_usd == 0
        ended = progress.completed + progress.failed + progress.unsent
        assert ended == len(plan)
