"""Sweeps, compared with plain ways: planning and running ten thousand cells.

The plain way to plan is a loop over the same grid of dictionaries that checks each,
prices it, and makes its key. It does not look up owned cells.

A run is compared with a loop over the same client that does the same for each cell:
`asyncio.gather` and a semaphore of the same width over `submit`, `wait` and `settle`.
The loop runs in its own event loop, as a user writes it, and for context on the network
loop, where a sweep runs. The sweep runs without a budget and with one that is never
reached. All take turns in one process, a thousand cells at a time, and each block of a
sweep is compared with the block of the loop beside it. The server responds to each
submission with a completed job, because a client reads at most 20 jobs per second.

Limits:

- A plan of 10,000 cells: at most 1.5 times as long as the plain loop.
- A plan of 100,000 cells: 200 MB at its peak.
- 10,000 cells, with or without a budget: at least 0.7 times as many per second as the
  loop.
- A finished cell: 2 kB, with the results still referenced.

Frames, the first plan of a process, and a plan with a thousand owned cells are shown
without a limit. Set `BENCHMARK_ROUNDS` to change the number of rounds.
"""

from __future__ import annotations

import gc
import hashlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from client_overhead import HERE, instant_server

import mediakit

ROUNDS = int(os.environ.get("BENCHMARK_ROUNDS", "3"))
CELLS, IN_FLIGHT = 10_000, 50
MAX_PLAN_TIME, MAX_PLAN_MB = 1.5, 200.0
"""Our time as a multiple of that of the plain loop; the peak of the larger plan."""

MIN_RATE = 0.7
"""Cells per second of a sweep as a multiple of those of the loop."""

MAX_CELL_KB = 2.0
KEY = "a-key-for-the-benchmark"
KIND = "text-to-video"
TEMPLATE = "a {animal} over {place}, {light}"
SLOTS: dict[str, Any] = {
    "animal": [f"animal {number}" for number in range(10)],
    "place": [f"place {number}" for number in range(10)],
    "light": [f"light {number}" for number in range(5)],
}
FIELDS: dict[str, Any] = {
    "duration": list(range(3, 13)),
    "resolution": ["720p", "1080p"],
}
LARGE = 100_000
LARGE_TAKES = 5
OWNED = 1_000
LOOPS = ("loop", "loop on the network loop")
SWEEPS = ("sweep", "sweep with a budget")
WAYS = (*LOOPS, *SWEEPS)

Rounds = dict[str, list[float]]


def timed(call: Callable[[], object]) -> float:
    """Return the seconds of a call; its result is released afterwards."""
    gc.collect()
    began_s = time.perf_counter()
    made = call()
    took_s = time.perf_counter() - began_s
    del made
    return took_s


def peak_mb(call: Callable[[], object]) -> float:
    gc.collect()
    tracemalloc.start()
    made = call()
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del made
    return peak_bytes / 1e6


# -- planning ---------------------------------------------------------------------


def plain_plan() -> list[tuple[str, int | None]]:
    """Check, price and name each cell in a loop."""
    function, found = mediakit.Catalog.default().function(KIND), []
    for animal, place, light in itertools.product(*SLOTS.values()):
        prompt = TEMPLATE.format(animal=animal, place=place, light=light)
        for duration, resolution in itertools.product(*FIELDS.values()):
            body = {"prompt": prompt, "duration": duration, "resolution": resolution}
            assert not function.check(body), "a cell is not valid"
            text = json.dumps(function.canonical_body(body), sort_keys=True)
            key = hashlib.sha256(text.encode()).hexdigest()
            found.append((key, function.estimate(body).high))
    return found


def client_at(base_url: str, home: str) -> mediakit.Client:
    catalog = mediakit.Catalog.default()
    return mediakit.Client(base_url, KEY, home=home, catalog=catalog)


def planned(client: mediakit.Client, **more: Any) -> Any:
    plan = client.sweep(KIND, prompt=TEMPLATE, **SLOTS, **FIELDS, **more)
    assert plan.valid.all(), "a cell is not valid"
    assert plan.estimate().high, "a cell has no price"
    return plan


def large(client: mediakit.Client) -> Any:
    plan = planned(client, audio=["native", "off"], takes=LARGE_TAKES)
    assert len(plan) == LARGE, "the grid has another size"
    return plan


def submit_some(client: mediakit.Client) -> None:
    """Submit the first cells."""
    some = {**SLOTS, "animal": SLOTS["animal"][:1]}
    plan = client.sweep(KIND, prompt=TEMPLATE, **some, **FIELDS)
    assert len(plan) == OWNED, "a wrong number of cells was submitted"
    plan.run(in_flight=IN_FLIGHT).wait()


def measure_plans(base_url: str, home: str, rounds: Rounds) -> None:
    with client_at(base_url, home) as client:
        assert len(planned(client)) == CELLS, "the grid has another size"
        for _ in range(ROUNDS):
            rounds["plain plan"].append(timed(plain_plan))
            rounds["plan"].append(timed(lambda: planned(client)))
        plan = large(client)
        rounds["large plan"] = [timed(lambda: large(client))]
        rounds["plan frame"] = [timed(plan.frame) for _ in range(ROUNDS)]
        del plan
        rounds["plan MB"] = [peak_mb(lambda: large(client))]
        submit_some(client)
        rounds["plan, some owned"] = [
            timed(lambda: planned(client)) for _ in range(ROUNDS)
        ]


# -- running ----------------------------------------------------------------------


