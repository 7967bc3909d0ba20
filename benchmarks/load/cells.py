"""Runs the cells of one grid as a sweep and by loops over the same client.

It reads its settings as JSON from standard input: `base_url`, `cells`, `in_flight`,
`traced` and `home`, an empty folder. With `in_turn`, it runs that number of cells in
each way, in blocks that take turns, and writes the seconds and the processor seconds of
each block as JSON. Otherwise it runs them as one sweep, and writes the seconds of its
plan, its run and its frame, and the memory of a finished cell: the growth of the
process, and, if `traced`, what Python allocated.
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
from mediakit import AsyncClient

KEY = "a-key-for-the-benchmark"
KIND = "text-to-video"
TEMPLATE = "a kite over dune {number}"
DURATIONS = list(range(3, 13))
WARM_UP_CELLS = 200
BLOCK_CELLS = 1_000
FRAMES = 5
BUDGET = "$1000000"

Settings = dict[str, Any]
Block = Callable[[], object]
Prepare = Callable[[int, int], Block]
"""Returns a call that runs the given number of cells, starting at a number."""


class Stopwatch:
    """Measures seconds and processor seconds since it was created."""

    def __init__(self) -> None:
        self._began_s, self._cpu_s = time.perf_counter(), time.process_time()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began_s

    @property
    def cpu_seconds(self) -> float:
        return time.process_time() - self._cpu_s


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


# -- in turn ----------------------------------------------------------------------


async def loop(client: AsyncClient, in_flight: int, first: int, cells: int) -> None:
    slots = asyncio.Semaphore(in_flight)

    async def run_cell(number: int, duration: int) -> None:
        async with slots:
            prompt = TEMPLATE.format(number=number)
            job = await client.submit(KIND, prompt=prompt, duration=duration)
            await job.wait()
            await job.settle()
            assert job.state.charge_micro_usd is not None, "a cell has no charge"

    pairs = product(numbers_of(first, cells), DURATIONS)
    await asyncio.gather(*(run_cell(*pair) for pair in pairs))


def sweeping(settings: Settings, budget: str | None = None) -> Prepare:
    client = client_of(settings)

    def prepare(first: int, cells: int) -> Block:
        plan = plan_of(client, first, cells)
        return lambda: plan.run(budget, in_flight=settings["in_flight"]).wait()

    return prepare


def looping(settings: Settings, *, on_network_loop: bool = False) -> Prepare:
    client = client_of(settings)

    def prepare(*block: int) -> Block:
        arguments = (client.core, settings["in_flight"], *block)
        if on_network_loop:
            return lambda: client.io.call(loop, *arguments)
        return lambda: asyncio.run(loop(*arguments))  # noqa: TID251

    return prepare


def in_turn(settings: Settings) -> dict[str, Any]:
    # Each way has its own history, so that all grow at the same rate.
    homes = ({**settings, "home": f"{settings['home']}/{n}"} for n in range(4))
    each_way = {
        "loop": looping(next(homes)),
        "sweep": sweeping(next(homes)),
        "sweep with a budget": sweeping(next(homes), BUDGET),
        "loop on the network loop": looping(next(homes), on_network_loop=True),
    }
    found: dict[str, Any] = {name: [] for name in each_way}
    block_cells = min(BLOCK_CELLS, settings["cells"])
    for block in range(1 + settings["cells"] // block_cells):
        # Every other time in reverse, so that no way is always first.
        for name in list(each_way)[:: 1 if block % 2 else -1]:
            run_block = each_way[name](block * block_cells, block_cells)
            stopwatch = Stopwatch()
            run_block()
            if block:  # the first block is a warm-up
                found[name].append([stopwatch.seconds, stopwatch.cpu_seconds])
    return {**found, "block_cells": block_cells}


# -- one sweep --------------------------------------------------------------------


def one_sweep(settings: Settings) -> dict[str, Any]:
    client = client_of(settings)
    cells, in_flight = settings["cells"], settings["in_flight"]
    if settings["traced"]:
        tracemalloc.start()
    warm_up_cells = min(WARM_UP_CELLS, cells)
    plan_of(client, 0, warm_up_cells).run(in_flight=in_flight).wait()
    stopwatch = Stopwatch()
    plan = plan_of(client, warm_up_cells, cells)
    plan_s = stopwatch.seconds
    gc.collect()
    resident, traced = resident_bytes(), tracemalloc.get_traced_memory()[0]
    stopwatch = Stopwatch()
    results = plan.run(in_flight=in_flight).wait()
    found = {"seconds": stopwatch.seconds, "plan_seconds": plan_s}
    gc.collect()
    found["resident_bytes"] = (resident_bytes() - resident) / cells
    found["traced_bytes"] = (tracemalloc.get_traced_memory()[0] - traced) / cells
    frames_s = []
    for _ in range(FRAMES):
        stopwatch = Stopwatch()
        frame = results.frame()
        frames_s.append(stopwatch.seconds)
    assert frame["charge_micro_usd"].notna().all(), "a cell has no charge"
    return {**found, "frame_seconds": statistics.median(frames_s)}


def main() -> None:
    """Measure, and exit at once, without closing the client."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    settings = json.load(sys.stdin)
    measure = in_turn if settings["in_turn"] else one_sweep
    print(json.dumps(measure(settings)), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
