"""A submission and a read of its job, compared with HTTP clients and other SDKs.

A server that responds at once runs on one core and the client on another, so that the
client's work is what is measured. mediakit does everything that it does for a user: it
checks and prices the request, holds the price against the balance, commits the
idempotency key and the request to the history before it sends them, and commits the
job's state afterwards. The others send and parse.

Limits:

- 50 tasks at once: at least as many pairs per second as fal-client and replicate; the
  others are shown without a limit.
- 50 threads at once: at least 0.6 times as many pairs per second as each SDK.
- One after another: at most 2.0 times the time of httpx for the async client, and at
  most 4.0 times that of blocking httpx for the blocking client.

The script installs the SDKs into their own environment, `build/bench`. Set
`BENCHMARK_ROUNDS` to change the number of rounds.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROUNDS = int(os.environ.get("BENCHMARK_ROUNDS", "5"))
PAIRS = {"one": 300, "50": 600}
HERE = Path(__file__).parent
SDK_ENVIRONMENT = HERE.parent / "build" / "bench"
TRANSPORTS = ("aiohttp",)
SDKS = ("fal-client", "openai", "replicate", "google-genai")
SDK_PACKAGES = ("fal-client", "openai", "replicate", "google-genai[aiohttp]")
ONE, ONE_ASYNC = "one, blocking", "one, async"
THREADS, TASKS = "50 threads", "50 tasks"

MAX_TIME = {ONE_ASYNC: 2.0, ONE: 4.0}
"""Our time as a multiple of that of httpx."""

MIN_RATE: dict[str, dict[str, float]] = {
    TASKS: {"fal-client": 1.0, "replicate": 1.0},
    THREADS: dict.fromkeys(SDKS, 0.6),
}
"""Our pairs per second as a multiple of those of an SDK."""


@dataclass
class Measured:
    """The measurements of one client in one way, one value per round."""

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
def instant_server(*options: str) -> Iterator[str]:
    command = [sys.executable, str(HERE / "load" / "instant_server.py"), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}"
        finally:
            process.terminate()


def sdk_python() -> str:
    """Return the interpreter that has the other SDKs, after installing them."""
    python = SDK_ENVIRONMENT / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(SDK_ENVIRONMENT)], check=True)
    quiet = ["--quiet", "--disable-pip-version-check"]
    install = [str(python), "-m", "pip", "install", *quiet, *SDK_PACKAGES]
    if subprocess.run(install, check=False).returncode:
        names = ", ".join(SDK_PACKAGES)
        raise SystemExit(f"Cannot install {names} into {SDK_ENVIRONMENT}.")
    return str(python)


def measure(python: str, base_url: str, into: Measured) -> None:
    """Run one client in one way in its own process, and add the measurements."""
    with tempfile.TemporaryDirectory(prefix="mediakit-benchmark-") as home:
        settings: dict[str, Any] = {
            "client": into.client,
            "way": into.way,
            "base_url": base_url,
            "pairs": PAIRS[into.way.split(",")[0].split()[0]],
            "home": home,
        }
        done = subprocess.run(
            [python, str(HERE / "load" / "pairs.py")],
            input=json.dumps(settings),
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
    report = json.loads(done.stdout)
    into.version = report["version"]
    into.failed += report["failed"]
    into.wall_ms.append(1_000 * report["seconds"] / settings["pairs"])
    into.cpu_ms.append(1_000 * report["cpu_seconds"] / settings["pairs"])


def plan() -> list[Measured]:
    raw = [("httpx", way) for way in (ONE, ONE_ASYNC, TASKS)]
    raw += [(name, way) for name in TRANSPORTS for way in (ONE_ASYNC, TASKS)]
    ours = [("mediakit", way) for way in (ONE, ONE_ASYNC, THREADS, TASKS)]
    sdks = [(name, way) for name in SDKS for way in (ONE, THREADS, TASKS)]
    # By way: what is compared runs within seconds, because a machine's speed drifts.
    order = sorted((*raw, *ours, *sdks), key=lambda each: each[1])
    return [Measured(*each) for each in order]


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


def show_ratios(all_measured: list[Measured]) -> list[str]:
    """Print each ratio, the median of its rounds; return those that miss a limit."""
    wall_ms = {(each.client, each.way): each.wall_ms for each in all_measured}
    missed = []

    def ratios(client: str, way: str) -> list[float]:
        pairs = zip(wall_ms[client, way], wall_ms["mediakit", way], strict=True)
        return [theirs_ms / ours_ms for theirs_ms, ours_ms in pairs]

    for way, limit in MAX_TIME.items():
        ratio = 1 / statistics.median(ratios("httpx", way))
        line = f"{way}: ours / httpx, time {ratio:.2f} (at most {limit})"
        print(f"  {line}")
        missed += [line] if ratio > limit else []
    for way, limits in MIN_RATE.items():
        for name in SDKS:
            ratio = statistics.median(ratios(name, way))
            least = limits.get(name, 0.0)
            shown = f"at least {least}" if least else "no limit"
            line = f"{way}: ours / {name}, pairs per second {ratio:.2f} ({shown})"
            print(f"  {line}")
            missed += [line] if ratio < least else []
    return missed


def main() -> int:
    """Measure all clients in turn, print the table, and return the exit status."""
    other_python = sdk_python() if SDKS else sys.executable
    all_measured = plan()
    with instant_server() as base_url:
        for _ in range(ROUNDS):
            for each in all_measured:
                python = other_python if each.client in SDKS else sys.executable
                measure(python, base_url, each)
    print(f"submit and read, {ROUNDS} rounds, Python {sys.version.split()[0]}")
    show(all_measured)
    missed = show_ratios(all_measured)
    missed += [
        f"{each.way}: ours, {len(each.failed)} pairs failed (none)"
        for each in all_measured
        if each.client == "mediakit" and each.failed
    ]
    print("\n  ".join(["Limits missed:", *missed]) if missed else "All limits hold.")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