def run_cells(base_url: str, *, in_turn: bool = False, traced: bool = False) -> Any:
    """Run the cells in their own process, and return the measurements."""
    with tempfile.TemporaryDirectory(prefix="mediakit-benchmark-") as home:
        settings = {
            "in_turn": in_turn,
            "base_url": base_url,
            "cells": CELLS,
            "in_flight": IN_FLIGHT,
            "traced": traced,
            "home": home,
        }
        done = subprocess.run(
            [sys.executable, str(HERE / "load" / "cells.py")],
            input=json.dumps(settings),
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
    return json.loads(done.stdout)


def measure_runs(base_url: str, rounds: Rounds) -> None:
    blocks = run_cells(base_url, in_turn=True)
    cells = blocks.pop("block_cells")
    for way, each in blocks.items():
        rounds[way] = [cells / seconds for seconds, _ in each]
        rounds[f"{way}, CPU"] = [1_000 * cpu_s / cells for _, cpu_s in each]
    for _ in range(ROUNDS):
        report = run_cells(base_url)
        rounds["one sweep"].append(CELLS / report["seconds"])
        rounds["plan of the run"].append(report["plan_seconds"])
        rounds["results frame"].append(report["frame_seconds"])
        rounds["cell, resident"].append(report["resident_bytes"] / 1_000)
    traced = run_cells(base_url, traced=True)
    rounds["cell, traced"] = [traced["traced_bytes"] / 1_000]


# -- the table --------------------------------------------------------------------


def line(name: str, values: list[float], unit: str, digits: int, note: str = "") -> str:
    low, high = min(values), max(values)
    spread = f" ({low:,.{digits}f} to {high:,.{digits}f})" if len(values) > 1 else ""
    return (
        f"  {name:46} {statistics.median(values):8,.{digits}f} {unit}{spread}"
        f"{f'; {note}' if note else ''}"
    )


def plan_ratios(rounds: Rounds) -> list[float]:
    pairs = zip(rounds["plan"], rounds["plain plan"], strict=True)
    return [ours_s / plain_s for ours_s, plain_s in pairs]


def show_plans(rounds: Rounds) -> None:
    print(f"a plan of {CELLS:,} cells")
    print(line("plan and price", rounds["plan"], "s", 3))
    print(line("a plain loop with the same checks", rounds["plain plan"], "s", 3))
    note = f"at most {MAX_PLAN_TIME}"
    print(line("ours / plain, time", plan_ratios(rounds), "", 2, note))
    name = f"{OWNED:,} of the cells owned"
    print(line(name, rounds["plan, some owned"], "s", 3))
    print(f"a plan of {LARGE:,} cells")
    print(line("plan and price", rounds["large plan"], "s", 3))
    print(line("peak", rounds["plan MB"], "MB", 1, f"at most {MAX_PLAN_MB} MB"))
    print(line("plan.frame()", rounds["plan frame"], "s", 3))


def ratios_of(rounds: Rounds, sweep: str, loop: str) -> list[float]:
    return [a / b for a, b in zip(rounds[sweep], rounds[loop], strict=True)]


def show_runs(rounds: Rounds) -> None:
    blocks = f"{len(rounds['sweep'])} blocks each"
    print(f"{CELLS:,} cells, {IN_FLIGHT} in flight, {blocks}")
    for way in WAYS:
        cpu = f"{statistics.median(rounds[f'{way}, CPU']):.2f} ms CPU a cell"
        print(line(way, rounds[way], "cells/s", 0, cpu))
    for sweep, loop in itertools.product(SWEEPS, LOOPS):
        note = f"at least {MIN_RATE}" if loop == LOOPS[0] else ""
        name = f"{sweep} / {loop}"
        print(line(name, ratios_of(rounds, sweep, loop), "", 2, note))
    print(line(f"one sweep of {CELLS:,}", rounds["one sweep"], "cells/s", 0))
    print(line("plan of it", rounds["plan of the run"], "s", 3))
    note = f"at most {MAX_CELL_KB} kB"
    print(line("a finished cell, allocated", rounds["cell, traced"], "kB", 2, note))
    print(line("a finished cell, resident", rounds["cell, resident"], "kB", 2, note))
    print(line("results.frame()", rounds["results frame"], "s", 3))


def missed_limits(rounds: Rounds) -> list[str]:
    median = {name: statistics.median(values) for name, values in rounds.items()}
    ratio = statistics.median(plan_ratios(rounds))
    held = {
        f"plan / plain loop, {ratio:.2f}": ratio <= MAX_PLAN_TIME,
        f"plan, peak {median['plan MB']:.1f} MB": median["plan MB"] <= MAX_PLAN_MB,
    }
    for sweep in SWEEPS:
        ratio = statistics.median(ratios_of(rounds, sweep, LOOPS[0]))
        held[f"{sweep} / loop, {ratio:.2f}"] = ratio >= MIN_RATE
    for name in ("cell, traced", "cell, resident"):
        held[f"{name} {median[name]:.2f} kB"] = median[name] <= MAX_CELL_KB
    return [name for name, is_held in held.items() if not is_held]


def main() -> int:
    """Measure in turn, print the table, and return the exit status."""
    names = ("plain plan", "plan", "cell, resident")
    more = ("one sweep", "results frame", "plan of the run")
    rounds: Rounds = {name: [] for name in (*names, *more)}
    with instant_server("--ended") as base_url:
        with tempfile.TemporaryDirectory(prefix="mediakit-benchmark-") as home:
            measure_plans(base_url, home, rounds)
        measure_runs(base_url, rounds)
    versions = f"pandas {version('pandas')}"
    print(f"{ROUNDS} rounds, Python {sys.version.split()[0]}, {versions}")
    show_plans(rounds)
    show_runs(rounds)
    missed = missed_limits(rounds)
    print("\n  ".join(["Limits missed:", *missed]) if missed else "All limits hold.")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
