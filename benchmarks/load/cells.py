"""Buys the cells of one grid with one client: as a sweep, or by a loop.

It reads its settings as JSON from standard input: `way` (see `WAYS`), `base_url`,
`cells`, `in_flight`, `traced` and `home`, an empty folder. It writes as JSON the
seconds and processor seconds that the cells took. For a sweep it adds those of its plan
and of its frame, and the memory of a finished cell: the growth of the process, and what
Python allocated where that is `traced`.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import mediakit
from mediakit.client import AsyncClient

KEY = "a-key-for-the-benchmark"
KIND = "text-to-video"
TEMPLATE = "a kite over dune {number}"
DURATIONS = list(range(3, 13))
WARM_UP_CELLS = 200
FRAMES = 5
BUDGET = "$1000000"

Settings = dict[str, Any]
Report = dict[str, float]


class Stopwatch:
    """Measures seconds and processor seconds from its beginning."""

    def __init__(self) -> None:
        self._began_s, self._cpu_s = time.perf_counter(), time.process_time()

    def report(self) -> Report:
        return {
            "seconds": time.perf_counter() - self._began_s,
            "cpu_seconds": time.process_time() - self._cpu_s,
        }


def client_of(settings: Settings) -> mediakit.Client:
    catalog = mediakit.Catalog.default()
    base_url, home = settings["base_url"], settings["home"]
    return mediakit.Client(base_url, KEY, home=home, catalog=catalog)


def numbers_of(first: int, cells: int) -> list[int]:
    return list(range(first, first + cells // len(DURATIONS)))


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def plan_of(client: mediakit.Client, first: int, cells: int) -> Any:
    numbers = numbers_of(first, cells)
    return client.sweep(KIND, prompt=TEMPLATE, number=numbers, duration=DURATIONS)


def sweep(settings: Settings, budget: str | None = None) -> Report:
    client, cells = client_of(settings), settings["cells"]
    if settings["traced"]:
        tracemalloc.start()
    plan_of(client, 0, WARM_UP_CELLS).run(in_flight=settings["in_flight"]).wait()
    stopwatch = Stopwatch()
    plan = plan_of(client, WARM_UP_CELLS, cells)
    plan_s = stopwatch.report()["seconds"]
    gc.collect()
    resident, traced = resident_bytes(), tracemalloc.get_traced_memory()[0]
    stopwatch = Stopwatch()
    results = plan.run(budget, in_flight=settings["in_flight"]).wait()
    report = stopwatch.report()
    gc.collect()
    report["resident_bytes"] = (resident_bytes() - resident) / cells
    report["traced_bytes"] = (tracemalloc.get_traced_memory()[0] - traced) / cells
    frames_s = []
    for _ in range(FRAMES):
        stopwatch = Stopwatch()
        frame = results.frame()
        frames_s.append(stopwatch.report()["seconds"])
    assert frame["charge_micro_usd"].notna().all(), "a cell has no charge"
    frame_s = statistics.median(frames_s)
    return {**report, "plan_seconds": plan_s, "frame_seconds": frame_s}


async def loop(client: AsyncClient, settings: Settings) -> Report:
    slots = asyncio.Semaphore(settings["in_flight"])

    async def buy(number: int, duration: int) -> None:
        async with slots:
            prompt = TEMPLATE.format(number=number)
            job = await client.submit(KIND, prompt=prompt, duration=duration)
            await job.wait()
            await job.settle()
            assert job.state.charge_micro_usd is not None, "a cell has no charge"

    async def buy_all(first: int, cells: int) -> None:
        pairs = product(numbers_of(first, cells), DURATIONS)
        await asyncio.gather(*(buy(*pair) for pair in pairs))

    await buy_all(0, WARM_UP_CELLS)
    stopwatch = Stopwatch()
    await buy_all(WARM_UP_CELLS, settings["cells"])
    return stopwatch.report()


def own_loop(settings: Settings) -> Report:
    return asyncio.run(loop(client_of(settings).core, settings))  # noqa: TID251


def network_loop(settings: Settings) -> Report:
    client = client_of(settings)
    return client.io.call(loop, client.core, settings)


def budgeted(settings: Settings) -> Report:
    return sweep(settings, BUDGET)


WAYS: dict[str, Callable[[Settings], Report]] = {
    "sweep": sweep,
    "sweep with a budget": budgeted,
    "loop": own_loop,
    "loop on the network loop": network_loop,
}


def main() -> None:
    """Measure one way, and exit at once, without closing the client."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    settings = json.load(sys.stdin)
    print(json.dumps(WAYS[settings["way"]](settings)), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
