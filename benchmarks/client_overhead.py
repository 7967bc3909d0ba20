"""A submit and a read of its job, beside raw HTTP clients and other services' SDKs.

A service that answers at once runs on one core, the client on another, so that what is
measured is the client. Ours does all that it does for a user: it checks and prices the
request, holds the price against the balance, writes key and bytes to the history
before they leave, and what became of the job afterwards. The others send and parse.

To stay quick: one after another, at most 1.15 times the time of raw httpx (the async
client beside async httpx, the blocking one beside blocking httpx); with 50 at once, at
least twice the pairs per second of the best SDK in its best mode.

The SDKs, and httpx on aiohttp, are installed into `build/bench`, an environment of
their own.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROUNDS = 5
PAIRS = {"one": 300, "50": 600}
LIMIT_SEQUENTIAL = 1.15
LIMIT_AT_ONCE = 2.0
HERE = Path(__file__).parent
ROOM = HERE.parent / "build" / "bench"
SDKS = ("fal-client", "openai", "replicate", "google-genai")
GUESTS = (*SDKS, "httpx-aiohttp")
ONE, ONE_ASYNC = "one, blocking", "one, async"
THREADS, TASKS = "50 threads", "50 tasks"


@dataclass
class Measured:
    """What one client did in one way, a value each round."""

    client: str
    way: str
    wall_ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    version: str = ""

    @property
    def pairs_per_s(self) -> float:
        return 1_000 / statistics.median(self.wall_ms)


@contextmanager
def instant_server() -> Iterator[str]:
    command = [sys.executable, str(HERE / "load" / "instant_server.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}"
        finally:
            process.terminate()


def room() -> Path:
    """Return the interpreter that has all but ours, installing it where needed."""
    python = ROOM / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ROOM)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", *GUESTS]
    if subprocess.run(install, check=False).returncode:
        raise SystemExit(f"{', '.join(GUESTS)} could not be installed into {ROOM}.")
    return python


def measure(python: str, base_url: str, into: Measured) -> None:
    """Run one client in one way in a process of its own, and add what it took."""
    with tempfile.TemporaryDirectory(prefix="mediakit-benchmark-") as home:
        order: dict[str, Any] = {
            "client": into.client,
            "way": into.way,
            "base_url": base_url,
            "pairs": PAIRS[into.way.split(",")[0].split()[0]],
            "home": home,
        }
        done = subprocess.run(
            [python, str(HERE / "load" / "pairs.py")],
            input=json.dumps(order),
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
    found = json.loads(done.stdout)
    into.version = found["version"]
    into.failed += found["failed"]
    into.wall_ms.append(1_000 * found["seconds"] / order["pairs"])
    into.cpu_ms.append(1_000 * found["cpu_seconds"] / order["pairs"])


def plan() -> list[Measured]:
    raw = [("httpx", way) for way in (ONE, ONE_ASYNC, TASKS)]
    raw += [
        (name, way)
        for name in ("httpx-aiohttp", "aiohttp")
        for way in (ONE_ASYNC, TASKS)
    ]
    ours = [("mediakit", way) for way in (ONE, ONE_ASYNC, THREADS, TASKS)]
    sdks = [(name, way) for name in SDKS for way in (ONE, THREADS, TASKS)]
    return [Measured(*each) for each in (*raw, *ours, *sdks)]


def show(all_measured: list[Measured]) -> None:
    for each in all_measured:
        low, high = min(each.wall_ms), max(each.wall_ms)
        name = f"{each.client} {each.version}"
        failed = f"; {len(each.failed)} failed: {each.failed[0]}" if each.failed else ""
        print(
            f"  {name:22} {each.way:14} {each.pairs_per_s:6.0f} pairs/s"
            f" ({1_000 / high:.0f} to {1_000 / low:.0f}),"
            f" {statistics.median(each.cpu_ms):.2f} ms CPU a pair{failed}"
        )


def ratios(all_measured: list[Measured]) -> bool:
    """Print how we compare and tell whether all limits hold."""
    rate = {(each.client, each.way): each.pairs_per_s for each in all_measured}
    held = True
    for way in (ONE_ASYNC, ONE):
        ratio = rate["httpx", way] / rate["mediakit", way]
        held &= ratio <= LIMIT_SEQUENTIAL
        print(f"  {way}: ours / httpx, time {ratio:.2f} (at most {LIMIT_SEQUENTIAL})")
    for way in (TASKS, THREADS):
        for name in SDKS:
            ratio = rate["mediakit", way] / rate[name, way]
            print(f"  {way}: ours / {name}, pairs per second {ratio:.2f}")
    best = max(rate[name, way] for name in SDKS for way in (TASKS, THREADS))
    ours = max(rate["mediakit", TASKS], rate["mediakit", THREADS]) / best
    print(f"  50 at once, each in its best mode: {ours:.2f} (at least {LIMIT_AT_ONCE})")
    return held and ours >= LIMIT_AT_ONCE


def main() -> int:
    """Measure in turn, print the table, and tell whether the limits hold."""
    sdk_python = str(room())
    all_measured = plan()
    with instant_server() as base_url:
        for _ in range(ROUNDS):
            for each in all_measured:
                python = sdk_python if each.client in GUESTS else sys.executable
                measure(python, base_url, each)
    print(f"submit and read, {ROUNDS} rounds, Python {sys.version.split()[0]}")
    show(all_measured)
    return 0 if ratios(all_measured) else 1


if __name__ == "__main__":
    raise SystemExit(main())
