"""Compare a sweep's run with a bare loop of submits over the same client.

    python benchmarks/sweep_run.py

Both send the same number of requests to a server that answers each with a job that has
ended and is charged, 16 at a time. So nothing is waited for, and what is measured is
what a cell costs beyond its submit. Without a budget and with one.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mediakit import AsyncClient, Catalog
from mediakit.sweep.plan import AsyncPlan, plan_of
from mediakit.sweep.results import AsyncResults

HERE = Path(__file__).parent
CELLS = 10_000
ROUNDS = 3
AT_ONCE = 16
KEY = "a-key-for-the-benchmark"
BUDGET_MICRO_USD = 10**12
MIN_SHARE = 0.7


@contextmanager
def instant_server() -> Iterator[str]:
    """Serve in another process while the block lasts."""
    command = [sys.executable, str(HERE / "load" / "instant_server.py"), "--ended"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}"
        finally:
            process.terminate()


def prompts() -> list[str]:
    return [f"a kite over dunes {number}" for number in range(CELLS)]


async def bare(client: AsyncClient) -> float:
    """Submit in tasks that take one prompt after the other."""
    numbers = iter(prompts())

    async def work() -> None:
        for prompt in numbers:
            job = await client.submit("text-to-video", prompt=prompt, duration=3)
            assert job.charge_micro_usd is not None

    began_s = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return time.perf_counter() - began_s


async def swept(client: AsyncClient, budget_micro_usd: int | None = None) -> float:
    """Run a plan of the same cells."""
    fields = {"prompt": prompts(), "duration": 3}
    plan = await plan_of(client, "text-to-video", fields, make=AsyncPlan)
    began_s = time.perf_counter()
    results = AsyncResults(plan, client, budget_micro_usd, AT_ONCE)
    await results
    took_s = time.perf_counter() - began_s
    assert results.progress.completed == CELLS
    return took_s


def with_budget(client: AsyncClient) -> object:
    return swept(client, BUDGET_MICRO_USD)


WAYS: dict[str, Callable[[AsyncClient], object]] = {
    "bare loop": bare,
    "sweep": swept,
    "sweep with a budget": with_budget,
}


def measured(base_url: str, way: Callable[..., object]) -> float:
    """Return how many cells a second one way sends, with an empty history."""

    async def main(home: str) -> float:
        async with AsyncClient(
            base_url, KEY, home=home, catalog=Catalog.default()
        ) as client:
            return await io_of(client, way)

    with tempfile.TemporaryDirectory(prefix="mediakit-benchmark-") as home:
        return CELLS / asyncio.run(main(home))  # noqa: TID251 - a process of its own


async def io_of(client: AsyncClient, way: Callable[..., object]) -> float:
    """Run a way on the I/O thread, where nothing changes threads."""
    from mediakit.client.io_thread import io_thread

    return await io_thread().run(way, client)  # type: ignore[arg-type]


def main() -> int:
    """Measure all ways in turn, print the table, and return the exit status."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    rates: dict[str, list[float]] = {name: [] for name in WAYS}
    with instant_server() as base_url:
        for _ in range(ROUNDS):
            for name, way in WAYS.items():
                rates[name].append(measured(base_url, way))
    whole = statistics.median(rates["bare loop"])
    missed = 0
    for name, each in rates.items():
        rate = statistics.median(each)
        share = rate / whole
        missed += share < MIN_SHARE
        print(
            f"{name:20} {rate:6.0f} cells/s ({min(each):.0f} to {max(each):.0f}), "
            f"{share:.2f} of the bare loop (at least {MIN_SHARE})"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
